"""Memory of large fresh outputs: used again, and otherwise like any other array's."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.runtime import machine
from condyle.runtime._native import empty
from condyle.runtime.machine import VAST


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0, 5), (7,), (100, 100), (4000, 100), (1000, 36, 36)])
def test_recycled_memory_is_an_array_like_any_other(dtype: str, shape: tuple[int, ...]) -> None:
    for _ in range(3):
        array = empty(shape, np.dtype(dtype))
        array[...] = 1.0
        assert array.shape == shape and array.dtype == dtype and array.flags.owndata and array.flags.c_contiguous
        assert array.sum() == array.size
        del array


def test_recycled_memory_is_never_two_arrays_at_once() -> None:
    rng, live = np.random.default_rng(0), dict[int, np.ndarray]()
    for k in range(2000):
        live[k] = empty((int(rng.integers(1, 60)), 3000), np.dtype("f8"))
        live[k][...] = k
        if len(live) > 12:
            gone = int(rng.choice(list(live)))
            assert (live.pop(gone) == gone).all()
    assert all((array == k).all() for k, array in live.items())


def test_recycled_memory_grows_and_shrinks() -> None:
    array = empty((100, 1000), np.dtype("f8"))
    array[...] = 1.0
    array.resize((300, 1000), refcheck=False)
    assert (array[:100] == 1.0).all() and (array[100:] == 0.0).all()
    array.resize((10, 1000), refcheck=False)
    assert (array == 1.0).all()


def test_what_does_not_fit_into_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        empty((2**45, 64), np.dtype("f8"))
    with pytest.raises(ValueError):
        empty((2**62, 64), np.dtype("f8"))
    with pytest.raises(ValueError):
        empty((-1, 64), np.dtype("f8"))


def test_memory_freed_by_another_thread_is_used_again() -> None:
    size = (1234, 100)
    addresses: list[int] = []

    def make() -> None:
        for _ in range(50):
            arrays = [empty(size, np.dtype("f8")) for _ in range(4)]
            for k, array in enumerate(arrays):
                array[...] = k
            assert all((array == k).all() for k, array in enumerate(arrays))
            addresses.extend(array.ctypes.data for array in arrays)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(addresses) == 4 * 200 and len(set(addresses)) < 400


def test_large_blocks_are_whole_after_the_system_took_their_pages() -> None:
    """Freed blocks beyond 256 MiB are offered to the system; what is written afterwards stays."""
    for k in range(4):
        array = empty((36_000_000,), np.dtype("f8"))
        array[...] = k
        assert array[0] == k and array[-1] == k and (array == k).all()
        del array


def test_results_that_do_not_fit_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the native path, on the other one, packed and dense."""
    dyn = condyle.load("iiwa14").compile(threads=1)
    n = VAST // (49 * 8) + 8
    q = np.zeros((n, 7))
    packed = dyn.pack(q)
    for few in (q[:8], dyn.pack(q[:8])):
        dyn.mass_matrix(few)  # compiled, so that the native path is there
    result = dyn.mass_matrix(dyn.pack(np.zeros((n, 7))))
    monkeypatch.setattr(machine, "available", lambda: VAST // 2)
    for call in (
        lambda: dyn.mass_matrix(q),
        lambda: dyn.mass_matrix(np.broadcast_to(q[:1], (10**12, 7))),
        lambda: dyn.inverse_dynamics_derivatives(packed, packed, packed),
        result.dense,
    ):
        with pytest.raises(condyle.OutOfMemoryError, match=r"GB, and 0\.1 GB of memory are free"):
            call()
    monkeypatch.setattr(machine, "available", lambda: None)
    assert dyn.mass_matrix(q[:9]).shape == (9, 7, 7)


def test_copies_of_broadcast_inputs_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^40 states of two batches, integers that convert, rows that are no rows; nothing of that size is ever there."""
    dyn = condyle.load("iiwa14").compile("numpy")
    monkeypatch.setattr(machine, "available", lambda: VAST // 2)
    column, row, whole = np.zeros((1 << 20, 1, 7)), np.zeros((1, 1 << 20, 7)), np.zeros((1, 1, 7), int)
    for call in (
        lambda: dyn.inverse_dynamics(column, row, row),
        lambda: dyn.mass_matrix(np.broadcast_to(whole, (1 << 20, 1 << 20, 7))),
    ):
        with pytest.raises(condyle.OutOfMemoryError, match=r"and copies of inputs .* \d+\.\d GB"):
            call()
    out = np.zeros((9, 1, 7))
    assert dyn.inverse_dynamics(np.broadcast_to(whole, out.shape), row[:, :1], column[0], out=out) is out


def test_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel says, within the limit of the group; None where it says nothing."""
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "_GROUP", tmp_path)
    assert machine.available() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1000 kB\nSwapFree: 24 kB\n")
    assert machine.available() == 1024 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5000\n")
    assert machine.available() == 1024 * 1024
    (tmp_path / "memory.max").write_text("7000\n")
    assert machine.available() == 2000
