"""The complementarity problem of a step, given as numbers: sweeps, and steps of Newton's method.

Rows of G, b and p are those of `contact_friction`: two tangents and the normal of each contact, then joints. With step
lengths s and u = b + G p, a solution is a zero of F(p) = p - P(p - s u), where P cuts the normal entry off at zero, the
tangents at friction times the new normal entry, and an impulse of a joint as `joint_rows` says. F / s is a velocity. F
is piecewise smooth, and a step d of the semi-smooth Newton method solves F'(p) d = -F(p) (Alart, Curnier 1991). With A
the derivative of P, which is 1 for a contact that sticks and 0 for one that is in the air,

    F' = 1 - A + A s (G + R),    R the small numbers that `contact_forces` adds on the diagonal of dependent rows.

Newton's method alone fails far from a solution, and sweeps alone take long near it. So each iteration is a few sweeps
and one step, of the length of `LENGTHS` that has the least |F / s|, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint_rows import JointRow
from condyle.scalar import Scalar, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total

SWEEPS = 2
"""Sweeps before each step of Newton's method."""
LENGTHS = (1.0, 0.5, 0.2)
"""Of a step of Newton's method."""
FIRST, FACTOR, LEAST, MOST = 1e-3, 10.0, 1e-5, 1.0
"""What is added to R after the first step that is not taken whole, by what it grows and falls, below what it becomes
zero, and the most."""
NEAR, NEARLY = 1e-6, 3e-6
"""|F / s| [m/s] from which one more step suffices, and times |b|, which allows for rounding in single precision."""
SMALL = 1e-24
"""Added to squares of lengths: a length of zero has a derivative then, and nothing is divided by zero."""

Values = Sequence[Scalar]


