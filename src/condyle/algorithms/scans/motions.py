"""Motions and forces of all links as sums, in world axes about the links' own origins.

The rotations R of the links are a scan over SO(3). Then every step of rnea, turned into world axes, only adds: with z
the joint's turning and r the origin of a link seen from its parent's, primes for the parent's,

    w = sum z v,   dw = sum (z a + w' x z v),   a = -g + sum (dw' x r + w' x (w' x r) + slide a + (2 w' + z v) x slide
    v)

and towards the base f and n + r x f of the children. Not the element of Yang, Wu, Pan (see lie.py), but the same
recursion with a tenth of the operations, and each of its scans is as long as two additions of 3-vectors.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from condyle.algorithms.joint import Inertia, Joint
from condyle.algorithms.rnea import Motion, Wrench, at_rest, less_external, newton_euler, spin
from condyle.algorithms.rnea_derivatives import Before, Momentum, State
from condyle.algorithms.scans import along
from condyle.algorithms.scans.links import Dofs, Links
from condyle.algorithms.scans.scan import Scan
from condyle.algorithms.scans.turns import Turns
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.vector import Matrix, Symmetric, Vector


class World(NamedTuple):
    """Axes of every link in the world (columns), and its origin seen from its parent's, in world axes."""

    axes: Matrix
    offset: Vector

    def out(self, v: Vector) -> Vector:
        """From link axes to world axes."""
        return vec.times(self.axes, v)

    def into(self, v: Vector) -> Vector:
        """From world axes to link axes."""
        return vec.transposed_times(self.axes, v)


def world(links: Links) -> World:
    """All rotations, by one scan."""
    steps = vec.transpose(links.turn)
    axes = along.outward(links.levels, cast("Scan[Matrix]", links.scan), Turns(), steps)
    parents = links.of_parent(axes, Turns().identity())
    return World(axes, vec.times(parents, links.origin))


class Rates(NamedTuple):
    """S v of every link in world axes."""

    slide: Vector
    turn: Vector


def rates(links: Links, place: World, v: Scalar) -> Rates:
    """Of the rates v (nv, columns, states)."""
    slide, turn = links.each(Joint.rate, Dofs(v))
    return Rates(place.out(slide), place.out(turn))


def angular_velocities(links: Links, rate: Rates) -> tuple[Vector, Vector]:
    """w of every link, and of its parent."""
    w = links.root_sums(rate.turn)
    return w, links.of_parent(w, vec.ZERO)


def states(links: Links, place: World, v: Scalar, a: Scalar) -> State:
    """What `rnea_derivatives.state` says of every link, in link axes."""
    rate, drive = rates(links, place, v), rates(links, place, a)
    w, wp = angular_velocities(links, rate)
    dw = links.root_sums(vec.add(drive.turn, vec.cross(wp, rate.turn)))
    dwp = links.of_parent(dw, vec.ZERO)
    carried = vec.times(spin(wp, dwp), place.offset)
    coriolis = vec.cross(vec.add(vec.scale(2.0, wp), rate.turn), rate.slide)
    sums = links.root_sums(vec.add(vec.add(carried, drive.slide), coriolis))
    rest = at_rest(links.gravity).a
    up = vec.add(links.of_parent(sums, vec.ZERO), rest)
    u_carried = vec.cross(wp, place.offset)
    u = links.root_sums(vec.add(u_carried, rate.slide))
    before = Before(wp, vec.add(links.of_parent(u, vec.ZERO), u_carried), dwp, vec.add(up, carried))
    into = place.into
    w, dw, u = into(w), into(dw), into(u)
    turned = Before(into(before.w), into(before.u), into(before.dw), into(before.a))
    return State(Motion(w, dw, spin(w, dw), into(vec.add(sums, rest))), u, turned)


def own_forces(links: Links, motion: Motion) -> Wrench:
    """What every body needs of force, less what it gets from outside."""
    force = links.each(newton_euler, motion)
    return force if links.f_ext is None else links.each(less_external, force, links.f_ext)


def total_forces(links: Links, place: World, own: Wrench) -> Wrench:
    """The force through every joint, in link axes: what all links behind it need."""
    force = links.subtree_sums(place.out(own.force))
    lever = links.to_parent(vec.cross(place.offset, force))
    torque = links.subtree_sums(vec.add(place.out(own.torque), lever))
    return Wrench(place.into(force), place.into(torque))


def composites(links: Links, place: World) -> Inertia:
    """The inertia of all that each joint carries, in link axes."""
    turned, r = Full(vec.transpose(place.axes)), place.offset
    mass, first, second = links.inertia
    (mass,) = links.subtree_sums((mass,))
    first = links.subtree_sums(vec.add(turned.back(first), links.to_parent(vec.scale(mass, r))))
    lever = links.to_parent(second_lever(mass, first, r))
    second = links.subtree_sums(vec.add_symmetric(turned.back_symmetric(second), lever))
    back = Full(place.axes)
    return Inertia(mass, back.back(first), back.back_symmetric(second))


def second_lever(mass: Scalar, first: Vector, r: Vector) -> Symmetric:
    """What a second moment about a point r away has more; first: the first moment about the near point."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = vec.outer(vec.scale(mass, r), r)
    return vec.add_symmetric(vec.outer_symmetric(first, r), (xx, xy, xz, yy, yz, zz))


def momenta(links: Links, place: World, own: Momentum) -> Momentum:
    """Twice p and Q of all that each joint carries, in link axes."""
    turned, back = Full(vec.transpose(place.axes)), Full(place.axes)
    p = links.subtree_sums(turned.back(own.p))
    lever = links.to_parent(vec.outer(p, place.offset))
    Q = links.subtree_sums(vec.add_matrix(turned.back_matrix(own.Q), lever))
    return Momentum(back.back(p), back.back_matrix(Q))
