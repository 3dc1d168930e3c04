"""Forward dynamics: the articulated-body algorithm.

Featherstone 2008, section 7.3; the equations are at the steps. rnea at joint accelerations of zero gives the force p of
each body, with all terms of velocity and gravity. What is left is linear: accelerations start with zero at the root,
and the recursion has no velocity terms. A joint's degrees of freedom are eliminated one at a time, last first, so that
only scalars are inverted (decision 0002). Inertias are stored by their independent entries, which keeps them
symmetric: 10 to 1000 times less error on long chains in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint import Dof, Joint, Wrench, along
from condyle.algorithms.rnea import at_rest, motion, no_acceleration, own_forces
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, number, reciprocal
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.vector import Matrix, Symmetric, Vector


class Articulated(NamedTuple):
    """I^A as blocks: force = linear v + couplingᵀ w, torque = coupling v + angular w, for a motion (v, w)."""

    linear: Symmetric
    coupling: Matrix
    angular: Symmetric


class Elimination(NamedTuple):
    """One degree of freedom, eliminated: U = I^A S, and 1 / D with D = Sᵀ U + armature."""

    U: Wrench
    inverse_D: Scalar


def rigid(joint: Joint) -> Articulated:
    """The inertia of the body alone, as an articulated one."""
    mass, (x, y, z), (xx, xy, xz, yy, yz, zz) = joint.inertia
    none = number(0.0)
    skew = ((none, -z, y), (z, none, -x), (-y, x, none))
    return Articulated((mass, none, none, mass, none, mass), skew, (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))


def apply(inertia: Articulated, motion: twist.Pair) -> Wrench:
    """I^A times a motion."""
    linear, angular = motion
    return Wrench(
        vec.add(vec.symmetric_times(inertia.linear, linear), vec.transposed_times(inertia.coupling, angular)),
        vec.add(vec.times(inertia.coupling, linear), vec.symmetric_times(inertia.angular, angular)),
    )


def eliminate(dof: Dof, inertia: Articulated) -> tuple[Elimination, Articulated]:
    """(U, 1 / D), and I^A - U Uᵀ / D."""
    U = apply(inertia, dof.column)
    inverse_D = reciprocal(along(dof, *U) + dof.armature)
    force, torque = vec.scale(inverse_D, U.force), vec.scale(inverse_D, U.torque)
    left = Articulated(
        _minus_symmetric(inertia.linear, U.force, force),
        _minus_outer(inertia.coupling, torque, U.force),
        _minus_symmetric(inertia.angular, U.torque, torque),
    )
    return Elimination(U, inverse_D), left


def _minus_symmetric(s: Symmetric, a: Vector, b: Vector) -> Symmetric:
    return (
        s[0] - a[0] * b[0],
        s[1] - a[0] * b[1],
        s[2] - a[0] * b[2],
        s[3] - a[1] * b[1],
        s[4] - a[1] * b[2],
        s[5] - a[2] * b[2],
    )


def _minus_outer(m: Matrix, a: Vector, b: Vector) -> Matrix:
    x, y, z = vec.outer(a, b)
    return vec.sub(m[0], x), vec.sub(m[1], y), vec.sub(m[2], z)


def moved(transform: Transform, inertia: Articulated) -> Articulated:
    """Xᵀ I^A X: the same inertia in the parent's axes and about the parent's origin."""
    rotation, origin = transform
    linear = rotation.back_symmetric(inertia.linear)
    coupling = rotation.back_matrix(inertia.coupling)
    angular = rotation.back_symmetric(inertia.angular)
    about = vec.add_matrix(coupling, vec.cross_symmetric(origin, linear))
    new, old = _times_skew(about, origin), _times_skew(coupling, origin)
    xx, xy, xz, yy, yz, zz = angular
    return Articulated(
        linear,
        about,
        (
            xx - new[0][0] - old[0][0],
            xy - new[0][1] - old[1][0],
            xz - new[0][2] - old[2][0],
            yy - new[1][1] - old[1][1],
            yz - new[1][2] - old[2][1],
            zz - new[2][2] - old[2][2],
        ),
    )


def _times_skew(m: Matrix, r: Vector) -> Matrix:
    """m [r]x."""
    return vec.cross(m[0], r), vec.cross(m[1], r), vec.cross(m[2], r)


def articulate(joint: Joint, total: Articulated) -> tuple[tuple[Elimination, ...], Articulated]:
    """Backward step: the joint's eliminations, and Xᵀ (I^A - U Uᵀ / D) X for the parent."""
    eliminations: list[Elimination] = []
    for dof in reversed(joint.dofs):
        elimination, total = eliminate(dof, total)
        eliminations.append(elimination)
    return tuple(reversed(eliminations)), moved(joint.transform, total)


def eliminations(tree: Sweeps) -> Field[tuple[Elimination, ...]]:
    """The eliminations of every joint: all of q that `solve` needs."""
    return tree.backward(articulate, tree.each(rigid))


def load(
    joint: Joint, force: Wrench, eliminated: Sequence[Elimination], tau: Sequence[Scalar]
) -> tuple[tuple[Scalar, ...], Wrench]:
    """Backward step: u = tau - Sᵀ p,  p_p += Xᵀ (p + U u / D). Gives u / D of each degree of freedom."""
    u: list[Scalar] = []
    for dof, elimination, torque in reversed(list(zip(joint.dofs, eliminated, tau, strict=True))):
        left = (torque - along(dof, *force)) * elimination.inverse_D
        u.append(left)
        force = Wrench(*twist.add(force, twist.scale(left, elimination.U)))
    return tuple(reversed(u)), Wrench(*joint.transform.force_to_parent(force))


def accelerate(
    joint: Joint, parent: twist.Pair, u: Sequence[Scalar], eliminated: Sequence[Elimination]
) -> tuple[tuple[Scalar, ...], twist.Pair]:
    """Forward step: a' = X a_p, then `respond`."""
    return respond(joint, joint.transform.motion_to_child(parent), u, eliminated)


def respond(
    joint: Joint, acceleration: twist.Pair, u: Sequence[Scalar], eliminated: Sequence[Elimination]
) -> tuple[tuple[Scalar, ...], twist.Pair]:
    """a_k = u_k / D_k - U_kᵀ a' / D_k, then a' += S_k a_k, for each degree of freedom k in turn. u: u_k / D_k.

    Gives the joint's accelerations a_k, and the body's a'.
    """
    result: list[Scalar] = []
    for dof, left, elimination in zip(joint.dofs, u, eliminated, strict=True):
        a = left - twist.dot(elimination.U, acceleration) * elimination.inverse_D
        result.append(a)
        acceleration = twist.add(acceleration, twist.scale(a, dof.column))
    return tuple(result), acceleration


def solve(
    tree: Sweeps, eliminated: Field[tuple[Elimination, ...]], force: Field[Wrench], tau: Field[Sequence[Scalar]]
) -> Field[Sequence[Scalar]]:
    """M^-1 (tau - sum Jᵀ p): joint accelerations for joint forces tau and body forces -p (`force`)."""
    u = tree.backward(load, force, eliminated, tau)
    return tree.outward(accelerate, twist.ZERO, u, eliminated)


def still_forces(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Field[Wrench]:
    """p of each body: I a + v x* I v - f_ext at joint accelerations of zero, with gravity."""
    return own_forces(tree, tree.forward(motion, at_rest(tree.gravity), v, tree.each(no_acceleration)))
