"""A schedule as a Kernel whose states are problems: native where all its kernels are, else by the interpreter."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from condyle.ir.schedule import Call, Move, Operand, Run, Schedule, Slab, Statement, Sweep, interpret, verify_schedule
from condyle.runtime._native import Entry, Scheduled
from condyle.runtime.native import PIECE_NS, Kernel, NativeKernel, Shape, entry_of

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
    before, after = (tuple(schedule.slab(x).length for x in names) for names in (schedule.inputs, schedule.outputs))
    shape = Shape(before, after, 1, plan.work_bytes, 2 * PIECE_NS)  # a thread takes one problem at a time
    said = ", ".join(dict.fromkeys(native[call.kernel].description for call in schedule.calls()))
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
        return "a schedule by NumPy, one problem after the other"

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        def run(kernel: Kernel) -> Run:
            return lambda count, before, after: kernel(count, before, after, threads)

        kernels = {name: run(kernel) for name, kernel in self.kernels.items()}
        for k in range(n):
            rows = [array[k if len(array) > 1 else 0] for array in inputs]
            answers = interpret(self.schedule, kernels, dict(zip(self.schedule.inputs, rows, strict=True)), self.dtype)
            for output, name in zip(outputs, self.schedule.outputs, strict=True):
                output[k] = np.ravel(answers[name])


# Words of a schedule: see runtime/native/scheduled.h.


CALL, COPY, FLIP, LOOP = range(4)
LINE = 16
"""Slabs inside begin at multiples of so many numbers: at whole vectors."""


@dataclass
class _Words:
    """The words so far. slabs: of each its number, its first entry there, and entries of a row.

    moves: operands that a loop moves, and by how many entries; moving: those of the sweep that is written now.
    inside: entries of the slab inside, where all stand that are no inputs and no outputs; cleared: the first of them,
    which begin at 0.
    """

    schedule: Schedule
    kernels: Mapping[str, NativeKernel]
    slabs: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    entries: list[Entry] = field(default_factory=list[Entry])
    operands: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    moves: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    moving: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    steps: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    sweep: Sweep | None = None
    inside: int = 0

    def __post_init__(self) -> None:
        schedule, before = self.schedule, len(self.schedule.inputs)
        self.ends = [schedule.slab(name) for name in (*schedule.inputs, *schedule.outputs)]
        self.slabs.update((slab.name, (k, 0, slab.size)) for k, slab in enumerate(self.ends))
        zeros = {slab.name: Slab(f"zero {slab.size}", 1, slab.size) for slab in self.ends[before:] if slab.is_zero}
        inside = [slab for slab in schedule.slabs if slab.name not in self.slabs]
        for slab in (*zeros.values(), *(slab for slab in inside if slab.is_zero)):
            self._add_slab(slab)
        self.cleared = self.inside
        for slab in inside:
            self._add_slab(slab)
        for name, zero in zeros.items():
            self._copy(Operand(zero.name, 0, 0), Operand(name), schedule.slab(name).rows)

    def _add_slab(self, slab: Slab) -> None:
        if slab.over:
            self.slabs[slab.name] = *self.slabs[slab.over][:2], slab.size
        elif slab.name not in self.slabs:
            self.slabs[slab.name] = len(self.ends), self.inside, slab.size
            self.inside += -(-slab.length // LINE) * LINE

    def packed(self) -> bytes:
        lists = self.operands, self.moves, self.steps
        words = [len(self.schedule.inputs), len(self.schedule.outputs), self.cleared, *map(len, lists)]
        words += (*(slab.length for slab in self.ends), self.inside)
        words += (word for numbers in lists for group in numbers for word in group)
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
                self.steps.append((LOOP, statement.count, begin, -1, len(self.moves), len(self.moving)))
                self.moves += self.moving
                self.sweep, self.moving = None, []
            else:
                self.add(statement.body)
                flag = self._operand(Operand(statement.flag), 0)
                self.steps.append((LOOP, statement.most, begin, flag, 0, 0))

    def _operand(self, operand: Operand, stride: int) -> int:
        """Its number. It stands at the turn that comes first, and a sweep moves it."""
        (slab, first, size), row, turn = self.slabs[operand.slab], operand.row, operand.turn
        if self.sweep is not None and turn:
            if self.sweep.backwards:
                row, turn = row + turn * (self.sweep.count - 1), -turn
            self.moving.append((len(self.operands), turn * size))
        self.operands.append((slab, first + row * size, stride))
        return len(self.operands) - 1

    def _meet(self, a: Operand, b: Operand, count: int) -> bool:
        """Whether so many rows of both have one in common at some turn."""

        def rows(operand: Operand, turn: int) -> set[int]:
            return {operand.row + operand.turn * turn + operand.step * k for k in range(count)}

        turns = range(self.sweep.count if self.sweep is not None else 1)
        if a.slab != b.slab:
            return self.slabs[a.slab][:2] == self.slabs[b.slab][:2]
        return any(not rows(a, turn).isdisjoint(rows(b, turn)) for turn in turns)

    def _spare(self, port: int, rows: int, size: int) -> Operand:
        """Rows of a slab of our own, which other calls use too."""
        slab = Slab(f"spare {port} {rows} {size}", rows, size)
        self._add_slab(slab)
        return Operand(slab.name)

    def _copy(self, source: Operand, target: Operand, rows: int) -> None:
        size = self.slabs[source.slab][2]
        places = self._operand(source, source.step * size), self._operand(target, target.step * size)
        self.steps.append((COPY, rows, *places, size, 0))

    def _move(self, move: Move) -> None:
        whole = move.source.step == move.target.step == 1  # then the runner moves all rows at once
        if whole or not self._meet(move.source, move.target, move.count):
            self._copy(move.source, move.target, move.count)
            return
        spare = self._spare(0, move.count, self.slabs[move.source.slab][2])
        self._copy(move.source, spare, move.count)
        self._copy(spare, move.target, move.count)

    def _call(self, call: Call) -> None:
        entry, turned = self._entry(self.kernels[call.kernel], call)
        ports, sizes, before = (*call.inputs, *call.outputs), entry.sizes, len(call.inputs)
        others, groups, lanes = self._apart(call, sizes, turned), call.count // self.schedule.lanes, self.schedule.lanes
        for port, other, size in zip(call.inputs, others, sizes, strict=False):
            if other is not port:
                self.steps.append((FLIP, groups, self._operand(port, 0), self._operand(other, 0), size, lanes))
        if entry not in self.entries:
            self.entries.append(entry)
        self.steps.append((CALL, call.count, len(self.operands), 0, self.entries.index(entry), 0))
        for other, size in zip(others, sizes, strict=True):
            self._operand(other, other.step * size)
        for port, other, size in [*zip(ports, others, sizes, strict=True)][before:]:
            if other is not port and turned:
                self.steps.append((FLIP, groups, self._operand(other, 0), self._operand(port, 0), lanes, size))
            elif other is not port:
                self._copy(other, port, 1 if call.columns else call.count)

    def _entry(self, kernel: NativeKernel, call: Call) -> tuple[Entry, bool]:
        """What computes a call, and whether its columns are turned into rows for it."""
        if not call.columns:
            return (kernel.single if call.count == 1 and kernel.single is not None else kernel.entry), False
        fits = kernel.shared == tuple(port.step == 0 for port in call.inputs)
        packed = kernel.columns if fits and kernel.columns is not None else kernel.packed
        # packed arrays may leave out zeros, and have the lanes of another instruction set
        if packed is None or packed.sizes != kernel.entry.sizes or packed.lanes != self.schedule.lanes:
            return kernel.entry, True
        return packed, False

    def _apart(self, call: Call, sizes: Sequence[int], turned: bool) -> list[Operand]:
        """The operands, with spare rows for turned columns, and for outputs that meet what is read or written."""
        ports, (rows, wide) = [*call.inputs, *call.outputs], (1, call.count) if call.columns else (call.count, 1)
        widths = [size * (wide if port.step else 1) for size, port in zip(sizes, ports, strict=True)]
        assert widths == [self.slabs[port.slab][2] for port in ports], f"{call}: rows have {widths} numbers"
        others = list(ports)
        for k, port in enumerate(ports):
            if turned and port.step:
                others[k] = self._spare(k, call.count, sizes[k])
            elif k >= len(call.inputs) and any(self._meet(port, other, rows) for other in ports[:k]):
                others[k] = self._spare(k, rows, widths[k])
        return others
