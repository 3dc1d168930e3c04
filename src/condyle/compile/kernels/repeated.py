"""Rollouts and their gradients as kernels: loops over time around the kernel of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cpu.repeat import repeated
from condyle.derivatives import vjp
from condyle.ir.interp_repeated import repeat
from condyle.ir.repeated import TimeLoop
from condyle.model.tree import Tree
from condyle.runtime.kernel import Kernel
from condyle.runtime.native import NativeKernel
from condyle.specification import Function
from condyle.trace.repeated import sizes_of, tape, time_loop

Array = NDArray[np.floating]

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
        return f"{self.loop.steps} times {self.body.description}"

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
