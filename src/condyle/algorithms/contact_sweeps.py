"""A fixed number of sweeps over the contacts of `contact_friction`, at a cost that is linear in their number.

A sweep comes to the contacts first and then to the joints, so that joints are right for the contacts at its end. Before
the first sweep joints have their impulses before, or are swept once. With u = b + G p of a contact's three rows from
the latest impulses, and B the inverse of its 3 x 3 block of G, its impulse becomes

    p - B u,    which makes it stick, where that is inside the cone; else
    p_n := max(p_n - u_n / G_nn, 0),    p_t := p_t - u_t / g, no longer than friction p_n,

as in `contact_newton`. A fixed point is a solution. For few contacts u is computed from the rows of G. Else, with
M = Lᵀ D L and Y = D^-1/2 L^-T Jᵀ,

    G = Yᵀ Y,    u = b + Yᵀ y,    y = Y p,

and y changes by Y dp. A column of Y has entries for the joints that carry its contact alone, whatever other contacts
there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from condyle.algorithms.contact_friction import Frictional
from condyle.algorithms.contact_newton import JointRow, shortened
from condyle.algorithms.contacts import Row
from condyle.algorithms.ltl import Factors, half_solved, rest_solved
from condyle.scalar import Scalar, maximum, number, reciprocal, select, sqrt, total

LEAST = 1e-3
"""Of a pivot of a contact's block, times the entry of the diagonal: where two rows are nearly one, B stays small."""

Values = Sequence[Scalar]


class Swept(Frictional):
    """The problem without G as a whole."""

    def entry(self, i: int, j: int) -> Scalar:
        return _dot(self.Y[i], self.scaled[j])

    def pushed(self, p: Values) -> Row:
        """Y p."""
        y: Row = {}
        for push, column in zip(p, self.Y, strict=True):
            _add(y, column, push)
        return y

    def times(self, p: Values) -> list[Scalar]:
        return self.at_contacts(self.pushed(p))

    def energy(self, p: Values) -> Scalar:
        return total([number(0.0), *(x * x * self.weights[k] for k, x in self.pushed(p).items())])

    @property
    def weights(self) -> Values:
        """The diagonal D of G = Yᵀ D^-1 Y, inverted."""
        return self.inverse_D

    def start(self) -> list[Scalar]:
        """As they were before, else zero, which is linear in the number of contacts. The first sweep cuts them off."""
        return [*(self.impulses_before or [number(0.0)] * self.first), *self.joints_before]

    @property
    def of_velocities(self) -> list[Row]:
        """What velocities are computed from: rows of G."""
        return [self.G.row(i) for i in range(self.G.size)]

    def sweep(self) -> Sweep:
        """What sweeps hold."""
        contacts = range(0, self.first, 3)
        ties = [self.entry(k + i, k + 2) for k in contacts for i in range(2)]
        inverses = [x for k in contacts for x in self._inverse(k)]
        steps = [reciprocal(x) for x in self.row_rates]
        return Sweep(self.of_velocities, self.b, steps, ties, inverses, self.friction, self.joints)

    def _inverse(self, k: int) -> list[Scalar]:
        """B of the contact whose first row is k: its entries xx, xy, xn, yy, yn, nn. By factors from the normal on."""
        xx, xy, xn, yy, yn, nn = (self.entry(k + i, k + j) for i in range(3) for j in range(i, 3))
        d = reciprocal(nn + self.least[k])
        x, y, more = xn * d, yn * d, self.least[k]
        e = reciprocal(maximum(xx - x * xn, LEAST * xx) + more)
        xy = xy - x * yn
        z = xy * e
        f = reciprocal(maximum(yy - y * yn - z * xy, LEAST * yy) + more)
        c = z * x - y  # of L^-1 with L = [1; x 1; y z 1], rows n, x, y
        zf, cf, xe = z * f, c * f, x * e
        return [e + z * zf, -zf, -(xe + zf * c), f, cf, d + x * xe + c * cf]


