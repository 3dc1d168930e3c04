"""A schedule as a kernel gives what its interpreter gives, to the bit, whatever the schedule and the batch."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
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
from condyle.runtime.native import Kernel, NativeKernel
from condyle.runtime.packed import full
from tests.programs import skip_without

Array = NDArray[np.floating]

# Kernels of functions: what they take and give, by sizes.


def blend(x: Any, y: Any) -> Any:
    return {"z": np.sin(x) + 0.5 * x * y[0] - y[1]}


def halve(x: Any) -> Any:
    """Its flag says that x is small."""
    return {"x": 0.5 * x, "done": 0.1 - (x * x).sum()}


def mix(a: Any, b: Any) -> Any:
    """Without sines: it has a form for columns where b is shared."""
    return {"a": 0.25 * b.sum() / (1.0 + a * a) + 0.5 * a[::-1], "b": a[:2] * b[2]}


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Mapping[str, int], tuple[int, ...]]] = {
    "blend": (blend, {"x": 3, "y": 2}, (3,)),
    "halve": (halve, {"x": 3}, (3, 1)),
    "tell": (lambda steps: steps + 1.0, {"steps": 1}, (1,)),
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
            shared = tuple(port == "b" for port in inputs)
            compiled[name] = machine_code.load(machine_code.assembled(code, dtype, isa, layouts, shared), layouts)
    return compiled


def lanes_of(way: str, dtype: str) -> int:
    packed = getattr(kernels(way, dtype)["mix"], "packed", None)
    return 8 if packed is None else packed.lanes


def expected(schedule: Schedule, way: str, dtype: str, inputs: Sequence[Array], n: int) -> list[Array]:
    """The outputs of n problems, each alone."""
    runs = {
        name: lambda n, before, after, kernel=kernel: kernel(n, before, after, 1)
        for name, kernel in kernels(way, dtype).items()
    }
    rows = [np.broadcast_to(array, (n, array.shape[1])) for array in inputs]
    answers = [
        interpret(schedule, runs, {name: array[k] for name, array in zip(schedule.inputs, rows, strict=True)}, dtype)
        for k in range(n)
    ]
    return [np.stack([np.ravel(answer[name]) for answer in answers]) for name in schedule.outputs]


def outputs_of(schedule: Schedule, n: int, dtype: str) -> list[Array]:
    return [np.full((n, schedule.slab(name).length), np.nan, dtype) for name in schedule.outputs]


def same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


# Random schedules.


class Sampler:
    """Random schedules on a few slabs of all sizes."""

    def __init__(self, rng: np.random.Generator, lanes: int) -> None:
        self.rng, self.lanes, self.count = rng, lanes, lanes * int(rng.integers(1, 3))
        self.slabs = [
            Slab(f"s{size}{k}", int(rng.integers(3, 8)), size, is_zero=True) for size in range(1, 5) for k in range(3)
        ]
        self.slabs += [
            Slab(f"p{size}{k}", 3, size * self.count, is_zero=True) for size in range(1, 5) for k in range(2)
        ]
        self.slabs += [Slab("s1x", 3 * self.count, 1, "p11"), Slab("p1x", 3, self.count, "s1x")]
        names = [slab.name for slab in self.slabs]
        self.inputs = tuple(name for name in names if name[-1] == "0" and name[1] != "1")
        self.outputs = tuple(name for name in names if name[-1] == "1")

    def schedule(self) -> Schedule:
        body = self.body(3, 0)
        schedule = Schedule("random", tuple(self.slabs), self.inputs, self.outputs, body, self.lanes)
        return verify_schedule(schedule)

    def body(self, depth: int, turns: int) -> tuple[Statement, ...]:
        return tuple(self.statement(depth, turns) for _ in range(self.rng.integers(1, 6)))

    def statement(self, depth: int, turns: int) -> Statement:
        rng, kind = self.rng, self.rng.integers(0, 10)
        if kind == 0 and depth and not turns:
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
            step, turn = int(self.rng.choice(steps)), int(self.rng.integers(-2, 3))
            row = int(self.rng.integers(slab.rows))
            ends = [row + turn * t + step * k for t in (0, max(turns - 1, 0)) for k in (0, 0 if panel else count - 1)]
            if min(ends) >= 0 and max(ends) < slab.rows:
                return Operand(slab.name, row, step, turn)

    def arrays(self, schedule: Schedule, n: int, dtype: str) -> list[Array]:
        return [
            self.rng.normal(size=(n if self.rng.integers(2) else 1, schedule.slab(name).length)).astype(dtype)
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
        assert getattr(kernels(way, dtype)["mix"], "shared", None) == ((False, True) if way == "avx512" else ())
        inputs = sampler.arrays(schedule, 3, dtype)
        answers = expected(schedule, way, dtype, inputs, 3)
        for threads, by in ((1, 0), (2, 1)):
            outputs = outputs_of(schedule, 3, dtype)
            kernel(3, shifted(inputs, by), outputs, threads)
            for output, answer in zip(outputs, answers, strict=True):
                assert same(output, np.roll(answer, by, axis=0)), seed


@pytest.mark.parametrize("way", ["c", "cpu", "numpy"])
def test_random_schedules_on_other_targets(way: str) -> None:
    """C has no form for columns, nor machine code for so few lanes: they become rows. NumPy runs the interpreter."""
    if way == "c":
        skip_without("cc")
    for seed in range(12):
        sampler = Sampler(np.random.default_rng(seed), 2)
        schedule = sampler.schedule()
        kernel = scheduled(schedule, kernels(way), np.dtype("float64"))
        assert isinstance(kernel, NativeKernel if way != "numpy" else InterpretedKernel)
        assert kernel.description
        inputs, outputs = sampler.arrays(schedule, 2, "float64"), outputs_of(schedule, 2, "float64")
        kernel(2, inputs, outputs, 2)
        for output, answer in zip(outputs, expected(schedule, way, "float64", inputs, 2), strict=True):
            assert same(output, answer), seed


def test_what_is_written_may_be_what_is_read() -> None:
    """Rows that move on by one, under one name and under two; other rows of the slab that they come from; panels."""
    tell, lanes = Call("tell", 15, (Operand("x"),), (Operand("x", 1),)), lanes_of("cpu", "float64")
    slabs = Slab("in", 18, 1), Slab("x", 18, 1), Slab("y", 18, 1, "x"), Slab("row", 1, 3), Slab("b", 1, 2 * lanes)
    slabs += Slab("a", 2, 4 * lanes), Slab("start", 1, 8 * lanes, "a"), Slab("begin", 1, 8 * lanes)
    load = Move(Operand("in"), Operand("x"), 18), Move(Operand("begin"), Operand("start"), 1)
    mix = Call("mix", lanes, (Operand("a"), Operand("row", step=0)), (Operand("a"), Operand("b")), True)
    for statement in (
        tell,
        Call("tell", 15, (Operand("y"),), (Operand("x", 1),)),
        Call("tell", 8, (Operand("x", 0, 2),), (Operand("x", 8),)),
        Call("tell", 16, (Operand("x", 3, 0),), (Operand("x"),)),
        Move(Operand("x", 0, 2), Operand("x", 2, 2), 7),
        Move(Operand("x", 0, 0), Operand("y", 0, 2), 8),
        Move(Operand("x", 5, 0), Operand("x"), 16),
        Move(Operand("x"), Operand("x", 1), 15),
        mix,
        Sweep(2, (mix, tell)),
        Sweep(2, (Call("tell", 9, (Operand("x", 0, 1, 8),), (Operand("x", 9),)),)),
        Sweep(
            2,
            (Call("mix", lanes, (Operand("a", 0, 1, 1), mix.inputs[1]), (Operand("a", 1, 1, -1), Operand("b")), True),),
        ),
    ):
        schedule = Schedule("s", slabs, ("in", "row", "begin"), ("x", "a"), (*load, statement), lanes)
        rng, kernel = np.random.default_rng(0), scheduled(schedule, kernels("cpu"), np.dtype("float64"))
        inputs = [rng.normal(size=(2, schedule.slab(name).length)) for name in schedule.inputs]
        outputs = outputs_of(schedule, 2, "float64")
        kernel(2, inputs, outputs, 1)
        assert all(map(same, outputs, expected(schedule, "cpu", "float64", inputs, 2))), statement


# Loops that end: a problem ends for itself.


def nested(most: int) -> Schedule:
    """Rows of y, one after the other, are halved until they are small; and how many times in all."""
    call = Call("halve", 1, (Operand("y", 0, 1, 1),), (Operand("y", 0, 1, 1), Operand("done")))
    count = Call("tell", 1, (Operand("steps"),), (Operand("steps"),))
    body = Move(Operand("x"), Operand("y"), 4), Sweep(4, (Until("done", most, (call, count)),))
    slabs = Slab("x", 4, 3), Slab("y", 4, 3), Slab("done", 1, 1), Slab("steps", 1, 1, is_zero=True)
    return Schedule("nested", slabs, ("x",), ("y", "steps"), body)


@pytest.fixture(scope="module")
def loop() -> Kernel:
    return scheduled(nested(40), kernels("cpu"), np.dtype("float64"))


def run(kernel: Kernel, x: Array, threads: int = 1) -> tuple[Array, Array]:
    y, steps = np.full((len(x), 12), np.nan), np.full((len(x), 1), np.nan)
    kernel(len(x), [x], [y, steps], threads)
    return y, steps


def test_each_problem_ends_for_itself(loop: Kernel) -> None:
    """0, 1 and 1000 problems in any order; NaN is never small, and infinity stays."""
    x = np.random.default_rng(0).normal(size=(1000, 12)) * 10.0 ** np.random.default_rng(1).integers(-2, 3, (1000, 1))
    x[7], x[500, 4] = np.nan, np.inf
    y, steps = run(loop, x, 2)
    with np.errstate(invalid="ignore"):
        sizes = np.sqrt((x.reshape(-1, 4, 3) ** 2).sum(axis=2) / 0.1)
        times = np.where(sizes < np.inf, np.floor(np.log2(np.maximum(sizes, 1e-9))) + 2, 40).clip(1, 40)
    assert np.array_equal(steps[:, 0], times.sum(axis=1))
    assert np.array_equal(y, (x.reshape(-1, 4, 3) * 0.5 ** times[:, :, None]).reshape(-1, 12), equal_nan=True)
    order = np.random.default_rng(2).permutation(1000)
    for threads in (1, 3):
        assert all(map(same, run(loop, x[order], threads), (y[order], steps[order])))
    assert all(same(alone, rows[3:4]) for alone, rows in zip(run(loop, x[3:4]), (y, steps), strict=True))
    assert run(loop, x[:0], 2)[0].shape == (0, 12)


def test_a_loop_takes_the_most_where_its_flag_is_never_above_0() -> None:
    for most in (1, 3):
        kernel = scheduled(nested(most), kernels("cpu"), np.dtype("float64"))
        for value in (np.nan, 1e3):
            assert run(kernel, np.full((2, 12), value))[1].tolist() == [[4.0 * most]] * 2


def test_slabs_that_begin_at_0_do_so_for_each_problem() -> None:
    """An output, and a slab inside that the problem before has written; the workspace is used again."""
    call = Call("blend", 1, (Operand("a"), Operand("b")), (Operand("a"),))
    slabs = Slab("a", 1, 3, is_zero=True), Slab("b", 1, 2), Slab("y", 4, 3, is_zero=True)
    schedule = Schedule("s", slabs, ("b",), ("y",), (call, Move(Operand("a"), Operand("y", 2), 1)))
    kernel, b = scheduled(schedule, kernels("cpu"), np.dtype("float64")), np.array([[1.0, 2.0]])
    for _ in range(2):
        y = np.full((5, 12), np.nan)
        kernel(5, [b], [y], 1)
        assert y.tolist() == [[*[0.0] * 6, *[-2.0] * 3, *[0.0] * 3]] * 5


def test_rows_of_inputs_and_outputs_may_lie_anywhere(loop: Kernel) -> None:
    x = np.random.default_rng(3).normal(size=(6, 12))
    wide = np.full((6, 31), np.nan)
    wide[:, 1:13] = x
    loop(6, [wide[:, 1:13][::-1]], [wide[:, 15:27], wide[:, 29:30]], 2)
    y, steps = run(loop, x[::-1])
    assert same(np.ascontiguousarray(wide[:, 15:27]), y) and same(np.ascontiguousarray(wide[:, 29:30]), steps)
    assert np.isnan(wide[:, [0, 13, 14, 27, 28, 30]]).all()
    with pytest.raises(ValueError, match=r"expected shape \(6, 12\)"):
        loop(6, [x[:, :11]], [wide[:, :12], wide[:, 29:30]], 1)


def test_an_interrupted_call_loses_nothing(loop: Kernel) -> None:
    x, n = np.full((1, 12), np.nan), 500_000
    y, steps = np.zeros((n, 12)), np.zeros((n, 1))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            loop(n, [x], [y, steps], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert set(np.unique(steps)) == {0.0, 160.0}
    assert run(loop, np.ones((3, 12)), 2)[1].tolist() == [[16.0]] * 3


def test_a_forked_child_computes(loop: Kernel) -> None:
    x = np.ones((50, 12))
    right = run(loop, x, 2)
    child = os.fork()
    if child == 0:
        os._exit(not all(map(same, run(loop, x, 2), right)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_kernel_keeps_what_it_calls() -> None:
    made = [scheduled(nested(40), dict(kernels("cpu")), np.dtype("float64")) for _ in range(3)]
    kernels.cache_clear()
    gc.collect()
    assert all(run(kernel, np.ones((2, 12)))[1].tolist() == [[16.0]] * 2 for kernel in made)


def test_rows_of_another_size_or_that_are_not_there_are_a_bug_of_ours() -> None:
    for width, row, words in ((4, 0, r"rows have \[3, 3, 1\] numbers"), (3, 1, r"s: Operand\(slab='x', row=1")):
        slabs = Slab("x", 1, width), Slab("y", 1, 3), Slab("done", 1, 1)
        call = Call("halve", 1, (Operand("x", row),), (Operand("y"), Operand("done")))
        with pytest.raises(AssertionError, match=words):
            scheduled(Schedule("s", slabs, ("x",), ("y",), (call,)), kernels("cpu"), np.dtype("float64"))
