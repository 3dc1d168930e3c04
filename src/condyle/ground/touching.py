"""Where contacts touch a ground: points of bodies, and of a shape those of its points that are deepest.

With c the centre of a shape, n the unit normal of the ground there, x, y, z its axes and r its radius:

    sphere      c
    capsule     the ends of its middle line, c ± l z
    box         the four corners of one side: of the one for which half its length times |n.axis| is largest
    cylinder    the deepest point of both rims; where it stands rather than lies (l |n.z| > r |n - z (n.z)|), the
                opposite point of the lower rim in place of that of the upper one; and the two between on the lower rim

The surface of a sphere and of a capsule is r away from these, along the normal of the ground at them. A point has the
same number as long as a shape touches with the same side, so that impulses of one step are a start for the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from condyle.ground.feet import Array
from condyle.model.shapes import Shape
from condyle.symbolic.comparisons import numpy as np
from condyle.user.state import State

Distance: TypeAlias = Callable[[Array], tuple[Any, Array]]
"""From a point to its distance from the ground and the unit normal there."""
UPRIGHT = 1e-4
"""A cylinder that stands, tilted by less [rad], has its points at the same places of its rim."""
SMALL = 1e-24
"""Added to a square: of a length of zero nothing is divided by zero."""


class Touch(NamedTuple):
    """gap [m]: distance from the ground. normal (3,). arm (3,) [m]: from the contact to its point, None where they are
    one."""

    gap: Any
    normal: Array
    arm: Array | None


def touches(at: State, distance: Distance) -> list[Touch]:
    """Of each contact of a state."""
    found, arms = list[Touch](), dict[int, list[Array]]()
    for one in at.contacts:
        frame = at.frame(one.frame)
        centre, shape = frame.translation + frame.rotation @ one.placed.translation, one.shape
        if shape is None:
            found.append(Touch(*distance(centre), None))
            continue
        if id(shape) not in arms:
            turned = frame.rotation @ one.placed.rotation
            arms[id(shape)] = _arms(shape, [turned[:, k] for k in range(3)], centre, distance)
        arm = arms[id(shape)][one.point]
        gap, normal = distance(centre + arm)
        if shape.radius > 0.0:
            gap, arm = gap - shape.radius, arm - shape.radius * normal
        found.append(Touch(gap, normal, arm))
    return found


def _arms(shape: Shape, axes: list[Array], centre: Array, distance: Distance) -> list[Array]:
    """From the centre to each point."""
    if shape.kind == "sphere":
        return [np.zeros(3)]
    if shape.kind == "capsule":
        half = shape.size[1] * axes[2]
        return [half, -half]
    _, normal = distance(centre)
    return _corners(shape.size, axes, normal) if shape.kind == "box" else _rims(*shape.size, axes, normal)


def _corners(size: tuple[float, ...], axes: list[Array], normal: Array) -> list[Array]:
    x, y, z = (half * axis for half, axis in zip(size, axes, strict=True))
    over_x, over_y, over_z = (np.abs(normal @ side) for side in (x, y, z))
    is_x, is_z = over_x > np.maximum(over_y, over_z), over_z >= np.maximum(over_x, over_y)
    face = np.where(is_z, z, np.where(is_x, x, y))
    one, two = np.where(is_x, y, x), np.where(is_z, y, z)
    face = np.where(normal @ face > 0.0, -face, face)
    return [face + one + two, face + one - two, face - one - two, face - one + two]


def _rims(radius: float, half: float, axes: list[Array], normal: Array) -> list[Array]:
    x, y, z = axes
    along, a, b = normal @ z, normal @ x + UPRIGHT, normal @ y
    across = np.sqrt(a * a + b * b + SMALL)
    down, side, top = (-radius / across) * (a * x + b * y), (radius / across) * (b * x - a * y), half * z
    stands, is_up = half * np.abs(along) > radius * across, along > 0.0
    lower = np.where(is_up, -top, top)
    first = np.where(stands, np.where(is_up, -down - top, down + top), down + top)
    second = np.where(stands, np.where(is_up, down - top, top - down), down - top)
    return [first, second, lower + side, lower - side]
