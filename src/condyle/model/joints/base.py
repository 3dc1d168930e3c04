"""What a joint type is: its motion, its configurations, and what readers and algorithms ask about it.

The joint frame has the joint's axis as its z. A new type is one class that says `name`, `nq`, `nv`, `subspace` and
`transform`, in a file of this folder. A type whose q is no plain vector says `integrate` and `difference` too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array
from condyle.model.joints import increments, lie
from condyle.model.joints.increments import Rows
from condyle.model.joints.lie import Moved
from condyle.scalar import Scalar, is_zero, number, total
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.twist import Pair, combined, cross_motion
from condyle.spatial.vector import ZERO, Vector

Column: TypeAlias = tuple[Vector, Vector]

X, Y, Z = vec.IDENTITY_MATRIX
LINEAR: tuple[Column, ...] = ((X, ZERO), (Y, ZERO), (Z, ZERO))
ANGULAR: tuple[Column, ...] = ((ZERO, X), (ZERO, Y), (ZERO, Z))


class JointType(ABC):
    """One kind of joint: how it moves, and what its configurations are.

    Arrays of configurations (..., nq) and of tangent vectors (..., nv) have any leading batch shape.
    """

    name: ClassVar[str]
    """The word a user types."""
    nq: ClassVar[int]
    """Numbers in a configuration."""
    nv: ClassVar[int]
    """Degrees of freedom."""
    axes: ClassVar[int] = 0
    """How many axes the user gives: 0, 1 or 2."""
    has_pitch: ClassVar[bool] = False
    """Whether the user gives a pitch, metres per radian."""
    angles: ClassVar[tuple[int, ...]] = ()
    """The entries of q that are angles [rad]; the others are lengths [m], or a quaternion."""
    has_quaternion: ClassVar[bool] = False
    """Whether the last four entries of q are a unit quaternion (x, y, z, w)."""
    is_periodic: ClassVar[bool] = False
    """Whether a whole turn of its one angle changes nothing."""
    is_free: ClassVar[bool] = False
    """Whether its subspace is all motions, (*LINEAR, *ANGULAR): what a floating base needs."""
    is_bounded: ClassVar[bool] = False
    """Whether a model file is expected to give limits of q."""
    urdf: ClassVar[str | None] = None
    """URDF's word; None where it has none."""
    mjcf: ClassVar[str | None] = None
    """MJCF's word; None where it has none."""
    parts: ClassVar[tuple[JointType, ...]] = ()
    """Types in sequence, an axis each, that an algorithm sees instead, with massless bodies between."""

    @abstractmethod
    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        """For each degree of freedom the constant column of S as (linear, angular), in child axes."""

    def turns(self, pitch: Scalar | float) -> bool:
        """Whether the body changes its orientation."""
        return any(not is_zero(x) for _, angular in self.subspace(pitch) for x in angular)

    @abstractmethod
    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        """Where the child stands in the joint frame."""

    @cached_property
    def is_axial(self) -> bool:
        """Whether every motion is along or about z: the inverse is then the same joint about -z."""
        return not self.parts and all(is_zero(x) for pair in self.subspace(0.0) for part in pair for x in part[:2])

    @property
    def is_flat(self) -> bool:
        """Whether q is a plain vector, q ⊕ dv = q + dv: a run of such joints is one."""
        return type(self).integrate is JointType.integrate

    @cached_property
    def spread(self) -> Array:
        """The half-width of the usual range of each entry of q, rad or m, (nq,)."""
        return np.array([np.pi if k in self.angles else 1.0 for k in range(self.nq)])

    def neutral(self) -> Array:
        """The configuration in which child and joint frame coincide, (nq,)."""
        return np.array([0.0] * (self.nq - 1) + [float(self.has_quaternion)])

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        """q ⊕ dv: q moved by the local tangent vector dv, nq entries."""
        return [a + b for a, b in zip(q, dv, strict=True)]

    @cached_property
    def turning_entries(self) -> tuple[int, ...]:
        """The entries of v that are velocities [m/s] along axes which turn with the child: a step turns them."""
        columns = () if self.is_flat else enumerate(self.subspace(0.0))
        return tuple(k for k, (_, angular) in columns if all(is_zero(x) for x in angular))

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], velocity: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """(q ⊕ shift ⊕ turn, velocity in the axes behind it), nq and nv entries.

        shift and velocity have the entries `turning_entries` alone, turn the others: see `condyle.algorithms.stepping`.
        """
        rows, _ = self.transport(turn)
        after = [total([x * y for x, y in zip(row, velocity, strict=True)]) for row in rows]
        return self.integrate(self.integrate(q, shift), turn), after

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """q1 ⊖ q0: the local tangent vector at q0 that leads to q1, nv entries; inverse of `integrate`."""
        return [b - a for a, b in zip(q0, q1, strict=True)]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> Moved:
        """q ⊕ u without sines and roots of u, by series of so many terms, q being valid. UnsupportedError."""
        if not self.is_flat:
            raise UnsupportedError(f"a {self.name} joint cannot be integrated by series")
        return Moved([a + b for a, b in zip(q, u, strict=True)])

    def integrate_near(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        """q ⊕ dv to second order in dv, by sums and products: what derivatives are taken of."""
        moved = self.integrate_by_series(q, dv, 1)
        return [*moved.q[: self.nq - len(moved.raw)], *moved.raw]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """q1 ⊖ q0 to second order in itself, by sums and products. UnsupportedError."""
        if not self.is_flat:
            raise UnsupportedError(f"a {self.name} joint has no difference of configurations near each other")
        return self.difference(q0, q1)

    def transport(self, dv: Sequence[Scalar]) -> tuple[Rows, Rows]:
        """The derivatives of q ⊕ dv by q and by dv, (nv, nv), each in its local tangent."""
        return (_identity(self.nv), _identity(self.nv)) if self.is_flat else increments.transport(*self._algebra(dv))

    def transport_inverse(self, dv: Sequence[Scalar]) -> Rows:
        """The inverse of the second: the derivative of dv = q1 ⊖ q0 by q1; that by q0 is minus the inverse at -dv."""
        return _identity(self.nv) if self.is_flat else increments.inverse(*self._algebra(dv))

    def _algebra(self, dv: Sequence[Scalar]) -> tuple[Pair, Sequence[Pair]]:
        return self.twist(dv), self.subspace(0.0)

    def twist(self, x: Sequence[Scalar]) -> Pair:
        """S x, (linear, angular)."""
        return combined(x, self.subspace(0.0))

    def bracket(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
        """[x, y] in the joint's Lie algebra, as q ⊕ u = q exp(u) has it; zeros of a flat joint."""
        if self.is_flat:
            return [number(0.0)] * len(x)
        linear, angular = cross_motion(self.twist(x), self.twist(y))
        return [vec.dot(line, linear) + vec.dot(turn, angular) for line, turn in self.subspace(0.0)]

    def adjoint(self, dv: Array) -> Array:
        """ad of dv, (..., nv, nv): [dv, x] = ad x."""
        return np.tensordot(dv, self._brackets, 1)

    @cached_property
    def _brackets(self) -> Array:
        """[e_i, e_k] by i, its entry, and k."""
        units = [[number(x) for x in row] for row in np.eye(self.nv).tolist()]
        return np.transpose(np.array([[self.bracket(x, y) for y in units] for x in units], np.float64), (0, 2, 1))

    def normalize(self, q: Array) -> Array:
        """The valid configuration nearest to q, (..., nq)."""
        if not self.has_quaternion:
            return np.copy(q)
        return np.concatenate((q[..., :-4], lie.unit(q[..., -4:])), axis=-1)

    def defect(self, q: Array) -> Array:
        """How far q is from a valid configuration, (...)."""
        if not self.has_quaternion:
            return np.zeros(q.shape[:-1])
        return np.abs(np.linalg.norm(q[..., -4:], axis=-1) - 1.0)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n configurations, (n, nq): angles in [-π, π], lengths in [-1, 1] m, orientations uniform."""
        plain = self.nq - 4 * self.has_quaternion
        q = rng.uniform(-1.0, 1.0, (n, plain)) * self.spread[:plain]
        return np.concatenate((q, lie.random_quaternions(rng, n)), axis=-1) if self.has_quaternion else q


def _identity(n: int) -> Rows:
    return [[number(float(i == j)) for j in range(n)] for i in range(n)]
