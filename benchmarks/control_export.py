"""A step by the exported C beside the library's: "export" of `python -m benchmarks.optimal_control`.

The project is compiled as its CMakeLists.txt says. Both make the same step from the same plan, in turn, in processor
time; one problem, one thread, called from Python. The C computes the gains K too, which the library leaves out.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import control_problems as problems
from benchmarks.bench import pinned
from benchmarks.control_problems import Array
from condyle.cli.bound import Sampling, interleaved
from condyle.runtime.toolchain import find_compiler

FLAGS = ("-std=c99", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-march=native", "-shared", "-fPIC")


class Case(NamedTuple):
    """One problem, a state of the robot, and inputs."""

    problem: Any
    q: Array
    v: Array
    inputs: Mapping[str, Array]


def arm(limits: str) -> Case:
    eight = problems.figure_eight(1, limits)
    return Case(eight.job(), eight.q, eight.v, eight.values)


def trot() -> Case:
    """HyQ's of `experiments.whole`: 50 knots, torque and friction limits."""
    from experiments.whole.quadruped import Quadruped  # which imports benchmarks

    quadruped = Quadruped()
    return Case(quadruped.problem(), quadruped.stance[None], np.zeros((1, 18)), quadruped.inputs(1.0))


CASES: Mapping[str, tuple[Callable[[], Case], str]] = {
    "iiwa14, float64": (lambda: arm("none"), "float64"),
    "iiwa14, float32": (lambda: arm("none"), "float32"),
    "iiwa14, all limits, float64": (lambda: arm("all"), "float64"),
    "iiwa14, all limits, float32": (lambda: arm("all"), "float32"),
    "hyq trots, float64": (trot, "float64"),
}
QUICK = ("iiwa14, all limits, float64",)
ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mmap", "brk", "sbrk"}


class Step:
    """NAME_step of a project in a folder, compiled."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        library = folder / f"{name}.so"
        command = [find_compiler().path, *FLAGS, str(folder / f"{name}.c"), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        text = (folder / f"{name}.h").read_text()
        rows = re.findall(r"^ \* (in|out) +(\w+)((?:\[\d+\])+)", text[text.index("/* step:") :], re.MULTILINE)
        shapes = {name: tuple(map(int, re.findall(r"\d+", dims))) for _, name, dims in rows}
        self.arrays = {name: np.zeros(shape, dtype) for name, shape in shapes.items()}
        self.outputs = [name for kind, name, _ in rows if kind == "out"]
        size = re.search(rf"{name}_step_work_bytes = (\d+)", text)
        assert size is not None
        self.work = np.zeros(int(size[1]) + 64, np.uint8)
        self.call = getattr(ctypes.CDLL(str(library)), f"{name}_step")
        self.call.restype = None
        self.pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*self.arrays.values(), self.work)]
        asked = subprocess.run(["nm", "-u", str(library)], capture_output=True, text=True, check=True).stdout
        self.calls = sorted({line.split()[-1].partition("@")[0] for line in asked.splitlines()} - {""})

    def put(self, plan: Any, **inputs: Array) -> None:
        """The plan before, and inputs by the names of the header."""
        for name, array in self.arrays.items():
            if name.startswith("before_"):
                rows = np.reshape(getattr(plan.answers, name.removeprefix("before_")), (len(array), -1))
                array[...] = in_wider_panels(rows, array.size // rows.size).reshape(array.shape)
            elif name in inputs:
                array[...] = np.reshape(inputs[name], array.shape)

    def __call__(self) -> None:
        self.call(*self.pointers)


def in_wider_panels(rows: Array, times: int) -> Array:
    """Rows of panels of 8 columns in panels of 8 `times`: of float32, where the library's may be half as wide."""
    return rows if times == 1 else np.pad(rows.reshape(-1, 8), ((0, 0), (0, 8 * (times - 1)))).reshape(len(rows), -1)


def measure(quick: bool) -> dict[str, Any]:
    """By case: times, their ratio, the largest difference of answers, and what the C calls."""
    return {case: compared(CASES[case][0](), CASES[case][1], quick) for case in (QUICK if quick else CASES)}


def compared(case: Case, dtype: str, quick: bool) -> dict[str, Any]:
    solver = case.problem.compile(dtype=dtype, threads=1)
    q, v, *values = (x.astype(dtype) for x in (case.q, case.v, *case.inputs.values()))
    inputs = dict(zip(case.inputs, values, strict=True))
    plan = solver.solve(q, v, most=30, tolerance=1e-4, **inputs)
    plan = solver.step(plan, q, v, shift=1, **inputs)
    with tempfile.TemporaryDirectory() as folder:
        case.problem.export("c", folder, name="job", dtype=dtype)
        theirs = Step(Path(folder), "job", dtype)
    theirs.put(plan, q=q, v=v, asked=np.array([1e-6, 1.0, 1e-4]), **inputs)
    ours = lambda: solver.step(plan, q, v, shift=1, **inputs)  # noqa: E731
    theirs()
    answer = ours()
    apart = {
        key: float(
            np.abs(theirs.arrays[f"plan_{key}"] - getattr(answer, key)).max() / np.abs(getattr(answer, key)).max()
        )
        for key in ("q", "v")
    }
    with pinned():
        spread = interleaved({"library": ours, "C": theirs}, Sampling("cpu", 3 if quick else 200))
    us = {key: {"least": x.minimum / 1e3, "median": x.median / 1e3} for key, x in spread.items()}
    return {
        "us": us,
        "C by library": spread["C"].minimum / spread["library"].minimum,
        "difference": apart,
        "allocates": bool(ALLOCATORS & set(theirs.calls)),
        "calls": theirs.calls,
    }
