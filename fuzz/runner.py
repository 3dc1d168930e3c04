"""Runs the cases of one fuzzer in a child process, so that crashes and hangs are found like wrong results.

A fuzzer is a module of this folder with a line `WHAT` and a function `case(rng, folder)`, which raises when it finds
something. Case k of seed s gets the generator `numpy.random.default_rng([s, k])` and an empty folder, and nothing else,
so that it can be repeated.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Protocol, cast

import numpy as np

HERE = Path(__file__).resolve().parent
LONGEST_CASE_S = 60.0
LONGEST_START_S = 300.0
MOST_FOUND = 20
MOST_LINES = 25


class Fuzzer(Protocol):
    WHAT: str

    def case(self, rng: np.random.Generator, folder: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Found:
    """One case in which something was found, and its message."""

    case: int
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run of a fuzzer; `found` is empty if nothing was found."""

    name: str
    what: str
    seed: int
    cases: int
    seconds: float
    found: tuple[Found, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.what}", f"{self.cases} cases in {self.seconds:.0f} s, seed {self.seed}"]
        for one in self.found:
            lines += ["", f"FOUND: python -m fuzz {self.name} --seed {self.seed} --case {one.case}", one.what]
        return "\n".join([*lines, "" if self.found else "nothing found"])


def known() -> list[str]:
    """The fuzzers of this folder: the modules that define a case."""
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef case(" in path.read_text(encoding="utf-8"))


def fresh_seed() -> int:
    return secrets.randbelow(2**31)


def load(name: str) -> Fuzzer:
    return cast(Fuzzer, import_module(f"fuzz.{name}"))


def replay(name: str, seed: int, case: int) -> None:
    """Runs one case in this process; an error that it finds is raised."""
    with tempfile.TemporaryDirectory(prefix="condyle-fuzz-") as folder:
        load(name).case(np.random.default_rng([seed, case]), Path(folder))


def attack(name: str, seed: int, seconds: float) -> Outcome:
    """Cases 0, 1, 2, ... until the time is over or `MOST_FOUND` of them found something."""
    begin, done, found = time.monotonic(), 0, list[Found]()
    end = begin + seconds
    while time.monotonic() < end and len(found) < MOST_FOUND:
        with _Child(name, seed, done) as child:
            done, one = child.watch(end)
        if one is not None:
            found.append(one)
    return Outcome(name, load(name).WHAT, seed, done, time.monotonic() - begin, tuple(found))


class _Child:
    """A process that runs cases from `first` on and writes the number of each to a pipe before it starts."""

    def __init__(self, name: str, seed: int, first: int) -> None:
        self.case, self.started = first, False
        self.folder = tempfile.TemporaryDirectory(prefix="condyle-fuzz-", ignore_cleanup_errors=True)
        self.log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.said, write = os.pipe()
        command = [sys.executable, "-X", "faulthandler", "-m", "fuzz.worker", name, str(seed), str(first), str(write)]
        environment = os.environ | {"TMPDIR": self.folder.name, "CONDYLE_CACHE_DIR": f"{self.folder.name}/cache"}
        self.process = subprocess.Popen(
            command,
            cwd=HERE.parent,
            env=environment,
            pass_fds=(write,),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        os.close(write)

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.said)
        self.log.close()
        self.folder.cleanup()

    def watch(self, end: float) -> tuple[int, Found | None]:
        """The next case to run, and what was found; returns at `end`, or as soon as something is found."""
        while True:
            limit = LONGEST_CASE_S if self.started else LONGEST_START_S
            ready, _, _ = select.select([self.said], [], [], limit)
            if not ready:
                return self.case + 1, Found(self.case, f"not finished after {limit:.0f} s\n{self.tail()}")
            data = os.read(self.said, 65536)
            if not data:
                status = self.process.wait()
                return self.case + 1, Found(self.case, f"the process ended with status {status}\n{self.tail()}")
            self.started, self.case = True, int(data.split()[-1])
            progress(self.case)
            if time.monotonic() >= end:
                return self.case, None

    def tail(self) -> str:
        """The last lines that the child wrote."""
        self.log.seek(0)
        return "\n".join(self.log.read().decode(errors="replace").splitlines()[-MOST_LINES:])


def progress(case: int) -> None:
    """Prints the number of the case, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r{case} cases", end="", file=sys.stderr, flush=True)
