"""One joint and the body that it carries, as the steps of the algorithms see them.

Frames: body i's frame has its origin at the joint and, for joints with an axis, z along that axis.
`transform` is the placement of this frame in the parent's frame at the given q. Units: m, rad, kg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Rotation
from condyle.spatial.transform import Transform
from condyle.spatial.vector import Symmetric, Vector


@dataclass(frozen=True, slots=True)
class Dof:
    """One column of the motion subspace S_i, constant in the body's frame, with its rotor inertia."""

    linear: Vector
    angular: Vector
    armature: Scalar

    @property
    def column(self) -> tuple[Vector, Vector]:
        """(linear, angular)."""
        return self.linear, self.angular


class Inertia(NamedTuple):
    """Mass, first moment m c and second moment sum m r rᵀ of a body about its frame's origin.

    The rotational inertia is tr(second) 1 - second.
    """

    mass: Scalar
    first: Vector
    second: Symmetric


NO_BODY = Inertia(number(0.0), vec.ZERO, vec.ZERO_SYMMETRIC)


@dataclass(frozen=True, slots=True)
class Joint:
    """Joint i at the given q, and the inertia of body i."""

    transform: Transform
    dofs: tuple[Dof, ...]
    inertia: Inertia
    axial: bool
    """All motions are along or about z, or none is a rotation. U (see `rnea.spin`) times a column of S is then the same
    for the U of the body and for that of its parent."""

    def rate(self, x: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """S x as (linear, angular), x having one number for each degree of freedom."""
        return twist.combined(x, [dof.column for dof in self.dofs])

    @property
    def rotation(self) -> Rotation:
        """Parent axes to body axes."""
        return self.transform.rotation

    @property
    def origin(self) -> Vector:
        """The body's origin relative to the parent's, in the parent's axes."""
        return self.transform.translation


def along(dof: Dof, force: Vector, torque: Vector) -> Scalar:
    """S_kᵀ f: the generalised force of a spatial force."""
    return vec.dot(dof.angular, torque) + vec.dot(dof.linear, force)


def rotational(second: Symmetric, w: Vector) -> Vector:
    """(tr(second) 1 - second) w: rotational inertia times w."""
    xx, xy, xz, yy, yz, zz = second
    x, y, z = w
    return (yy + zz) * x - xy * y - xz * z, (xx + zz) * y - xy * x - yz * z, (xx + yy) * z - xz * x - yz * y


def inertia_to_parent(transform: Transform, inertia: Inertia) -> Inertia:
    """Xᵀ I X: the inertia in the parent's axes and about the parent's origin."""
    rotation, origin = transform
    first = rotation.back(inertia.first)
    second = vec.add_symmetric(rotation.back_symmetric(inertia.second), vec.outer_symmetric(first, origin))
    x, y, z = origin
    mx, my, mz = vec.scale(inertia.mass, origin)
    return Inertia(
        inertia.mass,
        vec.add(first, (mx, my, mz)),
        vec.add_symmetric(second, (mx * x, mx * y, mx * z, my * y, my * z, mz * z)),
    )
