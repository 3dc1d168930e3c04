"""The articulated-body element (A, b, C, h, J): 90 numbers that make forward dynamics a scan.

A segment of links whose joint forces tau are given is a linear relation. a_0 is the acceleration of the parent of its
first link, a that of its last link, f an external force on its last link, f_0 the force on its first joint:

    a = A a_0 + b + C f,   f_0 = J a_0 + h - Aᵀ f,   C = Cᵀ >= 0,   J = Jᵀ >= 0

Two adjacent segments share an acceleration and a force. Eliminating both gives the relation of the two together, and
composition of relations is associative. With E = (1 + C J')^-1 and primes for the segment at the tip,

    A'' = A' E A,   b'' = b' + A' E (b - C h'),   C'' = C' + A' E C A'ᵀ,
    J'' = J + Aᵀ J' E A,   h'' = h + Aᵀ (h' + J' E (b - C h'))

E always exists: the eigenvalues of C J' are not negative. It is applied without an inverse matrix: with C = L D Lᵀ, the
compliance C is that of six degrees of freedom along the columns of L with armature 1 / D, and these are eliminated as
those of a joint are. So J and C stay symmetric, and C stays positive semidefinite. The element of a single link needs
Sᵀ I S + armature > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.algorithms.aba import Articulated, Elimination, apply, eliminate, moved, rigid
from condyle.algorithms.joint import NO_FORCE, Dof, Joint, Wrench, along
from condyle.algorithms.matrix import plus
from condyle.scalar import Scalar, number, reciprocal
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.six import Rows, Six, Upper
from condyle.spatial.twist import Pair

NO_INERTIA = Articulated(vec.ZERO_SYMMETRIC, vec.ZERO_MATRIX, vec.ZERO_SYMMETRIC)
TINY = 1e-30
"""Added to pivots of C so that 0 / 0 does not occur; smaller than every compliance of a body in float32."""


class Bias(NamedTuple):
    """Velocity terms and external forces of a body: its acceleration at zero acceleration of its parent and its joint
    (before), and the force that it needs then, I a + v x* I v - f_ext."""

    before: Pair
    force: Wrench


class Segment(NamedTuple):
    """A segment's element. Accelerations are classical, minus gravity, in body frames."""

    A: Rows
    b: Six
    C: Upper
    h: Wrench
    J: Articulated

    @property
    def load(self) -> Load:
        """h and J, the relation at its base for f = 0."""
        return Load(self.h, self.J)


class Load(NamedTuple):
    """Force h and articulated inertia J of all links behind a joint: f_0 = J a_0 + h."""

    h: Wrench
    J: Articulated

    def segment(self) -> Segment:
        """The element of an empty segment with this load at its base."""
        return Segment(six.IDENTITY_MATRIX, six.ZERO, six.ZERO_UPPER, self.h, self.J)


NOTHING = Load(NO_FORCE, NO_INERTIA)


@dataclass(frozen=True)
class Segments:
    """The semigroup. guard: added to the diagonal of C, relative to it; a few units of rounding."""

    guard: float

    def identity(self) -> Segment:
        return Segment(six.IDENTITY_MATRIX, six.ZERO, six.ZERO_UPPER, NO_FORCE, NO_INERTIA)

    def combine(self, base: Segment, tip: Segment) -> Segment:
        free = self.freed(base, tip)
        return Segment(
            six.product(free.A, base.A),
            six.add(free.b, six.times(free.A, base.b)),
            free.C,
            *_carried(base, free),
        )

    def handed(self, branch: Segment) -> Segment:
        return branch.load.segment()

    def loaded(self, base: Segment, load: Load) -> Load:
        """h and J of `combine`, given the load behind the segment `base`."""
        return _carried(base, self.freed(base, load.segment()))

    def freed(self, base: Segment, tip: Segment) -> Segment:
        """The element of the tip's segment with the compliance C of `base` put before it."""
        return attached(equivalent(base.C, self.guard), [number(0.0)] * 6, tip)


def _carried(base: Segment, free: Segment) -> Load:
    """J'' and h'' of the module's equations, given the element that `freed` makes of the tip's segment."""
    force = twist.add(free.h, apply(free.J, six.halves(base.b)))
    needed = six.times(six.transpose(base.A), six.joined(force))
    return Load(
        Wrench(*twist.add(base.h, six.halves(needed))),
        plus(base.J, from_upper(six.congruence(base.A, rows(free.J)))),
    )


def extended(joint: Joint, bias: Bias, below: Segment, tau: Sequence[Scalar]) -> Segment:
    """The element of a joint, its body and a segment behind it: the articulated-body algorithm's backward step, with A,
    b and C too. tau: the joint's forces."""
    return in_front(joint, rigid(joint), bias, below, tau)


