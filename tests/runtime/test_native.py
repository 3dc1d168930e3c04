"""The native call refuses what it cannot walk, and threads change nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from condyle.runtime._native import Entry
from condyle.runtime.native import cores
from tests.programs import skip_without

SOURCE = """
#include <stddef.h>
#include <time.h>
/* y = 2 x + c, one state after the other; c is one number a state; counts what it was given in the workspace */
int affine(size_t n, const double *const *in, const ptrdiff_t *in_stride, double *const *out,
           const ptrdiff_t *out_stride, void *work)
{
    size_t i, k;
    ((double *)work)[0] = (double)n;
    for (i = 0; i < n; i++) {
        for (k = 0; k < 3; k++) {
            out[0][(ptrdiff_t)i * out_stride[0] + (ptrdiff_t)k] =
                2.0 * in[0][(ptrdiff_t)i * in_stride[0] + (ptrdiff_t)k] + in[1][(ptrdiff_t)i * in_stride[1]];
        }
    }
    return 0;
}
/* a millisecond a state */
int slow(size_t n, const double *const *in, const ptrdiff_t *in_stride, double *const *out,
         const ptrdiff_t *out_stride, void *work)
{
    struct timespec rest = {0, 1000000};
    size_t i;
    (void)in; (void)in_stride; (void)work;
    for (i = 0; i < n; i++) {
        nanosleep(&rest, NULL);
        out[0][(ptrdiff_t)i * out_stride[0]] = 1.0;
    }
    return 0;
}
int fails(size_t n, const double *const *in, const ptrdiff_t *in_stride, double *const *out,
          const ptrdiff_t *out_stride, void *work)
{
    (void)n; (void)in; (void)in_stride; (void)out; (void)out_stride; (void)work;
    return 7;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory):
    skip_without("cc")
    import ctypes

    place = tmp_path_factory.mktemp("native")
    (place / "affine.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "affine.c", "-o", "affine.so"], cwd=place, check=True)
    return ctypes.CDLL(str(place / "affine.so"))


def address(library: object, name: str) -> int:
    import ctypes

    return ctypes.cast(library[name], ctypes.c_void_p).value  # pyright: ignore


@pytest.fixture
def entry(library: object) -> Entry:
    return Entry(address(library, "affine"), 64, 4, "d", (3, 1), (3,), 4)


@pytest.mark.parametrize("threads", [-1, 0, 1, 2, 7, 10_000])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 1001])
def test_every_state_once(entry: Entry, n: int, threads: int) -> None:
    x, c = np.random.default_rng(0).normal(size=(n, 3)), np.arange(float(n)).reshape(n, 1)
    y = np.full((n, 3), np.nan)
    entry.run(n, [x, c], (y,), threads)
    np.testing.assert_array_equal(y, 2 * x + c)


def test_rows_of_any_stride(entry: Entry) -> None:
    x = np.zeros((20, 9))
    x[:, 2:5] = np.arange(60).reshape(20, 3)
    y = np.full((20, 7), np.nan)
    entry.run(10, [x[::-2, 2:5], np.ones((1, 1))], [y[1::2, 4:]], 2)
    np.testing.assert_array_equal(y[1::2, 4:], 2 * x[::-2, 2:5] + 1)
    assert np.isnan(y[::2]).all()
    assert np.isnan(y[:, :4]).all()


def good() -> tuple[int, list[np.ndarray], list[np.ndarray], int]:
    return 4, [np.zeros((4, 3)), np.zeros((4, 1))], [np.zeros((4, 3))], 1


def spoil(n: int | None = None, x: object = None, y: object = None) -> tuple[object, ...]:
    size, inputs, outputs, threads = good()
    return (
        size if n is None else n,
        inputs if x is None else [x, inputs[1]],
        outputs if y is None else [y],
        threads,
    )


