"""Where a robot may touch the ground: feet, points of bodies and shapes, and forces on feet as forces on bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, TypeAlias, cast

from condyle.algorithms.stepping import linear_brackets
from condyle.errors import ShapeError, UnsupportedError
from condyle.model.array import transpose
from condyle.model.change import carrier
from condyle.model.contact import Contact
from condyle.model.shapes import Shape
from condyle.model.tree import tree_of
from condyle.symbolic import Symbols
from condyle.symbolic.elementwise import numpy as np
from condyle.user.state import State

# What a ground's numbers may be.


def check_values(values: Mapping[str, Any], zero: tuple[str, ...]) -> None:
    """One real number each, or a symbol of one; zero: those that may be zero, the others are positive."""
    for name, value in values.items():
        if isinstance(value, Symbols):
            if value.shape != ():
                raise ShapeError(f"Ground: {name} has shape {value.shape}; give one number for all feet: ()")
            continue
        allowed = "zero or a positive number" if name in zero else "a positive number"
        if not is_number(value) or value < 0.0 or (value == 0.0 and name not in zero):
            raise UnsupportedError(f"Ground: {name}={value!r}; give {allowed}, SI")


def check_inputs(inputs: Sequence[str], allowed: Iterable[str]) -> None:
    """UnsupportedError for names that a step of the ground cannot take as inputs."""
    if isinstance(inputs, str):
        raise UnsupportedError(f"inputs={inputs!r}: give a list of names, such as ({inputs!r},)")
    if unknown := [name for name in inputs if name not in allowed]:
        raise UnsupportedError(f"inputs: {unknown[0]!r}; allowed is {', '.join(map(repr, allowed))}")


def is_number(x: Any) -> bool:
    """A finite real number, and no truth."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool) and isfinite(cast(float, x))


def numbers(x: Any, n: int) -> tuple[float, ...] | None:
    """n real numbers of a sequence or an array; None where it is not that."""
    try:
        found = tuple(x)
    except TypeError:
        return None
    return tuple(map(float, found)) if len(found) == n and all(map(is_number, found)) else None


Array = Any  # of numbers, or of symbols


@dataclass(frozen=True)
class Foot:
    """A point of a named frame. point (3,) [m]: in the frame's axes, from its origin."""

    frame: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        point = numbers(self.point, 3)
        if not isinstance(self.frame, str) or point is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"Foot({self.frame!r}, {self.point!r}): give a frame's name and three numbers [m]")
        object.__setattr__(self, "point", point)


def feet_of(names_or_feet: Any) -> tuple[Foot, ...]:
    """Feet that are given by a frame's name, or as `Foot`. UnsupportedError."""
    listed = cast("Sequence[object]", names_or_feet if isinstance(names_or_feet, (list, tuple)) else ())
    if not listed or not all(isinstance(x, (str, Foot)) for x in listed):
        raise UnsupportedError(
            f"Ground: feet={names_or_feet!r}; give a list of names of frames, or of Foot(frame, point)"
        )
    feet = tuple(x if isinstance(x, Foot) else Foot(x) for x in cast("Sequence[str | Foot]", names_or_feet))
    if twice := [foot for k, foot in enumerate(feet) if foot in feet[:k]]:
        raise UnsupportedError(f"Ground: {twice[0]} is given twice")
    return feet


class Placed(NamedTuple):
    """A foot at a state. translation, velocity (3,): in the world's axes. rotation (3, 3): of its frame."""

    foot: Foot
    translation: Array
    velocity: Array
    rotation: Array


def placed(state: State, foot: Foot) -> Placed:
    """Where a foot is and how it moves, whatever velocities of frames refer to. ModelError for frames that are none."""
    carrier(state.robot, foot.frame, "no ground can push it; name a frame of a moving body")
    frame, point = state.frame(foot.frame), np.asarray(foot.point)
    rotation, arm = frame.rotation, frame.rotation @ point
    linear, angular = frame.velocity[:3], frame.velocity[3:]
    if state.reference_frame == "local":
        velocity = rotation @ (linear + np.cross(angular, point))
    elif state.reference_frame == "world":
        velocity = linear + np.cross(angular, frame.translation + arm)
    else:
        velocity = linear + np.cross(angular, arm)
    return Placed(foot, frame.translation + arm, velocity, rotation)


