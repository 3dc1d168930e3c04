"""Arrays as rows: what is copied is known before it is copied."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import condyle
from condyle.runtime.rows import MOST_DIMS, broadcast, copied, has_rows, one_row, overlap, overlaps_itself, rows_of


def strange(rng: np.random.Generator, own: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """An array of a random layout: permuted, reversed, with gaps, broadcast, unaligned."""
    shape = own + dims
    order = rng.permutation(len(shape)) if rng.random() < 0.4 else np.arange(len(shape))
    array = np.zeros([shape[k] for k in order]).transpose(np.argsort(order))
    if rng.random() < 0.3:
        array = array[..., ::-1]
    if rng.random() < 0.3 and own:
        array = np.broadcast_to(array[:1], shape)
    if rng.random() < 0.2:
        array = np.repeat(array, 2, axis=0)[::2]
    if rng.random() < 0.2:
        array = np.zeros(array.nbytes + 1, "u1")[1:].view("f8").reshape(array.shape)
    return array


def test_no_more_is_copied_than_was_said() -> None:
    rng, exact = np.random.default_rng(0), 0
    for k in range(3000):
        batch = tuple(int(x) for x in rng.integers(1, 4, rng.integers(0, 4)))
        dims = [(3,), (2, 3)][k % 2]
        own = tuple(1 if rng.random() < 0.3 else x for x in batch[rng.integers(0, len(batch) + 1) :])
        array = strange(rng, own, dims)
        rows = rows_of(array, dims, batch, math.prod(batch))
        assert has_rows(rows) and rows.shape[0] in (1, math.prod(batch))
        real = 0 if np.may_share_memory(rows, array) else rows.size
        assert real <= copied(array, dims, batch) or rows.size <= math.prod(dims)
        exact += real == copied(array, dims, batch)
    assert exact > 2000


def test_broadcast_is_that_of_numpy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        shapes = [tuple(int(x) for x in rng.integers(0, 4, rng.integers(0, 4))) for _ in range(3)]
        try:
            want = np.broadcast_shapes(*shapes)
        except ValueError:
            want = None
        assert broadcast(shapes) == want
    assert broadcast([(1,) * 50, (2,)]) == (1,) * 49 + (2,)


def test_pages_are_not_touched_to_say_so() -> None:
    """2^40 states of two broadcast batches."""
    wide = np.broadcast_to(np.zeros((1, 1 << 20, 7)), (1 << 20, 1 << 20, 7))
    assert copied(wide, (7,), (1 << 20, 1 << 20)) == 7 << 40
    assert copied(wide[:, :1], (7,), (1 << 20, 1)) == 0
    with pytest.raises(ValueError, match="broadcast"):
        rows_of(np.zeros((3, 7)), (7,), (2,), 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 17])
def test_rows_of_every_length(size: int, dtype: str) -> None:
    """Whole groups, rests, rows shorter than a vector: nothing beside a row has a part in it."""
    dyn = condyle.chain(size, rng=0).compile(dtype=dtype, threads=1)
    for n in (1, 2, 3, 5, 8, 17):
        beside = np.full((2, n, size + 2), np.nan, dtype=dtype)
        beside[..., 1:-1] = np.random.default_rng(n).standard_normal((2, n, size))
        q, dv = beside[..., 1:-1]
        found = np.full((n, size + 2), 9.0, dtype=dtype)
        dyn.integrate(q, dv, out=found[:, 1:-1])
        assert np.array_equal(found[:, 1:-1], q + dv)
        assert (found[:, 0] == 9.0).all() and (found[:, -1] == 9.0).all()
        assert np.array_equal(dyn.integrate(q.copy(), dv.copy()), q + dv)


def test_a_dtype_that_names_this_machines_byte_order_is_the_same() -> None:
    """As Zarr's arrays have it; strided ones and outputs too."""
    dyn = condyle.load("iiwa14").compile(threads=1)
    q, v = condyle.load("iiwa14").random_state(6, 0)
    named = np.dtype("float64").newbyteorder("<" if sys.byteorder == "little" else ">")
    want, out = dyn.inverse_dynamics(q, v, v), np.empty((6, 7), named)
    assert named == np.dtype("float64") and named.byteorder != "="
    assert np.array_equal(dyn.inverse_dynamics(q.astype(named), v, v), want)
    assert np.array_equal(dyn.inverse_dynamics(q.astype(named)[::2], v[::2], v[::2]), want[::2])
    assert dyn.inverse_dynamics(q, v, v, out=out) is out and np.array_equal(out, want)


GRID = np.zeros((4, 5, 6))
ODD = np.zeros(8 * 12 + 1, "u1")[1:].view("f8").reshape(4, 3)
"""Unaligned."""


