"""A forked child computes, whatever the other threads were doing when it was made."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from condyle.runtime import forks
from tests.runtime.test_pool import program

COMPILING = """
    from condyle.compile.compiler import Compiler
    fresh = condyle.chain(4).compile(target={target!r})
    x = np.ones(4)
    entered, leave = threading.Event(), threading.Event()
    build = Compiler.build

    def slow(self, *given):
        if os.getpid() == parent:
            {meanwhile}
        return build(self, *given)

    parent, Compiler.build, Compiler.kept = os.getpid(), slow, lambda *_: None
    thread = threading.Thread(target=lambda: fresh.inverse_dynamics(x, x, x))
    thread.start()
    assert entered.wait(20)
    child = os.fork()
    if child == 0:
        {child}
        os._exit(not np.isfinite(fresh.inverse_dynamics(x, x, x)).all())
    fine = ends_well(child, 30)
    leave.set()
    thread.join()
    raise SystemExit(not (fine and np.isfinite(fresh.inverse_dynamics(x, x, x)).all()))
"""


def test_every_guard_gets_a_new_lock_of_its_kind() -> None:
    guards = [forks.Guard(), forks.Guard(threading.RLock)]
    before = [guard.lock for guard in guards]
    assert [type(lock) for lock in before] == [type(threading.Lock()), type(threading.RLock())]
    with before[0], before[1]:
        forks._renew()
        assert all(new.lock is not old for new, old in zip(guards, before, strict=True))
        assert [type(guard.lock) for guard in guards] == [type(lock) for lock in before]
        with guards[0].lock, guards[1].lock:
            pass


def test_a_fork_waits_for_others_until_its_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by a second while it sleeps."""
    slept = list[float]()
    clock = SimpleNamespace(monotonic=lambda: float(len(slept)), sleep=slept.append)
    monkeypatch.setattr(forks, "time", clock)
    answers = iter((True, True, True, False))
    monkeypatch.setattr(forks, "_others_import", lambda: next(answers))
    forks._wait_for_imports()
    assert slept == [0.001] * 3 and not [*answers]
    monkeypatch.setattr(forks, "_others_import", lambda: True)
    forks._wait_for_imports()
    assert len(slept) == 3 + 10 and forks.PATIENCE_S == 10.0


def stack(*frames: tuple[str, str]) -> object:
    """Frames as Python has them, the innermost first: file of the code, name of the module."""
    back = None
    for file, name in reversed(frames):
        code = SimpleNamespace(co_filename=file)
        back = SimpleNamespace(f_code=code, f_globals={"__name__": name}, f_back=back)
    return back


IMPORT = ("<frozen importlib._bootstrap>", "importlib._bootstrap")
OURS, OTHER = ("a.py", "condyle.api"), ("b.py", "condyles.api")


@pytest.mark.parametrize(
    ("frames", "does"),
    [
        ((), False),
        ((IMPORT,), False),
        ((OURS,), False),
        ((IMPORT, OURS), True),
        ((OURS, IMPORT), True),
        ((OTHER, IMPORT, OTHER), False),
        ((OTHER, IMPORT, OTHER, OURS, OTHER), True),
    ],
)
def test_a_stack_imports_for_this_package(frames: tuple[tuple[str, str], ...], does: bool) -> None:
    assert forks._imports(stack(*frames)) is does  # type: ignore[arg-type]


def test_the_thread_that_forks_waits_for_others_only(monkeypatch: pytest.MonkeyPatch) -> None:
    own = threading.get_ident()
    for thread, does in ((own, False), (own + 1, True)):
        monkeypatch.setattr(sys, "_current_frames", lambda thread=thread: {thread: stack(IMPORT, OURS)})
        assert forks._others_import() is does


@pytest.mark.slow
@pytest.mark.parametrize("target", ["c", "cpu"])
def test_a_fork_while_another_thread_compiles(target: str) -> None:
    """The thread that holds the lock is not in the child."""
    program(COMPILING.format(target=target, meanwhile="entered.set(); leave.wait(40)", child="pass"))


@pytest.mark.slow
def test_a_fork_while_another_thread_imports(tmp_path: Path) -> None:
    """Nor is the one that holds a module's lock: the fork waits until that import is done."""
    (tmp_path / "slowly.py").write_text("import time, __main__\n__main__.entered.set()\ntime.sleep(1)\ndone = True\n")
    meanwhile = f"sys.path.insert(0, {str(tmp_path)!r}); import slowly"
    program(COMPILING.format(target="c", meanwhile=meanwhile, child="import slowly; assert slowly.done"))


def test_a_fork_waits_for_imports_of_this_package_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asleep_while_imported.py").write_text("import forks_gate\nforks_gate.gate.wait(30)\n")
    (tmp_path / "forks_gate.py").write_text("import threading\ngate = threading.Event()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import forks_gate  # type: ignore[import-not-found]

    thread = threading.Thread(target=lambda: __import__("asleep_while_imported"))
    thread.start()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert time.monotonic() - start < forks.PATIENCE_S / 2
    forks_gate.gate.set()
    thread.join()


def test_a_guard_is_free_in_the_child_only() -> None:
    guard, held = forks.Guard(), threading.Event()

    def hold() -> None:
        with guard.lock:
            held.set()
            time.sleep(0.5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(not guard.lock.acquire(blocking=False))  # type: ignore[attr-defined]
    assert not guard.lock.acquire(blocking=False)  # type: ignore[attr-defined]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()


FORKS = """
    dyn = condyle.chain(7).compile(target="c", threads=5)
    q, v, a = (np.random.default_rng(k).normal(size=(150_000, 7)) for k in range(3))
    right, out = dyn.forward_dynamics(q, v, a), np.empty((150_000, 7))
    children, depth = [], 0

    def fork(*_):
        global depth
        child = os.fork()
        if child:
            children.append(child)
            return
        depth += 1
        children.clear()
        {child}

    def call(delay):
        if depth < {deepest}:
            signal.setitimer(signal.ITIMER_REAL, delay)  # once: no handler runs within a handler
        out[...] = np.nan
        dyn.forward_dynamics(q, v, a, out=out)
        assert np.array_equal(out, right)

    signal.signal(signal.SIGALRM, fork)
    try:
        begin, turn = time.perf_counter(), 0
        call(10.0)
        takes = time.perf_counter() - begin
        while turn < 12:
            call(takes * (0.1 + turn / 15))
            turn = turn + 1 if depth == 0 else 99
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        fine = all([ends_well(child, 20) for child in children])
    except {expected}:
        fine = True
    os._exit(not fine)
"""


@pytest.mark.slow
@pytest.mark.parametrize("deepest", [1, 2])
def test_a_signals_handler_forks_in_a_batch(deepest: int) -> None:
    """The child goes on with the batch and does what its parent's workers had; so does a child's child."""
    child = "signal.setitimer(signal.ITIMER_REAL, 0.01) if depth < 2 else None" if deepest == 2 else "pass"
    program(FORKS.format(deepest=deepest, child=child, expected="()"))


@pytest.mark.slow
def test_a_signals_handler_forks_in_a_batch_and_ends_the_child() -> None:
    program(FORKS.format(deepest=1, child="raise KeyError", expected="KeyError"))
