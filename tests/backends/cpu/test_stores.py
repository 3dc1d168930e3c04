"""Rows and tiles come and go whole: the same bits past the caches, packed or not, and no byte beyond the ends."""

from __future__ import annotations

import ctypes
import itertools
import mmap

import numpy as np
import pytest

from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.target import ISAS, Isa
from condyle.ir.program import Program
from condyle.runtime.native import PACKED_IN, PACKED_OUT, STREAM, Shape, plan_entry
from condyle.runtime.packed import Layouts, full, sparse
from tests.accuracies import PROGRAMS
from tests.backends.c.small import meaning, states, toy

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
SIDES = ((5, 1), (7, 3), (8, 5), (5, 8), (9, 9), (17, 16), (6, 17), (32, 32))
COUNTS = (1, 2, 7, 8, 9, 16, 17, 33)


@pytest.fixture(params=[(name, dtype) for name in ISAS for dtype in PROGRAMS], ids=lambda p: f"{p[0]}-{p[1]}")
def way(request: pytest.FixtureRequest) -> tuple[Isa, str]:
    name, dtype = request.param
    if ISAS[name] not in supported():
        pytest.skip(f"this processor has no {name}")
    return ISAS[name], dtype


def fenced(shape: tuple[int, ...], dtype: str, late: bool) -> np.ndarray:
    """An array right before a page that nobody may touch, or right after one; filled with ones."""
    bytes_, page = int(np.prod(shape)) * np.dtype(dtype).itemsize, mmap.PAGESIZE
    inside = -(-bytes_ // page) * page
    pages = mmap.mmap(-1, inside + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    for fence in (address, address + page + inside):
        assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0
    offset = page + (inside - bytes_ if late else 0)
    array = np.frombuffer(pages, dtype, int(np.prod(shape)), offset).reshape(shape)
    array[...] = 1.0
    return array


def layouts(program: Program, lanes: int) -> Layouts:
    """Of toy programs: a symmetric matrix with zeros, everything else full."""
    side = program.arrays[0].shape[0]
    i, j = np.indices((side, side))
    matrix = sparse(((i + j) % 3 != 2) | (i + j == 0), True, lanes)
    return tuple(full(a.shape, lanes) for a in program.inputs), (matrix, full(program.arrays[1].shape, lanes))


@pytest.mark.parametrize(("width", "side"), SIDES)
def test_all_ways_agree_within_their_fences(width: int, side: int, way: tuple[Isa, str]) -> None:
    isa, dtype = way
    lanes = isa.lanes(8 * np.dtype(dtype).itemsize)
    program = toy(width=width, side=side)
    ins, outs = kept = layouts(program, lanes)
    kernel = build(program, dtype, isa, kept)
    plan = kernel._owner
    sizes = [tuple(x.size for x in some) for some in (program.inputs, program.arrays)]
    columns = [tuple(x.columns for x in some) for some in kept]
    for n in COUNTS:
        inputs, tiles = states(program, n, dtype), -(-n // lanes)
        want = meaning(program, inputs)
        for late in (False, True):
            rows = [fenced(x.shape, dtype, late) for x in inputs]
            blocks = [fenced((tiles, x.columns, lanes), dtype, late) for x in ins]
            for x, row, block in zip(inputs, rows, blocks, strict=True):
                row[...] = x
                padded = x[np.minimum(np.arange(tiles * lanes), n - 1)]
                block[...] = padded.reshape(tiles, lanes, -1).swapaxes(1, 2)
            for stream in (0, STREAM):
                results = [fenced((n, x.size), dtype, late) for x in program.arrays]
                plan_entry(plan, Shape(*sizes, lanes, plan.work_bytes, 1.0), np.dtype(dtype), stream).run(
                    n, rows, results, 1
                )
                packed = [fenced((tiles, x.columns, lanes), dtype, late) for x in outs]
                plan_entry(
                    plan,
                    Shape(*columns, lanes, plan.work_bytes, 1.0),
                    np.dtype(dtype),
                    PACKED_IN | PACKED_OUT | stream,
                ).run(n, blocks, packed, 1)
                for got, tile, layout, right in zip(results, packed, outs, want, strict=True):
                    np.testing.assert_allclose(got, right, rtol=0, atol=PROGRAMS[dtype] * max(1.0, np.abs(right).max()))
                    kept_rows = tile.swapaxes(1, 2).reshape(-1, layout.columns)[:n]
                    np.testing.assert_array_equal(kept_rows, got[:, list(layout.entries)])


@pytest.mark.parametrize("side", [16, 17])
def test_rows_that_are_not_aligned(side: int, way: tuple[Isa, str]) -> None:
    """Past the caches or not, misaligned and with gaps: the same bits, and nothing else is touched."""
    isa, dtype = way
    program, n = toy(width=5, side=side), 700
    kernel = build(program, dtype, isa)
    plan, sizes = kernel._owner, [tuple(x.size for x in some) for some in (program.inputs, program.arrays)]
    shape = Shape(*sizes, isa.lanes(8 * np.dtype(dtype).itemsize), plan.work_bytes, 1.0)
    inputs = states(program, n, dtype)
    parts = [np.empty((n, x.size), dtype) for x in program.arrays]
    kernel(n, inputs, parts, 1)
    for stream, gap, offset in itertools.product((0, STREAM), (0, 1, 7, 16), (0, 1, 3, 11)):
        raw = [np.full(n * (x.size + gap) + offset + 1, 7.0, dtype) for x in program.arrays]
        wide = [x[offset:-1].reshape(n, -1) for x in raw]
        rows = [x[:, : x.shape[1] - gap] for x in wide]
        plan_entry(plan, shape, np.dtype(dtype), stream).run(n, inputs, rows, 2)
        for got, want, whole in zip(wide, parts, raw, strict=True):
            np.testing.assert_array_equal(got[:, : want.shape[1]], want)
            assert (got[:, want.shape[1] :] == 7.0).all()
            assert (whole[:offset] == 7.0).all() and whole[-1] == 7.0


@pytest.mark.parametrize("bad", [-1, 8, "1"])
def test_ways_that_are_none(bad: object) -> None:
    plan = build(toy())._owner
    with pytest.raises((ValueError, TypeError)):
        plan.entry(bad)
