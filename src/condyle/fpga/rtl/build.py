"""A Plan scheduled: the arrays with their intervals, the queues between them, costs and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from condyle.errors import BuildError
from condyle.fpga.rtl.accelerator import PRODUCTS, SOLVED, STAGE, STEP, TRIG, Leaf, Plan
from condyle.fpga.rtl.constants import widest
from condyle.fpga.rtl.datapath import unit_dsp
from condyle.fpga.rtl.schedule import Binding, Schedule, schedule, units_at
from condyle.fpga.rtl.stream import depths
from condyle.fpga.rtl.target import ADDER, PIPELINES, XCVU9P, Device, pipeline_of

EDGES = 2
"""Cycles in the queue at the input and in the queues of results."""


@dataclass(frozen=True)
class Accelerator:
    """A plan whose arrays are scheduled at one initiation interval, for a part."""

    plan: Plan
    arrays: Mapping[str, Schedule]
    ii: int
    device: Device = XCVU9P

    @cached_property
    def dsp(self) -> int:
        return dsp_at(self.plan, self.ii, self.device)

    def tap(self, leaf: Leaf) -> int:
        """The cycle in which a group leaves its array; 0 if there is no such group."""
        array = self.arrays.get(leaf.array)
        return array.taps.get(leaf.group, 0) if array else 0

    def latency(self, function: str) -> int:
        """Cycles from a task to its result, with no other task in flight. Each queue takes one cycle."""
        task = self.plan.tasks[function]
        cycles = sum(map(self._through, task.passes))
        if task.has_rounds:
            cycles += (len(task.stages) - 1) * self._through((*task.passes[0][:-1], STAGE))
        return EDGES + cycles

    def _through(self, leaves: Sequence[Leaf]) -> int:
        """Cycles of one pass: the groups of traced arrays in parallel, then the others."""
        after = [leaf for leaf in leaves if leaf in (SOLVED, PRODUCTS, STEP, STAGE)]
        beside = [self.tap(leaf) for leaf in leaves if leaf not in after]
        return self.tap(TRIG) + 1 + max(beside) + 1 + sum(self.tap(leaf) + 1 for leaf in after)

    def interval(self, function: str) -> int:
        """Cycles between results of one function after the other."""
        return self.ii * self.plan.tasks[function].turns

    @cached_property
    def words(self) -> Mapping[str, Mapping[int, int]]:
        """For each array the number of word registers of each operation."""
        found: dict[str, dict[int, int]] = {}
        for name, array in self.arrays.items():
            path, used = array.datapath, Binding(array).used
            timed = [k for k in path.members if path.ops[k].kind not in ("const", "wire", "sincos")]
            found[name] = {k: 1 + max(used.get(k, [0])) for k in timed}
        return found

    @cached_property
    def register_bits(self) -> int:
        """Bits of all word registers, with delay lines and without queues."""
        return sum(map(self.register_bits_of, self.arrays))

    def register_bits_of(self, array: str) -> int:
        """Those of one array."""
        ops = self.arrays[array].datapath.ops
        return sum(n * ops[k].format.width for k, n in self.words[array].items())

    @property
    def pipeline(self) -> int:
        """The level of `PIPELINES` that the operators have."""
        return max(PIPELINES.index(array.datapath.pipeline) for array in self.arrays.values())

    @cached_property
    def plain(self) -> Accelerator:
        """The same plan with operators of one register (`--pipeline 0`)."""
        return build(with_pipeline(self.plan, 0), self.ii, device=self.device) if self.pipeline else self

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """The depth of each queue."""
        return depths(self.plan, self.ii, self.tap)


def build(plan: Plan, ii: int, folding: int = 1, device: Device = XCVU9P) -> Accelerator:
    """Every array scheduled at this interval; BuildError if a sum between two registers broke the rule.

    folding: how many branches share an array, each at its own rate: it divides ii.
    """
    plan = with_folding(plan, folding)
    wide = {name: widest(path) for name, path in plan.datapaths.items() if widest(path) > ADDER}
    if wide and plan.numbers.frac is None:  # pieces of a product that saturates may be wider
        raise BuildError(f"sums of {wide} bits between two registers, allowed are {ADDER}: please report this robot")
    arrays = {name: schedule(path, ii) for name, path in plan.datapaths.items()}
    return Accelerator(plan, arrays, ii, device)


def dsp_at(plan: Plan, ii: int, device: Device = XCVU9P) -> int:
    """DSPs of all units at an interval."""
    pools = [units_at(path, ii) for path in plan.datapaths.values()]
    return sum(n * unit_dsp(pool[1], device) for units in pools for pool, n in units.items())


def with_pipeline(plan: Plan, n: int) -> Plan:
    """The plan with more registers in its operators, see `PIPELINES`."""
    paths = {name: replace(path, pipeline=pipeline_of(n)) for name, path in plan.datapaths.items()}
    return replace(plan, datapaths=paths)


def with_folding(plan: Plan, folding: int) -> Plan:
    """The plan in which this number of branches shares an array."""
    paths = {name: replace(path, folding=folding) for name, path in plan.datapaths.items()}
    return plan if folding == 1 else replace(plan, datapaths=paths)
