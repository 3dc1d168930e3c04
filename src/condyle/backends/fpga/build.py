"""A Plan scheduled: the arrays with their intervals, the queues between them, costs and cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from condyle.backends.fpga import steps
from condyle.backends.fpga.accelerator import AGAIN, CODES, LEAVES, NOT_LAST, TO_SOLVE, Plan
from condyle.backends.fpga.adders import widest
from condyle.backends.fpga.constants import with_constants
from condyle.backends.fpga.datapath import Datapath, unit_dsp
from condyle.backends.fpga.emit_array import Array
from condyle.backends.fpga.schedule import schedule, units_at
from condyle.backends.fpga.target import ADDER
from condyle.errors import BuildError, UnsupportedError

WANTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("dynamics", "tau"): ("id", *TO_SOLVE),
    ("dynamics", "dtau"): ("did", "again", "difd"),
    ("mass", "M"): ("m",),
    ("mass", "Minv"): ("minv", *TO_SOLVE),
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
        if function == "dfd":
            start += self.tap("trig", "out") + 1
        if function in ("dfd", "difd"):
            start += self.tap("dynamics", "dtau") + 1
        if function != "fd":
            start += self.tap(array, group) + 1
        return start + (len({LEAVES[name] for name in self.plan.functions}) > 1)

    def interval(self, function: str) -> int:
        """Cycles between results of one function after the other."""
        return self.ii * {"dfd": 2, "rk4": 4}.get(function, 1)

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
    known |= {"again": AGAIN} if "dfd" in functions else {}
    known |= {"not_last": NOT_LAST} if "rk4" in functions else {}
    return tuple(known[name] for name in names if name in known)


def array_of(name: str, datapath: Datapath, functions: tuple[str, ...], ii: int) -> Array:
    every = (*functions, "again")
    wants = {group: codes(WANTS.get((name, group), every), functions) for group, _ in datapath.groups}
    return Array(schedule(datapath, ii), wants)


def build(plan: Plan, ii: int) -> Accelerator:
    """Every array scheduled at this interval; BuildError if a sum between two registers broke the rule."""
    wide = {name: widest(path) for name, path in plan.datapaths.items() if widest(path) > ADDER}
    if wide:
        raise BuildError(f"sums of {wide} bits between two registers, allowed are {ADDER}: please report this robot")
    arrays = {name: array_of(name, path, plan.functions, ii) for name, path in plan.datapaths.items()}
    return Accelerator(plan, arrays, ii)


def dsp_at(plan: Plan, ii: int) -> int:
    """DSPs of all units at an interval."""
    return sum(n * unit_dsp(pool[1]) for path in plan.datapaths.values() for pool, n in units_at(path, ii).items())


def fit(plan: Plan, budget: int, constants: str = "dsp") -> int:
    """The shortest interval whose units stay within a budget of DSPs; UnsupportedError says the smallest that can."""
    for ii in range(1, LARGEST_II + 1):
        if dsp_at(with_constants(plan, constants, ii), ii) <= budget:
            return ii
    least = dsp_at(with_constants(plan, constants, LARGEST_II), LARGEST_II)
    raise UnsupportedError(
        f"{budget} DSPs do not hold {', '.join(plan.functions)}: the smallest budget is {least}, at one task in "
        f"{LARGEST_II} cycles; ask for fewer functions or a narrower word"
    )