class Problem(NamedTuple):
    """G row by row, b, the friction of each contact, joints. steps, rates: s and 1 / s of each row; damping: R."""

    rows: Sequence[Values]
    b: Values
    steps: Values
    rates: Values
    damping: Values
    friction: Values
    joints: Sequence[JointRow]

    @property
    def first(self) -> int:
        """The first row of a joint."""
        return 3 * len(self.friction)

    def velocity(self, p: Values) -> list[Scalar]:
        """u = b + G p."""
        return [x + y for x, y in zip(self.b, self.times(p), strict=True)]

    def times(self, p: Values) -> list[Scalar]:
        """G p."""
        return [_dot(row, p) for row in self.rows]

    def swept(self, p: Values) -> tuple[list[Scalar], list[Scalar]]:
        """(p, u) after a sweep over the joints and then the contacts, from p."""
        p, u = list(p), self.velocity(p)
        for _ in range(SWEEPS):
            for i in range(self.first, len(p)):
                self._change(p, u, (i,), (self._joint(i, u, p),))
            for k in range(0, self.first, 3):
                push = maximum(p[k + 2] - self.steps[k + 2] * u[k + 2], 0.0)
                self._change(p, u, (k + 2,), (push,))
                across = p[k] - self.steps[k] * u[k], p[k + 1] - self.steps[k + 1] * u[k + 1]
                self._change(p, u, (k, k + 1), shortened(across, self.friction[k // 3] * push))
        return p, u

    def _change(self, p: list[Scalar], u: list[Scalar], places: Sequence[int], values: Values) -> None:
        """Sets entries of p, and moves u with them."""
        for i, value in zip(places, values, strict=True):
            change, p[i] = value - p[i], value
            for j, row in enumerate(self.rows):
                if not is_zero(row[i]):
                    u[j] = u[j] + row[i] * change

    def _joint(self, i: int, u: Values, p: Values) -> Scalar:
        """The impulse of a joint that is right for the other impulses."""
        g = self.rows[i][i]
        w = u[i] - g * p[i]
        return (self.joints[i - self.first].velocity(w, g) - w) * self.steps[i]

    def misses(self, p: Values, u: Values) -> list[Scalar]:
        """F."""
        values = list[Scalar]()
        for k in range(0, self.first, 3):
            x, y, n = (p[i] - self.steps[i] * u[i] for i in range(k, k + 3))
            push = maximum(n, 0.0)
            values += [*shortened((x, y), self.friction[k // 3] * push), push]
        values += [self._joint(i, u, p) for i in range(self.first, len(p))]
        return [x - y for x, y in zip(p, values, strict=True)]

    def merit(self, misses: Values) -> Scalar:
        """|F / s|²."""
        return total([number(0.0), *((x * y) * (x * y) for x, y in zip(misses, self.rates, strict=True))])

    def is_near(self, merit: Scalar) -> Scalar:
        """Not below zero where |F / s| is as small as `NEAR` and `NEARLY` say."""
        return NEAR * NEAR + NEARLY * NEARLY * _dot(self.b, self.b) - merit

    def direction(self, p: Values, u: Values, misses: Values) -> list[Scalar]:
        """d with F' d = -F. The normal row of a contact, times A, is taken from its tangents' rows."""
        matrix, right = list[list[Scalar]](), list[Scalar]()
        for k in range(0, self.first, 3):
            x, y, n = (p[i] - self.steps[i] * u[i] for i in range(k, k + 3))
            mu, across = self.friction[k // 3], sqrt(x * x + y * y + SMALL)
            x, y, most = x * (inverse := reciprocal(across)), y * inverse, mu * maximum(n, 0.0)
            pushes, slips = select(-n, 0.0, 1.0), select(most - across, 0.0, 1.0)
            part = minimum(most * inverse, 1.0)
            along = -(part * slips)
            A = ((part + along * x * x, along * x * y), (along * x * y, part + along * y * y))
            grips = [pushes * slips * mu * z for z in (x, y)]
            normal = self._scaled(k + 2, pushes * self.steps[k + 2])
            normal[k + 2] = normal[k + 2] + (1.0 - pushes)
            for i, (weights, grip) in enumerate(zip(A, grips, strict=True)):
                one, other = (self._scaled(k + j, self.steps[k + j] * weights[j]) for j in range(2))
                row = [_sum(a, b) for a, b in zip(one, other, strict=True)]
                for j in range(2):
                    row[k + j] = row[k + j] + ((1.0 if i == j else 0.0) - weights[j])
                row[k + 2] = row[k + 2] - grip
                matrix.append(row)
                right.append(grip * misses[k + 2] - misses[k + i])
            matrix.append(normal)
            right.append(-misses[k + 2])
        for i, joint in enumerate(self.joints, self.first):
            g = self.rows[i][i]
            rests = joint.rests(u[i] - g * p[i], g)
            row = self._scaled(i, rests * self.steps[i])
            row[i] = row[i] + (1.0 - rests)
            matrix.append(row)
            right.append(-misses[i])
        return _solved(matrix, right)

    def _scaled(self, i: int, factor: Scalar) -> list[Scalar]:
        """A row of G + R, times a number."""
        row = list(self.rows[i])
        row[i] = row[i] + self.damping[i]
        return [x if is_zero(x) else factor * x for x in row]

    def iterated(self, p: Values, extra: Scalar) -> tuple[list[Scalar], Scalar, Scalar]:
        """(p, `extra` of the next time, |F / s|²) after sweeps and a step of Newton's method.

        extra: times 1 / s, added to R. More makes a step shorter: more of it after a step that was cut short or left
        out, less after a whole one.
        """
        p, u = self.swept(p)
        misses = self.misses(p, u)
        damping = [x + extra * rate for x, rate in zip(self.damping, self.rates, strict=True)]
        d = self._replace(damping=damping).direction(p, u, misses)
        turned, least, length = self.times(d), self.merit(misses), number(0.0)
        for t in LENGTHS:
            merit = self.merit(self.misses(*(_moved(x, t, y) for x, y in ((p, d), (u, turned)))))
            length = select(least - merit, t, length)
            least = select(least - merit, merit, least)
        extra = select(
            length - 1.0, select(extra - LEAST, extra * (1.0 / FACTOR), 0.0), minimum(maximum(FACTOR * extra, FIRST), MOST)
        )
        return [x + select(-length, 0.0, length * y) for x, y in zip(p, d, strict=True)], extra, least

    def with_joints_solved(self, p: Values) -> list[Scalar]:
        """p with the impulses of joints that are right for those of the contacts."""
        n, contacts = self.first, list(p[: self.first])
        if not self.joints:
            return contacts
        rows, zeros = [row[n:] for row in self.rows[n:]], [number(0.0)] * len(self.joints)
        b = self.velocity([*contacts, *zeros])[n:]
        alone = Problem(rows, b, self.steps[n:], self.rates[n:], self.damping[n:], (), self.joints)
        return [*contacts, *alone.iterated(p[n:], number(0.0))[0]]

    def ended(self, p: Values) -> list[Scalar]:
        """p after a last step, which is left out where it would lead away. Its derivative is that of the solution."""
        u = self.velocity(p)
        misses = self.misses(p, u)
        moved = _moved(p, 1.0, self.direction(p, u, misses))
        merit = self.merit(self.misses(moved, self.velocity(moved)))
        takes = maximum(select(self.merit(misses) - merit, 1.0, -1.0), select(self.is_near(merit), 1.0, -1.0))
        return [select(takes, x, y) for x, y in zip(moved, p, strict=True)]


def _dot(x: Values, y: Values) -> Scalar:
    return total([number(0.0), *(a * b for a, b in zip(x, y, strict=True) if not is_zero(a))])


def _sum(x: Scalar, y: Scalar) -> Scalar:
    return y if is_zero(x) else x if is_zero(y) else x + y


def _moved(p: Values, t: float, d: Values) -> list[Scalar]:
    return [x + t * y for x, y in zip(p, d, strict=True)]


def _solved(matrix: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    """x of matrix x = right, by elimination without pivots; both are changed."""
    n = len(right)
    pivots = list[Scalar]()
    for k in range(n):
        pivots.append(reciprocal(matrix[k][k]))
        for i in range(k + 1, n):
            if is_zero(matrix[i][k]):
                continue
            factor = matrix[i][k] * pivots[k]
            for j in range(k + 1, n):
                if not is_zero(matrix[k][j]):
                    matrix[i][j] = matrix[i][j] - factor * matrix[k][j]
            right[i] = right[i] - factor * right[k]
    for k in reversed(range(n)):
        rest = total([right[k], *(-(matrix[k][j] * right[j]) for j in range(k + 1, n) if not is_zero(matrix[k][j]))])
        right[k] = rest * pivots[k]
    return right


def shortened(across: tuple[Scalar, Scalar], most: Scalar) -> tuple[Scalar, Scalar]:
    """The vector, scaled down where it is longer than `most`."""
    x, y = across
    part = minimum(most * reciprocal(sqrt(x * x + y * y + SMALL)), 1.0)
    return x * part, y * part
