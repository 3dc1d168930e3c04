"""A function of a long robot as calls of others: their kernels one after the other, and NumPy between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cpu.loops import repeated
from condyle.derivatives import vjp
from condyle.errors import UnsupportedError
from condyle.ir.interp import repeat
from condyle.ir.loops import TimeLoop
from condyle.model.tree import Tree
from condyle.runtime.native import Kernel, NativeKernel
from condyle.specification import Columns, Function
from condyle.trace.loops import sizes_of, tape, time_loop
from condyle.trace.straight import arrays, sizes

Array = NDArray[np.floating]
ArrayColumns = Sequence[Any]
"""Entries of an array: numbers, or an array of the states each."""


@dataclass(frozen=True)
class ComposedKernel:
    """record: the function in terms of calls (`Route.parts`). names: of its inputs. kernel: of another function."""

    tree: Tree
    record: Callable[[Calls, Mapping[str, ArrayColumns]], Sequence[ArrayColumns]]
    names: Sequence[str]
    kernel: Callable[[Function], Kernel]
    dtype: np.dtype[np.floating]
    description: str

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        at = Calls(self.tree, self.kernel, n, threads, self.dtype)
        given = {name: _columns(array) for name, array in zip(self.names, inputs, strict=True)}
        with np.errstate(all="ignore"):
            answers = self.record(at, given)
        for output, answer in zip(outputs, answers, strict=True):
            for k, entry in enumerate(answer):
                output[:, k] = entry


@dataclass(frozen=True)
class Calls:
    """What `record` calls."""

    tree: Tree
    kernel: Callable[[Function], Kernel]
    n: int
    threads: int
    dtype: np.dtype[np.floating]

    def call(self, function: Function, *arguments: ArrayColumns) -> list[ArrayColumns]:
        """The answers of a function, an array of the states for each entry."""
        inputs = [np.empty((self.n, len(part)), self.dtype) for part in arguments]
        for array, part in zip(inputs, arguments, strict=True):
            for k, entry in enumerate(part):
                array[:, k] = entry
        outputs = arrays(self.tree, function.outputs)
        answers = [np.empty((self.n, array.size), self.dtype) for array in outputs]
        self.kernel(function)(self.n, inputs, answers, self.threads)
        return [_columns(answer) for answer in answers]


def _columns(array: Array) -> list[Any]:
    return list(np.transpose(array))


# One of two kernels, by the size of the batch.


@dataclass(frozen=True)
class EitherKernel:
    """first: what runs where `takes_first` says so of a number of states; else second does."""

    first: Kernel
    second: Kernel
    takes_first: Callable[[int], bool]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.first.dtype

    @property
    def description(self) -> str:
        return f"{self.second.description}, or {self.first.description}"

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        (self.first if self.takes_first(n) else self.second)(n, inputs, outputs, threads)


# Jacobians and Hessians that are too long as straight code: one column after the other, along unit vectors.


def widths(tree: Tree, columns: Columns) -> list[int]:
    """Entries of the tangents that the function of a column takes, which is half of its inputs."""
    ports = columns.function.inputs
    return [math.prod(port.shape(sizes(tree))) for port in ports[len(ports) // 2 :]]


def count(tree: Tree, columns: Columns) -> int:
    """How many columns there are."""
    known = widths(tree, columns)
    return sum(known[k] for k in columns.by)


def multiplied(row: Mapping[str, str | int], function: Function, tree: Tree, columns: Columns) -> dict[str, str | int]:
    """One row of operation counts for all columns, given that of one."""
    n = count(tree, columns)
    words = {"function": function.name, "route": f"{n} x {columns.function}"}
    return {**{name: n * number for name, number in row.items() if isinstance(number, int)}, **words}


def heights(tree: Tree, columns: Columns) -> list[int]:
    """Entries of its answers."""
    return [math.prod(port.shape(sizes(tree))) for port in columns.function.outputs]


def refused(function: Function, columns: Columns) -> UnsupportedError:
    return UnsupportedError(
        f"{function} of this robot is too long for straight code: targets 'cpu', 'c' and 'numpy' answer it column by "
        f"column; elsewhere call {columns.function}"
    )


@dataclass(frozen=True)
class ColumnsKernel:
    """A Kernel of columns. kernel: of one column; its inputs are these, and behind them tangents of these `widths`.

    by: those that are differentiated by. heights: of a column's parts. symmetric: one matrix of all parts, a Hessian;
    else a matrix of each part by each input.
    """

    kernel: Kernel
    widths: Sequence[int]
    by: Sequence[int]
    heights: Sequence[int]
    symmetric: bool

    @classmethod
    def create(cls, tree: Tree, columns: Columns, kernel: Kernel) -> ColumnsKernel:
        return cls(kernel, widths(tree, columns), columns.by, heights(tree, columns), columns.symmetric)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.kernel.dtype

    @property
    def description(self) -> str:
        return f"{self.count} columns, each {self.kernel.description}"

    @property
    def count(self) -> int:
        return sum(self.widths[k] for k in self.by)

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        parts = [np.empty((n, height), self.dtype) for height in self.heights]
        for place, (k, j) in enumerate(self._units()):
            tangents = [np.zeros((1, width), self.dtype) for width in self.widths]
            tangents[self.by[k]][0, j] = 1.0
            self.kernel(n, [*inputs, *tangents], parts, threads)
            if self.symmetric:
                np.reshape(outputs[0], (n, self.count, self.count))[:, :, place] = np.concatenate(parts, axis=1)
                continue
            for part, block in zip(parts, outputs[k :: len(self.by)], strict=True):
                np.reshape(block, (n, part.shape[1], -1))[:, :, j] = part
        if self.symmetric:
            matrix = np.reshape(outputs[0], (n, self.count, self.count))
            matrix[...] = 0.5 * (matrix + np.swapaxes(matrix, 1, 2))

    def _units(self) -> Iterator[tuple[int, int]]:
        for k, width in enumerate(self.by):
            for j in range(self.widths[width]):
                yield k, j


# Rollouts and their gradients as kernels: loops over time around the kernel of one step.


TAPE = 1 << 20
"""Bytes of states that a gradient keeps at once for each thread: they are still in near caches on the way back."""


@runtime_checkable
class Repeatable(Protocol):
    """A kernel that has a loop around itself, for some loops."""

    def repeated(self, loop: TimeLoop) -> Kernel | None: ...


def build(function: Function, tree: Tree, body: Callable[[Function], Kernel]) -> Kernel:
    """The kernel of a rollout, or of its vjp; body: the kernel of a function."""
    of = function.repeat
    assert of is not None
    if not of.backwards:
        return in_time_loop(body(of.function), time_loop(of), tree, of.function)
    loops, base = tape(of), of.function
    sizes, names = sizes_of(tree, base.inputs), [port.name for port in base.inputs]
    forward = loops.forward and in_time_loop(body(base), loops.forward, tree, base)
    backward = in_time_loop(body(vjp(base)), loops.backward, tree, vjp(base))
    taken = [size * (of.steps - 1 if name in of.by_time else 1) for size, name in zip(sizes, names, strict=True)]
    carried = {names.index(name): sizes[names.index(name)] for name in of.carried}
    return GradientKernel(forward, backward, of.steps, taken, carried)


def in_time_loop(body: Kernel, loop: TimeLoop, tree: Tree, function: Function) -> Kernel:
    """A loop around a kernel, by the target that the kernel is of."""
    made = body.repeated(loop) if isinstance(body, Repeatable) else None
    if made is None and isinstance(body, NativeKernel):
        made = repeated(body, loop)
    if made is not None:
        return made
    return SteppedKernel(body, loop, sizes_of(tree, function.inputs), sizes_of(tree, function.outputs))


@dataclass(frozen=True)
class SteppedKernel:
    """A loop around any kernel, on arrays: all states take a step before any takes the next."""

    body: Kernel
    loop: TimeLoop
    in_sizes: Sequence[int]
    out_sizes: Sequence[int]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.body.dtype

    @property
    def description(self) -> str:
        most = f"at most {self.loop.steps} steps, all states take each" if self.loop.until >= 0 else ""
        return f"{most}, {self.body.description}" if most else f"{self.loop.steps} times {self.body.description}"

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        turns = cycle([[np.empty((n, size), self.dtype) for size in self.out_sizes] for _ in range(2)])

        def step(arguments: Sequence[Array]) -> Sequence[Array]:
            answers = next(turns)  # those of the step before may be inputs
            self.body(n, arguments, answers, threads)
            return answers

        repeat(self.loop, step, self.in_sizes, inputs, outputs)


@dataclass(frozen=True)
class GradientKernel:
    """The vjp of a rollout: some rollouts forward, whose states are kept, then backward, then the next ones.

    taken: entries of the rollout's inputs that the way forward reads. carried: the inputs that are, and their entries.
    """

    forward: Kernel | None
    backward: Kernel
    steps: int
    taken: Sequence[int]
    carried: Mapping[int, int]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.backward.dtype

    @property
    def description(self) -> str:
        return f"forward and back, {self.backward.description}"

    def piece(self, n: int, threads: int) -> int:
        """So many rollouts run forward, then backward, then the next ones."""
        each = self.steps * sum(self.carried.values()) * self.dtype.itemsize
        return max(1, min(n, max(64, threads * TAPE // max(each, 1) // 64 * 64)))

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        most = self.piece(n, threads)
        states = [np.empty((most, self.steps * width), self.dtype) for width in self.carried.values()]
        for first in range(0, n, most):
            some = slice(first, min(first + most, n))
            given = [array if len(array) == 1 else array[some] for array in inputs]
            parts = [array[: some.stop - first] for array in states]
            self._piece(some.stop - first, given, [array[some] for array in outputs], parts, threads)

    def _piece(
        self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], states: Sequence[Array], threads: int
    ) -> None:
        later: list[Array] = []
        for (k, width), array in zip(self.carried.items(), states, strict=True):
            array[:, :width] = inputs[k]
            later.append(array[:, width:])
        if self.forward is not None:
            self.forward(n, [x[:, :size] for x, size in zip(inputs, self.taken, strict=False)], later, threads)
        kept = dict(zip(self.carried, states, strict=True))
        self.backward(n, [kept.get(k, array) for k, array in enumerate(inputs)], outputs, threads)
