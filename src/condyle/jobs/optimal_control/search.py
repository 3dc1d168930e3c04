"""The functions of a whole problem in an iteration: how long a step is, what the barrier is then, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from condyle.jobs.optimal_control.iteration import (
    BARRIER,
    COST,
    COUNT,
    DAMPING,
    DOWN,
    DUAL,
    ERROR,
    FACTS,
    FAILED,
    GAP,
    INFEASIBLE,
    LEAST,
    LENGTH,
    LOG_SLOPE,
    LOGS,
    MERIT,
    MOST,
    MOVES,
    NO_DESCENT,
    NOT_FINITE,
    PENALTY,
    PROMISED,
    SEARCH,
    SLOPE,
    SOLVED,
    STATE,
    STATUS,
    TO_BOUNDARY,
    TO_DUAL,
    TOLERANCE,
    TRIES,
    VALUE,
    VIOLATION,
    WORST,
)

np: Any = numpy  # of symbols, which NumPy's types do not know
Values = Mapping[str, Any]
Answers = dict[str, Any]

BOUNDARY, ENOUGH, TRIALS = 0.995, 1e-4, 9
"""The part of the way to s = 0 that a step may go; of the slope that phi must go down by; tries of a search."""
SHARE = 0.3
"""The part of the violation that nu makes count at the least."""
CENTERING = 0.1
"""mu by the mean of s l, where steps are long."""
DAMPED, SHORTENED, UNDAMPED, LARGEST = 1e-6, 1e-2, 1e-12, 1e8
"""The first number that is added to the diagonal after no step, after a hard search, the one that is none, and the one
that ends it."""
SETTLED = 1e-5
"""Of what is added to the diagonal, where a plan may be solved."""
HARD = 2.5
"""Tries of a search from which on it was hard."""


def carry(call: Callable[..., Any], values: Values) -> Answers:
    """What a plan hands on to the next solve: mu, nu, and damping where no step was found."""
    start = values["start_state"]
    entries = [0.0 * start[0]] * STATE
    entries[BARRIER], entries[PENALTY] = np.maximum(start[BARRIER], values["asked"][LEAST]), start[PENALTY]
    stuck = (start[FAILED] > 0.0) & (start[DAMPING] < LARGEST)
    entries[DAMPING] = np.where(stuck, start[DAMPING], UNDAMPED)
    return {"state": np.stack(entries), "reg": entries[DAMPING].reshape(1)}


@dataclass(frozen=True)
class Search:
    """knots: with the last one. rows: limits that are at most 0, of all knots. sums: terms of the violation. corner: of
    V, the entry of [1; 1]."""

    knots: int
    rows: int
    sums: int
    corner: int
    eps: float

    def _facts(self, facts: Any) -> Any:
        """FACTS of all knots."""
        table = facts.reshape(self.knots, FACTS)
        total = [table[:, k].sum() for k in range(FACTS)]
        total[WORST] = table[:, WORST].max()
        return total

    def _merit(self, facts: Any, state: Any) -> Any:
        return facts[COST] - state[BARRIER] * facts[LOGS] + state[PENALTY] * facts[VIOLATION]

    def begin(self, call: Callable[..., Any], values: Values) -> Answers:
        """The longest step, phi and its slope; nu, so that the slope is down."""
        state, facts, moves = values["state"], self._facts(values["facts"]), values["moves"].reshape(self.knots, MOVES)
        steep = moves[:, SLOPE].sum() - state[BARRIER] * moves[:, LOG_SLOPE].sum()
        violation = facts[VIOLATION]
        model = 0.5 * values["V"].reshape(-1)[self.corner]
        worse = np.maximum(steep, model)
        enough = np.where(violation > 0.0, worse / ((1.0 - SHARE) * np.maximum(violation, 1e-30)), 0.0)
        penalty = np.maximum(state[PENALTY], 1.5 * np.where(violation > self.eps, enough, 0.0))
        entries = [state[k] for k in range(STATE)]
        entries[PENALTY] = np.where(penalty < 1e12, penalty, state[PENALTY])
        state = np.stack(entries)
        down = steep - state[PENALTY] * violation
        finite = np.abs(down) < 1e30
        search = [0.0 * down] * SEARCH
        search[LENGTH] = np.where(
            finite, np.minimum(1.0, BOUNDARY / np.maximum(moves[:, TO_BOUNDARY].max(), 1e-9)), 0.0
        )
        search[DUAL] = np.where(finite, np.minimum(1.0, BOUNDARY / np.maximum(moves[:, TO_DUAL].max(), 1e-9)), 0.0)
        search[MERIT], search[DOWN] = self._merit(facts, state), down
        search[PROMISED] = np.abs(model)
        return {"new_state": state, "search": np.stack(search)}

    def judge(self, call: Callable[..., Any], values: Values) -> Answers:
        """Whether phi is low enough after the trial; else half of the step, and none after all tries."""
        state, search, facts = values["state"], values["search"], self._facts(values["facts"])
        merit = self._merit(facts, state)
        rounding = 10.0 * self.eps * (1.0 + np.abs(search[MERIT]) + state[PENALTY] * self.sums)
        low = merit <= search[MERIT] + ENOUGH * search[LENGTH] * np.minimum(search[DOWN], 0.0) + rounding
        low = low | (search[LENGTH] <= 0.0)
        last = search[TRIES] >= TRIALS - 1.0
        entries = [search[k] for k in range(SEARCH)]
        entries[LENGTH] = np.where(low, search[LENGTH], np.where(last, 0.0, 0.5 * search[LENGTH]))
        entries[DUAL] = np.where(low, search[DUAL], np.where(last, 0.0, search[DUAL]))
        entries[TRIES] = search[TRIES] + 1.0
        return {"new_search": np.stack(entries), "accepted": np.where(low, 1.0, 0.0).reshape(1)}

    def finish(self, call: Callable[..., Any], values: Values) -> Answers:
        """mu, damping and status behind an iteration, and whether it was the last one."""
        state, search, asked = values["state"], values["search"], values["asked"]
        facts = self._facts(values["facts"])
        moved = search[LENGTH] > 0.0
        size = np.abs(facts[COST]) + 1e-3
        entries = [state[k] for k in range(STATE)]
        tolerance, gap = asked[TOLERANCE], 0.0 * size
        if self.rows:
            gap = facts[GAP]
            small = np.minimum(search[LENGTH], search[DUAL])
            mean = gap / self.rows
            lower = np.where(small > 0.7, CENTERING * mean, np.where(small > 0.3, 0.7 * mean, state[BARRIER]))
            least = np.maximum(asked[LEAST], 0.1 * tolerance * size / self.rows)
            entries[BARRIER] = np.maximum(np.where(moved, np.minimum(state[BARRIER], lower), state[BARRIER]), least)
        damping = state[DAMPING]
        less = np.where(damping > DAMPED, 0.01 * damping, UNDAMPED)
        first = np.where(moved, SHORTENED, DAMPED)
        easy = moved & (search[TRIES] < HARD)
        entries[DAMPING] = np.where(easy, less, np.maximum(10.0 * damping, first))
        entries[FAILED] = np.where(moved, 0.0, state[FAILED] + 1.0)
        entries[COUNT] = state[COUNT] + 1.0
        entries[VALUE], entries[ERROR] = facts[COST], facts[WORST]
        feasible = facts[WORST] <= tolerance
        arrived = feasible & (damping <= SETTLED) & (search[PROMISED] <= tolerance * size) & (gap <= tolerance * size)
        finite = np.abs(facts[COST]) < 1e30
        ends = entries[DAMPING] >= LARGEST
        status = np.where(arrived, SOLVED, np.where(ends, np.where(feasible, NO_DESCENT, INFEASIBLE), 0.0))
        entries[STATUS] = np.where(finite, status, NOT_FINITE)
        done = arrived | ends | (entries[COUNT] >= asked[MOST]) | ~finite
        return {
            "new_state": np.stack(entries),
            "new_reg": entries[DAMPING].reshape(1),
            "done": np.where(done, 1.0, 0.0).reshape(1),
        }
