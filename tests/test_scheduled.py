"""A schedule as a kernel gives what its interpreter gives, to the bit, whatever the schedule and the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import condyle
from condyle.backends.cpu import build as machine_code
from condyle.backends.cpu.target import ISAS
from condyle.compile.kernels.scheduled import InterpretedKernel, scheduled
from condyle.ir.program import Program
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Statement, Sweep, Until, interpret, verify_schedule
from condyle.runtime import machine
from condyle.runtime.kernel import Kernel
from condyle.runtime.native import NativeKernel
from condyle.runtime.packed import full
from tests.programs import skip_without

Array = NDArray[np.floating]

# Kernels of functions: what they take and give, by sizes.


def blend(x: Any, y: Any) -> Any:
    return {"z": np.sin(x) + 0.5 * x * y[0] - y[1]}


def halve(x: Any) -> Any:
    """Its flag says that the sum is small."""
    return {"x": 0.5 * x, "done": 0.1 - (x * x).sum()}


def mix(a: Any, b: Any) -> Any:
    return {"a": np.cos(a) * b.sum() * 0.25 + a[::-1], "b": a[:2] * b[2]}


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Mapping[str, int], tuple[int, ...]]] = {
    "blend": (blend, {"x": 3, "y": 2}, (3,)),
    "halve": (halve, {"x": 3}, (3, 1)),
    "mix": (mix, {"a": 4, "b": 3}, (4, 2)),
}
WAYS = [*((name, dtype) for name in machine.instruction_sets() for dtype in ("float64", "float32"))]


@cache
def kernels(way: str, dtype: str = "float64") -> Mapping[str, Kernel]:
    """By an instruction set of our machine code, or by a target."""
    compiled: dict[str, Kernel] = {}
    for name, (f, inputs, _) in FUNCTIONS.items():
        function = condyle.function(f, inputs)
        dynamics = function.compile(way if way in ("c", "numpy") else "cpu", dtype, threads=1).dynamics
        compiled[name] = dynamics.kernel(function.specification)
        if way in ISAS:
            code = dynamics._compiler.code(function.specification)  # pyright: ignore[reportPrivateUsage]
            assert isinstance(code, Program)
            isa = ISAS[way]
            lanes = isa.lanes(64 if dtype == "float64" else 32)
            layouts = (
                tuple(full((x.size,), lanes) for x in code.inputs),
                tuple(full((x.size,), lanes) for x in code.arrays),
            )
            compiled[name] = machine_code.build(code, dtype, isa, layouts)
    return compiled


def lanes_of(way: str, dtype: str) -> int:
    packed = getattr(kernels(way, dtype)["mix"], "packed", None)
    return 8 if packed is None else packed.lanes


def expected(schedule: Schedule, way: str, dtype: str, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of each problem, each alone."""
    runs = {
        name: lambda n, before, after, kernel=kernel: kernel(n, before, after, 1)
        for name, kernel in kernels(way, dtype).items()
    }
    n = max(len(array) for array in inputs)
    rows = [np.broadcast_to(array, (n, array.shape[1])) for array in inputs]
    answers = [
        interpret(schedule, runs, {name: array[k] for name, array in zip(schedule.inputs, rows, strict=True)}, dtype)
        for k in range(n)
    ]
    return [np.stack([np.ravel(answer[name]) for answer in answers]) for name in schedule.outputs]


def length(schedule: Schedule, name: str) -> int:
    slab = schedule.slab(name)
    return slab.rows * slab.size


def outputs_of(schedule: Schedule, n: int, dtype: str) -> list[Array]:
    return [np.full((n, length(schedule, name)), np.nan, dtype) for name in schedule.outputs]


def same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


# Random schedules.


