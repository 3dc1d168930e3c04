"""The table of all parts of the runs on a GPU, and how they run: each in a process of its own with its own limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import results
from benchmarks.gpu import correct, libraries, times, tools
from benchmarks.gpu.context import Context, Row, read, without_gpu, write
from benchmarks.gpu.correct import Amount
from benchmarks.gpu.prepare import TRAVELS
from condyle.backends.cuda.kernel import link_version
from condyle.functions import DEFAULT

SECONDS = 300
"""Of a run."""
START, WELL = "start", "exit status 0"


class Part(NamedTuple):
    """A row of the table: what is run, and how long it may take."""

    name: str
    function: Callable[[Context], None]
    seconds: float


Stage = Sequence[Part]
"""Parts that run beside each other; the next stage waits for them."""

CORRECT: Stage = (
    *(
        Part(
            f"{word} {name} {dtype}",
            partial(correct.functions, name=name, dtype=dtype, amount=Amount(names=names)),
            165,
        )
        for name in correct.ROBOTS
        for dtype in correct.DTYPES
        for word, names in (("functions", DEFAULT), ("others", correct.OTHERS))
    ),
    *(
        Part(f"{word} {dtype}", partial(function, dtype=dtype), 120)
        for word, function in (("rollouts", correct.rollouts), ("links", correct.links), ("users", correct.users))
        for dtype in correct.DTYPES
    ),
    Part("jobs", correct.jobs, 120),
    Part("header", correct.header, 120),
    Part("tests", correct.tests, 150),
)
TIMES: Stage = (
    *(
        Part(f"times {name} {dtype}", partial(times.forms, name=name, dtype=dtype), 118)
        for dtype in correct.DTYPES
        for name in times.CASES
    ),
    Part("times of calls", times.calls, 118),
    Part("times of rollouts", times.rollouts, 118),
    Part("times of links", times.links, 118),
)
RUNS: dict[str, Sequence[Stage]] = {
    "1": (
        (Part(START, times.start, 10),),
        CORRECT,
        TIMES,
    ),
    "2": (
        (Part(START, times.start, 10),),
        (Part("PyTorch", libraries.pytorch, 35),),
        (Part("JAX", libraries.jax, 40),),
        (Part("CuPy", libraries.cupy, 15),),
        (Part("ncu", tools.profile, 45),),
        (Part("racecheck", partial(tools.sanitize, tool="racecheck"), 35),),
        (Part("synccheck", partial(tools.sanitize, tool="synccheck"), 25),),
        *((Part(f"GRiD {name}", partial(tools.grid, name=name), 15),) for name in ("iiwa14", "hyq", "atlas")),
        (Part("MJX", libraries.mjx, 50),),
    ),
}
Command = Callable[[Part], Sequence[str]]


def part(name: str, rows: Path, for_arch: str | None = None) -> int:
    """One part in this process. for_arch: see `Context`."""
    parts = {part.name: part for stages in RUNS.values() for stage in stages for part in stage}
    if for_arch is not None:
        without_gpu()
    parts[name].function(Context(name, rows, for_arch))
    return 0


def command_of(rows: Path, *more: str) -> Command:
    """What runs a part in a process of its own."""
    return lambda part: [sys.executable, "-m", "benchmarks.gpu", "part", part.name, str(rows), *more]


def texts(for_arch: str = "") -> list[Row]:
    """The kernels of this tree, made by a driver that does nothing: rows of the parts that check.

    for_arch: see `Context`; what is not assembled in an hour is left out, without it that is an error.
    """
    patient = [part._replace(seconds=3600.0) for part in CORRECT]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        status = run([patient], path, command_of(path, "--for-arch", for_arch), most=os.cpu_count() or 1)
        if status and not for_arch:
            raise SystemExit(path.with_suffix(".log").read_text()[-2000:])
        return [row for row in read(path) if "kernels" in row]


def assemble(arch: str) -> None:
    """Puts all kernels of the parts that check into the cache; BuildError where there is no assembler."""
    print(f"kernels by nvJitLink {'.'.join(map(str, link_version()))}: the machine takes those of its own version only")
    texts(arch)


def save_references() -> None:
    """Answers of target "cpu", for the parts that check."""
    for name in correct.ROBOTS:
        case = correct.Case(name)
        case.reference.save(TRAVELS / "reference" / f"{name}.npz", case.functions)


def run(stages: Sequence[Stage], rows: Path, command: Command | None = None, most: int = 0) -> int:
    """All parts; exit status 1 if an answer is wrong, or a part did not end well. most: parts beside each other.

    Nothing else runs where the part START fails: there is no GPU, or it is of no use.
    """
    rows.parent.mkdir(parents=True, exist_ok=True)
    for path in (rows, rows.with_suffix(".log")):
        path.unlink(missing_ok=True)
    begin, started = time.monotonic(), command or command_of(rows)
    ended: list[Row] = []
    for stage in stages:
        ended += run_stage(stage, rows, started, most or len(stage))
        if ended[0]["part"] == START and ended[0]["ended"] != WELL:
            print(rows.with_suffix(".log").read_text()[-500:])
            break
    written = read(rows)
    wrong = [row for row in written if row.get("bad")]
    for row in wrong[:20]:
        print("WRONG", *(row.get(key, "") for key in ("part", "robot", "dtype", "function", "form", "bad")))
    for row in ended:
        print(f"{row['part']:32} {row['ended']:28} {row['rows']:5} rows {row['seconds']:6.1f} s")
    for row in written:
        if goals := [key.removeprefix("goal_") for key in row if key.startswith("goal_")]:
            said = ", ".join(f"{key} {row[key]:.4g}, goal {row[f'goal_{key}']:.4g}" for key in goals if key in row)
            print(*(row.get(key, "") for key in ("what", "robot", "function", "form", "n")), said)
    print(f"{len(written)} rows in {rows}, {len(wrong)} wrong, {time.monotonic() - begin:.0f} s")
    return int(bool(wrong) or any(row["ended"] != WELL for row in ended))


def run_stage(stage: Stage, rows: Path, command: Command, most: int) -> list[Row]:
    """How its parts ended, of which `most` run at a time; one beyond its limit is killed with all that it started."""
    said, waiting, running = list[Row](), list(stage), list[tuple[Part, subprocess.Popen[bytes], float]]()
    with rows.with_suffix(".log").open("ab") as log:
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    part = waiting.pop(0)
                    process = subprocess.Popen(
                        command(part), cwd=results.ROOT, stdout=log, stderr=log, start_new_session=True
                    )
                    running.append((part, process, time.monotonic()))
                time.sleep(0.02)
                for item in list(running):
                    part, process, begin = item
                    seconds = time.monotonic() - begin
                    if process.poll() is None and seconds < part.seconds:
                        continue
                    ended = f"exit status {process.poll()}"
                    if process.poll() is None:
                        kill(process)
                        ended = f"killed after {part.seconds:.0f} s"
                    count = sum(row["part"] == part.name for row in read(rows))
                    said.append({"part": part.name, "ended": ended, "seconds": seconds, "rows": count})
                    write(rows, said[-1])
                    running.remove(item)
        finally:
            for _, process, _ in running:
                kill(process)
    return said


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and all that it started: it leads a group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def longest(stages: Sequence[Stage]) -> float:
    """Seconds that the stages may take."""
    return sum(max(part.seconds for part in stage) for stage in stages)
