"""The cache under concurrency and sudden death."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from condyle.runtime import cache
from tests.runtime.test_cache import Maker, get, root

__all__ = ["root"]


def race(number: int, failures: object) -> None:
    for turn in range(30):
        content = f"object {turn % 3}".encode() * 1000
        made = cache.fetch((str(turn % 3),), "", Maker(content))
        if made != content:
            failures.put((number, turn))  # pyright: ignore
        if (turn + number) % 7 == 0:
            cache.clear()


@pytest.mark.slow
def test_eight_processes_race(root: Path) -> None:
    context = multiprocessing.get_context("spawn")
    failures = context.Queue()
    processes = [context.Process(target=race, args=(k, failures)) for k in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert failures.empty()
    assert not list((root / cache.ASIDE).iterdir())


def test_killed_half_way(root: Path) -> None:
    """kill -9 leaves rubbish that hinders nobody and is swept up."""
    script = """
        import sys, time
        from condyle.runtime import cache
        def make(path):
            path.write_bytes(b"half")
            print("half", flush=True)
            time.sleep(60)
        cache.fetch(("a",), "", make)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"half\n"
        child.send_signal(signal.SIGKILL)
    (left,) = (root / cache.ASIDE).iterdir()
    make = Maker()
    assert get(make) == b"object"
    assert left.exists()
    old = time.time() - 2 * cache.STALE_SECONDS
    os.utime(left, (old, old))
    get(make, "b")
    assert not left.exists()