@pytest.mark.parametrize(
    ("rows", "has"),
    [
        (GRID[:, 0], True),
        (GRID[:, 0, 1:4], True),
        (GRID[::-1, 0], True),
        (GRID[:, 0, ::2], False),
        (GRID[:, :, 0], False),
        (GRID[:, 0, ::-1], False),
        (GRID[:, 0, :1], True),
        (GRID[:1, 0, ::2], False),
        (np.zeros((4, 0)), True),
        (ODD, False),
        (ODD[::2], False),
        (np.zeros((4, 3), np.dtype([("flag", "i1"), ("x", "f8")], align=False))["x"][:, :1], False),
        (as_strided(np.zeros(30, "f4"), (3, 2), (4, 4)), True),
        (as_strided(np.zeros(30), (3, 2), (12, 8)), False),
    ],
)
def test_rows_that_a_kernel_can_walk(rows: np.ndarray, has: bool) -> None:
    assert has_rows(rows) is has


@pytest.mark.parametrize(
    ("array", "dims", "batch", "count"),
    [
        (GRID, (6,), (4, 5), 0),
        (GRID, (5, 6), (4,), 0),
        (GRID[:0], (6,), (0, 5), 0),
        (GRID[0, 0], (6,), (4, 5), 6),
        (GRID[:1, :1], (6,), (4, 5), 6),
        (GRID[:, :1], (6,), (4, 5), 120),
        (GRID[:1], (6,), (4, 5), 120),
        (GRID[::2], (6,), (2, 5), 60),
        (GRID[::2, 0], (6,), (2,), 0),
        (GRID[:, 0, ::2], (3,), (4,), 12),
        (GRID[:, :2], (2, 6), (4,), 0),
        (GRID[:, ::2], (3, 6), (4,), 72),
        (GRID[0, :, 0], (), (5,), 0),
        (ODD, (3,), (4,), 12),
    ],
)
def test_entries_that_are_copied(array: np.ndarray, dims: tuple[int, ...], batch: tuple[int, ...], count: int) -> None:
    """One row for all states is counted whole, which is little."""
    assert copied(array, dims, batch) == count


@pytest.mark.parametrize(
    ("shape", "strides", "does"),
    [
        ((4, 3), (24, 8), False),
        ((4, 3), (23, 8), True),
        ((4, 3), (16, 8), True),
        ((4, 3), (-24, 8), False),
        ((4, 3), (8, 32), False),
        ((4, 3), (8, 24), True),
        ((4, 1), (8, 0), False),
        ((4, 1), (0, 8), True),
        ((1, 3), (0, 8), False),
        ((0, 3), (0, 8), False),
        ((2, 2, 2), (32, 16, 8), False),
        ((2, 2, 2), (24, 16, 8), True),
    ],
)
def test_arrays_that_overlap_themselves(shape: tuple[int, ...], strides: tuple[int, ...], does: bool) -> None:
    assert overlaps_itself(as_strided(np.zeros(40)[20:], shape, strides)) is does


def test_arrays_overlap_where_it_is_too_hard_to_say() -> None:
    """They may, as far as the work goes that this is worth."""
    array = np.zeros(10_000)
    x = as_strided(array, (5, 7, 11), (8 * 3, 8 * 17, 8 * 31))
    y = as_strided(array[1:], (5, 7, 11), (8 * 3, 8 * 19, 8 * 29))
    assert overlap(x, y)
    assert not overlap(array[::2], array[1::2]) and not overlap(array[:5], array[5:]) and overlap(array[:6], array[5:])
    whole = np.zeros((30,) * 4)
    apart = whole[::2, ::3, ::5, ::7], whole[1::2, 1::3, 1::5, 1::7]
    assert not np.shares_memory(*apart) and not overlap(*apart)


def test_numpys_most_dimensions() -> None:
    assert np.zeros((1,) * MOST_DIMS).ndim == MOST_DIMS
    with pytest.raises(ValueError, match=f"maximum supported dimension .* {MOST_DIMS}"):
        np.zeros((1,) * (MOST_DIMS + 1))


def test_one_row_for_all_states() -> None:
    """A number, or an array of one state's dimensions and of the right type; contiguous and aligned."""
    double = np.dtype("f8")
    for row in (np.arange(3.0), np.arange(6.0)[::2] / 2.0, ODD[0]):
        found = one_row(row, (3,), double)
        assert found is not None and found.shape == (1, 3) and found.flags.c_contiguous and found.flags.aligned
        assert np.array_equal(found[0], row)
    for number in (2, 2.0):
        assert np.array_equal(one_row(number, (), double), [[2.0]])  # type: ignore[arg-type]
    assert np.array_equal(one_row(GRID[0], (5, 6), double), np.zeros((1, 30)))  # type: ignore[arg-type]
    for wrong in (np.zeros(3, "f4"), np.zeros((1, 3)), np.zeros(4), 2.0, [0.0] * 3, None):
        assert one_row(wrong, (3,), double) is None
