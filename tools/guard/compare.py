"""Two processes, one with each Condyle, that are asked for short samples in turns; the best of each counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from benchmarks.robots import Case

WORKER = Path(__file__).resolve().parent / "worker.py"
COLD_ROUNDS = 3
DTYPES = ("float64", "float32")


class Ratio(NamedTuple):
    """One number before and now: nanoseconds a state, or processor seconds of a cold compile."""

    robot: str
    function: str
    what: str
    before: float
    now: float

    @property
    def ratio(self) -> float:
        return self.before / self.now

    def row(self) -> tuple[str, ...]:
        return (self.robot, self.function, self.what, f"{self.before:.4g}", f"{self.now:.4g}", f"{self.ratio:.3f}")


def compare(before: Path, case: Case, functions: Sequence[str], rounds: int) -> list[Ratio]:
    """Call times (ns a state, N = 256, one thread, `out=`) and cold compile times (s of the processor)."""
    with _Worker(case, before) as old, _Worker(case, None) as new:
        return [
            _best(old, new, case.name, function, dtype, what, rounds if what == "call" else COLD_ROUNDS)
            for dtype in DTYPES
            for function in functions
            for what in ("compile", "call")
        ]


def _best(old: _Worker, new: _Worker, robot: str, function: str, dtype: str, what: str, rounds: int) -> Ratio:
    question = {"what": what, "function": function, "dtype": dtype}
    seen: dict[_Worker, list[float]] = {old: [], new: []}
    for k in range(rounds):
        for one in (old, new) if k % 2 else (new, old):
            seen[one].append(one.ask(question))
    return Ratio(robot, function, f"{what} {dtype}", min(seen[old]), min(seen[new]))


class _Worker:
    """A process that measures one robot with the Condyle of `site`, or of this environment."""

    def __init__(self, case: Case, site: Path | None) -> None:
        environment = os.environ | {"CONDYLE_NO_CACHE": "1"} | ({} if site is None else {"PYTHONPATH": str(site)})
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, WORKER], env=environment, stdin=pipe, stdout=pipe, text=True)
        options = {"source": case.path, "floating": case.floating, "locked": case.locked}
        self.ask({"what": "load", **options})

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, question: dict[str, object]) -> float:
        stdin, stdout = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        print(json.dumps(question), file=stdin, flush=True)
        answer = stdout.readline()
        if not answer:
            raise SystemExit(f"the process that measures ended at {question}")
        return float(answer)
