"""Inverse dynamics by sums in world axes, about the links' own origins.

The rotations of the links are a scan over SO(3). Every step of rnea, in world axes, then only adds. With S = (s, z) of
a joint in world axes, r from the parent's origin to the link's, and primes for the parent,

    w  = sum z v
    dw = sum (z a + w' x z v)
    a  = -g + sum (dw' x r + w' x (w' x r) + s a + (2 w' + z v) x s v)

outward, the sums over all links from the root; inward, f = sum f_i and n = sum (n_i + r_child x f_child) over all links
that a link carries. It is not the element of Yang, Wu, Pan (see lie.py), but the same recursion with a tenth of the
operations; a step of each scan is one or two additions of 3-vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

from condyle.algorithms import rnea
from condyle.algorithms.joint import Inertia, Joint, Wrench
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import Motion, at_rest, less_external, newton_euler, spin, torques
from condyle.links.algorithms.links import Links, OfJoints, Rotations, Sums
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Identity, Transform
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Vector

VECTORS = Sums(vec.ZERO)


class Rates(NamedTuple):
    """r from the parent's origin to the link's, and of the joint S v = (slide, turn) and S a = (slide_rate,
    turn_rate)."""

    offset: Vector
    slide: Vector
    turn: Vector
    slide_rate: Vector
    turn_rate: Vector


class Moved(NamedTuple):
    """The motion of every link, in world axes. wp, dwp: of the parent. lift: acceleration of the origin, without -g."""

    axes: Matrix
    rates: Rates
    wp: Vector
    dwp: Vector
    w: Vector
    dw: Vector
    lift: Vector


def inverse_dynamics(links: Links, v: OfJoints, a: OfJoints) -> OfJoints:
    """tau = M(q) a + c(q, v, f_ext)."""
    move = moved(links, v, a)
    force = forces(links, move, motion(links, move))
    return links.answer("tau", _torques, move.axes, force, rotor_rates(links, v, a))


def rotor_rates(links: Links, v: OfJoints, a: OfJoints) -> OfJoints:
    """The factors of armature: see `rnea.rates`."""
    return links.of_joints(rnea.rates, v, a) if links.tree.has_free_rotors else a


def world_axes(links: Links) -> Matrix:
    """The axes of every link in the world (columns)."""
    return links.outward(Rotations(), links.each(axes_of))


def axes_of(joint: Joint) -> Matrix:
    """The axes of a body in those of its parent (columns)."""
    return cast(Matrix, tuple(joint.rotation.into(e) for e in IDENTITY_MATRIX))


def moved(links: Links, v: OfJoints, a: OfJoints) -> Moved:
    """The motion of every link, in world axes."""
    axes = world_axes(links)
    rates = links.all(_world, axes, links.of_parent(axes, IDENTITY_MATRIX), links.each(_rates, v, a))
    w = links.outward(VECTORS, rates.turn)
    wp = links.of_parent(w, vec.ZERO)
    dw = links.outward(VECTORS, links.all(_angular, wp, rates.turn, rates.turn_rate))
    dwp = links.of_parent(dw, vec.ZERO)
    lift = links.outward(VECTORS, links.all(_linear, wp, dwp, rates))
    return Moved(axes, rates, wp, dwp, w, dw, lift)


def motion(links: Links, move: Moved) -> Motion:
    """The motion of every link, in its own axes."""
    rest = at_rest(links.gravity).a
    return links.view(partial(_motion, rest), move.axes, move.w, move.dw, move.lift)


def forces(links: Links, move: Moved, motion: Motion) -> Wrench:
    """The force that every joint transmits, in world axes about its link's origin."""
    own = links.all(_force, links.inertia, move.axes, motion, *outer(links))
    force = links.inward(VECTORS, own.force)
    lever = links.of_children(links.all(vec.cross, move.rates.offset, force))
    return Wrench(force, links.inward(VECTORS, links.all(plus, own.torque, lever)))


def outer(links: Links) -> tuple[Wrench, ...]:
    """External wrenches, if there are any."""
    return () if links.external is None else (links.external,)


def own_force(joint: Joint, motion: Motion, *external: Wrench) -> Wrench:
    """I a + v x* I v - f_ext of one body."""
    own = newton_euler(joint, motion)
    return less_external(joint, own, *external) if external else own


def body(inertia: Inertia) -> Joint:
    """A body without a joint."""
    return Joint(Transform(Identity(), vec.ZERO), (), inertia, True)


def into_own(axes: Matrix, force: Wrench) -> Wrench:
    """World axes to a link's own."""
    return Wrench(vec.transposed_times(axes, force.force), vec.transposed_times(axes, force.torque))


def _rates(joint: Joint, v: Sequence[Scalar], a: Sequence[Scalar]) -> Rates:
    """S v and S a in the link's axes, the origin in its parent's."""
    return Rates(joint.origin, *joint.rate(v), *joint.rate(a))


def _world(axes: Matrix, before: Matrix, rates: Rates) -> Rates:
    return Rates(vec.times(before, rates.offset), *(vec.times(axes, rate) for rate in rates[1:]))


def _angular(wp: Vector, turn: Vector, turn_rate: Vector) -> Vector:
    return vec.add(turn_rate, vec.cross(wp, turn))


def _linear(wp: Vector, dwp: Vector, rates: Rates) -> Vector:
    carried = vec.times(spin(wp, dwp), rates.offset)
    coriolis = vec.cross(vec.add(vec.scale(2.0, wp), rates.turn), rates.slide)
    return vec.add(vec.add(carried, rates.slide_rate), coriolis)


def _motion(rest: Vector, axes: Matrix, w: Vector, dw: Vector, lift: Vector) -> Motion:
    w, dw = vec.transposed_times(axes, w), vec.transposed_times(axes, dw)
    return Motion(w, dw, spin(w, dw), vec.transposed_times(axes, vec.add(lift, rest)))


def _force(inertia: Inertia, axes: Matrix, motion: Motion, *external: Wrench) -> Wrench:
    own = own_force(body(inertia), motion, *external)
    return Wrench(vec.times(axes, own.force), vec.times(axes, own.torque))


def _torques(joint: Joint, axes: Matrix, force: Wrench, rates: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return torques(joint, into_own(axes, force), rates)
