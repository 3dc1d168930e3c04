"""Lower bounds of the pivots D of M = Lᵀ D L, for all configurations.

D_k is the articulated inertia along coordinate k: twice the least kinetic energy at unit rate of k, with earlier
coordinates at rest and later ones free. The energy of the joint's own link is a part of it, and no part is negative. So
D_k is at least the same minimum of the own link alone: 1 over the first entry of A⁻¹, with A = Sᵀ I S + armature over
coordinate k and those after it in its joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.joint import Joint
from condyle.algorithms.unrolled import Unrolled
from condyle.algorithms.values import numbers
from condyle.model.tree import Tree
from condyle.scalar import number
from condyle.trace.lengths import second_moments

Reals = NDArray[np.float64]
NEGATIVE = -1e-12
"""An inertia counts as positive semidefinite if its eigenvalues are above this fraction of its largest entry."""


def pivot_bounds(tree: Tree) -> list[float]:
    """A lower bound for every entry of D; 0 where there is none.

    There is none for trees with shared coordinates, and for joints that carry a link whose inertia is not positive
    semidefinite.
    """
    found = [0.0] * tree.nv
    if tree.has_shared_coordinates:
        return found
    joints = Unrolled(tree, {"q": [number(0.0)] * tree.nq}).joints
    inertias = [_spatial(joint) for joint in joints]
    sound = [bool(np.linalg.eigvalsh(one)[0] >= NEGATIVE * np.abs(one).max()) for one in inertias]
    for i, link in reversed(list(enumerate(tree.links))):
        if link.parent >= 0:
            sound[link.parent] &= sound[i]
    for link, joint, inertia, good in zip(tree.links, joints, inertias, sound, strict=True):
        columns: Reals = np.array([numbers(dof.column) for dof in joint.dofs])
        rotors = np.eye(len(columns)) * numbers(tuple(dof.armature for dof in joint.dofs))
        own: Reals = columns @ inertia @ np.transpose(columns) + rotors
        for k, coordinate in enumerate(link.v if good else ()):
            found[coordinate.entry] = _least(own[k:, k:])
    return found


def _least(energy: Reals) -> float:
    """The minimum of xᵀ A x over x with first entry 1; 0 where A is singular."""
    return float(1.0 / np.linalg.inv(energy)[0, 0]) if np.linalg.eigvalsh(energy)[0] > 0.0 else 0.0


def _spatial(joint: Joint) -> Reals:
    """A link's inertia about its origin, [linear; angular]."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = numbers(joint.inertia)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotational = sum(second_moments(joint.inertia)) * np.eye(3) - second
    return np.block([[mass * np.eye(3), -cross], [cross, rotational]])