def on_bodies(state: State, feet: Sequence[Placed], forces: Sequence[Array]) -> Array:
    """f_ext (n_bodies, 6) of forces (3,) [N] in the world's axes at feet, as the function's methods take it."""
    rows: list[Array] = [np.zeros(6)] * len(state.robot.bodies)
    for one, force in zip(feet, forces, strict=True):
        body, placement = state.robot.frames[one.foot.frame]
        arm: Array = transpose(placement.rotation) @ placement.translation + np.asarray(
            one.foot.point
        )  # in the frame's axes
        if state.force_frame == "local":
            turned = one.rotation.T @ force
            wrench = [placement.rotation @ turned, placement.rotation @ np.cross(arm, turned)]
        else:
            wrench = [force, np.cross(one.rotation @ arm, force)]
        rows[body] = rows[body] + np.concatenate(wrench)
    return np.stack(rows)


# Where contacts touch a ground: points of bodies, and of a shape those of its points that are deepest.
#
# With c the centre of a shape, n the unit normal of the ground there, x, y, z its axes and r its radius:
#
#     sphere      c
#     capsule     the ends of its middle line, c ± l z
#     box         the four corners of one side: of the one for which half its length times |n.axis| is largest
#     cylinder    the deepest point of both rims; where it stands rather than lies (l |n.z| > r |n - z (n.z)|), the
#                 opposite point of the lower rim in place of that of the upper one; and the two between, of the lower
#                 rim
#
# The surface of a sphere and of a capsule is r away from these, along the normal of the ground at them. A point has the
# same number as long as a shape touches with the same side, so that impulses of one step are a start for the next one.
#
# In a step of h to the velocity v_next a point moves by h J v_next + h^2/2 (dJ/dt v + J [w, l]) + ..., [w, l] as in
# `specification.integrators`. Without the second term a ball that rolls would sink in. The part of the bracket along n
# is the `bend` of a touch. It is that of the points above, for a cylinder without its turning about its own axis, which
# does not move its surface.


Distance: TypeAlias = Callable[[Array], tuple[Any, Array]]
"""From a point to its distance from the ground and the unit normal there."""
UPRIGHT = 1e-4
"""A cylinder that stands has no deepest point of its rim: where its tilt [rad] is less, its points stay in place."""
SMALL = 1e-24
"""Added to a square: of a length of zero nothing is divided by zero."""


class Touch(NamedTuple):
    """gap [m]: distance from the ground. normal (3,). arm (3,) [m]: from the contact to its point, None where they are
    one. bend [m/s^2]: the acceleration of the gap that steps do not see, 0 of points."""

    gap: Any
    normal: Array
    arm: Array | None = None
    bend: Any = 0.0


def touches(state: State, distance: Distance, moves: bool) -> list[Touch]:
    """Of each contact of a state; moves: with bends, for which the state has a velocity."""
    every, placed = list[Touch](), dict[int, _Placed]()
    straight = _straight(state) if moves and any(contact.shape for contact in state.contacts) else None
    for contact in state.contacts:
        if contact.shape is None:
            frame = state.frame(contact.frame)
            every.append(Touch(*distance(frame.translation + frame.rotation @ contact.placed.translation)))
            continue
        if id(contact.shape) not in placed:
            placed[id(contact.shape)] = _Placed(state, contact, contact.shape, distance, straight)
        every.append(placed[id(contact.shape)].touch(contact.point))
    return every


