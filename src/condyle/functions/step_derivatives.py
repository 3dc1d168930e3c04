"""The derivatives of a step by all inputs but its length: chains of those of forward dynamics.

Columns of the rows are those of q (a tangent vector), v, tau and what there is behind them, such as external forces.
q ⊕ u has the derivatives exp(-ad u) by q and (1 - exp(-ad u)) / ad u by u, joint by joint: both 1 where q is a plain
vector (Solà, Deray, Atchuthan 2018). y = exp(-ad u) x changes by exp(-ad u) dx + [y, (1 - exp(-ad u)) / ad u du]. With
K_i the rows of stage i's acceleration, those of v_(i+1) are 1 + c h K_i, and K_(i+1) is made of two products with
earlier K: these are the only large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from condyle import algorithms
from condyle.algorithms.stepping import StepParts, displacement, step_parts, turning_joints
from condyle.derivatives import jacobian as jacobian_of
from condyle.functions.contacts import (
    CONSTRAINED_FORWARD_DYNAMICS,
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES,
    LANDING_DERIVATIVES,
    landed,
    landing,
)
from condyle.functions.dynamics import FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES
from condyle.functions.kinematics import INTEGRATE
from condyle.functions.quantities import TAU, ByName, Values, call
from condyle.model.joints.base import JointType
from condyle.scalar import is_zero, number
from condyle.specification.integrators import METHODS, Method
from condyle.specification.ports import ACTIVE, CONTROLS, DRIVEN, EXTRA, F_EXT, IMPLICIT, RISING

# Matrices as lists of sparse rows, {column: entry}, on any scalar: ones and zeros that are numbers cost nothing.


Row: TypeAlias = "dict[int, Any]"
Rows: TypeAlias = "list[Row]"


@dataclass(frozen=True)
class Combination:
    """base + the sum of weight rows: what is multiplied keeps its dense parts as they are.

    without: rows in which the parts do not count.
    """

    base: Rows
    parts: tuple[tuple[Any, Rows], ...] = ()
    without: frozenset[int] = frozenset()

    def scaled(self, weight: Any) -> Combination:
        parts = tuple((times(weight, w), part) for w, part in self.parts)
        return replace(self, base=scaled(weight, self.base), parts=parts)

    def plus(self, weight: Any, other: Combination) -> Combination:
        assert self.without == other.without
        parts = (*self.parts, *other.scaled(weight).parts)
        return replace(self, base=added(self.base, weight, other.base), parts=parts)

    def row(self, k: int) -> Row:
        found = self.base[k]
        for weight, part in () if k in self.without else self.parts:
            found = plus(found, weight, part[k])
        return found

    @property
    def rows(self) -> Rows:
        return [self.row(k) for k in range(len(self.base))]


def dense(rows: Sequence[Sequence[Any]]) -> Any:
    """As an array of objects."""
    made = np.empty((len(rows), len(rows[0])), object)
    for k, row in enumerate(rows):
        made[k] = row
    return made


def nothing(n: int) -> Rows:
    return [{} for _ in range(n)]


def unit(n: int, first: int) -> Rows:
    return [{first + k: 1.0} for k in range(n)]


def matrix(entries: Sequence[Any], n: int) -> list[list[Any]]:
    width = len(entries) // n if n else 0
    return [list(entries[k * width : (k + 1) * width]) for k in range(n)]


def transposed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def shifted(rows: Sequence[Sequence[Any]], first: int) -> Rows:
    return [{first + k: x for k, x in enumerate(row) if not is_zero(x)} for row in rows]


def plus(row: Row, weight: Any, other: Row) -> Row:
    """row + weight other."""
    found = dict(row)
    for k, x in other.items():
        found[k] = total(found.get(k, 0.0), times(weight, x))
    return found


def added(rows: Rows, weight: Any, others: Rows) -> Rows:
    return [plus(row, weight, other) for row, other in zip(rows, others, strict=True)]


def scaled(weight: Any, rows: Rows) -> Rows:
    return [{k: times(weight, x) for k, x in row.items()} for row in rows]


def product(left: Sequence[Sequence[Any]], right: Rows) -> Rows:
    found = nothing(len(left))
    for k, row in enumerate(left):
        for x, other in zip(row, right, strict=True):
            if not is_zero(x):
                found[k] = plus(found[k], x, other)
    return found


def total(x: Any, y: Any) -> Any:
    return y if is_zero(x) else x if is_zero(y) else x + y


def times(x: Any, y: Any) -> Any:
    """Ones and zeros cost nothing, also where they are numbers and the others are arrays."""
    if is_zero(x) or is_zero(y):
        return 0.0
    return y if isinstance(x, float) and x == 1.0 else x if isinstance(y, float) and y == 1.0 else x * y


class StepDerivatives:
    """q, v: the rows of the state after one step. by: what they are by beside q, v and tau."""

    def __init__(self, calls: Any, inputs: ByName, by: Sequence[str]) -> None:
        self.calls, self.inputs, self.n = calls, algorithms.drives.at_end(calls.tree, inputs), calls.tree.nv
        self.extra = inputs.keys() & (EXTRA.keys() - DRIVEN.keys() - {RISING.name})
        self.push = CONTROLS.name if CONTROLS.name in inputs else TAU.name
        self.held = [inputs[ACTIVE.name]] if ACTIVE.name in inputs else []
        self.function = CONSTRAINED_FORWARD_DYNAMICS if self.held else FORWARD_DYNAMICS
        self.widths = {"q": self.n, "v": self.n, **{name: len(inputs[name]) for name in (self.push, *by)}}
        (self.h,) = inputs["dt"]
        self.q, self.v = self._after()

    def _after(self) -> tuple[Rows, Rows]:
        n, h, method = self.n, self.h, METHODS[self.calls.tree.integrator]
        by_q, by_v0, none = (Combination(rows) for rows in (unit(n, 0), self._landed(), nothing(n)))
        if method.order == 1:
            return self._after_first_order(method, by_q, by_v0)
        by_v, by_sums = by_v0, (none, none)
        states, moves = self._path(method)
        for stage, (q, v), u in zip(method.stages, states, moves, strict=True):
            slope = self._slope(q, v, by_q, by_v)
            by_u = by_v.scaled(h * stage.c)
            if stage.d:
                by_u = by_u.plus(h * h * stage.d, self._bracket_slopes(v, by_v))
            if stage.e:
                by_u = by_u.plus(1.0, by_sums[0])
            by_sums = by_sums[0].plus(h * stage.b, by_v), by_sums[1].plus(h * stage.b, slope)
            by_q, by_v = self._along(u, by_u), by_v0.plus(h * stage.c, slope)
        return by_q.rows, by_v0.plus(1.0, by_sums[1]).rows

    def _landed(self) -> Rows:
        """The rows of v where a step begins: behind the impact, if contacts may begin."""
        if RISING.name not in self.inputs:
            return unit(self.n, self.n)
        state = self.inputs["q"], self.inputs["v"], landing(self.inputs)
        blocks = call(self.calls, self.inputs, LANDING_DERIVATIVES, *state)
        self.inputs = {**self.inputs, "v": landed(self.calls, self.inputs)}
        by_q, by_v = (shifted(matrix(part, self.n), first) for part, first in zip(blocks, (0, self.n), strict=True))
        return added(by_q, 1.0, by_v)

    def _after_first_order(self, method: Method, by_q: Combination, by_v: Combination) -> tuple[Rows, Rows]:
        tree, h, (q, v, tau) = self.calls.tree, self.h, (self.inputs[name] for name in ("q", "v", self.push))
        (a, *_) = call(self.calls, self.inputs, self.function, q, v, tau, *self.held)
        parts = step_parts(tree, method, v, [x + h * y for x, y in zip(v, a, strict=True)], h)
        after = by_v.plus(h, self._slope(q, v, by_q, by_v)).rows
        for kind, rates, _ in turning_joints(tree):
            line, turn = _split(kind, [v[k] for k in rates], 0.0)
            by_line, by_turn = _split(kind, [by_v.base[k] for k in rates], {})
            slopes = added(product(_ad(kind, turn), by_line), -1.0, product(_ad(kind, line), by_turn))
            for i in kind.turning_entries:
                after[rates[i]] = plus(after[rates[i]], h, slopes[i])
        by_move = Combination(after if method.moves_last else by_v.base).scaled(h)
        moved = self._along(parts.turn, by_move).base
        for kind, rates, _ in turning_joints(tree):
            of_q, of_velocity = self._joint_rows(kind, rates, parts, after, by_move.base)
            for k, row in zip(rates, of_q, strict=True):
                moved[k] = row
            for i in kind.turning_entries:
                after[rates[i]] = of_velocity[i]
        return moved, after

    def _joint_rows(
        self, kind: JointType, rates: Sequence[int], parts: StepParts, after: Rows, by_move: Rows
    ) -> tuple[Rows, Rows]:
        """Of a joint's q ⊕ shift ⊕ turn, and of the velocities along axes that turn."""
        shift, turn, fixed = ([part[k] for k in rates] for part in (parts.shift, parts.turn, parts.fixed))
        motion, slope = kind.transport(turn)
        by_shift, by_turn = _split(kind, [by_move[k] for k in rates], {})
        by_turn, by_q = product(slope, by_turn), [{k: 1.0} for k in rates]
        by_q = added(added(by_q, -1.0, product(_ad(kind, shift), by_q)), 1.0, by_shift)
        line = [sum(row[i] * fixed[i] for i in kind.turning_entries) for row in motion]
        by_line, _ = _split(kind, [after[k] for k in rates], {})
        turned = added(product(motion, by_line), 1.0, product(_ad(kind, line), by_turn))
        return added(product(motion, by_q), 1.0, by_turn), turned

    def _path(self, method: Method) -> tuple[list[tuple[Values, Values]], list[Values]]:
        """(q, v) of each stage, and the u behind it; the last u leads to the end of the step."""
        states, moves = list[tuple[Values, Values]](), list[Values]()

        def acceleration(q: Values, v: Values) -> Values:
            states.append((q, v))
            return call(self.calls, self.inputs, self.function, q, v, self.inputs[self.push], *self.held)[0]

        def move(q: Values, u: Values) -> Values:
            moves.append(u)
            return self.calls.call(INTEGRATE, q, u)[0]

        u, _ = displacement(self.calls.tree, method, acceleration, move, self.inputs["q"], self.inputs["v"], self.h)
        return states, [*moves, u]

    def _slope(self, q: Values, v: Values, by_q: Combination, by_v: Combination) -> Combination:
        """The rows of a = fd(q, v, tau)."""
        state = (q, v, self.inputs[self.push])
        of_q, of_v, *others = self._slopes(*state)
        rows = added(self._times(matrix(of_q, self.n), by_q), 1.0, self._times(matrix(of_v, self.n), by_v))
        first = 2 * self.n
        for part in others:
            rows = added(rows, 1.0, shifted(matrix(part, self.n), first))
            first += len(part) // max(self.n, 1)
        return Combination(nothing(self.n), ((1.0, rows),))

    def _slopes(self, *state: Values) -> Sequence[Values]:
        """Of a by q, by v, by tau and by what is behind them."""
        held = self.held
        derivatives = CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES if held else FORWARD_DYNAMICS_DERIVATIVES
        extra = self.extra - {ACTIVE.name}
        # no closed form says how the filter of dependent rows changes with D
        filtered = held and IMPLICIT.name in self.inputs and algorithms.contact_forces.depends(self.calls.tree)
        if not extra and not filtered:
            return call(self.calls, self.inputs, derivatives, *state, *held)[: len(self.widths)]
        every = not held and extra <= self.widths.keys() and IMPLICIT.name not in self.inputs
        by = None if every else tuple(self.widths)
        derived = partial(jacobian_of, by=by)
        return call(self.calls, self.inputs, self.function, *state, *held, derived=derived)[: len(self.widths)]

    def _times(self, left: list[list[Any]], right: Combination) -> Rows:
        """A product with each part."""
        found = product(left, right.base)
        kept = [[0.0 if k in right.without else x for k, x in enumerate(row)] for row in left]
        for weight, part in right.parts:
            found = added(found, weight, self._large(kept, part))
        return found

    def _large(self, left: list[list[Any]], right: Rows) -> Rows:
        """A product, one operation where it is large and the recording keeps such."""
        if hasattr(self.calls, "product"):
            columns = sorted({k for row in right for k in row})
            factors = dense([[row.get(k, 0.0) for k in columns] for row in right])
            kept = self.calls.product(dense(left), factors)
            if kept is not None:
                return [dict(zip(columns, row, strict=True)) for row in kept.tolist()]
        return product(left, right)

    @cached_property
    def _curved(self) -> list[tuple[Any, list[int]]]:
        """The joints that move by one q ⊕ u along a curve, and where their velocities stand."""
        tree = self.calls.tree
        curved = [(kind, rates) for kind, _, rates in tree.configurations if not kind.is_flat]
        if METHODS[tree.integrator].order > 1:
            return curved
        return [(kind, rates) for kind, rates in curved if not kind.turning_entries]

    def _along(self, u: Values, by_u: Combination) -> Combination:
        """Of q ⊕ u."""
        curved = [k for _, rates in self._curved for k in rates]
        own = [row if k in curved else plus(row, 1.0, {k: 1.0}) for k, row in enumerate(by_u.base)]
        for kind, rates in self._curved:
            by_q, slope = kind.transport([u[k] for k in rates])
            moving = product(slope, [by_u.row(k) for k in rates])
            for k, row, part in zip(rates, moving, by_q, strict=True):
                own[k] = plus(row, 1.0, dict(zip(rates, part, strict=True)))
        return replace(by_u, base=own, without=frozenset(curved))

    def _bracket_slopes(self, x: Values, by_x: Combination) -> Combination:
        """Of [v, x]: [dv, x] + [v, dx]."""
        found, v = nothing(self.n), self.inputs["v"]
        for kind, rates in self._curved:
            units = [[float(i == k) for i in range(kind.nv)] for k in range(kind.nv)]
            by_v = [kind.bracket(one, [x[k] for k in rates]) for one in units]
            by_own = [kind.bracket([v[k] for k in rates], one) for one in units]
            moving = product(transposed(by_own), [by_x.row(k) for k in rates])
            for i, k in enumerate(rates):
                own = {self.n + l: column[i] for l, column in zip(rates, by_v, strict=True)}
                found[k] = plus(moving[i], 1.0, own)
        return Combination(found)


