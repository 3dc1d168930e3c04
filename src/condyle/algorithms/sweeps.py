"""Sweeps over the tree: what an algorithm is made of.

A step is a small function of one joint; a sweep runs it over all joints in an order. Who runs the steps
decides what comes out: `Unrolled` runs them on numbers, batches or symbols, joint by joint; the door
(`condyle.trace`) also traces each step once for every kind of joint, which gives loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from condyle.algorithms.joint import Joint
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.transform import Transform

T = TypeVar("T")
U = TypeVar("U")
Meet: TypeAlias = Callable[..., Sequence[Sequence[Scalar]]]
"""The values of a pair, for each dof of the ancestor one an Entry."""
Field: TypeAlias = Sequence[T]
"""One value for each joint. Values are scalars in nested tuples."""
Vector: TypeAlias = "Sequence[Scalar] | Field[Sequence[Scalar]]"
"""A joint-space vector: its entries, or what stands for them where loops are recorded."""


class Entry(NamedTuple):
    """Where one value of a pair goes in a matrix: to (k, l), to (l, k) if transposed, to both if symmetric."""

    matrix: int
    transposed: bool = False
    symmetric: bool = False


class Matrix(Protocol):
    """A joint-space matrix: only entries that can differ from zero are there."""

    def get(self, row: int, column: int) -> Scalar | None: ...


class Sweeps(Protocol):
    """A tree at one state, ready to be swept."""

    nv: int
    gravity: vec.Vector
    reference_frame: str
    """What frames' answers refer to, see `specification.Bound`."""
    free_rotors: bool
    """Whether some free joint has armature along its linear axes, see `rotors`."""
    damping: Sequence[Scalar] | None
    """Viscous friction of each degree of freedom, where it is an input."""
    f_ext: Field[tuple[vec.Vector, vec.Vector]] | None
    world_forces: bool
    """Whether there are external forces, and they keep the world's axes."""

    def given(self, port: str) -> Field[Sequence[Scalar]]:
        """An input of joint-space size, dealt out to the joints."""
        ...

    def gathered(self, field: Field[Sequence[Scalar]]) -> Vector:
        """The joint-space vector whose parts the joints hold; parts of one coordinate are summed."""
        ...

    def dofs(self, values: Vector) -> Field[Sequence[Scalar]]:
        """A joint-space vector, dealt out to the joints."""
        ...

    def total(self, values: Field[T], none: T) -> T:
        """The sum over all joints; `none` where there are no joints."""
        ...

    def to_world(self, step: Callable[..., T], own: Field[T], none: T) -> T:
        """The world's sum of up = step(joint_i, x_i), leaves to root, where x_i is own_i and all `up` of its children;
        `none` where there are no joints.
        """
        ...

    def at_frames(self, step: Callable[[Transform, T], U], world: T, values: Field[T]) -> Sequence[U]:
        """step(frame in its link, value of that link) for every frame that was asked for; `world` is its own value."""
        ...

    def frame_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        world: U,
        values: Field[U],
    ) -> Sequence[Sequence[Sequence[Scalar]]]:
        """For every frame that was asked for the rows of a matrix with a column for each entry of v.

        carry = start(frame in its link, value of that link) visits the link and then all its ancestors:
        meet(joint_j, carry, value_j) has for each dof of joint j one column, carry = rise(joint_j, carry, value_j).
        """
        ...

    def body_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        values: Field[U],
    ) -> Sequence[Sequence[Sequence[Scalar]]]:
        """The same of every body's own frame."""
        ...

    def each(self, step: Callable[..., T], *given: Field[object]) -> Field[T]:
        """step(joint_i, *given_i) for every joint."""
        ...

    def forward(self, step: Callable[..., T], world: T, *given: Field[object]) -> Field[T]:
        """x_i = step(joint_i, x_parent, *given_i), root to leaves; the root's parent is `world`."""
        ...

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *given: Field[object]) -> Field[U]:
        """(y_i, x_i) = step(joint_i, x_parent, *given_i), root to leaves; like `forward`, but the answer is y."""
        ...

    def backward(self, step: Callable[..., tuple[U, T]], own: Field[T], *given: Field[object]) -> Field[U]:
        """(y_i, up) = step(joint_i, x_i, *given_i), leaves to root, where x_i is own_i and all `up` of its children."""
        ...

    def pairs(
        self,
        start: Callable[..., T],
        meet: Meet,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *given: Field[object],
        own: Meet | None = None,
    ) -> Sequence[Matrix]:
        """Products over ancestor pairs.

        For dof k of joint i, carry = start(joint_i, k, *given_i) visits j = i and then every ancestor j:
        meet(joint_j, carry, *given_j) has for each dof l of joint j one value an Entry; going up, carry =
        rise(joint_j, carry). At j = i no transposed entries are taken, and symmetric ones for l <= k; there
        own(joint_i, k, carry, *given_i), if it is there, has the values.
        """
        ...

    def add_diagonal(self, matrix: Matrix, values: Field[Sequence[Scalar]]) -> None:
        """matrix_kk += value of dof k."""
        ...

    def unit_columns(self, column: Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]]) -> Matrix:
        """The matrix whose column c is `column` of the c-th unit vector."""
        ...

    def map_columns(
        self, column: Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]], matrix: Matrix
    ) -> Matrix:
        """The matrix whose column c is `column` of the matrix' column c."""
        ...

    def minus_product(self, left: str, right: Matrix) -> Matrix:
        """- left right; left is an input that is zero where no chain of bodies couples two coordinates."""
        ...
