"""What functions parallel in the links are written in: primitives on values that every link has.

A value is scalars in nested tuples. Each runner has scalars of its own: arrays over links and states (`arrays.py`), or
entries of the variables of a lane that is a link (`trace.parallel.lanes`). Between primitives functions take values
apart and put them together; arithmetic is in steps only, which are traced as well as run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from condyle.algorithms.joint import Inertia
from condyle.algorithms.parallel.semigroup import Branching, Semigroup
from condyle.algorithms.rnea import Wrench
from condyle.errors import UnsupportedError
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.spatial.vector import Vector

T = TypeVar("T")
U = TypeVar("U")
OfJoints: TypeAlias = object
"""A value whose structure depends on the kind of joint, as a scalar for each degree of freedom: only steps see it."""


class Links(Protocol):
    """The links of a tree, side by side.

    carried_mass: of each link and all that it carries. hangs: 1 for a link that hangs on another one, 0 at a root.
    external: the outer wrench on every link, in its own frame. still: zero for every degree of freedom. guard: see
    `Segments`.
    """

    tree: Tree
    gravity: Vector
    guard: float
    inertia: Inertia
    carried_mass: Scalar
    hangs: Scalar
    external: Wrench | None
    still: OfJoints

    def each(self, step: Callable[..., T], *given: object) -> T:
        """step(joint, *given) of every link. A plain tuple of named tuples is as many values."""
        ...

    def all(self, step: Callable[..., T], *given: object) -> T:
        """step(*given) of every link, whatever its joint."""
        ...

    def view(self, step: Callable[..., T], *given: object) -> T:
        """The same; lanes compute it wherever it is used instead of keeping it, and do not take it apart."""
        ...

    def of_joints(self, step: Callable[..., object], *given: object) -> OfJoints:
        """step(joint, *given), whose structure depends on the joint; computed again like a view."""
        ...

    def answer(self, port: str, step: Callable[..., object], *given: object) -> OfJoints:
        """step(joint, *given) of every link is what the function answers."""
        ...

    def outward(self, semigroup: Semigroup[T], elements: T) -> T:
        """Products of all elements from the root to each link. The elements are used up."""
        ...

    def inward(self, semigroup: Branching[T], elements: T) -> T:
        """Products of all elements of what each link carries, itself first. The elements are used up."""
        ...

    def of_parent(self, value: T, world: T) -> T:
        """The value of every link's parent; `world` for those that have none."""
        ...

    def of_children(self, value: T) -> T:
        """The sum of the values of every link's children."""
        ...

    def meet(self, partners: Sequence[int], step: Callable[[T, U], T], value: T, other: U) -> T:
        """step(value, other of the partner) for links that have a partner, the value for others. It is used up."""
        ...


def check_alone(tree: Tree) -> Tree:
    """The tree itself; UnsupportedError for one whose joints share coordinates."""
    if tree.has_shared_coordinates:
        raise UnsupportedError(
            "links='scan' needs every joint to move alone, and this robot has mimic joints: use links='serial', or "
            "load the robot with mimic='independent'"
        )
    return tree
