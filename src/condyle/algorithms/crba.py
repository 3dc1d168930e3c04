"""The mass matrix: the composite-rigid-body algorithm.

Featherstone 2008, section 6.2: M_ij = M_ji = S_jᵀ F_i for every ancestor j of i, and for i itself, where F_i = I_i^c
S_i is transformed from frame to frame towards the root. Armature is added on the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.joint import Inertia, Joint, Wrench, along, rotational
from condyle.algorithms.joint import inertia_to_parent as to_parent
from condyle.algorithms.sweeps import Entry, Field, Matrix, Sweeps
from condyle.scalar import Scalar
from condyle.spatial import vector as vec

SYMMETRIC = (Entry(0, symmetric=True),)


def own_inertia(joint: Joint) -> Inertia:
    return joint.inertia


def inertia_to_parent(joint: Joint, total: Inertia) -> tuple[Inertia, Inertia]:
    """Backward step: I_p^c += Xᵀ I_i^c X."""
    return total, to_parent(joint.transform, total)


def composites(tree: Sweeps) -> Field[Inertia]:
    """I_i^c: the inertia of all bodies that joint i carries, as one rigid body."""
    return tree.backward(inertia_to_parent, tree.each(own_inertia))


def times_motion(inertia: Inertia, linear: vec.Vector, angular: vec.Vector) -> Wrench:
    """I times a motion: force m u + w x h, torque h x u + (rotational inertia) w, with first moment h."""
    force = vec.add(vec.scale(inertia.mass, linear), vec.cross(angular, inertia.first))
    return Wrench(force, vec.add(vec.cross(inertia.first, linear), rotational(inertia.second, angular)))


def unit_force(joint: Joint, k: int, composite: Inertia) -> Wrench:
    """F = I^c S_k: the force for a unit acceleration of dof k."""
    dof = joint.dofs[k]
    return times_motion(composite, dof.linear, dof.angular)


def mass_entries(joint: Joint, force: Wrench, _: Inertia) -> Sequence[Sequence[Scalar]]:
    return [(along(dof, *force),) for dof in joint.dofs]


def force_up(joint: Joint, force: Wrench) -> Wrench:
    """F in the axes and about the origin of the parent: Xᵀ F."""
    return Wrench(*joint.transform.force_to_parent(force))


def rotors(joint: Joint) -> Sequence[Scalar]:
    return tuple(dof.armature for dof in joint.dofs)


def crba(tree: Sweeps) -> Matrix:
    """M(q), both triangles, rotor inertias on the diagonal."""
    (mass,) = tree.pairs(unit_force, mass_entries, force_up, SYMMETRIC, composites(tree))
    tree.add_diagonal(mass, tree.each(rotors))
    return mass