def readonly() -> np.ndarray:
    array = np.zeros((4, 3))
    array.flags.writeable = False
    return array


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (spoil(x=np.zeros((4, 2))), ValueError),
        (spoil(x=np.zeros((3, 3))), ValueError),
        (spoil(x=np.zeros((0, 3))), ValueError),
        (spoil(x=np.zeros(3)), ValueError),
        (spoil(x=np.zeros((4, 3, 1))), ValueError),
        (spoil(x=np.zeros((3, 4)).T), ValueError),
        (spoil(x=np.zeros((4, 6))[:, ::2]), ValueError),
        (spoil(x=np.zeros((4, 3), "f4")), TypeError),
        (spoil(x=np.zeros((4, 3), "i8")), TypeError),
        (spoil(x=np.zeros((4, 3), ">f8")), TypeError),
        (spoil(x=np.zeros((4, 3), [("a", "f8")])), TypeError),
        (spoil(x=np.zeros((4, 3), [("pad", "i1"), ("a", "f8")])["a"]), ValueError),
        (spoil(x=np.zeros(97, "u1")[1:].view("f8").reshape(4, 3)), ValueError),
        (spoil(x=[[0.0] * 3] * 4), TypeError),
        (spoil(x=None if False else "text"), TypeError),
        (spoil(y=readonly()), ValueError),
        (spoil(y=np.zeros((1, 3))), ValueError),
        (spoil(y=np.lib.stride_tricks.as_strided(np.zeros(30), (4, 3), (8, 8))), ValueError),
        (spoil(y=np.lib.stride_tricks.as_strided(np.zeros(30), (4, 3), (0, 8))), ValueError),
        (spoil(n=-1), ValueError),
        (spoil(n=5), ValueError),
        (spoil(n=2**70), OverflowError),
        ((4, [], [], 1), ValueError),
        ((4, 3, [], 1), TypeError),
        ((4, [], []), TypeError),
        (("4", [], [], 1), TypeError),
    ],
)
def test_what_does_not_fit_raises(entry: Entry, arguments: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises((error, BufferError) if error is ValueError else error):
        entry.run(*arguments)  # pyright: ignore
    entry.run(*good())


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 64, 4, "d", (3,), (3,), 4),
        (1, -1, 4, "d", (3,), (3,), 4),
        (1, 64, 0, "d", (3,), (3,), 4),
        (1, 64, 4, "i", (3,), (3,), 4),
        (1, 64, 4, "d", (-3,), (3,), 4),
        (1, 64, 4, "d", (3,), (2**62,), 4),
        (1, 64, 4, "d", (3,), (3,), 0),
        (1, 64, 4, "d", (1,) * 65, (), 4),
        (1, 64, 4, "d", [3], (3,), 4),
        (1, 64, 4, "d", ("3",), (3,), 4),
    ],
)
def test_a_nonsense_entry_is_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Entry(*arguments)  # pyright: ignore


def test_a_failing_function_raises(library: object) -> None:
    failing = Entry(address(library, "fails"), 64, 4, "d", (3, 1), (3,), 4)
    with pytest.raises(RuntimeError, match="status 7"):
        failing.run(*good())


def test_a_workspace_too_large_is_a_memory_error(library: object) -> None:
    huge = Entry(address(library, "affine"), 2**62, 4, "d", (3, 1), (3,), 4)
    with pytest.raises(MemoryError):
        huge.run(*good())


@pytest.fixture
def default_interrupt() -> Iterator[None]:
    """A background run inherits an ignored SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_batch(library: object, threads: int, default_interrupt: None) -> None:
    """Within a second, counted in states, since a thread does at most one a millisecond; the next call works."""
    entry = Entry(address(library, "slow"), 0, 1, "d", (1,), (1,), 4)
    y = np.zeros((20_000, 1))
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        entry.run(len(y), [y[:1].copy()], [y], threads)
    done = int(y.sum())
    assert 0 < done < 1200 * threads
    time.sleep(0.05)
    assert int(y.sum()) == done  # nobody writes any more
    entry.run(10, [np.ones((1, 1))], [y[:10]], threads)


def test_other_signals_are_handled_on_the_way(library: object) -> None:
    entry = Entry(address(library, "slow"), 0, 1, "d", (1,), (1,), 4)
    y, came = np.zeros((600, 1)), list[float]()
    before = signal.signal(signal.SIGALRM, lambda *_: came.append(y.sum()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        entry.run(len(y), [np.ones((1, 1))], [y], 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert came and came[0] < len(y)
    assert (y == 1.0).all()


def test_calls_at_once_from_many_threads(entry: Entry) -> None:
    x = np.random.default_rng(1).normal(size=(500, 3))
    wrong: list[int] = []

    def call(k: int) -> None:
        for _ in range(50):
            y = np.full((500, 3), np.nan)
            entry.run(500, [x, np.full((1, 1), float(k))], [y], 2)
            if not (y == 2 * x + k).all():
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_works_after_threads_ran(library: object, tmp_path: Path) -> None:
    script = f"""
        import ctypes, os, time
        import numpy as np
        from condyle.runtime._native import Entry
        library = ctypes.CDLL({library._name!r})
        entry = Entry(ctypes.cast(library["affine"], ctypes.c_void_p).value, 64, 4, "d", (3, 1), (3,), 4)
        x, c, y = np.ones((1000, 3)), np.ones((1000, 1)), np.zeros((1000, 3))
        entry.run(1000, [x, c], [y], 4)
        child = os.fork()
        if child == 0:
            y[...] = 0
            entry.run(1000, [x, c], [y], 4)
            os._exit(0 if (y == 3).all() else 1)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                raise SystemExit(os.waitstatus_to_exitcode(status))
            time.sleep(0.01)
        os.kill(child, 9)
        raise SystemExit("the child hangs")
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_threads_the_caller_does_it_alone(library: object) -> None:
    """With no room for another thread the call still answers."""
    script = f"""
        import ctypes, resource
        import numpy as np
        from condyle.runtime._native import Entry
        library = ctypes.CDLL({library._name!r})
        entry = Entry(ctypes.cast(library["affine"], ctypes.c_void_p).value, 64, 4, "d", (3, 1), (3,), 4)
        x, c, y = np.ones((1000, 3)), np.ones((1000, 1)), np.zeros((1000, 3))
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used, used))
        entry.run(1000, [x, c], [y], 64)
        raise SystemExit(0 if (y == 3).all() else 1)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_cores() -> None:
    assert cores() >= 1
