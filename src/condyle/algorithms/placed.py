"""A joint and its body from the model's numbers, and the external wrench on it."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers
from condyle.scalar import Scalar, is_zero
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity, Rotation, from_two_turns
from condyle.spatial.transform import Transform


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
