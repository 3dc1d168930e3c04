"""Exported CUDA C++, run on the processor by a shim that shuffles threads and blocks, agrees with the reference."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.launches import Composed
from condyle.cli.check import allowed
from condyle.exports.projects import variants
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.model.tree import tree_of
from condyle.specification import Call, Function
from condyle.trace.reference import evaluate
from tests.backends.c.small import meaning, states, tangle, toy
from tests.backends.cuda.exported import TYPES, Library, compile_library, planned, sizes
from tests.backends.cuda.simulate import compiler, robot
from tests.backends.cuda.test_kernels import ARM, QUADRUPED, condition, given, robots
from tests.processor import slow
from tests.programs import needs

pytestmark = needs("g++")

ARM_OR_LARGER = [ARM, slow(*QUADRUPED)]
INVALID, NO_MEMORY = 1, 2


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], Library]:
    known: dict[tuple[str, bool], Library] = {}

    def one(name: str, floating: bool) -> Library:
        if (name, floating) not in known:
            folder = tmp_path_factory.mktemp(name)
            made = robot(name, floating)
            known[name, floating] = compile_library(folder, planned(made), name, made.nq, made.nv)
        return known[name, floating]

    return one


Libraries = Callable[[str, bool], Library]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "floating"), robots(ARM))
def test_every_function(library: Libraries, name: str, floating: bool) -> None:
    """All seven in both types against the reference, in any order and batch; one test, so that one worker compiles."""
    one, code = robot(name, floating), library(name, floating)
    for function in DEFAULT:
        inputs = [array.astype(np.float32).astype(np.float64) for array in given(one, function, 45)]
        rows = dict(zip((port.name for port in FUNCTIONS[function].inputs), inputs, strict=True))
        wanted = evaluate(tree_of(one), FUNCTIONS[function], compiler(one).reference_route(FUNCTIONS[function]), rows)
        for dtype in TYPES:
            got = code.kernels(function, [array.astype(dtype) for array in inputs])
            for mine, want in zip(got, wanted, strict=True):
                error = float(np.abs(mine - np.reshape(want, mine.shape)).max() / np.abs(want).max())
                assert error <= allowed(FUNCTIONS[function], dtype, condition(one)), (function, dtype)
        neither_order_nor_batch_matters(code, function, inputs)


@pytest.mark.slow  # the C++ compiler takes seconds
@pytest.mark.parametrize(
    "one",
    [
        condyle.chain(3, 1),
        slow(robot("iiwa14")),
        slow(robot("hyq", True)),  # dfd as launches
    ],
    ids=lambda one: one.name,
)
def test_external_forces(tmp_path: Path, one: condyle.Robot) -> None:
    """Each function that takes them, as a function of its own."""
    every = variants(FUNCTIONS[name] for name in DEFAULT if FUNCTIONS[name].takes_f_ext)
    code = compile_library(tmp_path, planned(one, every), one.name, one.nq, one.nv)
    for variant in every:
        inputs = given(one, variant.plain.name, 33, variant.has_forces)
        rows = dict(zip((port.name for port in variant.inputs), inputs, strict=True))
        wanted = evaluate(tree_of(one), variant, compiler(one).reference_route(variant), rows)
        got = code.kernels(variant.name, inputs)
        for mine, want in zip(got, wanted, strict=True):
            error = float(np.abs(mine - np.reshape(want, mine.shape)).max() / np.abs(want).max())
            assert error <= allowed(variant, "float64", condition(one)), variant
        neither_order_nor_batch_matters(code, variant.name, inputs)


def neither_order_nor_batch_matters(code: Library, function: str, inputs: list[np.ndarray]) -> None:
    """The same bits in any order of threads and blocks, in any batch, alone, and from one thread of another kernel."""
    first = code.kernels(function, inputs, seed=1)
    for n, seed in ((len(inputs[0]), 2), (33, 3), (32, 4), (31, 5), (1, 6), (0, 7)):
        for mine, want in zip(code.kernels(function, [array[:n] for array in inputs], seed), first, strict=True):
            np.testing.assert_array_equal(mine, want[:n])
    for far in (0, ~0, 0x55, 0xAA):  # a stride for each array
        for mine, want in zip(code.threads(function, [array[:9] for array in inputs], far), first, strict=True):
            np.testing.assert_array_equal(mine, want[:9])


def test_blocks_of_several_warps(library: Libraries) -> None:
    """2048 warps and more share blocks; shared memory is then divided."""
    code, n = library("iiwa14", False), 65_536 + 45
    few = given(robot("iiwa14"), "m", 97)[0].astype(np.float32)
    (known,) = code.kernels("m", [few])
    index = np.arange(n) % 97
    (got,) = code.kernels("m", [few[index]], seed=3)
    np.testing.assert_array_equal(got, known[index])


def test_rows_beyond_32_bits(library: Libraries) -> None:
    """The first and the last block of the most states that one grid computes: 2^37 or more rows."""
    code, dtype, rows = library("iiwa14", False), np.dtype("float32"), 128
    few = [array.astype(dtype) for array in given(robot("iiwa14"), "id", rows)]
    (known,) = code.kernels("id", few)
    for n, before in (
        (rows << 30, 0),
        (rows << 30, (rows << 30) - rows),
        ((rows << 31) - rows, (rows << 31) - 2 * rows),
    ):
        out = np.full((rows, 7), np.nan, dtype)
        shifted = [ctypes.c_void_p(array.ctypes.data - before * 28) for array in (*few, out)]
        code.code.shim_blocks(before // rows, 1)
        inputs, outputs = ((ctypes.c_void_p * len(some))(*some) for some in (shifted[:3], shifted[3:]))
        assert code.code.id_launch_float(n, inputs, sizes([7] * 3), outputs, None) == 0
        code.code.shim_blocks(0, 0xFFFFFFFF)
        np.testing.assert_array_equal(out, known)
    assert code.code.id_launch_float(rows << 31, inputs, sizes([7] * 3), outputs, None) == 9  # and nothing is written


def test_one_row_serves_every_state(library: Libraries) -> None:
    code = library("iiwa14", False)
    q, v, a = given(robot("iiwa14"), "id", 40)
    (shared,) = code.kernels("id", [q[:1], v, a[:1]])
    (spread,) = code.kernels("id", [np.repeat(q[:1], 40, 0), v, np.repeat(a[:1], 40, 0)])
    np.testing.assert_array_equal(shared, spread)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("function", DEFAULT)
@pytest.mark.parametrize(("name", "floating"), ARM_OR_LARGER)
def test_the_call_that_does_everything(
    library: Libraries, name: str, floating: bool, function: str, dtype: str
) -> None:
    code = library(name, floating)
    inputs = [array.astype(dtype) for array in given(robot(name, floating), function, 33)]
    for n in (33, 0):
        some = [array[:n] for array in inputs]
        status, got = code.all_at_once(function, some, capacity=40)
        assert status == 0
        for mine, want in zip(got, code.kernels(function, inputs), strict=True):
            np.testing.assert_array_equal(mine, want[:n])


@pytest.mark.parametrize(("name", "floating"), ARM_OR_LARGER)
def test_every_error_of_the_runtime_comes_back(library: Libraries, name: str, floating: bool) -> None:
    """Whichever call fails, the status says so, nothing stays allocated, and the next call works."""
    code = library(name, floating)
    inputs = given(robot(name, floating), "dfd", 5)
    failures = 0
    while True:
        status, _ = code.all_at_once("dfd", inputs, capacity=8, fail=failures)
        assert status >= 0
        assert code.code.shim_held() == 0
        if status == 0:
            break
        failures += 1
    # two allocations, three rows there, launches, three matrices back, a wait, two that free
    assert failures == 11 + len(code.function("dfd").parts.launches)


def test_too_many_states(library: Libraries) -> None:
    code, inputs = library("iiwa14", False), given(robot("iiwa14"), "id", 5)
    assert code.all_at_once("id", inputs, capacity=4)[0] == INVALID
    for capacity in (2**63, 2**55, 2**40):
        assert code.all_at_once("id", inputs, capacity)[0] == NO_MEMORY
    assert code.code.shim_held() == 0


def test_small_programs(tmp_path: Path) -> None:
    """Every operation; outputs that are inputs, constants, zero or nothing."""
    nodes = (("input", 0, 0), ("const", 2.5), ("neg", 0), ("sin", 1), ("cos", 0), ("sin", 3))
    outputs = tuple(Output(0, k, node) for k, node in ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4), (60, 5), (8, 2)))
    odd = Program("m", (Array("x", (3,)),), (Array("y", (70,)), Array("z", (5,))), nodes, outputs)
    programs = {"id": toy(), "fd": tangle(3), "minv": tangle(5), "did": toy(width=9, side=6), "m": odd}
    programs = {name: dataclasses.replace(program, name=name) for name, program in programs.items()}
    made = [alone(program) for program in programs.values()]
    called = {whole.function: program for whole, program in zip(made, programs.values(), strict=True)}
    code = compile_library(tmp_path, plan(made, called), "toy", 3, 3)
    for name, program in programs.items():
        inputs = states(program, 37)
        with np.errstate(all="ignore"):
            wanted = meaning(program, inputs)
        flat = [np.reshape(array, (37, -1)) for array in inputs]
        for got in (code.kernels(name, flat), code.threads(name, flat, 0), code.threads(name, flat, ~0)):
            for mine, want in zip(got, wanted, strict=True):
                np.testing.assert_allclose(mine, np.reshape(want, (37, -1)), rtol=1e-9, atol=1e-11)


TAKE = "    }\n    __device__ __forceinline__ T get"
BARRIERS = {
    "flush": ("        __syncwarp();\n        const volatile T", "        const volatile T"),
    "load": (f"        __syncwarp();\n{TAKE}", TAKE),
}


@pytest.mark.slow
@pytest.mark.parametrize("which", BARRIERS)
def test_the_shim_notices_a_missing_barrier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    from tests.backends.cuda import exported

    whole, broken = exported.text, []

    def without(*arguments: object) -> str:
        text = whole(*arguments)
        assert BARRIERS[which][0] in text
        broken.append(text.replace(*BARRIERS[which]))
        return broken[-1]

    monkeypatch.setattr(exported, "text", without)
    one = robot("iiwa14")
    code = compile_library(tmp_path, planned(one, ("m",)), "iiwa14", 7, 7)
    q = given(one, "m", 64)
    (wanted,) = evaluate(tree_of(one), FUNCTIONS["m"], "crba", {"q": q[0]})
    (got,) = code.kernels("m", q)
    assert not np.allclose(got, np.reshape(wanted, got.shape))


def test_the_shim_notices_writes_outside(library: Libraries) -> None:
    """Its own checks: bounds of allocations, and who may free what."""
    code = library("iiwa14", False).code
    before = code.shim_faults()
    place = ctypes.c_void_p()
    assert code.shim_test_write_outside(ctypes.byref(place)) == before + 1


def alone(program: Program) -> Composed:
    """A function that is one call of itself."""
    function = Function(program.name, program.name, "", (), ())
    call = Call(function, tuple(array.name for array in program.arrays))
    return Composed(function, program.inputs, program.arrays, (call,))
