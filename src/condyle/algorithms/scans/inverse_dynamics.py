"""Inverse dynamics, the mass matrix and the derivatives of inverse dynamics by scans.

Matrices have no recursion at all behind the sums: every entry is a product of two 6-vectors at a link and at one of its
ancestors, brought to the same place by the pair's own rotation and offset.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms import crba, rotors
from condyle.algorithms import rnea_derivatives as closed
from condyle.algorithms.joint import Dof, Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench, torques
from condyle.algorithms.scans import along, lie, motions
from condyle.algorithms.scans.links import Dofs, Links
from condyle.algorithms.scans.motions import World
from condyle.algorithms.scans.scan import Array, Index, Scan, array, taken
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes, Full
from condyle.spatial.transform import Transform
from condyle.spatial.twist import Pair


def by_sums(links: Links, v: Scalar, a: Scalar) -> Scalar:
    """tau by the sums of motions.py, (nv, columns, states)."""
    place = motions.world(links)
    motion = motions.states(links, place, v, a).motion
    total = motions.total_forces(links, place, motions.own_forces(links, motion))
    return links.each_dof(torques, total, Dofs(rotor_rates(links, v, a)))


def rotor_rates(links: Links, v: Scalar, a: Scalar) -> Scalar:
    """What armature multiplies, of every degree of freedom."""
    return links.each_dof(rotors.rates, Dofs(v), Dofs(a)) if links.tree.has_free_rotors else a


def unit_responses(links: Links) -> Scalar:
    """tau of every unit acceleration from rest, without gravity and outer forces: M, (nv, nv, states)."""
    nv = links.tree.nv
    return by_sums(links.weightless(), links.still, number(np.eye(nv, dtype=links.dtype)[:, :, None]))


def by_lie_group(links: Links, v: Scalar, a: Scalar) -> Scalar:
    """tau by the paper's element: one scan of motions outward, one of forces inward."""
    pose = Transform(Axes(vec.transpose(links.turn)), links.origin)
    own = lie.Moved(pose, links.each(Joint.rate, Dofs(a)), links.each(Joint.rate, Dofs(v)))
    own = links.filled(own, links.n)
    moved = along.outward(links.levels, cast("Scan[lie.Moved]", links.scan), lie.Motions(), own)
    down = (vec.scale(-1.0, links.gravity), vec.ZERO)
    acceleration = twist.add(moved.pose.motion_to_child(down), moved.acceleration)
    needed = links.each(_force, moved.velocity, acceleration)
    if links.f_ext is not None:
        needed = twist.add(needed, twist.scale(number(-1.0), links.f_ext))
    total = _gathered(links, pose, Wrench(*needed))
    return links.each_dof(torques, total, Dofs(rotor_rates(links, v, a)))


def _force(joint: Joint, velocity: Pair, acceleration: Pair) -> Pair:
    """I a + v x* I v, spatial accelerations."""
    momentum = crba.times_motion(joint.inertia, *velocity)
    return twist.add(crba.times_motion(joint.inertia, *acceleration), twist.cross_force(velocity, momentum))


def _gathered(links: Links, pose: Transform, own: Wrench) -> Wrench:
    """The force through every joint: its own link's, and those that its children hand over."""
    zeros = links.filled(NO_FORCE, links.n)

    def form(index: Index, received: Wrench) -> lie.Loaded:
        here, force = taken((pose, own), index)
        return lie.Loaded(here, Wrench(*here.force_to_parent(twist.add(force, received))))

    def handed(product: lie.Loaded) -> Wrench:
        return product.force

    scan = cast("Scan[lie.Loaded]", links.scan)
    product, _ = along.inward(links.levels, scan, lie.Forces(), form, handed, zeros)
    return Wrench(*twist.add(own, links.to_parent(product.force)))


class Pairs(NamedTuple):
    """Degrees of freedom (row, column) of which the column's joint is an ancestor of the row's, or the same."""

    row: Index
    column: Index
    own: NDArray[np.bool_]


def pairs(links: Links) -> Pairs:
    """All of them, row after row."""
    ancestors: list[list[int]] = []
    rows: list[int] = []
    columns: list[int] = []
    for i, link in enumerate(links.tree.links):
        ancestors.append([*(ancestors[link.parent] if link.parent >= 0 else []), *(c.at for c in link.v)])
        for c in link.v:
            rows += [c.at] * len(ancestors[i])
            columns += ancestors[i]
    row, column = np.array(rows, np.int64), np.array(columns, np.int64)
    return Pairs(row, column, links.link_of_dof[row] == links.link_of_dof[column])


