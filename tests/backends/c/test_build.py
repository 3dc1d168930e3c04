"""Compiled Programs agree with their meaning, whatever the batch, its place and the number of threads."""

from __future__ import annotations

import ctypes
import dataclasses
import mmap
from functools import partial

import numpy as np
import pytest

from condyle.backends.c import build as module
from condyle.backends.c.build import build
from condyle.backends.c.source import source
from condyle.backends.c.target import TARGET
from condyle.backends.common.chunks import Cut
from condyle.backends.common.facts import Facts
from condyle.errors import BuildError, UnsupportedError
from condyle.ir.program import Array, Output, Program
from condyle.runtime import native
from condyle.runtime.native import Kernel
from tests.accuracies import PROGRAMS
from tests.backends.c.small import empty, meaning, states, tangle, toy
from tests.processor import slow

FACTS = Facts(nq=5, nv=5)


@pytest.fixture(params=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def fine_grain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads take one tile at a time."""
    monkeypatch.setattr(native, "PIECE_NS", 0.001)


def answers(kernel: Kernel, program: Program, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    n = max(len(x) for x in inputs)
    outputs = empty(program, n, str(kernel.dtype))
    kernel(n, inputs, outputs, threads)
    return outputs


@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_agrees_with_the_meaning(seed: int, dtype: str) -> None:
    program = tangle(seed)
    inputs = states(program, 50, dtype)
    kernel = build(program, FACTS, dtype)
    for got, want in zip(answers(kernel, program, inputs), meaning(program, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=PROGRAMS[dtype] * max(1.0, np.abs(want).max()))


def test_toy_agrees(dtype: str) -> None:
    program = toy()
    inputs = states(program, 37, dtype)
    kernel = build(program, FACTS, dtype)
    for got, want in zip(answers(kernel, program, inputs), meaning(program, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-15 if dtype == "float64" else 1e-6)


@pytest.mark.slow
def test_every_width_of_rows(dtype: str) -> None:
    """Sizes around the number of lanes, with many outputs and with one."""
    for width, side in ((1, 1), (7, 3), (8, 5), (9, 9), (17, 7)):
        program = toy(width=width, side=side)
        inputs = states(program, 19, dtype)
        for got, want in zip(
            answers(build(program, FACTS, dtype), program, inputs), meaning(program, inputs), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-15 if dtype == "float64" else 1e-6)


def guarded(rows: int, size: int, dtype: str, keep: list[object]) -> np.ndarray:
    """An array whose last byte is the last one of a page, with a forbidden page behind it."""
    page = mmap.PAGESIZE
    length = rows * size * np.dtype(dtype).itemsize
    pages = -(-max(length, 1) // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + pages * page), ctypes.c_size_t(page), 0) == 0
    keep.append(memory)
    return np.frombuffer(memory, dtype, rows * size, pages * page - length).reshape(rows, size)


@pytest.mark.parametrize("program", [toy(), toy(width=9, side=3)], ids=["wide", "narrow"])
def test_no_byte_outside_is_touched(program: Program, dtype: str) -> None:
    kernel = build(program, FACTS, dtype)
    for n in range(41):
        keep: list[object] = []
        inputs = []
        for x in states(program, n, dtype):
            inputs.append(guarded(*x.shape, dtype, keep))
            inputs[-1][...] = x
        outputs = [guarded(n, array.size, dtype, keep) for array in program.arrays]
        kernel(n, inputs, outputs, 1)
        padded = [np.full((n + 2, array.size + 3), 77.0, dtype) for array in program.arrays]
        kernel(n, inputs, [x[1:-1, 1 : 1 + array.size] for x, array in zip(padded, program.arrays, strict=True)], 1)
        for got, frame, want in zip(outputs, padded, meaning(program, inputs) if n else outputs, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-15 if dtype == "float64" else 1e-6)
            np.testing.assert_array_equal(frame[1:-1, 1:-2], got)
            frame[1:-1, 1:-2] = 77.0
            assert (frame == 77.0).all()


@pytest.mark.usefixtures("fine_grain")
def test_bitwise_the_same_for_any_threads_and_any_place(dtype: str) -> None:
    program = tangle(11)
    kernel = build(program, FACTS, dtype)
    inputs = states(program, 203, dtype)
    whole = answers(kernel, program, inputs)[0]
    for threads in (2, 3, 8, 1000):
        np.testing.assert_array_equal(answers(kernel, program, inputs, threads)[0], whole)
    for k in (0, 1, 100, 202):
        np.testing.assert_array_equal(answers(kernel, program, [x[k : k + 1] for x in inputs])[0], whole[k : k + 1])
    order = np.random.default_rng(0).permutation(203)
    np.testing.assert_array_equal(answers(kernel, program, [x[order] for x in inputs])[0], whole[order])


@pytest.mark.usefixtures("fine_grain")
def test_one_row_serves_every_state() -> None:
    program = tangle(12)
    kernel = build(program, FACTS)
    q, v = states(program, 30)
    spread = np.repeat(v[:1], 30, axis=0)
    want = answers(kernel, program, [q, spread])[0]
    for single in (v[:1], np.broadcast_to(v[0], v.shape)):
        for threads in (1, 3):
            np.testing.assert_array_equal(answers(kernel, program, [q, single], threads)[0], want)


def test_strides() -> None:
    program = tangle(13)
    kernel = build(program, FACTS)
    q, v = states(program, 30)
    want = answers(kernel, program, [q, v])[0]
    wide = np.zeros((60, 20))
    wide[::2, 3:9] = q
    np.testing.assert_array_equal(answers(kernel, program, [wide[::2, 3:9], v])[0], want)
    backwards = np.ascontiguousarray(v[::-1])[::-1]
    outputs = np.full((30, 40), np.nan)
    kernel(30, [q, backwards], [outputs[::-1, :30][::-1]], 1)
    np.testing.assert_array_equal(outputs[:, :30], want)
    assert np.isnan(outputs[:, 30:]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_bad_state_spoils_its_own_answer_only(bad: float) -> None:
    program = tangle(14)
    kernel = build(program, FACTS)
    inputs = states(program, 40)
    want = answers(kernel, program, inputs)[0]
    for k in (0, 5, 15, 39):
        spoilt = [x.copy() for x in inputs]
        spoilt[0][k] = bad
        got = answers(kernel, program, spoilt)[0]
        np.testing.assert_array_equal(np.delete(got, k, 0), np.delete(want, k, 0))
        if not np.isfinite(bad):
            assert np.isnan(got[k]).any()


@pytest.mark.parametrize("part", [1, 100, 10_000])
def test_units_compiled_apart_make_the_same_function(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tangle(15, operations=600)
    target = dataclasses.replace(TARGET, cut=Cut(shortest=50, longest=100), part=part)
    inputs = states(program, 9)
    want = meaning(program, inputs)[0]
    monkeypatch.setattr(module, "source", partial(source, target=target))
    got = answers(build(program, FACTS), program, inputs)[0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_outputs_without_operations() -> None:
    """Constants, zeros, inputs passed on, arrays without entries."""
    inputs = (Array("q", (2,)), Array("none", (0,)))
    arrays = (Array("y", (5,)), Array("empty", (0, 3)))
    nodes = (("const", 1.5), ("input", 0, 1))
    program = Program("id", inputs, arrays, nodes, (Output(0, 0, 0), Output(0, 3, 1), Output(0, 4, 0)))
    got = answers(build(program, FACTS), program, [np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 0))])
    np.testing.assert_array_equal(got[0], [[1.5, 0, 0, 2, 1.5], [1.5, 0, 0, 4, 1.5]])


def test_no_inputs_at_all() -> None:
    program = Program("m", (), (Array("y", (1,)),), (("const", 3.0),), (Output(0, 0, 0),))
    kernel = build(program, FACTS)
    out = np.zeros((11, 1))
    kernel(11, [], [out], 2)
    assert (out == 3.0).all()


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="float16"):
        build(toy(), FACTS, "float16")


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TARGET", dataclasses.replace(TARGET, flags=("-nonsense-flag",)))
    with pytest.raises(BuildError, match=r"nonsense-flag"):
        build(toy(name="fd"), FACTS)