def _split(kind: JointType, x: Sequence[Any], zero: Any) -> tuple[list[Any], list[Any]]:
    """The entries along axes that turn, and the others; zero in place of the rest."""
    pairs = [(y, i in kind.turning_entries) for i, y in enumerate(x)]
    return [y if is_linear else zero for y, is_linear in pairs], [zero if is_linear else y for y, is_linear in pairs]


def _ad(kind: JointType, x: Values) -> Values:
    """The rows of y -> [x, y]."""
    units = [[number(float(i == k)) for i in range(kind.nv)] for k in range(kind.nv)]
    return transposed([kind.bracket(x, unit_vector) for unit_vector in units])


def jacobian(calls: Any, inputs: ByName) -> ByName:
    """All but those by flags of contacts, and none where no closed form has what an impact does to them: these are
    differentiated."""
    by = [name for name in inputs if name in EXTRA and name not in (ACTIVE.name, RISING.name, *DRIVEN)]
    if RISING.name in inputs:
        is_long = METHODS[calls.tree.integrator].order > 1 or algorithms.contact_forces.depends(calls.tree)
        if is_long or set(by) - {F_EXT.name, CONTROLS.name}:
            return {}
    made, found = StepDerivatives(calls, inputs, by), dict[str, Values]()
    for name, rows in (("q", made.q), ("v", made.v)):
        begin = 0
        for by, width in made.widths.items():
            found[f"d{name}_d{by}"] = block(rows, range(begin, begin + width))
            begin += width
    return found


def matrices(calls: Any, inputs: ByName) -> tuple[list[Any], ...]:
    """A, B, and E where there are forces."""
    made, n = StepDerivatives(calls, inputs, [name for name in inputs if name == F_EXT.name]), calls.tree.nv
    rows = [*made.q, *made.v]
    wide = 2 * n + made.widths[made.push]
    ends = [0, 2 * n, wide, *([wide + made.widths[F_EXT.name]] if F_EXT.name in made.widths else [])]
    return tuple(block(rows, range(*columns)) for columns in pairwise(ends))


def block(rows: Rows, columns: Sequence[int]) -> list[Any]:
    """Some columns, flat."""
    return [row.get(k, 0.0) for row in rows for k in columns]