def one_triangle(of: Pairs) -> Pairs:
    """Of a joint's own pairs those on and below the diagonal only."""
    kept = ~of.own | (of.column <= of.row)
    return Pairs(of.row[kept], of.column[kept], of.own[kept])


def pair_joints(links: Links, place: World, of: Pairs) -> Joint:
    """For every pair a joint from the column's frame to the row's: it carries a force there in one step."""
    i, j = links.link_of_dof[of.row], links.link_of_dof[of.column]
    rooted = (links.parents >= 0)[:, None, None]  # places count from the tree's own root: nothing cancels far away
    x, y, z = (number(np.where(rooted, array(part), 0.0)) for part in place.offset)
    at = links.root_sums((x, y, z))
    axes_i, axes_j = taken(place.axes, i), taken(place.axes, j)
    columns = vec.transpose(axes_j)
    into = tuple(vec.times(columns, row) for row in vec.transpose(axes_i))
    origin = vec.transposed_times(axes_j, vec.sub(taken(at, i), taken(at, j)))
    return Joint(Transform(Full((into[0], into[1], into[2])), origin), (), taken(links.inertia, i), False)


def mass_matrix(links: Links) -> Array:
    """M, (nv, nv, states)."""
    place, of = motions.world(links), one_triangle(pairs(links))
    joint = links.joint_of_dof()
    starts = crba.unit_force(joint, 0, taken(motions.composites(links, place), links.link_of_dof))
    carried = crba.force_up(pair_joints(links, place, of), taken(starts, of.row))
    value = _single(links, of.column, carried)
    result = np.zeros((links.tree.nv, links.tree.nv, value.shape[-1]), links.dtype)
    result[of.row, of.column] = result[of.column, of.row] = value[:, 0]
    diagonal = np.arange(links.tree.nv)
    result[diagonal, diagonal] += array(links.armature)[:, 0]
    return result


def _single(links: Links, column: Index, force: Wrench) -> Array:
    (linear, angular), armature = taken((links.subspace, links.armature), column)
    first = Transform(Full(taken(links.turn, slice(0, 1))), vec.ZERO)
    joint = Joint(first, (Dof(linear, angular, armature),), links.inertia, False)
    ((value,),) = crba.mass_entries(joint, force, links.inertia)
    return array(value)


def derivatives(links: Links, v: Scalar, a: Scalar) -> tuple[Array, Array]:
    """(d tau / d q, d tau / d v), each (nv, nv, states)."""
    place, of = motions.world(links), pairs(links)
    state = motions.states(links, place, v, a)
    columns = links.each_dof(closed.columns, state)
    total = motions.total_forces(links, place, motions.own_forces(links, state.motion))
    momentum = motions.momenta(links, place, links.each(closed.own_momentum, state))
    composite = motions.composites(links, place)
    at = links.link_of_dof
    start = closed.start(links.joint_of_dof(), 0, (columns,), *taken((composite, momentum, total), at))
    carried = closed.rise(pair_joints(links, place, of), taken(start, of.row))
    (linear, angular), armature = taken((links.subspace, links.armature), of.column)
    ancestor = Joint(Transform(Full(links.turn), vec.ZERO), (Dof(linear, angular, armature),), links.inertia, False)
    (values,) = closed.meet(ancestor, carried, (taken(columns, of.column),))
    n = array(values[0]).shape[-1]
    result = [np.zeros((links.tree.nv, links.tree.nv, n), links.dtype) for _ in range(2)]
    for entry, value in zip(closed.ENTRIES, values, strict=True):
        part = array(value)[:, 0]
        if entry.transposed:
            far = ~of.own
            result[entry.matrix][of.column[far], of.row[far]] = part[far]
        else:
            result[entry.matrix][of.row, of.column] = part
    if links.tree.has_free_rotors:
        _add_rotors(links, v, result[1])
    return result[0], result[1]


def _add_rotors(links: Links, v: Scalar, by_v: Array) -> None:
    """What armature of free joints adds to the derivatives by v."""
    for kind, rows in links.kinds:
        joint, first = links.joint(kind, rows), links.first_dof[rows]
        own = tuple(taken(v, first + k) for k in range(kind.nv))
        for k in range(kind.nv if rotors.turn(joint) else 0):
            for l, value in enumerate(rotors.by_v(joint, k, own)):
                by_v[first + k, first + l] += links.filled(array(value), len(rows))[:, 0]
