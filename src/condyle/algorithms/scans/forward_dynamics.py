"""Forward dynamics by scans: completely, with a serial part, and through the mass matrix.

| method | articulated inertias | bias forces | accelerations |
|---|---|---|---|
| `completely` | scan of the 90-number element, which gives both | | affine scan |
| `hybrid` (ABIA of Yang, Wu, Pan 2017) | link by link | affine scan | affine scan |
| `through_mass_matrix` (their JSIIA) | n + 1 inverse dynamics, all side by side, and a solve | | |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from condyle.algorithms import aba, rotors
from condyle.algorithms.aba import Articulated, Elimination
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench, coasting, turning
from condyle.algorithms.scans import inverse_dynamics, motions
from condyle.algorithms.scans.affine import Inward, Map, Outward
from condyle.algorithms.scans.along import inward, outward
from condyle.algorithms.scans.articulated import NO_INERTIA, Bias, Load, Segment, Segments, extended, passes, single
from condyle.algorithms.scans.links import Dofs, Links
from condyle.algorithms.scans.scan import Array, Index, Scan, array, stored, taken, zeros_like
from condyle.algorithms.unrolled import Unrolled
from condyle.algorithms.values import flat, plus, refilled
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Vector

GUARD = 2.0
"""Roundings that Segments adds to the diagonal of a compliance before it is factored: at a half a pivot may be zero,
and each costs a few more in the answer."""


def bias(links: Links, v: Scalar) -> Bias:
    """Bias of every link."""
    place = motions.world(links)
    w, wp = motions.angular_velocities(links, motions.rates(links, place, v))
    before = links.each(_before, vec.transposed_times(links.of_parent(place.axes, vec.ONE), wp), Dofs(v))
    w = place.into(w)
    return Bias(before, motions.own_forces(links, turning(w)))


def _before(joint: Joint, wp: Vector, v: Sequence[Scalar]) -> Pair:
    moved = coasting(joint, wp, v)
    return moved.a, moved.dw


def completely(links: Links, v: Scalar, tau: Scalar) -> Scalar:
    """Accelerations (nv, columns, states): one scan of elements, one of affine maps."""
    return with_eliminations(links, v, tau)[0]


def with_eliminations(links: Links, v: Scalar, tau: Scalar) -> tuple[Scalar, Elimination]:
    """The same, and what other right-hand sides need."""
    known = bias(links, v)
    tau = _left(links, v, tau)
    load = articulated(links, known, tau)
    eliminated = eliminations(links, load)
    u = links.each_dof(_u, load.h, Dofs(eliminated), Dofs(tau))
    return accelerations(links, eliminated, u, known.before), eliminated


def _left(links: Links, v: Scalar, tau: Scalar) -> Scalar:
    """tau less what the rotors of free joints take of it."""
    return links.each_dof(rotors.less_bias, Dofs(tau), Dofs(v)) if links.tree.has_free_rotors else tau


def eliminations(links: Links, load: Load) -> Elimination:
    """U and 1 / D of every degree of freedom."""
    return links.each_dof(_eliminated, load.J)


def articulated(links: Links, known: Bias, tau: Scalar) -> Load:
    """I^A and p^A of every link, by one scan of elements towards the base."""
    own = Load(known.force, links.each(aba.rigid))
    zeros = links.filled(Load(NO_FORCE, NO_INERTIA), links.n)
    semigroup = Segments(GUARD * float(np.finfo(links.dtype).eps))
    halves = _second_halves(links)
    alone: list[tuple[Index, Segment]] = []

    def form(index: Index, received: Load) -> Segment:
        def step(joint: Joint, load: Load, before: Pair, torque: Sequence[Scalar]) -> Segment:
            return single(joint, load.J, load.h, before, torque)

        load = plus(taken(own, index), received)
        elements = links.each(step, load, taken(known.before, index), Dofs(tau), links=index)
        # the link inside a universal joint has no inertia of its own: it makes one element with the link behind it
        second = np.flatnonzero(np.isin(index, halves) & np.isin(links.parents[index], index))
        if not second.size:
            return elements
        alone.append((index[second], taken(elements, second)))
        first = second + 1  # rows run from the tip to the base
        joint = links.joint(links.tree.links[int(index[first[0]])].kind, index[first])
        torque = (taken(tau, links.first_dof[index[first]]),)
        here, ahead = taken((load, taken(known.before, index)), first)
        fused = extended(joint, taken(elements, second), here.J, here.h, ahead, torque)
        elements = stored(elements, first, links.filled(fused, len(first)))
        return stored(elements, second, links.filled(semigroup.identity(), len(second)))

    scan = cast("Scan[Segment]", links.scan)
    product, _ = inward(links.levels, scan, semigroup, form, lambda product: product.load, zeros)
    load = product.load
    for index, element in alone:
        load = stored(load, index, semigroup.combine(element, taken(product, index)).load)
    return plus(own, links.to_parent(load))


def _second_halves(links: Links) -> Index:
    """Links whose parent is the massless link inside their universal joint."""
    tree = links.tree.links
    return np.array([i for i, link in enumerate(tree) if link.parent >= 0 and tree[link.parent].body < 0], np.int64)


def _eliminated(joint: Joint, total: Articulated) -> Sequence[Elimination]:
    return aba.articulate(joint, total)[0]


def _u(joint: Joint, force: Wrench, eliminated: Sequence[Elimination], tau: Sequence[Scalar]) -> Sequence[Scalar]:
    return aba.load(joint, force, eliminated, tau)[0]


def _up(joint: Joint, force: Wrench, eliminated: Sequence[Elimination], tau: Sequence[Scalar]) -> Wrench:
    return aba.load(joint, force, eliminated, tau)[1]


def accelerations(links: Links, eliminated: Elimination, u: Scalar, before: Pair | None) -> Scalar:
    """Joint accelerations, by one affine scan towards the tips; without `before`, of a tree at rest without gravity."""

    def own(joint: Joint, at: Pair, left: Sequence[Scalar], parts: Sequence[Elimination]) -> Pair:
        return aba.respond(joint, at, left, parts)[1]

    def step(
        joint: Joint, parent: Pair, at: Pair, left: Sequence[Scalar], parts: Sequence[Elimination]
    ) -> Sequence[Scalar]:
        return aba.respond(joint, twist.add(aba.carry(joint, parent), at), left, parts)[0]

    ahead = links.filled(twist.ZERO, links.n) if before is None else before
    b = links.each(own, ahead, Dofs(u), Dofs(eliminated))
    maps = Map(links.each(passes, Dofs(eliminated)), six.joined(b))
    reached = outward(links.levels, cast("Scan[Map]", links.scan), Outward(), maps)
    falling = twist.ZERO if before is None else (vec.scale(-1.0, links.gravity), vec.ZERO)
    a = six.halves(reached(six.joined(falling)))
    return links.each_dof(step, links.of_parent(a, falling), ahead, Dofs(u), Dofs(eliminated))


def loads(links: Links, eliminated: Elimination, force: Wrench, tau: Scalar) -> Scalar:
    """u = (tau - Sᵀ p^A) / D of every degree of freedom, by one affine scan towards the base."""
    across = six.transpose(links.each(passes, Dofs(eliminated)))
    wide = _like_columns(force, tau)
    zeros = zeros_like(wide)

    def form(index: Index, received: Wrench) -> Map:
        here = twist.add(taken(wide, index), received)
        up = links.each(_up, here, Dofs(eliminated), Dofs(tau), links=index)
        return Map(taken(across, index), six.joined(up))

    def handed(product: Map) -> Wrench:
        return Wrench(*six.halves(product.b))

    product, _ = inward(links.levels, cast("Scan[Map]", links.scan), Inward(), form, handed, zeros)
    total = twist.add(wide, links.to_parent(handed(product)))
    return links.each_dof(_u, Wrench(*total), Dofs(eliminated), Dofs(tau))


def _like_columns(force: Wrench, tau: Scalar) -> Wrench:
    """The forces, repeated for every column of tau."""
    columns, n = array(tau).shape[1:]
    arrays = [array(x) for x in flat(force)]
    return refilled(force, [number(np.broadcast_to(x, (len(x), columns, max(n, x.shape[2])))) for x in arrays])


def solve(links: Links, eliminated: Elimination, force: Wrench, tau: Scalar) -> Scalar:
    """Joint accelerations under joint forces tau and body forces -p, by two affine scans."""
    return accelerations(links, eliminated, loads(links, eliminated, force, tau), None)


def hybrid(links: Links, q: Array, v: Scalar, tau: Scalar) -> Scalar:
    """Articulated inertias link by link, the rest by affine scans."""
    place = motions.world(links)
    force = motions.own_forces(links, motions.states(links, place, v, links.still).motion)
    return solve(links, serial_eliminations(links, q), force, _left(links, v, tau))


def serial_eliminations(links: Links, q: Array) -> Elimination:
    """What the reference computes link by link, for every degree of freedom."""
    columns = [number(q[:, k]) for k in range(q.shape[1])]
    found = aba.eliminations(Unrolled(links.tree, {"q": columns}))
    order: list[int] = np.argsort(links.first_dof).tolist()
    of_dofs = [one for i in order for one in found[i]]
    scalars: list[Scalar] = []
    for entries in zip(*(flat(one) for one in of_dofs), strict=True):
        rows = [np.broadcast_to(np.asarray(array(x), links.dtype), len(q)) for x in entries]
        scalars.append(number(np.stack(rows)[:, None, :]))
    return refilled(of_dofs[0], scalars)


def through_mass_matrix(links: Links, v: Scalar, tau: Scalar) -> Scalar:
    """M a = tau - c; column j of M is inverse dynamics of the j-th unit acceleration, without velocity and gravity."""
    c = inverse_dynamics.by_sums(links, v, links.still)
    left = np.moveaxis(array(inverse_dynamics.unit_responses(links)), 2, 0)
    right = np.moveaxis(array(tau - c), 2, 0)
    return number(np.moveaxis(np.linalg.solve(left, right), 0, 2))
