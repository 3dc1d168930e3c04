"""A schedule as launches on a GPU, for all problems of a batch at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.facts import bits_of
from condyle.backends.cuda.kernel import CudaFunction, Loaded, loaded
from condyle.backends.cuda.launches import over_rows
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Output, Program
from condyle.ir.schedule import Call, Move, Operand, Schedule, Statement, Sweep, Until, verify_schedule
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.stage import Slot, free_released
from condyle.runtime.forks import Guard
from condyle.runtime.native import Kernel

Rows = NDArray[np.floating]
Ended = NDArray[np.uint32]
LINE = 256
"""Slabs begin at multiples of so many bytes."""
MOST_BYTES = 8 << 30
"""Slabs of the problems that are computed together."""


class Address(NamedTuple):
    """Where a slab of the first problem is, and bytes to that of the next one; 0 where all have the same."""

    first: int
    stride: int


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel on `count` rows of each problem. ports: operands, bytes of a row, and to the next state."""

    kernel: Loaded
    count: int
    ports: tuple[tuple[Operand, int, int], ...]


class GpuSchedule:
    """The kernel of a schedule: inputs (n or 1, rows * size), outputs (n, rows * size) of n problems, in host memory.

    A call or a move is one launch for all problems, a sweep its body's launches for one knot after the other. Behind
    each round of a loop the host reads the flag of each problem, and marks those that have ended: kernels write nothing
    for them, so that answers of a problem are the same bits in any batch. So an iteration of optimal control with N
    knots has 5 N launches, 6 N for robots with free or spherical joints, 12 to 18 others, and 4 for each trial of a
    step; the host waits once for each trial and once more. The memory of slabs is kept for the next call.
    """

    def __init__(self, schedule: Schedule, kernels: Mapping[str, Kernel], dtype: np.dtype[np.floating]) -> None:
        """kernels: what its calls name. Errors: UnsupportedError for functions that are no straight code on a GPU."""
        self.schedule, self.dtype = verify_schedule(schedule), dtype
        check_apart(schedule, schedule.body)
        self.slabs = {slab.name: slab for slab in self.schedule.slabs}
        self._kernels = dict[str, CudaFunction]()
        for name, kernel in kernels.items():
            if not isinstance(kernel, CudaFunction):
                raise UnsupportedError(f"target 'cuda': {name} is too long for a GPU: compile for target 'cpu'")
            self._kernels[name] = kernel
        (self.gpu,) = {kernel.gpu for kernel in self._kernels.values()}
        self.launches = dict[Call | Move, Launch]()
        self._prepare(self.schedule.body)
        self._slots: list[Slot] = []
        self._guard = Guard()
        self.description = f"CUDA, {self.gpu.arch}, a schedule of {len(self.launches)} calls"

    def _prepare(self, body: Sequence[Statement]) -> None:
        for statement in body:
            if isinstance(statement, Call):
                self.launches[statement] = self._launch(statement)
            elif isinstance(statement, Move):
                self.launches[statement] = self._move(statement)
            else:
                self._prepare(statement.body)

    def _launch(self, call: Call) -> Launch:
        kernel, ports = self._kernels[call.kernel].over_rows(), [*call.inputs, *call.outputs]
        sizes = [array.size for array in (*kernel.part.reads, *kernel.part.writes)]
        wide = call.count if call.columns else 1
        rows = [self.slabs[port.slab].size for port in ports]
        wanted = [size * (wide if port.step else 1) for size, port in zip(sizes, ports, strict=True)]
        assert rows == wanted, f"{call}: rows have {wanted} numbers"
        steps = [port.step * size * self.dtype.itemsize for port, size in zip(ports, sizes, strict=True)]
        rows = [size * self.dtype.itemsize for size in rows]
        return Launch(kernel, call.count, tuple(zip(ports, rows, steps, strict=True)))

    def _move(self, move: Move) -> Launch:
        size = self.slabs[move.source.slab].size
        row = size * self.dtype.itemsize
        ports = tuple((port, row, port.step * row) for port in (move.source, move.target))
        return Launch(_copier(self.gpu, size, str(self.dtype)), move.count, ports)

    def __call__(self, n: int, inputs: Sequence[Rows], outputs: Sequence[Rows], threads: int) -> None:
        problem = sum(slab.length for slab in self.schedule.slabs if not slab.over) * self.dtype.itemsize
        longest = max((call.count for call in self.schedule.calls()), default=1)
        most = max(1, min(MOST_BYTES // problem, ((1 << 31) - 1) // longest))
        with self._guard.lock, self.gpu.current():
            if not self._slots:
                self._slots.append(Slot.create(self.gpu))
            (slot,) = self._slots
            free_released(self.gpu)
            try:
                for start in range(0, n, most):
                    rows = slice(start, min(n, start + most))
                    rows_in = [array if len(array) == 1 else array[rows] for array in inputs]
                    _Pass(self, slot, rows.stop - start).compute(rows_in, [output[rows] for output in outputs])
            finally:
                slot.give_up()


class _Pass:
    """Some problems at once."""

    def __init__(self, job: GpuSchedule, slot: Slot, n: int) -> None:
        self.job, self.slot, self.n, self.driver = job, slot, n, job.gpu.driver

    def compute(self, inputs: Sequence[Rows], outputs: Sequence[Rows]) -> None:
        schedule, item = self.job.schedule, self.job.dtype.itemsize
        shared = {name for name, array in zip(schedule.inputs, inputs, strict=True) if len(array) == 1}
        slabs = sorted((slab for slab in schedule.slabs if not slab.over), key=lambda slab: not slab.is_zero)
        depth, offset, cleared, addresses = 1 + _depth(schedule.body), 0, 0, dict[str, Address]()
        for slab in slabs:
            addresses[slab.name] = Address(offset, 0 if slab.name in shared else slab.length * item)
            offset += -(-slab.length * item * (1 if slab.name in shared else self.n) // LINE) * LINE
            cleared = offset if slab.is_zero else cleared
        marks = -(-4 * self.n // LINE) * LINE
        self.slot.reserve("scratch", offset + depth * marks)
        self.slot.busy, base = True, self.slot.memory["scratch"]
        self.marks = [base + offset + k * marks for k in range(depth)]
        self.addresses = {name: Address(base + address.first, address.stride) for name, address in addresses.items()}
        for slab in schedule.slabs:
            if slab.over:
                self.addresses[slab.name] = self.addresses[slab.over]
        if cleared:
            self.driver("cuMemsetD8Async", base, 0, cleared, self.slot.stream)
        kept = [np.ascontiguousarray(array, self.job.dtype) for array in inputs]
        for name, array in zip(schedule.inputs, kept, strict=True):
            self._send(self.addresses[name].first, array)
        ended = np.zeros(self.n, np.uint32)
        self._send(self.marks[0], ended)
        self._run(schedule.body, 0, ended, 0)
        answers = [output if output.flags.c_contiguous else np.empty_like(output, order="C") for output in outputs]
        for name, answer in zip(schedule.outputs, answers, strict=True):
            self._receive(answer, self.addresses[name].first)
        self.slot.finish()
        for output, answer in zip(outputs, answers, strict=True):
            if answer is not output:
                output[...] = answer

    def _send(self, address: int, array: NDArray[np.generic]) -> None:
        self.driver("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, self.slot.stream)

    def _receive(self, array: NDArray[np.generic], address: int) -> None:
        self.driver("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, self.slot.stream)

    def _run(self, body: Sequence[Statement], turn: int, ended: Ended, depth: int) -> None:
        """ended: not 0 for problems that have ended; the same as marks number `depth`."""
        for statement in body:
            if isinstance(statement, (Call, Move)):
                self._put(self.job.launches[statement], turn, depth)
            elif isinstance(statement, Sweep):
                order = range(statement.count)
                for k in reversed(order) if statement.backwards else order:
                    self._run(statement.body, k, ended, depth)
            else:
                self._until(statement, turn, ended, depth + 1)

    def _until(self, loop: Until, turn: int, before: Ended, depth: int) -> None:
        ended: Ended = np.array(before)
        flags = np.empty((self.n, self.job.slabs[loop.flag].length), self.job.dtype)
        for _ in range(loop.most):
            self._send(self.marks[depth], ended)
            self._run(loop.body, turn, ended, depth)
            self._receive(flags, self.addresses[loop.flag].first)
            self.driver("cuStreamSynchronize", self.slot.stream)
            ended |= flags[:, 0] > 0.0
            if ended.all():
                break

    def _put(self, launch: Launch, turn: int, depth: int) -> None:
        """One launch for all problems."""
        kernel, n, gpu = launch.kernel, self.n * launch.count, self.job.gpu
        addresses = [self.addresses[port.slab] for port, _, _ in launch.ports]
        starts = [
            address.first + (port.row + turn * port.turn) * row
            for address, (port, row, _) in zip(addresses, launch.ports, strict=True)
        ]
        steps, reads = [step % (1 << 64) for _, _, step in launch.ports], len(kernel.part.reads)
        values = [n, 0]
        for start, address in zip(starts[:reads], addresses, strict=False):
            values += [start, address.stride]
        values += [*starts[reads:], launch.count, self.marks[depth], *steps[:reads]]
        for address, step in zip(addresses[reads:], steps[reads:], strict=True):
            values += [address.stride, step]
        grid, block = kernel.shape(n, gpu.multiprocessors)
        gpu.launch(kernel.function, grid, block, kernel.text.shared_bytes(block), self.slot.stream, values)


def check_apart(schedule: Schedule, body: Sequence[Statement], turns: int = 1) -> None:
    """AssertionError (a bug of ours) where a call or a move writes what it reads: its threads have no order."""
    for statement in body:
        if isinstance(statement, Sweep):
            check_apart(schedule, statement.body, statement.count)
        elif isinstance(statement, Until):
            check_apart(schedule, statement.body, turns)
        elif isinstance(statement, Move):
            assert not _meet(schedule, statement.source, statement.target, statement.count, turns), statement
        else:
            count, ports = 1 if statement.columns else statement.count, (*statement.inputs, *statement.outputs)
            for k, output in enumerate(statement.outputs, len(statement.inputs)):
                assert not any(_meet(schedule, port, output, count, turns) for port in ports[:k]), statement


def _meet(schedule: Schedule, a: Operand, b: Operand, count: int, turns: int) -> bool:
    """Whether so many rows of both have one in common at some turn, or may have by another name of their slab."""

    def base(name: str) -> str:
        over = schedule.slab(name).over
        return base(over) if over else name

    def rows(operand: Operand, turn: int) -> set[int]:
        return {operand.row + operand.turn * turn + operand.step * k for k in range(count)}

    if a.slab != b.slab:
        return base(a.slab) == base(b.slab)
    return any(rows(a, turn) & rows(b, turn) for turn in range(turns))


def _depth(body: Sequence[Statement]) -> int:
    """Loops inside each other."""
    inside = (statement for statement in body if isinstance(statement, (Sweep, Until)))
    return max((_depth(statement.body) + isinstance(statement, Until) for statement in inside), default=0)


@cache
def _copier(gpu: Gpu, size: int, dtype: str) -> Loaded:
    """The kernel that copies rows of so many numbers."""
    nodes = tuple(("input", 0, k) for k in range(size))
    arrays = (Array("source", (size,)),), (Array("target", (size,)),)
    program = Program(f"move_{size}", *arrays, nodes, tuple(Output(0, k, k) for k in range(size)))
    with gpu.current():
        return loaded(over_rows(program, bits_of(dtype)), gpu)
