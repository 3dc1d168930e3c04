"""The pool: threads change no bit, callers never wait in vain, and neither a fork nor the end of the program hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest

import condyle
from condyle import Dynamics
from condyle.runtime._native import workers

PRELUDE = """
    import os, signal, sys, threading, time
    import numpy as np
    import condyle
    from condyle.runtime._native import workers
    workers({limit})
    robot = condyle.chain(3)
    dyn = robot.compile(target="c", threads={threads})
    q, v, a = (np.random.default_rng(k).normal(size=(40_000, 3)) for k in range(3))
    right = dyn.inverse_dynamics(q, v, a)

    def same():
        return np.array_equal(dyn.inverse_dynamics(q, v, a), right)

    def ends_well(child, seconds=5):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        raise SystemExit("the child hangs")
"""


def program(text: str, limit: int = 4, threads: int = 5) -> None:
    """Runs it in an interpreter of its own, which ends in time and well."""
    code = textwrap.dedent(PRELUDE.format(limit=limit, threads=threads)) + textwrap.dedent(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", code]
    with tempfile.TemporaryFile("w+") as said:  # a pipe would be held open by a child that hangs
        child = subprocess.Popen(command, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            status = child.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        said.seek(0)
        assert status == 0, said.read()


@pytest.fixture(autouse=True)
def more_workers_than_cores():
    workers(5)
    yield
    workers(max(0, len(os.sched_getaffinity(0)) - 1))


@pytest.fixture(scope="module")
def robot() -> condyle.Robot:
    return condyle.chain(4)


@pytest.fixture(scope="module")
def by_threads(robot: condyle.Robot) -> dict[int, Dynamics]:
    made = {threads: robot.compile(target="c", threads=threads) for threads in (1, 2, 3, 6, 1000)}
    for dyn in made.values():
        for name in ("id", "fd", "m", "did"):
            call(dyn, name, np.zeros((1, robot.nv)))
    return made


def call(dyn: Dynamics, name: str, x: np.ndarray) -> tuple[np.ndarray, ...]:
    answer = dyn.function(name)(*([x] if name == "m" else [x, 2 * x, 3 * x]))
    return answer if isinstance(answer, tuple) else (answer,)  # pyright: ignore


@pytest.mark.parametrize("name", ["id", "did", "fd"])
@pytest.mark.parametrize("n", [1, 63, 1000, 4097, 20_000])
def test_any_number_of_threads_gives_the_same_bits(by_threads: dict[int, Dynamics], name: str, n: int) -> None:
    x = np.random.default_rng(n).normal(size=(n, 4))
    right = call(by_threads[1], name, x)
    for dyn in by_threads.values():
        for one, other in zip(call(dyn, name, x), right, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.slow  # seconds of two processors
def test_callers_at_once_with_different_kernels(by_threads: dict[int, Dynamics]) -> None:
    """Eight Python threads for some seconds: each its own kernel, size and number of threads."""
    names, wrong, rounds = ("id", "fd", "m", "did"), list[str](), [0] * 8
    end = time.monotonic() + 6

    def work(k: int) -> None:
        rng, dyn = np.random.default_rng(k), by_threads[(2, 3, 6, 1000)[k // 2]]
        while time.monotonic() < end:
            name, x = names[int(rng.integers(4))], rng.normal(size=(int(rng.integers(1, 6000)), 4))
            got, right = call(dyn, name, x), call(by_threads[1], name, x)
            wrong.extend(name for one, other in zip(got, right, strict=True) if one.tobytes() != other.tobytes())
            rounds[k] += 1

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == [] and min(rounds) > 3


def test_a_thousand_small_calls_start_no_worker() -> None:
    program("""
        dyn = condyle.chain(2).compile(target="c", threads=8)
        x = np.ones((3, 2))
        before = workers(-1)
        for _ in range(1000):
            dyn.inverse_dynamics(x, x, x)
        raise SystemExit(workers(-1) != before)
    """)


@pytest.mark.slow
def test_workers_start_when_wanted_and_no_more_than_that() -> None:
    program("raise SystemExit(workers(-1) != 2)", limit=2, threads=9)
    program("raise SystemExit(workers(-1) != 2)", limit=9, threads=3)
    program("raise SystemExit(workers(-1) != 0 or not same())", limit=0, threads=3)
    program("raise SystemExit(workers(-1) != 0 or not same())", limit=3, threads=1)


def test_it_works_again_after_a_rest(by_threads: dict[int, Dynamics]) -> None:
    """Asleep, awake, falling asleep: calls that find the workers in any state."""
    x = np.random.default_rng(0).normal(size=(20_000, 4))
    right = call(by_threads[1], "id", x)[0]
    for k in range(60):
        assert np.array_equal(call(by_threads[6], "id", x)[0], right)
        time.sleep((0.0, 30e-6, 60e-6, 90e-6, 5e-3)[k % 5])


def test_a_forked_child_has_a_pool_of_its_own() -> None:
    program("""
        child = os.fork()
        if child == 0:
            none = workers(4)
            os._exit(0 if none == 0 and same() and workers(-1) == 4 else 1)
        raise SystemExit(not (ends_well(child) and same()))
    """)


def test_forks_while_other_threads_compute() -> None:
    program("""
        stop = False
        def busy():
            while not stop:
                assert same()
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads: thread.start()
        fine = True
        for _ in range(15):
            child = os.fork()
            if child == 0:
                os._exit(0 if same() and same() else 1)
            fine = ends_well(child) and fine
        stop = True
        for thread in threads: thread.join()
        raise SystemExit(not fine)
    """)


def test_a_forked_childs_child_works() -> None:
    program("""
        child = os.fork()
        if child == 0:
            fine = same()
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(not same())
            os._exit(not (fine and ends_well(grandchild)))
        raise SystemExit(not ends_well(child, 10))
    """)


@pytest.mark.parametrize("how", ["", "time.sleep(0.05)", "os._exit(0)", "raise SystemExit(0)"])
def test_the_program_ends_while_workers_wait(how: str) -> None:
    program(how)


def test_the_program_ends_while_a_daemon_thread_computes() -> None:
    program("""
        def busy():
            while True:
                dyn.inverse_dynamics(q, v, a)
        for _ in range(3):
            threading.Thread(target=busy, daemon=True).start()
        time.sleep(0.2)
    """)


def test_signals_go_to_python_threads() -> None:
    program("""
        caught = []
        signal.signal(signal.SIGALRM, lambda *_: caught.append(threading.current_thread() is threading.main_thread()))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        end = time.monotonic() + 5
        while len(caught) < 20 and time.monotonic() < end:
            assert same()
        signal.setitimer(signal.ITIMER_REAL, 0)
        masks = [open(f"/proc/self/task/{task}/status").read() for task in os.listdir("/proc/self/task")]
        blocked = sum("SigBlk:\\tfffffffe7ffbfeff" in mask or "SigBlk:\\tffffffff" in mask for mask in masks)
        raise SystemExit(not (len(caught) > 3 and all(caught) and blocked >= workers(-1) > 0))
    """)


def test_an_interrupt_ends_a_long_run() -> None:
    """SIGINT reaches Python between calls, as ever."""
    program("""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background run inherits an ignored one
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                same()
        except KeyboardInterrupt:
            raise SystemExit(0)
    """)


def test_a_caller_does_not_wait_for_workers_that_are_busy(by_threads: dict[int, Dynamics]) -> None:
    """One caller keeps the pool busy with long jobs; another's short calls are answered meanwhile."""
    workers(1)
    long, short = np.ones((400_000, 4)), np.ones((3000, 4))
    stop, calls = threading.Event(), 0

    def busy() -> None:
        while not stop.is_set():
            call(by_threads[2], "did", long)

    thread = threading.Thread(target=busy)
    thread.start()
    end = time.monotonic() + 2
    while calls <= 5 and time.monotonic() < end:
        call(by_threads[2], "id", short)
        calls += 1
    stop.set()
    thread.join()
    assert calls > 5


def test_memory_of_large_outputs_is_used_again(by_threads: dict[int, Dynamics]) -> None:
    x = np.ones((5000, 4))
    first = call(by_threads[1], "did", x)[0]
    address = first.ctypes.data
    del first
    assert address in {array.ctypes.data for array in call(by_threads[1], "did", x)}
