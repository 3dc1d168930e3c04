"""Arrays as rows: what is copied is known before it is copied."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import condyle
from condyle.runtime.rows import broadcast, copied, has_rows, rows_of


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
