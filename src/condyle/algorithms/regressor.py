"""The regressor of inverse dynamics: tau = Y(q, v, a) pi, linear in the bodies' inertial parameters.

Atkeson, An, Hollerbach 1986. pi of a body is (m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) in its own frame [kg, kg m, kg m²],
with the rotational inertia about the frame's origin. Column k of a body's block is Jᵀ times the force for a unit of
parameter k.

Numbers of the joints may have columns behind: damping d, dry friction f, armature and stiffness k, of which

    tau = Y pi = M a + c + d v + f v / sqrt(v^2 + w^2) + k (q - r)

is linear too. Each column has one entry, in the row of its degree of freedom; where a spring has no meaning, none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms import drives
from condyle.algorithms.jacobians import columns_at, from_parent
from condyle.algorithms.joint import Joint
from condyle.algorithms.kinematics import WORLD, Pose, inside
from condyle.algorithms.rnea import Motion, at_rest, motion, rotor_rates, spin
from condyle.algorithms.sweeps import Field
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import TreeColumns
from condyle.scalar import Scalar, number
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


def joint_column(tree: Unrolled, columns: TreeColumns) -> list[Scalar]:
    """The entries of a number's columns, one for each degree of freedom: what a unit of it adds to tau."""
    unit, q, v = number(1.0), tree.inputs["q"], tree.inputs["v"]
    if columns.name == "damping":
        return [-drives.resistance(unit, None, 0.0, rate).value for rate in v]
    if columns.name == "friction":
        return [-drives.resistance(None, unit, columns.constants[0], rate).value for rate in v]
    if columns.name == "stiffness":
        places = zip(columns.constants, tree.tree.positions, strict=True)
        return [-drives.spring(unit, r, q[at]).value if at >= 0 else drives.NONE for r, at in places]
    entries = [drives.NONE] * tree.nv
    for link, rates in zip(tree.tree.links, tree.each(rotor_rates, tree.input("v"), tree.input("a")), strict=True):
        for coordinate, rate in zip(link.v, rates, strict=True):
            if coordinate.is_independent:
                entries[coordinate.entry] = rate
    return entries


def regressor(tree: Unrolled, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> list[Scalar]:
    """Y, row by row: (nv, 10 n_bodies + n_regressor nv)."""

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
    beside = [joint_column(tree, columns) for columns in tree.tree.regressor]
    rows: list[Scalar] = []
    for k in range(tree.nv):
        rows += [row[k] for matrix in matrices for row in matrix]
        rows += [entries[k] if k == column else drives.NONE for entries in beside for column in range(tree.nv)]
    return rows
