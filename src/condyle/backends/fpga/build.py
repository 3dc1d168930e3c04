"""A Plan scheduled: the arrays with their intervals, the queues between them, costs and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.adders import widest
from condyle.backends.fpga.constants import with_constants
from condyle.backends.fpga.datapath import unit_dsp
from condyle.backends.fpga.emit_array import Array
from condyle.backends.fpga.queues import depths
from condyle.backends.fpga.schedule import schedule, units_at
from condyle.backends.fpga.target import ADDER
from condyle.backends.fpga.tasks import PRODUCTS, SOLVED, STAGE, STEP, TRIG, Leaf
from condyle.errors import BuildError, UnsupportedError

LARGEST_II = 64
EDGES = 2
"""Cycles in the queues at either end: where tasks come in, where results go out."""


@dataclass(frozen=True)
class Accelerator:
    """A plan whose arrays are scheduled at one initiation interval."""

    plan: Plan
    arrays: Mapping[str, Array]
    ii: int

    @cached_property
    def dsp(self) -> int:
        return dsp_at(self.plan, self.ii)

    def tap(self, leaf: Leaf) -> int:
        """When a group leaves its array; 0 where there is none."""
        array = self.arrays.get(leaf.array)
        return array.schedule.taps.get(leaf.group, 0) if array else 0

    def latency(self, function: str) -> int:
        """Cycles from the task's acceptance to its result, nothing else in flight; a queue passed is one cycle."""
        task = self.plan.tasks[function]
        cycles = sum(map(self._through, task.passes))
        if task.has_rounds:
            cycles += (len(task.stages) - 1) * self._through((*task.passes[0][:-1], STAGE))
        return EDGES + cycles

    def _through(self, leaves: Sequence[Leaf]) -> int:
        """One pass: groups of traced arrays side by side, then the others."""
        after = [leaf for leaf in leaves if leaf in (SOLVED, PRODUCTS, STEP, STAGE)]
        beside = [self.tap(leaf) for leaf in leaves if leaf not in after]
        return self.tap(TRIG) + 1 + max(beside) + 1 + sum(self.tap(leaf) + 1 for leaf in after)

    def interval(self, function: str) -> int:
        """Cycles between results of one function after the other."""
        task = self.plan.tasks[function]
        return self.ii * len(task.passes) * max(1, len(task.stages))

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """Places of each queue."""
        return depths(self.plan, self.ii, self.tap)


def build(plan: Plan, ii: int, folding: int = 1) -> Accelerator:
    """Every array scheduled at this interval; BuildError if a sum between two registers broke the rule.

    folding: how many branches share an array, each at its own rate: it divides ii.
    """
    plan = with_folding(plan, folding)
    wide = {name: widest(path) for name, path in plan.datapaths.items() if widest(path) > ADDER}
    if wide:
        raise BuildError(f"sums of {wide} bits between two registers, allowed are {ADDER}: please report this robot")
    arrays: dict[str, Array] = {}
    for name, path in plan.datapaths.items():
        wants = {group: tuple(plan.through(Leaf(name, group))) for group, _ in path.groups}
        arrays[name] = Array(schedule(path, ii), wants, plan.id)
    return Accelerator(plan, arrays, ii)


def dsp_at(plan: Plan, ii: int) -> int:
    """DSPs of all units at an interval."""
    return sum(n * unit_dsp(pool[1]) for path in plan.datapaths.values() for pool, n in units_at(path, ii).items())


def with_folding(plan: Plan, folding: int) -> Plan:
    """The plan in which so many branches share an array."""
    paths = {name: replace(path, folding=folding) for name, path in plan.datapaths.items()}
    return plan if folding == 1 else replace(plan, datapaths=paths)


def foldings(plan: Plan) -> list[int]:
    """How many branches can share arrays, ascending."""
    counts = {len(alike) for path in plan.datapaths.values() for alike in path.shared}
    return sorted({1, *(k for n in counts for k in range(2, n + 1) if n % k == 0)})


def fit(plan: Plan, budget: int, constants: str = "dsp", folding: int | None = None) -> tuple[int, int]:
    """The shortest interval whose units stay within a budget of DSPs, and the folding factor that then needs fewest.

    folding: only this one. UnsupportedError says which there are, or the smallest budget that can.
    """
    known = foldings(plan)
    if folding is not None and folding not in known:
        raise UnsupportedError(f"folding={folding}: factors of this robot's branches are {', '.join(map(str, known))}")
    plans = {n: with_folding(plan, n) for n in (known if folding is None else [folding])}
    for ii in range(1, LARGEST_II + 1):
        there = {n: with_constants(shared, constants, ii) for n, shared in plans.items() if ii % n == 0}
        costs = [(dsp_at(shared, ii), n) for n, shared in there.items()]
        if costs and min(costs)[0] <= budget:
            return ii, min(costs)[1]
    slowest = {n: LARGEST_II // n * n for n in plans}
    least = min(dsp_at(with_constants(plans[n], constants, ii), ii) for n, ii in slowest.items())
    raise UnsupportedError(
        f"{budget} DSPs do not hold {', '.join(plan.functions)}: the smallest budget is {least}, at one task in "
        f"{LARGEST_II} cycles; ask for fewer functions or a narrower word"
    )
