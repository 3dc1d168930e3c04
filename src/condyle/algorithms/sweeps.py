"""Sweeps over the tree: what an algorithm is made of.

A step is a function of one joint. A sweep calls it for all joints, root to leaves or leaves to root. `Unrolled` calls
the steps joint by joint, on floats, on arrays (a batch) or on symbols. `trace.recorded_sweeps` traces each step once
for every joint type, which gives loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from condyle.algorithms.joint import Joint
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform

T = TypeVar("T")
U = TypeVar("U")
PairStep: TypeAlias = Callable[..., Sequence[Sequence[Scalar]]]
"""A step that gives the values of a pair: for each dof of the ancestor one value for each Entry."""
Field: TypeAlias = Sequence[T]
"""One value for each joint. Values are scalars in nested tuples."""
Vector: TypeAlias = "Sequence[Scalar] | Field[Sequence[Scalar]]"
"""A joint-space vector: its entries, or one value for each joint where loops are recorded."""


class Entry(NamedTuple):
    """Where a value of the pair (k, l) is stored: at (k, l), at (l, k) if transposed, at both if symmetric."""

    matrix: int
    transposed: bool = False
    symmetric: bool = False


class Matrix(Protocol):
    """A joint-space matrix that stores only the entries that can differ from zero."""

    def get(self, row: int, column: int) -> Scalar | None: ...


class Sweeps(Protocol):
    """A tree at one state, and the sweeps over it."""

    nv: int
    gravity: vec.Vector
    reference_frame: str
    """The reference frame of the outputs of frames, see `specification.Bound`."""
    free_rotors: bool
    """Whether a free joint has armature along its linear axes, see `rnea`."""
    f_ext: Field[tuple[vec.Vector, vec.Vector]] | None
    world_forces: bool
    """Whether there are external forces, given in the world's axes."""

    def input(self, port: str) -> Field[Sequence[Scalar]]:
        """An input of joint-space size, as one tuple for each joint."""
        ...

    def gathered(self, field: Field[Sequence[Scalar]]) -> Vector:
        """The joint-space vector of one tuple for each joint; values of joints that share a coordinate are summed."""
        ...

    def dofs(self, values: Vector) -> Field[Sequence[Scalar]]:
        """A joint-space vector, as one tuple for each joint."""
        ...

    def total(self, values: Field[T], none: T) -> T:
        """The sum over all joints; `none` where there are no joints."""
        ...

    def to_world(self, step: Callable[..., T], values: Field[T], none: T) -> T:
        """The sum at the world of up_i = step(joint_i, x_i), leaves to root, with x_i = values_i + the up of its
        children; `none` where there are no joints.
        """
        ...

    def at_frames(self, step: Callable[[Transform, T], U], world: T, values: Field[T]) -> Sequence[U]:
        """step(placement of the frame in its link, value of the link) for every requested frame. A frame of the world
        has the value `world`.
        """
        ...

    def frame_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        world: U,
        values: Field[U],
    ) -> Sequence[Sequence[Sequence[Scalar]]]:
        """For every requested frame the rows of a matrix with one column for each entry of v.

        carry = start(placement of the frame in its link, value of the link) goes from the link to the root. At each
        joint j, meet(joint_j, carry, value_j) gives one column for each dof; then carry = rise(joint_j, carry,
        value_j).
        """
        ...

    def body_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        values: Field[U],
    ) -> Sequence[Sequence[Sequence[Scalar]]]:
        """The same for the frame of every body."""
        ...

    def each(self, step: Callable[..., T], *fields: Field[object]) -> Field[T]:
        """step(joint_i, *fields_i) for every joint."""
        ...

    def forward(self, step: Callable[..., T], world: T, *fields: Field[object]) -> Field[T]:
        """x_i = step(joint_i, x_parent, *fields_i), root to leaves; the root's parent is `world`."""
        ...

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *fields: Field[object]) -> Field[U]:
        """(y_i, x_i) = step(joint_i, x_parent, *fields_i), root to leaves; like `forward`, but y is returned."""
        ...

    def backward(self, step: Callable[..., tuple[U, T]], values: Field[T], *fields: Field[object]) -> Field[U]:
        """(y_i, up_i) = step(joint_i, x_i, *fields_i), leaves to root, with x_i = values_i + the up of its children."""
        ...

    def pairs(
        self,
        start: Callable[..., T],
        meet: PairStep,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *fields: Field[object],
        diagonal: PairStep | None = None,
    ) -> Sequence[Matrix]:
        """Matrices whose entries are values of pairs of a joint i and an ancestor j of i, or i itself.

        For dof k of joint i, carry = start(joint_i, k, *fields_i) goes from joint i to the root. At each joint j,
        meet(joint_j, carry, *fields_j) gives for each dof l of joint j one value for each Entry; then carry =
        rise(joint_j, carry). At j = i, diagonal(joint_i, k, carry, *fields_i) takes the place of meet, if it is given;
        transposed entries are left out there, and symmetric ones are stored for l <= k only.
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
        """- left right. left: the name of an input matrix that is zero where two coordinates are not coupled in M."""
        ...
