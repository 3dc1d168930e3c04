"""One joint and the body that it carries, as the steps of the algorithms see them.

Frames: body i's frame has its origin at the joint and, for joints with an axis, z along that axis.
`transform` is the placement of this frame in the parent's frame at the given q. Units: m, rad, kg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity, Rotation, Transform, from_two_turns
from condyle.spatial.vector import Symmetric, Vector


class Wrench(NamedTuple):
    """A force and a torque about the body's origin, in the body's axes."""

    force: Vector
    torque: Vector


NO_FORCE = Wrench(vec.ZERO, vec.ZERO)


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


# A joint and its body from the model's numbers, and the external wrench on it.


def joint_at(kind: JointType, numbers: Numbers, q: Sequence[Scalar]) -> Joint:
    """Joint and body, as steps take them, at coordinates q of the joint."""
    return joint_placed(kind, numbers, placement(numbers.rotation), q)


def joint_placed(kind: JointType, numbers: Numbers, placed: Rotation, q: Sequence[Scalar]) -> Joint:
    """The same with the rotation of the joint's placement given, in place of that in `numbers`."""
    transform = Transform(placed, numbers.origin).compose(kind.transform(q, numbers.pitch))
    subspace = kind.subspace(numbers.pitch)
    dofs = tuple(Dof(*column, armature) for column, armature in zip(subspace, numbers.armature, strict=True))
    return Joint(transform, dofs, Inertia(numbers.mass, numbers.first, numbers.second), is_axial(dofs))


def placement(rows: vec.Matrix) -> Rotation:
    """A constant rotation: as two rotations about x and z where they take fewer multiplications than the matrix."""
    if rows == vec.IDENTITY_MATRIX:
        return Identity()
    tilts = not any(isinstance(x, float) and x in (0.0, 1.0, -1.0) for x in rows[2][1:])
    return from_two_turns(rows) if is_zero(rows[2][0]) and tilts else Full(rows)


def is_axial(dofs: Sequence[Dof]) -> bool:
    """Whether all columns of S are along or about z, or none of them rotates; see `Joint.axial`."""
    turns = any(not is_zero(part) for dof in dofs for part in dof.angular)
    off_axis = any(not is_zero(part) for dof in dofs for part in (*dof.linear[:2], *dof.angular[:2]))
    return not turns or not off_axis


def external_wrench(link: Link, frame: Transform, f_ext: Sequence[Scalar]) -> Wrench:
    """The external wrench on a link, in its axes about its origin. frame: placed in the link, what f_ext is given
    in."""
    if link.body < 0:
        return NO_FORCE
    return wrench_on(frame, f_ext[6 * link.body : 6 * link.body + 6])


def wrench_on(frame: Transform, part: Sequence[Scalar]) -> Wrench:
    """[force; torque], given in this frame, in the axes and about the origin of its parent."""
    return Wrench(*frame.force_to_parent((vec.three(part), vec.three(part, 3))))


def inertia_of(parameters: Sequence[Scalar]) -> Inertia:
    """The inertia of m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz: see `condyle.specification.ports.INERTIAS`."""
    mass, x, y, z, xx, xy, yy, xz, yz, zz = parameters
    half = 0.5 * (xx + yy + zz)
    return Inertia(mass, (x, y, z), (half - xx, -xy, -xz, half - yy, -yz, half - zz))
