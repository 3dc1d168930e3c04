"""The primitives that functions parallel in the links are written with: operations on one value for each link.

A value is scalars in nested tuples. Each runner has its own scalars: arrays over links and states (`arrays.py`), or
entries of per-lane variables, a link a lane (`trace.parallel.lanes`). Outside of steps, functions only take values
apart and put them together. All arithmetic is in steps, which one runner calls and the other traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from condyle.algorithms.joint import Inertia
from condyle.algorithms.rnea import Wrench
from condyle.errors import UnsupportedError
from condyle.links.algorithms.semigroup import Branching, Semigroup
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.spatial.vector import Vector

T = TypeVar("T")
U = TypeVar("U")
OfJoints: TypeAlias = object
"""A value whose structure depends on the joint type, such as one scalar for each degree of freedom; only steps can
read it."""


class Links(Protocol):
    """The links of a tree, in parallel.

    carried_mass: the mass of each link and all links that it carries. lever: 1 for a link with a joint before it that
    turns, else 0. external: the external wrench on every link, in its own frame. still: zero for every degree of
    freedom. guard: see `articulated.Segments`.
    """

    tree: Tree
    gravity: Vector
    guard: float
    inertia: Inertia
    carried_mass: Scalar
    lever: Scalar
    external: Wrench | None
    still: OfJoints

    def each(self, step: Callable[..., T], *values: object) -> T:
        """step(joint, *values) for every link. A plain tuple of named tuples counts as several values."""
        ...

    def all(self, step: Callable[..., T], *values: object) -> T:
        """step(*values) for every link, which does not depend on its joint."""
        ...

    def view(self, step: Callable[..., T], *values: object) -> T:
        """The same, but lanes compute it again wherever it is used. It is passed to steps as a whole."""
        ...

    def of_joints(self, step: Callable[..., object], *values: object) -> OfJoints:
        """step(joint, *values), whose structure depends on the joint type; lanes compute it again wherever it is
        used."""
        ...

    def answer(self, port: str, step: Callable[..., object], *values: object) -> OfJoints:
        """step(joint, *values) for every link, which is the output `port` of the function."""
        ...

    def outward(self, semigroup: Semigroup[T], elements: T) -> T:
        """For each link the product of the elements from the root to it. `elements` may be overwritten."""
        ...

    def inward(self, semigroup: Branching[T], elements: T) -> T:
        """For each link the product of its element and those of all links that it carries. `elements` may be
        overwritten."""
        ...

    def of_parent(self, value: T, world: T) -> T:
        """For every link the value of its parent; `world` for those on the world."""
        ...

    def of_children(self, value: T) -> T:
        """For every link the sum of the values of its children."""
        ...

    def with_partner(self, partners: Sequence[int], step: Callable[[T, U], T], value: T, other: U) -> T:
        """step(value, `other` of the partner) for every link with a partner, the value for others. partners: a link for
        each link, -1 for none. The value may be overwritten."""
        ...


def check_alone(tree: Tree) -> Tree:
    """The tree itself; UnsupportedError for one whose joints share coordinates."""
    if tree.has_shared_coordinates:
        raise UnsupportedError(
            "links='scan' needs every joint to move alone, and this robot has mimic joints: use links='serial', or "
            "load the robot with mimic='independent'"
        )
    return tree
