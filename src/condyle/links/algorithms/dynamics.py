"""Inverse dynamics by sums in world axes, and forward dynamics by three scans.

In the latter, each link's velocity terms are computed about its own origin, with its parent's angular velocity only
(`coasting`). Using the accelerations of the whole tree at joint accelerations of zero instead loses half a digit on
long chains in float32, because these are larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

from condyle.algorithms import aba, rnea
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import NO_BODY, NO_FORCE, Dof, Inertia, Joint, Wrench
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import Motion, at_rest, coasting, less_external, newton_euler, spin, torques, turning
from condyle.links.algorithms.articulated import (
    NO_INERTIA,
    NOTHING,
    Bias,
    Load,
    Segment,
    Segments,
    extended,
    in_front,
    passes,
)
from condyle.links.algorithms.links import Links, Map, OfJoints, Outward, Rotations, Sums, Turning, Turnings
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity, Transform
from condyle.spatial.six import Six
from condyle.spatial.twist import Pair
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Vector

# Universal joints: the link inside is massless and has no element; it forms one element with the link after it.


ZERO = number(0.0)


class Hinge(NamedTuple):
    """The first of the two revolute joints: axes and origin, bias acceleration of its link, torque and armature."""

    axes: Matrix
    origin: Vector
    before: Pair
    tau: Scalar
    armature: Scalar


class Universal:
    """The universal joints of a tree, if it has any."""

    def __init__(self, links: Links) -> None:
        self.links, tree = links, links.tree.links
        self.first = [i.parent if i.parent >= 0 and tree[i.parent].body < 0 else -1 for i in tree]
        second = {first: i for i, first in enumerate(self.first) if first >= 0}
        self.second = [second.get(i, -1) for i in range(len(tree))]
        self.some = bool(second)

    def joined(self, segments: Segment, bias: Bias, tau: OfJoints) -> Segment:
        """One element for both links, stored at the second; the first gets an empty one."""
        if not self.some:
            return segments
        hinges = self.links.each(_hinge, bias, tau)
        segments = self.links.with_partner(self.first, _joined, segments, hinges)
        return self.links.with_partner(self.second, _empty, segments, hinges)

    def parted(self, load: Load, bias: Bias, tau: OfJoints) -> Load:
        """The load that the second link alone passes to the first."""
        if not self.some:
            return load
        return self.links.with_partner(self.second, _handed, load, self.links.each(_second, bias, load, tau))


def _turns(joint: Joint) -> bool:
    """Whether the joint can be one of the two revolute joints of a universal joint."""
    return len(joint.dofs) == 1 and is_zero(joint.dofs[0].linear[2])


def _hinge(joint: Joint, bias: Bias, tau: Sequence[Scalar]) -> Hinge:
    if not _turns(joint):
        return Hinge(IDENTITY_MATRIX, vec.ZERO, twist.ZERO, ZERO, ZERO)
    return Hinge(axes_of(joint), joint.origin, bias.before, tau[0], joint.dofs[0].armature)


def _joined(segment: Segment, hinge: Hinge) -> Segment:
    turn = Dof(vec.ZERO, (ZERO, ZERO, number(1.0)), hinge.armature)
    joint = Joint(Transform(Full(vec.transpose(hinge.axes)), hinge.origin), (turn,), NO_BODY, True)
    return in_front(joint, NO_INERTIA, Bias(hinge.before, NO_FORCE), segment, (hinge.tau,))


def _empty(segment: Segment, hinge: Hinge) -> Segment:
    return NOTHING.segment()


def _second(joint: Joint, bias: Bias, load: Load, tau: Sequence[Scalar]) -> Load:
    if not _turns(joint):
        return NOTHING
    return extended(joint, bias, load.segment(), tau).load


def _handed(load: Load, second: Load) -> Load:
    return second


class Freed(NamedTuple):
    """The eliminations of a joint, and its u / D, once the load behind it is known."""

    eliminated: tuple[Elimination, ...]
    u: tuple[Scalar, ...]


class Loaded(NamedTuple):
    """The velocity terms of every link (bias), and the eliminations of its joint (freed)."""

    bias: Bias
    freed: OfJoints


def forward_dynamics(links: Links, v: OfJoints, tau: OfJoints) -> OfJoints:
    """a = M(q)^-1 (tau - c(q, v, f_ext))."""
    return accelerations(links, loaded(links, v, tau))


def loaded(links: Links, v: OfJoints, tau: OfJoints) -> Loaded:
    """Velocity terms and eliminations of every link, by a scan of rotations and one of articulated elements."""
    left = links.of_joints(rnea.less_bias, tau, v) if links.tree.has_free_rotors else tau
    turnings = links.outward(Turnings(), links.each(_turning, v))
    wp, universal = links.of_parent(turnings.w, vec.ZERO), Universal(links)
    known, alone = links.each(_formed, wp, v, left, *outer(links))
    segments = links.inward(Segments(links.guard), universal.joined(alone, known, left))
    load = universal.parted(links.of_children(segments.load), known, left)
    return Loaded(known, links.of_joints(free, known, load, left))


def accelerations(links: Links, loaded: Loaded) -> OfJoints:
    """a of every joint, by a scan of affine maps of accelerations."""
    falling = (vec.scale(-1.0, links.gravity), vec.ZERO)
    maps = links.outward(Outward(), links.each(_map, loaded.bias, loaded.freed))
    reached = links.all(partial(_reached, six.joined(falling)), maps)
    at = links.of_parent(reached, six.joined(falling))
    return links.answer("a", _accelerate, at, loaded.bias, loaded.freed)


def eliminated(links: Links, loaded: Loaded) -> OfJoints:
    """U and 1 / D of every degree of freedom, for other right-hand sides."""
    return links.of_joints(_eliminated, loaded.freed)


def turned(joint: Joint, before: Turning, v: Sequence[Scalar]) -> Turning:
    """The element of a segment extended by one joint at its tip."""
    into, (_, rate) = joint.rotation.into, joint.rate(v)
    x, y, z = (into(column) for column in vec.transpose(before.axes))
    return Turning(vec.transpose((x, y, z)), vec.add(into(before.w), rate))


def bias(joint: Joint, wp: Vector, v: Sequence[Scalar], *external: Wrench) -> tuple[Vector, Bias]:
    """A link's angular velocity, and its velocity terms. wp: the parent's angular velocity, in the parent's axes."""
    moved = coasting(joint, wp, v)
    return moved.w, Bias((moved.a, moved.dw), own_force(joint, turning(moved.w), *external))


