"""Schedules as a C project: it compiles without a word, checks itself, and holds no text of the model."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.backends.c.schedule import Entry, Example, Meaning
from condyle.backends.c.schedule_export import export_schedules_c
from condyle.errors import UnsupportedError
from condyle.ir.schedule import Schedule, interpret, verify_schedule
from tests.backends.c.schedules import FACTS, KERNELS, Random, drawn, entry, runs
from tests.backends.c.test_export import COMPILERS, EVIL, JOINTS, STRICT
from tests.processor import slow
from tests.programs import call, needs


def entries(dtype: str = "float64", wrong: float = 0.0) -> list[Entry]:
    """Two schedules of the same kernels, with answers of the interpreter."""
    made = list[Entry]()
    for name, seed in (("solve", 0), ("step", 1)):
        schedule = verify_schedule(Random(seed).schedule(name))
        inputs = drawn(schedule, seed, dtype)
        outputs = interpret(schedule, runs(KERNELS, dtype), inputs, dtype)
        outputs["d"] += wrong
        made.append(entry(schedule, example=Example(inputs, outputs, 1e-12 if dtype == "float64" else 1e-4)))
    meanings = {**made[0].meanings, "a": Meaning((2, 9), "m | rad */", "seen */ #error", "goal")}
    return [
        replace(made[0], meanings=meanings, text="all of it */ #error"),
        replace(made[1], fixed={"m": drawn(made[1].schedule, 1, dtype)["m"]}),
    ]


def project(out: Path, dtype: str = "float64", wrong: float = 0.0) -> list[Path]:
    return export_schedules_c(entries(dtype, wrong), KERNELS, FACTS, out, {"joints": [EVIL]}, JOINTS, dtype)


def build(out: Path, compiler: str = COMPILERS[0], *flags: str) -> None:
    call([compiler, *STRICT, *flags, "job.c", "test.c", "-o", "check", "-lm"], out)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("machine", "dtype"),
    [
        ("-march=native", "float64"),
        slow("-march=native", "float32"),
        slow("-mtune=generic", "float64"),
        slow("-DCD_SCALAR", "float32"),
    ],
)
def test_compiles_without_a_word_and_is_right(tmp_path: Path, compiler: str, machine: str, dtype: str) -> None:
    project(tmp_path, dtype)
    build(tmp_path, compiler, machine)
    said = call(["./check", "10"], tmp_path)
    assert said.count("right") == 8 and said.count("us a call") == 2 and "solve t" in said


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    project(tmp_path, wrong=1e-6)
    build(tmp_path)
    done = subprocess.run(["./check"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stdout.count("WRONG") == 2


def test_the_header_says_what_is_called(tmp_path: Path) -> None:
    files = project(tmp_path)
    header = (tmp_path / "job.h").read_text(encoding="ascii")
    assert "void job_solve(const double *goal, const double *m, const double *p, double *d, double *g," in header
    assert "void job_step(const double *a, const double *p, double *d" in header
    assert re.search(r"enum \{ job_solve_work_bytes = \d+ \};", header)
    assert " * in  goal[2][9]  seen * / #error [m | rad * /]\n" in header and "all of it * / #error" in header
    for path in files:
        assert ("vil" in path.read_text(encoding="ascii")) == (path.name == "robot.json")
    page = (tmp_path / "README.md").read_text()
    assert all(f"`{file.name}`" in page for file in files if file.name != "README.md")
    assert "| `goal` | in | 2 x 9 | m or rad */ |" in page and "| 0 | `shoulder_1` | free |" in page
    if COMPILERS[0] == "gcc":
        call(["gcc", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c++", "job.h"], tmp_path)


@needs("cmake")
@pytest.mark.slow  # two compilations
def test_cmake(tmp_path: Path) -> None:
    project(tmp_path)
    call(["cmake", "-S", ".", "-B", "build"], tmp_path)
    call(["cmake", "--build", "build"], tmp_path)
    call(["ctest", "--test-dir", "build"], tmp_path)


def test_writing_again_gives_the_same_files(tmp_path: Path) -> None:
    first = {path: path.read_bytes() for path in project(tmp_path)}
    assert {path: path.read_bytes() for path in project(tmp_path)} == first


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "for"}, "name='for'"),
        ({"name": "a b"}, "name='a b'"),
        ({"dtype": "float16"}, "float16"),
        ({"fixed": {"m": np.full((3, 9), np.inf)}}, "the constant inf"),
    ],
)
def test_what_c_cannot_say(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    schedule: Schedule = replace(Random(0).schedule("job"), name=change.get("name", "job"))
    made = entry(schedule, fixed=change.get("fixed", {}))
    with pytest.raises(UnsupportedError, match=words):
        export_schedules_c([made], KERNELS, FACTS, tmp_path, {}, [], change.get("dtype", "float64"))
    assert not list(tmp_path.iterdir())
