"""The regressor of inverse dynamics: tau = Y(q, v, a) pi, linear in the bodies' inertial parameters.

Atkeson, An, Hollerbach 1986. pi of a body is (m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) in its own frame [kg, kg m, kg m²],
with the rotational inertia about the frame's origin. Column k of a body's block is Jᵀ times the force for a unit of
parameter k. Armature is not among the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.jacobians import columns_at, from_parent
from condyle.algorithms.joint import Joint
from condyle.algorithms.kinematics import WORLD, Pose, inside
from condyle.algorithms.rnea import Motion, at_rest, motion, spin
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Vector

SYMMETRIC = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""The entries of the inertia, in the order of the parameters."""


class Seen(NamedTuple):
    """The pose of a body's frame in an ancestor's, and the force for a unit of each parameter, in the body's frame."""

    pose: Pose
    forces: tuple[Pair, ...]


def unit_forces(w: Vector, dw: Vector, a: Vector) -> tuple[Pair, ...]:
    """The force that a body with a unit of each parameter needs: of w, dw, and acceleration a of its origin minus
    gravity.

    In the body's axes, about its origin: (force, torque).
    """
    U = spin(w, dw)
    first = ((column, vec.cross(e, a)) for column, e in zip(vec.transpose(U), vec.IDENTITY_MATRIX, strict=True))
    turning = ((vec.ZERO, vec.add(m, vec.cross(w, h))) for m, h in zip(_columns(dw), _columns(w), strict=True))
    return (a, vec.ZERO), *first, *turning


def _columns(x: Vector) -> list[Vector]:
    """I x for each rotational inertia I that has one entry of 1, and its mirror image."""
    columns: list[Vector] = []
    for i, j in SYMMETRIC:
        entries = [vec.scale(x[j], vec.IDENTITY_MATRIX[i])] + (
            [vec.scale(x[i], vec.IDENTITY_MATRIX[j])] if i != j else []
        )
        columns.append(vec.add(entries[0], entries[1]) if len(entries) > 1 else entries[0])
    return columns


def regressor(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> list[Scalar]:
    """Y, row by row: (nv, 10 n_bodies)."""

    def start(placement: Transform, motion: Motion) -> Seen:
        into = placement.rotation.into
        of_origin = vec.add(motion.a, vec.times(motion.U, placement.translation))
        return Seen(inside(WORLD, placement), unit_forces(into(motion.w), into(motion.dw), into(of_origin)))

    def meet(joint: Joint, seen: Seen, _: Motion) -> list[tuple[Scalar, ...]]:
        return [tuple(twist.dot(column, force) for force in seen.forces) for column in columns_at(joint, seen.pose)]

    def rise(joint: Joint, seen: Seen, _: Motion) -> Seen:
        return seen._replace(pose=from_parent(joint, seen.pose))

    motions = tree.forward(motion, at_rest(tree.gravity), v, a)
    matrices = tree.body_columns(start, meet, rise, motions)
    return [row[k] for k in range(tree.nv) for matrix in matrices for row in matrix]
