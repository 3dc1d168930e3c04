"""The derivatives of a step by all inputs but its length: chains of those of forward dynamics.

A matrix is a list of sparse rows, {column: entry}; columns are those of q (a tangent vector), v, tau and what there is
behind them, such as external forces.
q ⊕ u has the derivatives exp(-ad u) by q and (1 - exp(-ad u)) / ad u by u, joint by joint: both 1 where q is a plain
vector (Solà, Deray, Atchuthan 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from condyle.algorithms.stepping import brackets
from condyle.integrators import METHODS
from condyle.scalar import is_zero
from condyle.specification import Closed

Row: TypeAlias = "dict[int, Any]"
Rows: TypeAlias = "list[Row]"
Values: TypeAlias = "Sequence[Any]"


class StepDerivatives:
    """dq', dv' of one step: rows of the state after it."""

    def __init__(self, at: Any, given: Mapping[str, Values]) -> None:
        self.at, self.given, self.n = at, given, at.tree.nv
        self.more = {name: x for name, x in given.items() if name not in ("q", "v", "tau", "dt")}
        self.widths = {"q": self.n, "v": self.n, "tau": self.n, **{name: len(x) for name, x in self.more.items()}}
        (self.h,) = given["dt"]
        self.q, self.v = self._moved()

    def _moved(self) -> tuple[Rows, Rows]:
        n, h, q, v = self.n, self.h, self.given["q"], self.given["v"]
        method = METHODS[self.at.tree.integrator]
        at_q, at_v, u, by_q, by_v = q, v, v, _unit(n, 0), _unit(n, n)
        sum_q, sum_v, sums = [0.0] * n, [0.0] * n, (_nothing(n), _nothing(n))
        by_u = sums[0]
        for stage in method.stages:
            a, slope = self._acceleration(at_q, at_v, by_q, by_v)
            weight = h * stage.c
            u, by_u = [weight * x for x in at_v], _scaled(weight, by_v)
            if stage.d:
                weight = h * h * stage.d
                u = _plus(u, weight, brackets(self.at.tree, v, at_v))
                by_u = _added(by_u, weight, self._bracket_slopes(at_v, by_v))
            if stage.e:
                u, by_u = _plus(u, 1.0, sum_q), _added(by_u, 1.0, sums[0])
            sum_q, sum_v = _plus(sum_q, h * stage.b, at_v), _plus(sum_v, h * stage.b, a)
            sums = _added(sums[0], h * stage.b, by_v), _added(sums[1], h * stage.b, slope)
            if stage is not method.stages[-1]:
                by_q, at_q = self._along(u, by_u), self.at.call("integrate", q, u)[0]
                by_v, at_v = _added(_unit(n, n), h * stage.c, slope), _plus(v, h * stage.c, a)
        after = _added(_unit(n, n), 1.0, sums[1])
        if method.moves_last:
            u, by_u = [h * x for x in _plus(v, 1.0, sum_v)], _scaled(h, after)
        return self._along(u, by_u), after

    def _acceleration(self, q: Values, v: Values, by_q: Rows, by_v: Rows) -> tuple[Values, Rows]:
        """a = fd(q, v, tau), and its rows."""
        end = "".join(f"_{name}" for name in self.more)
        given = (q, v, self.given["tau"], *self.more.values())
        (a,) = self.at.call(f"fd{end}", *given)
        of_q, of_v, *others = self.at.call(f"jacobian_fd{end}" if end else "dfd", *given)
        moved = self._times(_matrix(of_q, self.n), by_q), self._times(_matrix(of_v, self.n), by_v)
        rows = _added(moved[0], 1.0, moved[1])
        first = 2 * self.n
        for part in others:
            rows = _added(rows, 1.0, _shifted(_matrix(part, self.n), first))
            first += len(part) // self.n
        return a, rows

    def _times(self, left: list[list[Any]], right: Rows) -> Rows:
        """A product, kept as one operation where it is large and the recording does such."""
        columns = sorted({k for row in right for k in row})
        if hasattr(self.at, "product") and not all(len(row) < 2 for row in right):
            factors = [[row.get(k, 0.0) for k in columns] for row in right]
            kept = self.at.product(_entries(left), _entries(factors))
            if kept is not None:
                return [dict(zip(columns, row, strict=True)) for row in kept.tolist()]
        return _product(left, right)

    def _along(self, u: Values, by_u: Rows) -> Rows:
        """Of q ⊕ u."""
        found = by_u
        for kind, _, rates in self.at.tree.configurations:
            if kind.is_flat:
                continue
            by_q, slope = kind.transport([u[k] for k in rates])
            block = _product(slope, [by_u[k] for k in rates])
            for k, row, part in zip(rates, block, by_q, strict=True):
                found = [*found[:k], _with(row, 1.0, dict(zip(rates, part, strict=True))), *found[k + 1 :]]
        flat = {k for kind, _, rates in self.at.tree.configurations if kind.is_flat for k in rates}
        return [_with(row, 1.0, {k: 1.0}) if k in flat else row for k, row in enumerate(found)]

    def _bracket_slopes(self, x: Values, by_x: Rows) -> Rows:
        """Of [v, x]: [dv, x] + [v, dx]."""
        found, v = _nothing(self.n), self.given["v"]
        for kind, _, rates in self.at.tree.configurations:
            if kind.is_flat:
                continue
            units = [[float(i == k) for i in range(kind.nv)] for k in range(kind.nv)]
            by_v = [kind.bracket(unit, [x[k] for k in rates]) for unit in units]
            by_own = [kind.bracket([v[k] for k in rates], unit) for unit in units]
            moved = _product(_transposed(by_own), [by_x[k] for k in rates])
            for i, k in enumerate(rates):
                own = {self.n + l: column[i] for l, column in zip(rates, by_v, strict=True)}
                found[k] = _with(moved[i], 1.0, own)
        return found


def _jacobian(at: Any, given: Mapping[str, Values]) -> Mapping[str, Values]:
    made, found = StepDerivatives(at, given), dict[str, Values]()
    for name, rows in (("q", made.q), ("v", made.v)):
        begin = 0
        for by, width in made.widths.items():
            found[f"d{name}_d{by}"] = block(rows, range(begin, begin + width))
            begin += width
    return found


def block(rows: Rows, columns: Sequence[int]) -> list[Any]:
    """Some columns, flat."""
    return [row.get(k, 0.0) for row in rows for k in columns]


def _entries(rows: Sequence[Sequence[Any]]) -> Any:
    made = np.empty((len(rows), len(rows[0])), object)
    for k, row in enumerate(rows):
        made[k] = row
    return made


def _nothing(n: int) -> Rows:
    return [{} for _ in range(n)]


def _unit(n: int, first: int) -> Rows:
    return [{first + k: 1.0} for k in range(n)]


def _matrix(entries: Values, n: int) -> list[list[Any]]:
    width = len(entries) // n
    return [list(entries[k * width : (k + 1) * width]) for k in range(n)]


def _transposed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _shifted(rows: Sequence[Sequence[Any]], first: int) -> Rows:
    return [{first + k: x for k, x in enumerate(row) if not is_zero(x)} for row in rows]


def _plus(x: Values, weight: Any, y: Values) -> list[Any]:
    return [_sum(a, _times(weight, b)) for a, b in zip(x, y, strict=True)]


def _with(row: Row, weight: Any, other: Row) -> Row:
    """row + weight other."""
    found = dict(row)
    for k, x in other.items():
        found[k] = _sum(found.get(k, 0.0), _times(weight, x))
    return found


def _added(rows: Rows, weight: Any, others: Rows) -> Rows:
    return [_with(row, weight, other) for row, other in zip(rows, others, strict=True)]


def _scaled(weight: Any, rows: Rows) -> Rows:
    return [{k: _times(weight, x) for k, x in row.items()} for row in rows]


def _product(left: Sequence[Sequence[Any]], right: Rows) -> Rows:
    found = _nothing(len(left))
    for k, row in enumerate(left):
        for x, other in zip(row, right, strict=True):
            if not is_zero(x):
                found[k] = _with(found[k], x, other)
    return found


def _sum(x: Any, y: Any) -> Any:
    return y if is_zero(x) else x if is_zero(y) else x + y


def _times(x: Any, y: Any) -> Any:
    """Ones and zeros cost nothing, also where they are numbers and the others are arrays."""
    if is_zero(x) or is_zero(y):
        return 0.0
    return y if isinstance(x, float) and x == 1.0 else x if isinstance(y, float) and y == 1.0 else x * y


RULES: Mapping[str, Mapping[str, Closed]] = {"step": {"jacobian": _jacobian}}
