"""Damaged cache folders."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import condyle
from condyle.errors import BuildError
from condyle.runtime import cache
from fuzz.cache_damage import damage, tree

WHAT = (
    "damaged cache folders; found is: an exception other than BuildError, a BuildError where only entries were "
    "damaged, an object or an answer that is not the right one, an entry that is not made again, a file outside the "
    "folder changed"
)
ROBOT = condyle.chain(2)
Q = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
RIGHT = ROBOT.compile(target="numpy").inverse_dynamics(Q, Q, Q)
NAMES = ("a", "b", "c")


def case(rng: np.random.Generator, folder: Path) -> None:
    """Damage to the cache and calls of it: in turns, at the same time, or with a process killed."""
    root = folder / "cache"
    os.environ["CONDYLE_CACHE_DIR"] = str(root)
    os.environ["CONDYLE_CACHE_MAX_MB"] = str(rng.choice(["", "512", "0.01", "0", "nan", "-1", "1e300", "x"]))
    os.environ.pop("CONDYLE_NO_CACHE", None)
    (folder / "outside" / "folder").mkdir(parents=True)
    (folder / "outside" / "file").write_bytes(b"outside")
    (folder / "outside" / "folder" / "object.so").write_bytes(b"outside")
    before = tree(folder / "outside")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = rng.choice(["plain", "robot", "beside", "killed"], p=[0.78, 0.1, 0.06, 0.06])
        {"plain": plain, "robot": robot, "beside": beside, "killed": killed}[kind](rng, root)
    after = tree(folder / "outside")
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    assert not changed, f"outside the cache folder changed: {changed}"


def content(name: str) -> bytes:
    return name.encode() * 700


def get(name: str) -> None:
    """Checks that `fetch` returns the right bytes."""
    found = cache.fetch((name,), name, lambda path: path.write_bytes(content(name)) and None)
    assert found == content(name), f"fetch({name!r}) gave {found[:40]!r}"


def look(name: str) -> None:
    """Checks that `look` returns None or the right bytes."""
    found = cache.look((name,))
    assert found in (None, content(name)), f"look({name!r}) gave {found[:40] if found else found!r}"


def use(rng: np.random.Generator) -> None:
    """One random call of the cache."""
    name, way = str(rng.choice(NAMES)), int(rng.integers(5))
    if way == 0:
        get(name)
    elif way == 1:
        look(name)
    elif way == 2:
        cache.keep((name,), name, content(name))
    elif way == 3:
        assert all(len(entry.name) == 64 and entry.bytes >= 0 for entry in cache.entries())
    elif rng.random() < 0.2:
        assert cache.clear() >= 0


def plain(rng: np.random.Generator, root: Path) -> None:
    """Damage and calls in turns: an unsafe folder must be refused with an error; damaged entries must be built
    again."""
    for name in NAMES[: int(rng.integers(1, 4))]:
        cache.keep((name,), name, content(name))
    for _ in range(int(rng.integers(1, 5))):
        whole = damage(rng, root, root.parent / "outside")
        with contextlib.suppress(BuildError) if whole else contextlib.nullcontext():
            for _ in range(int(rng.integers(1, 5))):
                use(rng)
            for name in NAMES:
                get(name)
                look(name)
        if whole:
            return
    if os.environ["CONDYLE_CACHE_MAX_MB"] in ("", "512"):
        get("a")
        assert cache.look(("a",)) == content("a"), "a damaged entry was not made again"


def robot(rng: np.random.Generator, root: Path) -> None:
    """Calls a robot's function while its cached machine code is damaged."""
    whole = False
    for _ in range(3):
        dyn = ROBOT.compile(target="cpu")
        with contextlib.suppress(BuildError) if whole else contextlib.nullcontext():
            found = dyn.inverse_dynamics(Q, Q, Q)
            assert np.allclose(found, RIGHT, rtol=0, atol=1e-12), f"a wrong answer: {found}"
        whole = damage(rng, root, root.parent / "outside") or whole


def beside(rng: np.random.Generator, root: Path) -> None:
    """Calls the cache while another thread damages its entries."""
    seed, stop = int(rng.integers(2**31)), threading.Event()

    def meddle() -> None:
        other = np.random.default_rng(seed)
        while not stop.is_set():
            with contextlib.suppress(OSError):
                damage(other, root, root.parent / "outside", entries_only=True)

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        for _ in range(25):
            use(rng)
    finally:
        stop.set()
        thread.join()
    for name in NAMES:
        get(name)


def killed(rng: np.random.Generator, root: Path) -> None:
    """Kills a process at a random moment of writing; the cache must still work."""
    delay, child = float(rng.uniform(0.0, 0.01)), os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            while True:
                for name in NAMES:
                    cache.keep((name,), name, content(name))
                cache.clear()
        os._exit(1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for name in NAMES:
        look(name)
        get(name)
    assert all(entry.description in NAMES for entry in cache.entries())
