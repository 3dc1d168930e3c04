"""The force of armature: armature a, and for the linear axes of a free joint armature (a + w x v).

Armature is the inertia of a rotor. A degree of freedom k has the kinetic energy 1/2 armature v_k², so armature is on
the diagonal of M. The linear velocity v of a free joint is given in the body's axes, but its rotors are fixed in the
parent's. With one number for all three axes their energy is 1/2 armature |R v|² = 1/2 armature |v|². The force in the
parent's axes is armature d(R v)/dt, and in the body's axes

    armature (a + w x v)

with the joint's own w and v, relative to the parent. For the angular entries, and for all other joints, it is armature
a.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.joint import Joint
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec

FREE = 6
"""Degrees of freedom of a free joint; no other one has as many."""


def has_turning_rotors(joint: Joint) -> bool:
    """Whether it is a free joint with armature along its linear axes, so that w x v enters."""
    return len(joint.dofs) == FREE and not all(is_zero(dof.armature) for dof in joint.dofs[:3])


def rates(joint: Joint, v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The factor of armature for each degree of freedom: a, or a + w x v."""
    if not has_turning_rotors(joint):
        return tuple(a)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(rate + vec.dot(dof.linear, left) for dof, rate in zip(joint.dofs, a, strict=True))


def less_bias(joint: Joint, tau: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """tau minus the rotors' force at a = 0, armature (w x v)."""
    if not has_turning_rotors(joint):
        return tuple(tau)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(force - dof.armature * vec.dot(dof.linear, left) for dof, force in zip(joint.dofs, tau, strict=True))


def by_v(joint: Joint, k: int, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The derivatives of the rotors' part of tau_k, armature (w x v)_k, by the joint's own v."""
    own, (slide, spin) = joint.dofs[k], joint.rate(v)
    turned = (vec.add(vec.cross(dof.angular, slide), vec.cross(spin, dof.linear)) for dof in joint.dofs)
    return tuple(own.armature * vec.dot(own.linear, part) for part in turned)


def all_by_v(joint: Joint, v: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], ...]:
    """The same for all entries of the joint's tau, one row each."""
    if not has_turning_rotors(joint):
        return ((number(0.0),) * len(joint.dofs),) * len(joint.dofs)
    return tuple(by_v(joint, k, v) for k in range(len(joint.dofs)))


def rates_of(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`rates` of every joint."""
    return tree.each(rates, v, a) if tree.free_rotors else a


def left_of(tree: Sweeps, tau: Field[Sequence[Scalar]], v: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`less_bias` of every joint."""
    return tree.each(less_bias, tau, v) if tree.free_rotors else tau
