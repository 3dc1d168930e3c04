"""A fixed number of sweeps over the contacts of `contact_friction`, at a cost that is linear in their number.

A sweep needs u = b + G p of one contact after the other. With M = Lᵀ D L and Y = D^-1/2 L^-T Jᵀ, G = Yᵀ Y, and

    u = b + Yᵀ y,    y = Y p,

y changes by Y dp with the impulse of a contact. A column of Y has entries for the joints that carry its contact alone.
With few contacts G itself is shorter: then u changes by G dp. `is_factored` says which is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from condyle.algorithms.contact_friction import Frictional
from condyle.algorithms.contact_newton import shortened
from condyle.algorithms.contacts import Row
from condyle.algorithms.joint_rows import JointRow
from condyle.algorithms.ltl import Factors, half_solved, rest_solved
from condyle.scalar import Scalar, maximum, number, reciprocal, sqrt, total

Values = Sequence[Scalar]


class Swept(Frictional):
    """The problem with Y as above, in place of that without D^-1/2; G is not needed as a whole."""

    @cached_property
    def roots(self) -> list[Scalar]:
        """D^-1/2."""
        return [sqrt(x) for x in self.factors.inverse_D]

    def _rooted(self, half: Mapping[int, Scalar]) -> Row:
        return {k: self.roots[k] * x for k, x in half.items()}

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
        """L^-1 D^-1/2 y."""
        return rest_solved(Factors(self.factors.L, self.roots), y)

    def entry(self, i: int, j: int) -> Scalar:
        return total([x * self.Y[j][k] for k, x in self.Y[i].items() if k in self.Y[j]] or [number(0.0)])

    def pushed(self, p: Values) -> Row:
        """Y p."""
        y: Row = {}
        for push, column in zip(p, self.Y, strict=True):
            _add(y, column, push)
        return y

    def times(self, p: Values) -> list[Scalar]:
        return self.at_contacts(self.pushed(p))

    def energy(self, p: Values) -> Scalar:
        return total([x * x for x in self.pushed(p).values()])

    def sticking(self) -> list[Scalar]:
        """Zero: a start that is linear in the number of contacts."""
        return [number(0.0)] * self.first

    def sweep(self, factored: bool) -> Sweep:
        """What sweeps begin with and hold."""
        rows = self.Y if factored else [dict(row) for row in map(self.G.row, range(self.G.size))]
        ties = [self.entry(k + i, k + 2) for k in range(0, self.first, 3) for i in range(2)]
        return Sweep(
            rows, self.b if factored else [], [reciprocal(x) for x in self.row_rates], ties, self.friction, self.joints
        )

    def state(self, p: Values, factored: bool) -> list[Scalar]:
        """y, or u without Y."""
        if factored:
            y = self.pushed(p)
            return [y.get(k, number(0.0)) for k in range(self.tree.nv)]
        return [x + y for x, y in zip(self.b, self.times(p), strict=True)]


class Sweep(NamedTuple):
    """rows: columns of Y, or of G where there is no b. b, steps: of each row; ties: G of each tangent with its
    normal."""

    rows: Sequence[Row]
    b: Values
    steps: Values
    ties: Values
    friction: Values
    joints: Sequence[JointRow]

    def swept(self, p: Values, state: Values) -> tuple[list[Scalar], list[Scalar]]:
        """(p, state) after a sweep over the joints and then the contacts."""
        p, now, first = list(p), dict(enumerate(state)), 3 * len(self.friction)
        for i, joint in enumerate(self.joints, first):
            g = reciprocal(self.steps[i])
            w = self._velocity(now, i) - g * p[i]
            self._change(p, now, i, (joint.velocity(w, g) - w) * self.steps[i])
        for k in range(0, first, 3):
            x, y, n = (self._velocity(now, i) for i in range(k, k + 3))
            push = maximum(p[k + 2] - self.steps[k + 2] * n, 0.0)
            change = push - p[k + 2]
            moved = (u + tie * change for u, tie in zip((x, y), self.ties[2 * k // 3 :], strict=False))
            across = [p[i] - self.steps[i] * u for i, u in zip((k, k + 1), moved, strict=True)]
            self._change(p, now, k + 2, push)
            for i, value in zip(
                (k, k + 1), shortened((across[0], across[1]), self.friction[k // 3] * push), strict=True
            ):
                self._change(p, now, i, value)
        return p, [now[k] for k in range(len(state))]

    def _velocity(self, state: Row, i: int) -> Scalar:
        return total([self.b[i], *(x * state[k] for k, x in self.rows[i].items())]) if self.b else state[i]

    def _change(self, p: list[Scalar], state: Row, i: int, value: Scalar) -> None:
        change, p[i] = value - p[i], value
        _add(state, self.rows[i], change)


def _add(state: Row, column: Row, change: Scalar) -> None:
    for k, x in column.items():
        state[k] = state[k] + x * change if k in state else x * change
