"""The tools of CUDA on kernels of ours, and GRiD on the same card.

python -m benchmarks.gpu.tools STATES      the kernels that matter once each, for the tools to look at
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.gpu.arrays import upload
from benchmarks.gpu.context import Context, Row
from benchmarks.gpu.correct import on_gpu, robot_of
from benchmarks.gpu.prepare import TRAVELS
from benchmarks.gpu.times import Plan, Timed
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT
from condyle.runtime.cuda.driver import gpu

HOT = (
    ("iiwa14", "id", "thread", 1 << 20),
    ("iiwa14", "dfd", "thread", 1 << 19),
    ("iiwa14", "dfd", "group32", 256),
    ("atlas", "fd", "thread", 1 << 17),
    ("atlas", "did", "thread", 1 << 16),
)
"""Robot, function, form and number of states of the kernels that matter."""
SMALL = 70
METRICS = re.compile(
    r"gpu__time_duration\.sum|launch__(registers_per_thread|grid_size|block_size|occupancy_limit_.*)|"
    r"sm__(throughput|warps_active)\.avg\.pct.*|smsp__inst_executed\.(sum|avg\.per_cycle_active)|"
    r"dram__(bytes_.*\.sum|throughput\.avg\.pct.*)|l(1tex|ts)__t_sector_hit_rate\.pct|sm__cycles_elapsed\.max|"
    r"smsp__average_warps_issue_stalled_.*_per_issue_active\.ratio"
)
GRID = ("id", "minv", "fd", "did", "dfd")


def hot(n: int) -> None:
    """The kernels that matter; a small n also for every function of an arm."""
    device = gpu(0)
    more = [("iiwa14", name, form, n) for name in DEFAULT for form in ("thread", "group32")]
    for name, function, form, many in (*HOT, *(more if n else ())):
        dyn = on_gpu(robot_of(name), "float32", kernels={function: form})
        host = Timed(name, device, Plan()).inputs(function, n or many)
        with device.current():
            answers: Any = dyn.call(function, [upload(device, array) for array in host])  # type: ignore[arg-type]
        assert all(np.isfinite(answer.numpy()).all() for answer in answers), (name, function, form)
        print(name, function, form, n or many, flush=True)


def profile(context: Context) -> None:
    """What ncu counts of the kernels that matter, each once."""
    context.check({"what": "ncu"}, lambda: profiled(context), may_lack=True)


def profiled(context: Context) -> Row:
    path = context.rows.with_name("ncu.csv")
    words = [
        program("ncu"),
        "--clock-control",
        "none",
        "--kernel-name",
        "regex:condyle",
        "--launch-count",
        str(len(HOT)),
    ]
    ran([*words, "--set", "full", "--csv", "--page", "raw", "--log-file", str(path), *here("0")])
    for kernel, about in zip(metrics(path.read_text()), HOT, strict=False):
        context.say({"what": "ncu", **dict(zip(("robot", "function", "form", "n"), about, strict=True)), **kernel})
    return {}


def metrics(text: str) -> list[Row]:
    """Of each kernel in ncu's table, whose second row has the units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]
    return [
        {"kernel": row.get("Kernel Name", ""), **{k: x for k, x in row.items() if METRICS.fullmatch(k)}} for row in rows
    ]


def sanitize(context: Context, tool: str) -> None:
    """compute-sanitizer over the kernels that matter and every function of an arm, with few states."""
    context.check({"what": tool}, lambda: sanitized(tool), may_lack=True)


def sanitized(tool: str) -> Row:
    ran([program("compute-sanitizer"), "--tool", tool, "--error-exitcode", "9", *here(str(SMALL))])
    return {"verdict": "clean"}


def program(name: str) -> str:
    """Where it is; UnsupportedError where it is not on the PATH."""
    path = shutil.which(name)
    if path is None:
        raise UnsupportedError(f"{name} is not on the PATH; it comes with the CUDA toolkit")
    return path


def here(*words: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.gpu.tools", *words]


def ran(command: Sequence[str], folder: Path = results.ROOT) -> str:
    """What a program printed; AssertionError with the end of that where it failed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{Path(command[0]).name}: exit status {done.returncode}: {said[-250:]}"
    return done.stdout


def grid(context: Context, name: str) -> None:
    """GRiD's kernels, compiled here from the header that was prepared, at our states, beside ours.

    Its answers at the first states are compared with target "cpu"; "threads": the fastest number of threads a block.
    """
    context.check({"what": "GRiD", "robot": name}, lambda: beside_grid(context, name), may_lack=True)


def beside_grid(context: Context, name: str) -> Row:
    source = TRAVELS / "grid" / name / "grid.cuh"
    if not source.exists():
        raise UnsupportedError("no header of GRiD was prepared: python -m benchmarks.gpu prepare --grid FOLDER")
    robot = robot_of(name)
    q, v = robot.random_state(SMALL, 0)
    tau = np.random.default_rng(1).normal(size=v.shape)
    with tempfile.TemporaryDirectory() as folder:
        out, inputs = Path(folder) / "grid", Path(folder) / "inputs"
        np.concatenate([q, v, tau], axis=-1).astype("float32").tofile(inputs)
        words = [program("nvcc"), "-std=c++17", "-O3", f"-arch={context.gpu.arch}", f"-I{source.parent}"]
        ran([*words, str(Path(__file__).with_name("grid.cu")), "-o", str(out)])
        lines = ran([str(out), str(inputs), folder]).splitlines()
        answers = {name: np.fromfile(Path(folder) / name, "float32") for name in GRID}
    errors = {name: differs(answers[name], wanted) for name, wanted in expected(robot.compile(), q, v, tau).items()}
    for (function, n), rows in fastest(lines).items():
        ours = Timed(name, context.gpu, Plan()).kernel_us(function, n)
        row = {"what": "GRiD", "robot": name, "dtype": "float32", "function": function, "n": n, "us": ours}
        context.say({**row, "grid_us": rows["us"], "threads": rows["threads"], "ratio": rows["us"] / ours})
    return {"differs": errors}


def fastest(lines: Sequence[str]) -> Mapping[tuple[str, int], Row]:
    """Of each function and batch the row with the least time."""
    rows = sorted(
        (json.loads(line) for line in lines if line.startswith("{")), key=lambda row: (row["function"], row["n"])
    )
    groups = itertools.groupby(rows, key=lambda row: (row["function"], row["n"]))
    return {key: min(group, key=lambda row: row["us"]) for key, group in groups}


def expected(dyn: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> dict[str, np.ndarray]:
    """What GRiD should answer: without an acceleration, and its matrices column after column."""

    def flat(*arrays: np.ndarray) -> np.ndarray:
        return np.concatenate([x.swapaxes(-1, -2).reshape(len(x), -1) if x.ndim > 2 else x for x in arrays], axis=-1)

    still = np.zeros_like(v)
    return {
        "id": flat(dyn.inverse_dynamics(q, v, still)),
        "minv": flat(dyn.mass_matrix_inverse(q)),
        "fd": flat(dyn.forward_dynamics(q, v, tau)),
        "did": flat(*dyn.inverse_dynamics_derivatives(q, v, still)),
        "dfd": flat(*dyn.forward_dynamics_derivatives(q, v, tau)[:2]),
    }


def differs(answers: np.ndarray, wanted: np.ndarray) -> float | str:
    """How far GRiD's answers are from ours, of the largest."""
    if answers.size != wanted.size or np.isnan(answers).any():
        return f"{answers.size} numbers of {wanted.size}, {np.isnan(answers).sum()} NaN"
    return float(np.abs(answers.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max())


if __name__ == "__main__":
    hot(int(sys.argv[1]))