def free(joint: Joint, bias: Bias, load: Load, tau: Sequence[Scalar]) -> Freed:
    """Eliminations and u / D of a joint, given the load behind it."""
    eliminated, _ = aba.articulate(joint, plus(aba.rigid(joint), load.J))
    force = Wrench(*twist.add(bias.force, load.h))
    return Freed(eliminated, aba.load(joint, force, eliminated, tau)[0])


def respond(joint: Joint, parent: Pair, bias: Bias, freed: Freed) -> tuple[tuple[Scalar, ...], Pair]:
    """Accelerations of a joint and of its body, given that of the parent (parent)."""
    return aba.respond(
        joint, twist.add(joint.transform.motion_to_child(parent), bias.before), freed.u, freed.eliminated
    )


def _turning(joint: Joint, v: Sequence[Scalar]) -> Turning:
    return turned(joint, Turnings().identity(), v)


def _formed(
    joint: Joint, wp: Vector, v: Sequence[Scalar], tau: Sequence[Scalar], *external: Wrench
) -> tuple[Bias, Segment]:
    """A link's velocity terms, and its element."""
    _, known = bias(joint, wp, v, *external)
    return known, extended(joint, known, Segments(0.0).identity(), tau)


def _map(joint: Joint, bias: Bias, freed: Freed) -> Map:
    """The map of a joint from its parent's acceleration to its body's."""
    _, b = aba.respond(joint, bias.before, freed.u, freed.eliminated)
    return Map(passes(joint, freed.eliminated), six.joined(b))


def _reached(falling: Six, map: Map) -> Six:
    return map(falling)


def _accelerate(joint: Joint, parent: Six, bias: Bias, freed: Freed) -> tuple[Scalar, ...]:
    return respond(joint, six.halves(parent), bias, freed)[0]


def _eliminated(joint: Joint, freed: Freed) -> tuple[Elimination, ...]:
    return freed.eliminated


# Inverse dynamics by sums in world axes, about the links' own origins.
#
# The rotations of the links are a scan over SO(3). Every step of rnea, in world axes, then only adds. With S = (s, z)
# of a joint in world axes, r from the parent's origin to the link's, and primes for the parent,
#
#     w  = sum z v
#     dw = sum (z a + w' x z v)
#     a  = -g + sum (dw' x r + w' x (w' x r) + s a + (2 w' + z v) x s v)
#
# outward, the sums over all links from the root; inward, f = sum f_i and n = sum (n_i + r_child x f_child) over all
# links that a link carries. It is not the element of Yang, Wu, Pan (see lie.py), but the same recursion with a tenth of
# the operations; a step of each scan is one or two additions of 3-vectors.


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
