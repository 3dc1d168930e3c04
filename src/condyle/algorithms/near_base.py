"""A tree seen from its base, for what does not depend on where the robot is: sums about the world's origin lose digits
where the base is far from it.

The base is the root link. Links before it that have no mass, do not turn and carry all others count as the world: such
are the slides of a gantry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import mode
from typing import cast

from condyle.algorithms.kinematics import WORLD, placed
from condyle.algorithms.sweeps import Sweeps
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import is_zero
from condyle.spatial import vector as vec
from condyle.spatial.transform import Transform
from condyle.spatial.vector import Vector


def base(sweeps: Sweeps) -> Vector:
    """The base's origin in the world. Of a robot with several roots: the coordinates that most of their joints are
    placed at."""
    tree = cast(Unrolled, sweeps)
    if len(roots := _roots(tree)) > 1:
        x, y, z = zip(*(tree.tree.links[i].numbers.origin for i in roots), strict=True)
        return mode(x), mode(y), mode(z)
    pose = WORLD
    for i in _up_to_base(tree):
        pose = placed(tree.joints[i], pose)
    return pose.origin


def about_base(sweeps: Sweeps) -> Unrolled:
    """The same tree with the world's origin moved to that of the base; the world's axes stay."""
    tree = cast(Unrolled, sweeps)
    if len(roots := _roots(tree)) > 1:
        links, at = list(tree.tree.links), base(tree)
        for i in roots:
            numbers = links[i].numbers
            links[i] = replace(links[i], numbers=numbers._replace(origin=vec.sub(numbers.origin, at)))
        return Unrolled(replace(tree.tree, links=tuple(links)), tree.inputs)
    moved, joints = Unrolled(tree.tree, tree.inputs), list(tree.joints)
    for i in _up_to_base(tree):
        joints[i] = replace(joints[i], transform=Transform(joints[i].rotation, vec.ZERO))
    moved.joints = joints
    return moved


def _roots(tree: Unrolled) -> list[int]:
    return [i for i, link in enumerate(tree.tree.links) if link.parent < 0]


def _up_to_base(tree: Unrolled) -> Iterator[int]:
    """The base and the links before it, from the world on: only their rotations count for what is about the base."""
    levers, massless, children = tree.tree.levers, True, _roots(tree)
    while massless and len(children) == 1 and not levers[children[0]]:
        (i,) = children
        yield i
        massless = is_zero(tree.joints[i].inertia.mass)
        children = [k for k, link in enumerate(tree.tree.links) if link.parent == i]
