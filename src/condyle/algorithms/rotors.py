"""What armature does beside standing on M's diagonal: where the axes that it acts along turn with the body.

Armature is a rotor's inertia, its kinetic energy 1/2 armature v_k² of each degree of freedom. A free joint's linear
velocity v is measured along the body's axes, but its rotors stand in the parent's: there the same number for all three
has the energy 1/2 armature |R v|², so M stays constant and the force is

    armature d(R v)/dt, in the body's axes armature (a + w x v)

with the joint's own w and v, relative to the parent. Angular entries, and all of other joints, are armature a.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.joint import Joint
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec

FREE = 6
"""Degrees of freedom of a free joint; no other one has as many."""


def turn(joint: Joint) -> bool:
    """Whether the joint has rotors that its own axes turn against."""
    return len(joint.dofs) == FREE and not all(is_zero(dof.armature) for dof in joint.dofs[:3])


def rates(joint: Joint, v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """What armature multiplies, of each degree of freedom: a, or a + w x v."""
    if not turn(joint):
        return tuple(a)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(rate + vec.dot(dof.linear, left) for dof, rate in zip(joint.dofs, a, strict=True))


def less_bias(joint: Joint, tau: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """tau less what the rotors take of it at a = 0."""
    if not turn(joint):
        return tuple(tau)
    slide, spin = joint.rate(v)
    left = vec.cross(spin, slide)
    return tuple(force - dof.armature * vec.dot(dof.linear, left) for dof, force in zip(joint.dofs, tau, strict=True))


def by_v(joint: Joint, k: int, v: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The derivatives of the rotors' part of tau_k by the joint's own v."""
    own, (slide, spin) = joint.dofs[k], joint.rate(v)
    turned = (vec.add(vec.cross(dof.angular, slide), vec.cross(spin, dof.linear)) for dof in joint.dofs)
    return tuple(own.armature * vec.dot(own.linear, part) for part in turned)


def all_by_v(joint: Joint, v: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], ...]:
    """The same of all of the joint's forces."""
    if not turn(joint):
        return ((number(0.0),) * len(joint.dofs),) * len(joint.dofs)
    return tuple(by_v(joint, k, v) for k in range(len(joint.dofs)))


def rates_of(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`rates` of every joint."""
    return tree.each(rates, v, a) if tree.free_rotors else a


def left_of(tree: Sweeps, tau: Field[Sequence[Scalar]], v: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
    """`less_bias` of every joint."""
    return tree.each(less_bias, tau, v) if tree.free_rotors else tau
