"""A schedule as a Kernel whose states are problems: native where all its kernels are, else by the interpreter."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from condyle.ir.schedule import Call, Move, Operand, Run, Schedule, Statement, Sweep, interpret, verify_schedule
from condyle.runtime._native import Entry, Scheduled
from condyle.runtime.kernel import Kernel
from condyle.runtime.native import PIECE_NS, NativeKernel, Shape, entry_of

Array = NDArray[np.floating]


def scheduled(schedule: Schedule, kernels: Mapping[str, Kernel], dtype: np.dtype[np.floating]) -> Kernel:
    """The kernel of a schedule: inputs (n or 1, rows * size), outputs (n, rows * size) of n problems.

    kernels: what its calls name. Threads share the problems; one problem is computed by one thread.
    """
    verify_schedule(schedule)
    native = {name: kernel for name, kernel in kernels.items() if isinstance(kernel, NativeKernel)}
    if not all(call.kernel in native for call in schedule.calls()):
        return InterpretedKernel(schedule, kernels, dtype)
    words = _Words(schedule, native)
    words.add(schedule.body)
    plan = Scheduled(words.packed(), tuple(words.entries), dtype.char)
    sizes = [[words.length(name) for name in names] for names in (schedule.inputs, schedule.outputs)]
    shape = Shape(tuple(sizes[0]), tuple(sizes[1]), 1, plan.work_bytes, 2 * PIECE_NS)  # a thread takes one at a time
    said = ", ".join(dict.fromkeys(kernel.description for kernel in native.values()))
    entry = entry_of(plan.address, shape, dtype, plan.context)
    return NativeKernel(entry, dtype, f"a schedule of {len(words.steps)} steps, {said}", (plan, native))


@dataclass(frozen=True)
class InterpretedKernel:
    """A schedule by NumPy, one problem after the other, around any kernels."""

    schedule: Schedule
    kernels: Mapping[str, Kernel]
    dtype: np.dtype[np.floating]

    @property
    def description(self) -> str:
        return f"{self.schedule.name}, a schedule by NumPy, one problem after the other"

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        kernels = {name: _run(kernel) for name, kernel in self.kernels.items()}
        for k in range(n):
            rows = [array[k if len(array) > 1 else 0] for array in inputs]
            answers = interpret(self.schedule, kernels, dict(zip(self.schedule.inputs, rows, strict=True)), self.dtype)
            for output, name in zip(outputs, self.schedule.outputs, strict=True):
                output[k] = np.ravel(answers[name])


def _run(kernel: Kernel) -> Run:
    return lambda n, inputs, outputs: kernel(n, inputs, outputs, 1)


# Words of a schedule: see runtime/native/scheduled.h.


CALL, COPY, FLIP, LOOP = range(4)
LINE = 16
"""Numbers between what stands in the slab for passing rows."""


@dataclass
class _Words:
    """The words so far. passing: numbers of one more slab, for rows that wait or are turned into columns.

    moves: operands that a loop moves, and by how many numbers; waiting: those of the loop that is written now.
    """

    schedule: Schedule
    kernels: Mapping[str, NativeKernel]
    entries: list[Entry] = field(default_factory=list[Entry])
    operands: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    moves: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    steps: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    waiting: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    sweep: Sweep | None = None
    passing: int = 0

    @property
    def names(self) -> list[str]:
        """Slabs in the order of their numbers; the one for passing rows comes behind them."""
        ends, slabs = (*self.schedule.inputs, *self.schedule.outputs), self.schedule.slabs
        inside = [slab for slab in slabs if slab.name not in ends and not slab.over]
        return [*ends, *(slab.name for slab in sorted(inside, key=lambda slab: not slab.is_zero))]

    def number(self, name: str) -> int:
        """The number of the slab whose memory this one is."""
        return self.names.index(self.schedule.slab(name).over or name)

    @property
    def zeros(self) -> int:
        """The slabs that begin at 0 come first among those inside: how many."""
        ends = *self.schedule.inputs, *self.schedule.outputs
        return sum(slab.is_zero for slab in self.schedule.slabs if slab.name not in ends)

    def length(self, name: str) -> int:
        slab = self.schedule.slab(name)
        return slab.rows * slab.size

    def packed(self) -> bytes:
        schedule, slabs = self.schedule, [*map(self.length, self.names), self.passing]
        counts = len(schedule.inputs), len(schedule.outputs), self.zeros, len(slabs)
        lists = self.operands, self.moves, self.steps
        words = [*counts, *map(len, lists), *slabs, *(word for group in lists for words in group for word in words)]
        return array("q", words).tobytes()

    def add(self, body: Sequence[Statement]) -> None:
        for statement in body:
            begin = len(self.steps)
            if isinstance(statement, Call):
                self._call(statement)
            elif isinstance(statement, Move):
                self._move(statement)
            elif isinstance(statement, Sweep):
                self.sweep = statement
                self.add(statement.body)
                self.steps.append((LOOP, statement.count, begin, -1, len(self.moves), len(self.waiting)))
                self.moves += self.waiting
                self.sweep, self.waiting = None, []
            else:
                self.add(statement.body)
                flag = self._place(self.number(statement.flag), 0, 0)
                self.steps.append((LOOP, statement.most, begin, flag, 0, 0))

    def _place(self, slab: int, first: int, stride: int) -> int:
        self.operands.append((slab, first, stride))
        return len(self.operands) - 1

    def _operand(self, operand: Operand, stride: int) -> int:
        """Its place at the turn that comes first, which a sweep moves."""
        row, size = operand.row, self.schedule.slab(operand.slab).size
        if self.sweep is not None and operand.turn:
            back = self.sweep.backwards
            row += operand.turn * (self.sweep.count - 1) if back else 0
            self.waiting.append((len(self.operands), -operand.turn * size if back else operand.turn * size))
        return self._place(self.number(operand.slab), row * size, stride)

    def _passing(self, lengths: Iterable[int]) -> list[int]:
        """Where rows of these lengths stand in the slab for passing ones; each begins a line."""
        ends = list(accumulate((-(-length // LINE) * LINE for length in lengths), initial=0))
        self.passing = max(self.passing, ends[-1])
        return ends[:-1]

    def _meet(self, a: Operand, b: Operand, count: int) -> bool:
        """Whether so many rows of both have one in common at some turn."""

        def rows(operand: Operand, turn: int) -> set[int]:
            return {operand.row + operand.turn * turn + operand.step * k for k in range(count)}

        turns = range(self.sweep.count if self.sweep is not None else 1)
        if a.slab != b.slab:
            return self.number(a.slab) == self.number(b.slab)
        return any(not rows(a, turn).isdisjoint(rows(b, turn)) for turn in turns)

    def _move(self, move: Move) -> None:
        size = self.schedule.slab(move.source.slab).size
        source, target = (self._operand(operand, operand.step * size) for operand in (move.source, move.target))
        whole = move.source.step == move.target.step == 1  # then the runner moves all rows at once
        if whole or not self._meet(move.source, move.target, move.count):
            self.steps.append((COPY, move.count, source, target, size, 0))
            return
        place = self._place(len(self.names), self._passing([move.count * size])[0], size)
        self.steps += [(COPY, move.count, source, place, size, 0), (COPY, move.count, place, target, size, 0)]

    def _call(self, call: Call) -> None:
        """Outputs that meet what the call reads wait in passing rows; columns without an entry for them become rows."""
        kernel, lanes = self.kernels[call.kernel], self.schedule.lanes
        entry, turned = self._entry(kernel, call)
        ports, sizes, count = (*call.inputs, *call.outputs), entry.sizes, call.count
        rows, many = (1, count) if call.columns else (count, 1)
        widths = [size * (many if operand.step else 1) for operand, size in zip(ports, sizes, strict=True)]
        assert widths == [self.schedule.slab(operand.slab).size for operand in ports], f"{call.kernel}: {widths}"
        passing = [
            k
            for k, operand in enumerate(ports)
            if (turned and operand.step)
            or (k >= len(call.inputs) and any(self._meet(operand, other, rows) for other in ports[:k]))
        ]
        begins = dict(zip(passing, self._passing(count * sizes[k] for k in passing), strict=True))
        for k in passing:
            if k < len(call.inputs):
                to = self._place(len(self.names), begins[k], sizes[k])
                panel = self._operand(ports[k], 0)
                self.steps.append((FLIP, count // lanes, panel, to, sizes[k], lanes))
        first, after = len(self.operands), list[tuple[int, int]]()
        for k, operand in enumerate(ports):
            stride = operand.step * (sizes[k] if call.columns else widths[k])
            if k not in begins:
                self._operand(operand, stride)
                continue
            place = self._place(len(self.names), begins[k], sizes[k])
            if k >= len(call.inputs):
                after.append((k, place))
        if entry not in self.entries:
            self.entries.append(entry)
        self.steps.append((CALL, count, first, 0, self.entries.index(entry), 0))
        for k, place in after:
            to = self._operand(ports[k], ports[k].step * widths[k])
            how = (
                (FLIP, count // lanes, place, to, lanes, sizes[k]) if turned else (COPY, rows, place, to, widths[k], 0)
            )
            self.steps.append(how)

    def _entry(self, kernel: NativeKernel, call: Call) -> tuple[Entry, bool]:
        """What computes a call, and whether its columns are turned into rows for it."""
        packed = kernel.packed
        if call.columns and kernel.columns is not None and kernel.columns.lanes == self.schedule.lanes:
            return kernel.columns, False
        if call.columns:
            # packed arrays may leave out zeros, and have the lanes of another instruction set
            fine = packed is not None and packed.sizes == kernel.entry.sizes and packed.lanes == self.schedule.lanes
            return (packed, False) if packed is not None and fine else (kernel.entry, True)
        return (kernel.single if call.count == 1 and kernel.single is not None else kernel.entry), False
