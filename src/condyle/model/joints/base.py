"""The questions that every joint type answers; the joint frame has the joint's axis as its z."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from condyle.model.array import Array
from condyle.scalar import Scalar, number
from condyle.spatial.rotation import Rotation
from condyle.spatial.vector import ZERO, Vector

Column: TypeAlias = tuple[Vector, Vector]

X: Vector = (number(1.0), number(0.0), number(0.0))
Y: Vector = (number(0.0), number(1.0), number(0.0))
Z: Vector = (number(0.0), number(0.0), number(1.0))
LINEAR: tuple[Column, ...] = ((X, ZERO), (Y, ZERO), (Z, ZERO))
ANGULAR: tuple[Column, ...] = ((ZERO, X), (ZERO, Y), (ZERO, Z))


class JointType(Protocol):
    """One kind of joint: how it moves, and what its configurations are.

    Arrays of configurations (..., nq) and of tangent vectors (..., nv) have any leading batch shape.
    """

    @property
    def name(self) -> str:
        """The word a user types."""
        ...

    @property
    def nq(self) -> int:
        """Numbers in a configuration."""
        ...

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        ...

    @property
    def axes(self) -> int:
        """How many axes the user gives: 0, 1 or 2."""
        ...

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        """For each degree of freedom the constant column of S as (linear, angular), in child axes.

        pitch: metres per radian, of a helical joint only.
        """
        ...

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> tuple[Rotation, Vector]:
        """Rotation of the child in the joint frame, and origin [m] of the child in joint-frame axes."""
        ...

    def neutral(self) -> Array:
        """The configuration in which child and joint frame coincide, (nq,)."""
        ...

    def integrate(self, q: Array, dv: Array) -> Array:
        """q ⊕ dv: q moved by the local tangent vector dv, (..., nq)."""
        ...

    def difference(self, q0: Array, q1: Array) -> Array:
        """q1 ⊖ q0: the local tangent vector at q0 that leads to q1, (..., nv); inverse of `integrate`."""
        ...

    def bracket(self, dv: Array) -> Array:
        """ad of dv in the joint's Lie algebra, (..., nv, nv): [dv, x] = ad x, q ⊕ dv being q exp(dv)."""
        ...

    def normalize(self, q: Array) -> Array:
        """The valid configuration nearest to q, (..., nq)."""
        ...

    def defect(self, q: Array) -> Array:
        """How far q is from a valid configuration, (...)."""
        ...

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n configurations, (n, nq): angles in [-π, π], lengths in [-1, 1] m, orientations uniform."""
        ...


class FlatSpace:
    """The configuration space of a joint whose q is a plain vector: nq = nv, q ⊕ dv = q + dv.

    spread: the half-width of the usual range of each entry of q, rad or m.
    """

    __slots__ = ()
    spread: ClassVar[tuple[float, ...]] = ()

    @property
    def nq(self) -> int:
        return len(self.spread)

    @property
    def nv(self) -> int:
        return len(self.spread)

    def neutral(self) -> Array:
        return np.zeros(self.nq)

    def integrate(self, q: Array, dv: Array) -> Array:
        return q + dv

    def difference(self, q0: Array, q1: Array) -> Array:
        return q1 - q0

    def bracket(self, dv: Array) -> Array:
        return np.zeros((*dv.shape, self.nv))

    def normalize(self, q: Array) -> Array:
        return np.copy(q)

    def defect(self, q: Array) -> Array:
        return np.zeros(q.shape[:-1])

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return rng.uniform(-1.0, 1.0, (n, self.nq)) * np.array(self.spread)


def is_flat(kind: JointType) -> bool:
    """Whether q is a plain vector, q ⊕ dv = q + dv: a run of such joints is one."""
    return getattr(type(kind), "integrate", None) is FlatSpace.integrate