def in_front(joint: Joint, inertia: Articulated, bias: Bias, below: Segment, tau: Sequence[Scalar]) -> Segment:
    """The same for a body with this inertia."""
    before, force = bias
    whole = below._replace(J=plus(inertia, below.J), h=plus(force, below.h))
    free = attached(joint.dofs, tau, whole)
    b = six.add(free.b, six.times(free.A, six.joined(before)))
    needed = twist.add(free.h, apply(free.J, before))
    return Segment(
        six.six_rows(six.joined(joint.transform.force_to_parent(six.halves(row))) for row in free.A),
        b,
        free.C,
        Wrench(*joint.transform.force_to_parent(needed)),
        moved(joint.transform, free.J),
    )


def passes(joint: Joint, eliminated: Sequence[Elimination]) -> Rows:
    """A of a joint: (1 - S_k U_kᵀ / D_k) ... (1 - S_1 U_1ᵀ / D_1) X, from its parent's acceleration to its body's."""
    rows = list(six.IDENTITY_MATRIX)
    for dof, (U, inverse_D) in reversed(list(zip(joint.dofs, eliminated, strict=True))):
        rows = [six.minus_scaled(row, along(dof, *six.halves(row)) * inverse_D, six.joined(U)) for row in rows]
    return six.six_rows(six.joined(joint.transform.force_to_parent(six.halves(row))) for row in rows)


def attached(dofs: Sequence[Dof], tau: Sequence[Scalar], segment: Segment) -> Segment:
    """The element of a segment with these degrees of freedom put before it, eliminated last first."""
    for dof, torque in reversed(list(zip(dofs, tau, strict=True))):
        segment = _behind(dof, torque, segment)
    return segment


def _behind(dof: Dof, tau: Scalar, segment: Segment) -> Segment:
    """A -= A S Uᵀ / D,  b += A S u,  C += A S Sᵀ Aᵀ / D,  h += U u,  J -= U Uᵀ / D, with u = (tau - Sᵀ h) / D."""
    (U, inverse_D), J = eliminate(dof, segment.J)
    u = (tau - along(dof, *segment.h)) * inverse_D
    reach = six.six(along(dof, *six.halves(row)) for row in segment.A)  # A S
    shares = six.scale(inverse_D, reach)
    return Segment(
        six.six_rows(six.minus_scaled(row, k, six.joined(U)) for row, k in zip(segment.A, shares, strict=True)),
        six.add(segment.b, six.scale(u, reach)),
        six.add_outer(segment.C, inverse_D, reach),
        Wrench(*twist.add(segment.h, twist.scale(u, U))),
        J,
    )


def equivalent(C: Upper, guard: float) -> list[Dof]:
    """Six degrees of freedom of compliance C = L D Lᵀ: S is a column of L, the armature 1 / D."""
    left = list(C)
    dofs: list[Dof] = []
    for k in range(6):
        pivot = left[six.upper_index(k, k)] + C[six.upper_index(k, k)] * guard + TINY
        inverse = reciprocal(pivot)
        column = [number(0.0)] * k + [number(1.0)] + [left[six.upper_index(k, j)] * inverse for j in range(k + 1, 6)]
        for i in range(k + 1, 6):
            for j in range(i, 6):
                left[six.upper_index(i, j)] = left[six.upper_index(i, j)] - column[i] * left[six.upper_index(k, j)]
        dofs.append(Dof(*six.halves(six.six(column)), inverse))
    return dofs


def rows(inertia: Articulated) -> Rows:
    """All 36 entries."""
    linear, angular = vec.symmetric_rows(inertia.linear), vec.symmetric_rows(inertia.angular)
    coupling, across = inertia.coupling, vec.transpose(inertia.coupling)
    return (
        (*linear[0], *across[0]),
        (*linear[1], *across[1]),
        (*linear[2], *across[2]),
        (*coupling[0], *angular[0]),
        (*coupling[1], *angular[1]),
        (*coupling[2], *angular[2]),
    )


def from_upper(s: Upper) -> Articulated:
    """The same inertia from its upper triangle."""
    at = six.upper_index
    return Articulated(
        (s[at(0, 0)], s[at(0, 1)], s[at(0, 2)], s[at(1, 1)], s[at(1, 2)], s[at(2, 2)]),
        (
            (s[at(0, 3)], s[at(1, 3)], s[at(2, 3)]),
            (s[at(0, 4)], s[at(1, 4)], s[at(2, 4)]),
            (s[at(0, 5)], s[at(1, 5)], s[at(2, 5)]),
        ),
        (s[at(3, 3)], s[at(3, 4)], s[at(3, 5)], s[at(4, 4)], s[at(4, 5)], s[at(5, 5)]),
    )