class Sampler:
    """Random schedules on a few slabs of all sizes."""

    def __init__(self, rng: np.random.Generator, lanes: int) -> None:
        self.rng, self.lanes, self.count = rng, lanes, lanes * int(rng.integers(1, 3))
        self.slabs = [Slab(f"s{size}{k}", int(rng.integers(3, 8)), size) for size in range(1, 5) for k in range(3)]
        self.slabs += [Slab(f"p{size}{k}", 3, size * self.count) for size in range(1, 5) for k in range(2)]
        names = [slab.name for slab in self.slabs]
        self.inputs = tuple(name for name in names if name[-1] == "0" and name[1] != "1")
        self.outputs = tuple(name for name in names if name[-1] == "1")

    def schedule(self) -> Schedule:
        body = self.body(3, 1)
        schedule = Schedule("random", tuple(self.slabs), self.inputs, self.outputs, body, self.lanes)
        return verify_schedule(schedule)

    def body(self, depth: int, turns: int) -> tuple[Statement, ...]:
        return tuple(self.statement(depth, turns) for _ in range(self.rng.integers(1, 6)))

    def statement(self, depth: int, turns: int) -> Statement:
        rng, kind = self.rng, self.rng.integers(0, 10)
        if kind == 0 and depth and turns == 1:
            count = int(rng.integers(1, 4))
            return Sweep(count, self.body(depth - 1, count), bool(rng.integers(2)))
        if kind == 1 and depth:
            flag = str(rng.choice([slab.name for slab in self.slabs if slab.size == 1]))
            return Until(flag, int(rng.integers(1, 4)), self.body(depth - 1, turns))
        if kind == 2:
            size = int(rng.integers(1, 5))
            count = int(rng.integers(1, 3))
            return Move(self.operand(size, count, turns), self.operand(size, count, turns, True), count)
        name = str(rng.choice(list(FUNCTIONS)))
        _, takes, gives = FUNCTIONS[name]
        if rng.integers(3) == 0:
            inputs = [
                self.operand(size, 1, turns)._replace(step=0)
                if rng.integers(2)
                else self.operand(size, 1, turns, panel=True)
                for size in takes.values()
            ]
            outputs = [self.operand(size, 1, turns, True, panel=True) for size in gives]
            return Call(name, self.count, tuple(inputs), tuple(outputs), True)
        count = int(rng.integers(1, 4))
        inputs = [self.operand(size, count, turns, shared=True) for size in takes.values()]
        return Call(name, count, tuple(inputs), tuple(self.operand(size, count, turns, True) for size in gives))

    def operand(
        self, size: int, count: int, turns: int, write: bool = False, panel: bool = False, shared: bool = False
    ) -> Operand:
        first = "p" if panel else "s"
        slabs = [
            slab
            for slab in self.slabs
            if slab.name.startswith(f"{first}{size}") and not (write and slab.name in self.inputs)
        ]
        steps = [1] if panel else [1, 1, 2, -1, *([0, 0] if shared else [])]
        while True:
            slab = slabs[self.rng.integers(len(slabs))]
            step, turn = int(self.rng.choice(steps)), int(self.rng.integers(-2, 3)) if turns > 1 else 0
            row = int(self.rng.integers(slab.rows))
            ends = [row + turn * t + step * k for t in (0, turns - 1) for k in (0, 0 if panel else count - 1)]
            if min(ends) >= 0 and max(ends) < slab.rows:
                return Operand(slab.name, row, step, turn)

    def arrays(self, schedule: Schedule, n: int, dtype: str) -> list[Array]:
        return [
            self.rng.normal(size=(n if self.rng.integers(2) else 1, length(schedule, name))).astype(dtype)
            for name in schedule.inputs
        ]


def shifted(problems: Sequence[Array], by: int) -> list[Array]:
    return [array if len(array) == 1 else np.roll(array, by, axis=0) for array in problems]


@pytest.mark.parametrize(("way", "dtype"), WAYS)
def test_random_schedules(way: str, dtype: str) -> None:
    """Also on several threads, and with the problems in another order."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sampler = Sampler(rng, lanes_of(way, dtype))
        schedule = sampler.schedule()
        kernel = scheduled(schedule, kernels(way, dtype), np.dtype(dtype))
        assert isinstance(kernel, NativeKernel)
        inputs = sampler.arrays(schedule, 3, dtype)
        inputs[0] = np.resize(inputs[0], (3, inputs[0].shape[1]))
        answers = expected(schedule, way, dtype, inputs)
        for threads, by in ((1, 0), (2, 1)):
            outputs = outputs_of(schedule, 3, dtype)
            kernel(3, shifted(inputs, by), outputs, threads)
            for output, answer in zip(outputs, answers, strict=True):
                assert same(output, np.roll(answer, by, axis=0)), seed
