"""Random robots, for tests and studies: always physical, always the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np

from condyle.errors import ModelError
from condyle.model.array import Array, congruence, diagonal, generator_of
from condyle.model.description import FIXED, Description, JointSpec, Link, Numbers
from condyle.model.finish import GRAVITY
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Body, massless
from condyle.model.placement import IDENTITY, Placement
from condyle.model.robot import Robot

MOST = 1 << 16
"""Joints of a robot that is made here."""


def chain(n: int, rng: int | np.random.Generator = 0) -> Robot:
    """Return a serial chain of n revolute joints about their own z, with random placements and box-like bodies."""
    _check_size(n)
    generator = generator_of("chain", rng)
    joints = [_joint(generator, i, i - 1, "revolute", np.array((0.0, 0.0, 1.0))) for i in range(n)]
    return _robot("chain", generator, joints, floating_base=False)


def random_tree(
    n: int,
    rng: int | np.random.Generator = 0,
    *,
    types: Sequence[str] = tuple(JOINT_TYPES),
    floating_base: bool = False,
) -> Robot:
    """Return a tree of n joints with random types (of `types`), parents, axes and placements.

    floating_base: a free joint, "root_joint", comes first and is not counted in n.
    """
    _check_size(n)
    listed = isinstance(types, Iterable) and not isinstance(types, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not listed or not types or any(kind not in JOINT_TYPES for kind in types):
        raise ModelError(f"types={types!r}: allowed is {', '.join(map(repr, JOINT_TYPES))}")
    generator = generator_of("random_tree", rng)
    joints: list[JointSpec] = []
    for i in range(n):
        kind = str(generator.choice(np.array(types)))
        parent = int(generator.integers(max(-1, i - 4), i)) if i else -1
        joints.append(_joint(generator, i, parent, kind, _direction(generator)))
    return _robot("tree", generator, joints, floating_base=floating_base)


def _check_size(n: int) -> None:
    if not isinstance(n, Integral) or n < 0:
        raise ModelError(f"n={n!r} joints: give a whole number, 0 or more")
    if n > MOST:
        raise ModelError(f"n={n} joints: give at most {MOST}")


def _robot(name: str, rng: np.random.Generator, joints: list[JointSpec], *, floating_base: bool) -> Robot:
    root = JointSpec("root_joint", "free", None, "base") if floating_base else JointSpec("", FIXED, None, "base")
    base = random_body("base", rng) if floating_base else massless("base")
    links = (Link(base), *(Link(random_body(joint.child, rng)) for joint in joints))
    return Robot.assemble(Description(name, np.array(GRAVITY), links, (root, *joints)))


def _joint(rng: np.random.Generator, i: int, parent: int, kind: str, axis: Array) -> JointSpec:
    placement = IDENTITY
    if i > 0:
        offset = rng.uniform(0.1, 0.3) * _direction(rng)
        placement = Placement.from_rpy(offset, rng.uniform(-np.pi, np.pi, 3))
    second, says = np.cross(axis, _direction(rng)), JOINT_TYPES[kind]
    return JointSpec(
        name=f"joint{i}",
        type=kind,
        parent="base" if parent < 0 else f"link{parent}",
        child=f"link{i}",
        placement=placement,
        axis=axis,
        second_axis=second if says.axes == 2 else None,
        pitch=float(rng.uniform(0.05, 0.2)) if says.has_pitch else 0.0,
        numbers=Numbers(),
    )


def _direction(rng: np.random.Generator) -> Array:
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def random_body(name: str, rng: np.random.Generator) -> Body:
    """A solid box of 0.1 to 0.4 m a side and 0.5 to 3 kg, its com within 0.1 m of the frame, turned at random."""
    mass = float(rng.uniform(0.5, 3.0))
    squares = rng.uniform(0.1, 0.4, 3) ** 2
    turn = Placement.from_rpy(rpy=rng.uniform(-np.pi, np.pi, 3)).rotation
    inertia = congruence(turn, diagonal(mass / 12.0 * (float(np.sum(squares)) - squares)))
    return Body(name, mass, rng.uniform(-0.1, 0.1, 3), inertia)
