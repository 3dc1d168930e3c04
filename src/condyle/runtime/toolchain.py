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
    version, macros = run(
        [[path, "--version"], [path, "-march=native", "-dM", "-E", "-xc", os.devnull]], None, 30.0, at_once=2
    )
    version = version.partition("\n")[0]
    return Compiler(path, version, hashlib.sha256(f"{version}\n{macros}".encode()).hexdigest())


def _log() -> IO[bytes]:
    """What a command prints, in memory where the system can: a full disk does not hinder it."""
    with contextlib.suppress(AttributeError, OSError):
        return open(os.memfd_create("condyle-log", os.MFD_CLOEXEC), "w+b")  # noqa: PTH123
    return tempfile.TemporaryFile()


class _Job:
    """One running command; its output goes to a file, so that no pipe can fill up."""

    def __init__(self, number: int, command: Sequence[str], cwd: Path | None) -> None:
        self.number = number
        self.command = shlex.join(command)
        environment = {name: value for name, value in os.environ.items() if name not in _DROPPED} | {"LC_ALL": "C"}
        if cwd is not None:
            environment["TMPDIR"] = str(cwd)  # what a compiler writes between its passes becomes code too
        self.log = _log()
        try:
            self.process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )
        except OSError as error:
            self.log.close()
            raise BuildError(f"cannot run {self.command}: {error}") from error

    def output(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def finished(self) -> bool:
        """Raises BuildError for a command that failed."""
        status = self.process.poll()
        if status:
            shown = "\n".join(self.output().splitlines()[:MESSAGE_LINES])
            raise BuildError(f"status {status} from {self.command}\n{shown}")
        return status == 0

    def end(self) -> None:
        """Ends the whole group if need be: a compiler driver has children of its own."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


def run(commands: Sequence[Sequence[str]], cwd: Path | None, timeout: float, at_once: int) -> list[str]:
    """Runs all commands, some at once; returns what each printed.

    Raises BuildError with the command and the first lines it printed when one fails or the time (s) is over. Whatever
    ends this call early, a KeyboardInterrupt too, ends every process it started.
    """
    waiting = list(enumerate(commands))
    running: list[_Job] = []
    outputs = [""] * len(waiting)
    end = time.monotonic() + timeout
    try:
        while waiting or running:
            while waiting and len(running) < max(1, at_once):
                running.append(_Job(*waiting.pop(0), cwd))
            for job in [job for job in running if job.finished()]:
                outputs[job.number] = job.output()
                running.remove(job)
                job.end()
            if running and time.monotonic() > end:
                raise BuildError(f"not finished after {timeout:g} s: {running[0].command}")
            if running:
                time.sleep(0.002)
    finally:
        for job in running:
            job.end()
    return outputs
