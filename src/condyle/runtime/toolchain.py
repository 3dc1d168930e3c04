"""The system compiler: found, identified, and run without a shell in a process group of its own."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from condyle.errors import BuildError

VARIABLE = "CONDYLE_CC"
CANDIDATES = ("cc", "gcc", "clang")
MESSAGE_LINES = 20
# variables that would put foreign headers or libraries into a build
_DROPPED = frozenset({"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"})


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler; `identity` changes when its version or what it may assume of this machine changes."""

    path: str
    version: str
    identity: str


def find_compiler() -> Compiler:
    """$CONDYLE_CC, else the first of cc, gcc, clang on the path; raises BuildError when there is none."""
    wanted = os.environ.get(VARIABLE)
    for name in (wanted,) if wanted else CANDIDATES:
        found = shutil.which(name)
        if found is not None:
            status = Path(found).stat()
            return _identify(found, status.st_mtime_ns, status.st_size)
    if wanted:
        raise BuildError(f"{VARIABLE}={wanted!r} is not a program that can be run")
    raise BuildError(
        f"no C compiler found: tried {', '.join(CANDIDATES)}. Install gcc or clang, point {VARIABLE} at one, "
        'or use target="numpy", which needs none'
    )


@lru_cache(maxsize=8)
def _identify(path: str, modified: int, size: int) -> Compiler:
    del modified, size  # they are in the cache key: a replaced compiler is asked again
    version = _output([path, "--version"]).partition("\n")[0]
    macros = _output([path, "-march=native", "-dM", "-E", "-xc", os.devnull])
    digest = hashlib.sha256(f"{version}\n{macros}".encode()).hexdigest()
    return Compiler(path, version, digest)


def _output(command: Sequence[str]) -> str:
    with tempfile.TemporaryFile() as log:
        _wait([_start(command, None, log)], 30.0)
        log.seek(0)
        return log.read().decode(errors="replace")


@dataclass(slots=True)
class _Running:
    command: Sequence[str]
    process: subprocess.Popen[bytes]
    log: IO[bytes]


def run(commands: Sequence[Sequence[str]], cwd: Path, timeout: float, at_once: int) -> None:
    """Runs all commands, some at once.

    Raises BuildError with the command and the first lines it printed when one fails or the time (s) is over. Whatever
    ends this call early, a KeyboardInterrupt too, ends every process it started.
    """
    waiting = list(commands)
    running: list[_Running] = []
    end = time.monotonic() + timeout
    try:
        while waiting or running:
            while waiting and len(running) < max(1, at_once):
                running.append(_start(waiting.pop(0), cwd, tempfile.TemporaryFile()))  # noqa: SIM115
            running = [job for job in running if not _finished(job)]
            if (running or waiting) and time.monotonic() > end:
                late = shlex.join(running[0].command if running else waiting[0])
                raise BuildError(f"not finished after {timeout:g} s: {late}")
            if running:
                time.sleep(0.002)
    finally:
        for job in running:
            _kill(job)


def _start(command: Sequence[str], cwd: Path | None, log: IO[bytes]) -> _Running:
    environment = {name: value for name, value in os.environ.items() if name not in _DROPPED} | {"LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(f"cannot run {shlex.join(command)}: {error}") from error
    return _Running(command, process, log)


def _wait(jobs: Sequence[_Running], timeout: float) -> None:
    end = time.monotonic() + timeout
    try:
        while not all(_finished(job, close=False) for job in jobs):
            if time.monotonic() > end:
                raise BuildError(f"no answer from {shlex.join(jobs[0].command)}")
            time.sleep(0.001)
    finally:
        for job in jobs:
            _kill(job, close=False)


def _finished(job: _Running, close: bool = True) -> bool:
    status = job.process.poll()
    if status is None:
        return False
    if status != 0:
        job.log.seek(0)
        lines = job.log.read(1 << 16).decode(errors="replace").splitlines()
        shown = "\n".join(lines[:MESSAGE_LINES])
        raise BuildError(f"status {status} from {shlex.join(job.command)}\n{shown}")
    if close:
        job.log.close()
    return True


def _kill(job: _Running, close: bool = True) -> None:
    """Ends the whole group: a compiler driver has children of its own."""
    if job.process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait()
    if close:
        job.log.close()