class Rooted(Swept):
    """The same by Y with D^-1/2 in it: one matrix instead of two, which is all that sweeps read."""

    @cached_property
    def roots(self) -> list[Scalar]:
        """D^-1/2."""
        return [sqrt(x) for x in self.factors.inverse_D]

    @cached_property
    def weights(self) -> Values:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [number(1.0)] * self.tree.nv

    @cached_property
    def Y(self) -> list[Row]:
        return [self._rooted(half_solved(self.factors, row)) for row in self.J]

    @cached_property
    def scaled(self) -> list[Row]:
        return self.Y

    @cached_property
    def half_moved(self) -> Mapping[int, Scalar]:
        return self._rooted(super().half_moved)

    def rest(self, y: Values) -> list[Scalar]:
        return rest_solved(Factors(self.factors.L, self.roots), y)

    @property
    def of_velocities(self) -> list[Row]:
        return self.Y

    def _rooted(self, half: Mapping[int, Scalar]) -> Row:
        return {k: self.roots[k] * x for k, x in half.items()}


class Sweep(NamedTuple):
    """rows: of G, or the columns of Y. b, steps: of each row. ties: G of each tangent with its normal. inverses: B of
    each contact."""

    rows: Sequence[Row]
    b: Values
    steps: Values
    ties: Values
    inverses: Values
    friction: Values
    joints: Sequence[JointRow]

    def swept(self, p: Values, y: Values) -> tuple[list[Scalar], list[Scalar]]:
        """(p, y) after a sweep; y is empty where rows are those of G."""
        now = Latest(self, list(p), dict(enumerate(y)))
        for k in range(0, 3 * len(self.friction), 3):
            u = [now.velocity(i, k) for i in range(k, k + 3)]
            now.put(k, self._moved(k, now.p[k : k + 3], u))
        return self.joints_swept(now.p, [now.y[k] for k in range(len(y))])

    def joints_swept(self, p: Values, y: Values) -> tuple[list[Scalar], list[Scalar]]:
        """The same after the joints alone."""
        now = Latest(self, list(p), dict(enumerate(y)))
        for i, joint in enumerate(self.joints, 3 * len(self.friction)):
            g = reciprocal(self.steps[i])
            w = now.velocity(i, i) - g * p[i]
            now.put(i, [(joint.velocity(w, g) - w) * self.steps[i]])
        return now.p, [now.y[k] for k in range(len(y))]

    def _moved(self, k: int, p: Values, u: Values) -> list[Scalar]:
        """The next impulse of a contact."""
        xx, xy, xn, yy, yn, nn = self.inverses[2 * k : 2 * k + 6]
        mu, rows = self.friction[k // 3], ((xx, xy, xn), (xy, yy, yn), (xn, yn, nn))
        stuck = [x - row[0] * u[0] - row[1] * u[1] - row[2] * u[2] for x, row in zip(p, rows, strict=True)]
        reach = mu * maximum(stuck[2], 0.0)
        slips = stuck[0] * stuck[0] + stuck[1] * stuck[1] - reach * reach
        push = maximum(p[2] - self.steps[k + 2] * u[2], 0.0)
        change, step = push - p[2], self.steps[k]
        x, y = (p[i] - step * (u[i] + self.ties[2 * k // 3 + i] * change) for i in range(2))
        return [select(slips, a, b) for a, b in zip((*shortened((x, y), mu * push), push), stuck, strict=True)]


class Latest(NamedTuple):
    """The impulses, and y = Y p, in a sweep."""

    sweep: Sweep
    p: list[Scalar]
    y: Row

    def velocity(self, i: int, begin: int) -> Scalar:
        """u of a row. begin: the first row of its contact; what changed last is added last, to wait for it least."""
        row, n = self.sweep.rows[i], len(self.p)
        if self.y:
            return self.sweep.b[i] + _dot(row, self.y)
        order = sorted(row, key=lambda j: (j - begin) % n)
        return total([self.sweep.b[i], *(row[j] * self.p[j] for j in order)])

    def put(self, begin: int, values: Values) -> None:
        """Sets impulses, and moves y with them."""
        for i, value in enumerate(values, begin):
            if self.y:
                _add(self.y, self.sweep.rows[i], value - self.p[i])
            self.p[i] = value


def _dot(x: Row, y: Row) -> Scalar:
    return total([value * y[k] for k, value in x.items() if k in y] or [number(0.0)])


def _add(state: Row, column: Row, change: Scalar) -> None:
    for k, x in column.items():
        state[k] = state[k] + x * change if k in state else x * change