class _Placed:
    """A shape at a state. straight: `_straight`, where the state has a velocity."""

    def __init__(
        self, state: State, contact: Contact, shape: Shape, distance: Distance, straight: Array | None
    ) -> None:
        frame = state.frame(contact.frame)
        turned = frame.rotation @ contact.placed.rotation
        self.shape, self.distance, self.axes = shape, distance, [turned[:, k] for k in range(3)]
        self.offset = frame.rotation @ contact.placed.translation
        self.centre = frame.translation + self.offset
        self.arms = self._arms()
        self.motion: tuple[Array, Array, Array] | None = None
        if straight is not None:
            turn = frame.rotation if state.reference_frame == "local" else np.eye(3)
            bent = frame.acceleration(straight)
            self.motion = turn @ bent[:3], turn @ bent[3:], turn @ frame.velocity[3:]

    def touch(self, k: int) -> Touch:
        """Of its point k."""
        fixed, rim = self.arms[k]
        arm, radius = fixed if rim is None else fixed + rim, self.shape.radius
        gap, normal = self.distance(self.centre + arm)
        bend = 0.0 if self.motion is None else normal @ self._bent(self.motion, self.offset + fixed, rim)
        return Touch(gap - radius, normal, arm - radius * normal, bend)

    def _bent(self, motion: tuple[Array, Array, Array], fixed: Array, rim: Array | None) -> Array:
        linear, angular, w = motion
        bent: Array = linear + np.cross(angular, fixed) + np.cross(w, np.cross(w, fixed))
        if rim is None:
            return bent
        z = self.axes[2]
        angular, w = angular - (angular @ z) * z, w - (w @ z) * z
        return bent + np.cross(angular, rim) + np.cross(w, np.cross(w, rim))

    def _arms(self) -> list[tuple[Array, Array | None]]:
        """From the centre to each point: a part that is fixed to the body, and one across the axis of a cylinder."""
        if self.shape.kind == "sphere":
            return [(np.zeros(3), None)]
        if self.shape.kind == "capsule":
            half = self.shape.size[1] * self.axes[2]
            return [(half, None), (-half, None)]
        _, normal = self.distance(self.centre)
        if self.shape.kind == "box":
            return [(corner, None) for corner in _corners(self.shape.size, self.axes, normal)]
        return _rims(self.shape.size, self.axes, normal)


def _straight(state: State) -> Array:
    """[w, l] (nv)."""
    brackets = linear_brackets(tree_of(state.robot), list(state.v))
    return np.stack([brackets.get(k, 0.0) for k in range(state.robot.nv)])


def _corners(size: tuple[float, ...], axes: list[Array], normal: Array) -> list[Array]:
    x, y, z = (half * axis for half, axis in zip(size, axes, strict=True))
    over_x, over_y, over_z = (np.abs(normal @ side) for side in (x, y, z))
    is_x, is_z = over_x > np.maximum(over_y, over_z), over_z >= np.maximum(over_x, over_y)
    face = np.where(is_z, z, np.where(is_x, x, y))
    first, second = np.where(is_x, y, x), np.where(is_z, y, z)
    face = np.where(normal @ face > 0.0, -face, face)
    return [face + first + second, face + first - second, face - first - second, face - first + second]


def _rims(size: tuple[float, ...], axes: list[Array], normal: Array) -> list[tuple[Array, Array | None]]:
    (radius, half), (x, y, z) = size, axes
    along = normal @ z
    a, b = normal @ x + UPRIGHT * along, normal @ y
    across = np.sqrt(a * a + b * b + SMALL)
    down, side, top = (-radius / across) * (a * x + b * y), (radius / across) * (b * x - a * y), half * z
    lies, is_up = half * np.abs(along) <= radius * across, along > 0.0
    lower = np.where(is_up, -top, top)
    first = np.where(lies, top, lower), np.where(lies, down, np.where(is_up, -down, down))
    second = np.where(lies, -top, lower), np.where(lies, down, np.where(is_up, down, -down))
    return [first, second, (lower, side), (lower, -side)]
