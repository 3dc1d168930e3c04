"""A Plan scheduled: the arrays with their intervals, the queues between them, costs and cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from condyle.backends.fpga import steps
from condyle.backends.fpga.accelerator import AGAIN, CODES, LEAVES, NOT_LAST, TO_SOLVE, Plan
from condyle.backends.fpga.adders import widest
from condyle.backends.fpga.constants import with_constants
from condyle.backends.fpga.datapath import Datapath, unit_dsp
from condyle.backends.fpga.emit_array import Array
from condyle.backends.fpga.given import both, kind
from condyle.backends.fpga.schedule import schedule, units_at
from condyle.backends.fpga.target import ADDER
from condyle.errors import BuildError, UnsupportedError

WANTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("dynamics", "tau"): ("id", *TO_SOLVE),
    ("dynamics", "dtau"): ("did", "again dfd", "again dfd_given", "difd"),
    ("mass", "M"): ("m",),
    ("mass", "Minv"): (*both("minv"), *TO_SOLVE),
    ("step", "out"): ("rk4", "euler"),
    ("step", "again"): ("not_last",),
}
"""Which functions leave an array by which group; where none is named, all do."""
LARGEST_II = 64
ROOM = 4
"""Places in a queue beyond those that a full pipeline fills."""


@dataclass(frozen=True)
class Queues:
    """Depths of the queues that hold what waits for a slower path."""

    tau: int
    c: int
    inverse: int
    given: int
    again: int
    course: int


@dataclass(frozen=True)
class Accelerator:
    """A plan whose arrays are scheduled at one initiation interval."""

    plan: Plan
    arrays: Mapping[str, Array]
    ii: int

    @cached_property
    def dsp(self) -> int:
        return dsp_at(self.plan, self.ii)

    def tap(self, array: str, group: str) -> int:
        return self.arrays[array].schedule.taps[group]

    def latency(self, function: str) -> int:
        """Cycles from the task's acceptance to its result, nothing else in flight; a queue passed is one cycle."""
        start = self.tap("trig", "out") + 1
        array, group = LEAVES[function]
        if function in TO_SOLVE:
            start += max(self.tap("dynamics", "tau"), self.tap("mass", "Minv")) + 1
            start += self.tap("solve", "out") + (function not in steps.STEPS)
        if function == "rk4":
            start += 3 * (start + self.tap("step", "again") + 1)
        if kind(function) == "dfd":
            start += self.tap("trig", "out") + 1
        if kind(function) in ("dfd", "difd"):
            start += self.tap("dynamics", "dtau") + 1
        if kind(function) != "fd":
            start += self.tap(array, group) + 1
        return start + (len({LEAVES[name] for name in self.plan.functions}) > 1)

    def interval(self, function: str) -> int:
        """Cycles between results of one function after the other."""
        return self.ii * {"dfd": 2, "rk4": 4}.get(kind(function), 1)

    @cached_property
    def queues(self) -> Queues:
        def time(array: str, group: str) -> int:
            found = self.arrays.get(array)
            return found.schedule.taps.get(group, 0) if found else 0

        trig, c, inverse = time("trig", "out"), time("dynamics", "tau"), time("mass", "Minv")
        dtau, solve = time("dynamics", "dtau"), time("solve", "out")
        loop = 2 * trig + max(c, inverse) + solve + dtau + 8
        course = trig + max(c, inverse) + solve + time("step", "again") + 4

        def depth(cycles: int, ii: int) -> int:
            return max(0, cycles) // ii + ROOM

        return Queues(
            tau=depth(trig + max(c, inverse) + 4, self.ii),
            c=depth(inverse - c, self.ii),
            inverse=depth(c - inverse, self.ii),
            given=depth(trig + dtau + 4, self.ii),
            again=depth(loop, 2 * self.ii),
            course=depth(course, self.ii),
        )


def codes(names: tuple[str, ...], functions: tuple[str, ...]) -> tuple[int, ...]:
    """The codes of those of the functions that there are."""
    known = {f: CODES[f] for f in functions}
    known |= {f"again {f}": code for f, code in AGAIN.items() if f in functions}
    known |= {"not_last": NOT_LAST} if "rk4" in functions else {}
    return tuple(known[name] for name in names if name in known)


def array_of(name: str, datapath: Datapath, functions: tuple[str, ...], ii: int) -> Array:
    every = (*functions, *(f"again {f}" for f in AGAIN))
    wants = {group: codes(WANTS.get((name, group), every), functions) for group, _ in datapath.groups}
    return Array(schedule(datapath, ii), wants)


def build(plan: Plan, ii: int, turns: int = 1) -> Accelerator:
    """Every array scheduled at this interval; BuildError if a sum between two registers broke the rule.

    turns: how many limbs share an array, each at its own rate: `turns` divides ii.
    """
    plan = in_turns(plan, turns)
    wide = {name: widest(path) for name, path in plan.datapaths.items() if widest(path) > ADDER}
    if wide:
        raise BuildError(f"sums of {wide} bits between two registers, allowed are {ADDER}: please report this robot")
    arrays = {name: array_of(name, path, plan.functions, ii) for name, path in plan.datapaths.items()}
    return Accelerator(plan, arrays, ii)


def dsp_at(plan: Plan, ii: int) -> int:
    """DSPs of all units at an interval."""
    return sum(n * unit_dsp(pool[1]) for path in plan.datapaths.values() for pool, n in units_at(path, ii).items())


def in_turns(plan: Plan, turns: int) -> Plan:
    """The plan in which so many limbs share an array."""
    paths = {name: replace(path, turns=turns) for name, path in plan.datapaths.items()}
    return plan if turns == 1 else replace(plan, datapaths=paths)


def choices(plan: Plan) -> list[int]:
    """In how many turns limbs can share arrays, ascending."""
    limbs = {len(twins) for path in plan.datapaths.values() for twins in path.twins}
    return sorted({1, *(turns for n in limbs for turns in range(2, n + 1) if n % turns == 0)})


def fit(plan: Plan, budget: int, constants: str = "dsp", turns: int | None = None) -> tuple[int, int]:
    """The shortest interval whose units stay within a budget of DSPs, and the turns that then need the fewest.

    turns: only this many. UnsupportedError says which turns there are, or the smallest budget that can.
    """
    known = choices(plan)
    if turns is not None and turns not in known:
        raise UnsupportedError(f"turns={turns}: limbs of this robot can share arrays in {', '.join(map(str, known))}")
    plans = {n: in_turns(plan, n) for n in (known if turns is None else [turns])}
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
