"""The worked examples of docs/explanation/extending.md: their files in a copy of the package, and their programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import condyle
from tests.programs import needs

ROOT = Path(__file__).resolve().parent.parent
LINKED = ROOT / "examples" / "extending"
PAGE = (ROOT / "docs" / "explanation" / "extending.md").read_text()
LINK = re.compile(r"\(\.\./\.\./examples/extending/(\S+?\.py)\)")
BLOCK = re.compile(r"^```(\w+)\n(?:# src/(\S+)\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
HUNK = re.compile(r"((?:^-.*\n)+)((?:^\+.*\n)+)", re.MULTILINE)
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FILES = [
    "condyle/model/joints/drill.py",
    "condyle/functions/added/first_moment.py",
    "condyle/passes/double_signs.py",
    "condyle/passes/pipeline.py",
    "condyle/operations.py",
    "condyle/passes/partials.py",
    "condyle/passes/elementary/cbrt.py",
    "condyle/specification/integrators.py",
    "condyle/backends/rust.py",
    "condyle/exports/targets/rust.py",
    "condyle/backends/added/interpreted.py",
    "condyle/interop/masked.py",
    "condyle/cli/mass.py",
    "condyle/cli/__init__.py",
    "condyle/model/contact.py",
    "condyle/ground/mud.py",
    "condyle/fpga/rtl/header.py",
]
WITHOUT_BLOCKS = {"An instruction set"}
"""Sections without files, whose rows other tests count: `tests/backends/cpu/test_instruction_sets.py`."""
EXAMPLES = [section for section in SECTIONS if section not in WITHOUT_BLOCKS]

COUNTS = re.compile(r"^Files that each touches: (.*?)\.$", re.MULTILINE | re.DOTALL)
COUNT = re.compile(r"(\d): ([^;]*)")
"""An item of the page's list: a number of files, and what touches as many."""


def files_of(text: str) -> list[str]:
    """The files of src that a text shows, and then those that it links to."""
    return [name for _, name, _ in BLOCK.findall(text) if name] + LINK.findall(text)


@pytest.mark.smoke
def test_each_change_touches_as_many_files_as_the_page_says() -> None:
    counts = dict[str, int]()
    for section in EXAMPLES:
        counts[section.lower()] = len(files_of(SECTIONS[section]))
    (listed,) = COUNTS.findall(PAGE)
    parts = COUNT.findall(" ".join(listed.split()))
    rows = {row: int(files) for files, named in parts for row in named.split(", ")}
    assert [row for row in rows if row not in counts] == [section.lower() for section in sorted(WITHOUT_BLOCKS)]
    assert counts == {row: files for row, files in rows.items() if row in counts}


def lines(marked: str) -> str:
    """A side of a hunk without its marks."""
    return "".join(line[1:] for line in marked.splitlines(keepends=True))


def program_of(section: str) -> str:
    (program,) = [text for kind, name, text in BLOCK.findall(SECTIONS[section]) if kind == "python" and not name]
    return program


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, to which all files of the page are added."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "src" / "condyle", folder / "condyle")
    named = [(kind, folder / name, text) for kind, name, text in BLOCK.findall(PAGE) if name]
    assert sorted(files_of(PAGE)) == sorted(FILES)
    for name in LINK.findall(PAGE):
        assert not (folder / name).exists()
        shutil.copy(LINKED / name, folder / name)
    for kind, path, text in named:
        if kind == "python":
            assert not path.exists()
            path.write_text(text)
        for old, new in HUNK.findall(text) if kind == "diff" else []:
            before = path.read_text()
            assert before.count(lines(old)) == 1
            path.write_text(before.replace(lines(old), lines(new)))
    return folder


def run(package: Path, command: Sequence[str | Path], folder: Path) -> str:
    known = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("section", EXAMPLES)
def test_the_programs_of_an_example_run(section: str, package: Path, tmp_path: Path) -> None:
    run(package, [sys.executable, "-W", "error", "-c", program_of(section)], tmp_path)


@needs("ruff")
def test_files_of_the_page_are_as_the_linter_wants(package: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", package)
    for command in (("check",), ("format", "--check")):
        run(package, ["ruff", *command, *dict.fromkeys(FILES)], package)


@pytest.mark.slow
def test_the_tests_of_operations_take_the_one_that_was_added(package: Path) -> None:
    """No table of theirs is written by hand."""
    tests = ["tests/backends/test_operations.py", "tests/ir/test_interp.py", "tests/ir/test_expr.py"]
    said = run(package, [sys.executable, "-m", "pytest", "-n0", "-q", *tests], ROOT)
    assert int(re.findall(r"(\d+) passed", said)[-1]) > 100


def test_commands_know_what_was_added(package: Path, tmp_path: Path) -> None:
    program = """
from condyle.cli import main
main(["check", "iiwa14", "--functions", "fmass", "--target", "numpy"])
main(["export", "iiwa14", "--target", "rust", "--functions", "fmass", "--out", "out"])
main(["mass", "iiwa14"])
"""
    said = run(package, [sys.executable, "-W", "error", "-c", program], tmp_path)
    assert "fmass" in said and "iiwa14.rs" in said
    assert f"\n{condyle.load('iiwa14').mass:.4g} kg at " in said
    assert "pub fn fmass(x0: &[f64; 7], y0: &mut [f64; 3])" in (tmp_path / "out" / "iiwa14.rs").read_text()


class Number(float):
    """A number with the methods of Rust's that the dynamics of an arm call."""

    def sin(self) -> float:
        return np.sin(self)

    def cos(self) -> float:
        return np.cos(self)


def interpreted(text: str, name: str, inputs: Sequence[np.ndarray], size: int) -> np.ndarray:
    """The answer of a function in Rust that has one output: its statements are Python's too, apart from `let`."""
    (body,) = re.findall(rf"^pub fn {name}\(.*?\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    known: dict[str, object] = {f"x{k}": x for k, x in enumerate(inputs)}
    known["y0"] = answer = np.zeros(size)
    for variable, expression in re.findall(r"let (t\d+): f64 = (.*);", body):
        known[variable] = Number(eval(expression, known))
    for entry, variable in re.findall(r"y0\[(\d+)\] = (t\d+);", body):
        answer[int(entry)] = known[variable]
    return answer


@pytest.fixture(scope="module")
def exported(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example's target."""
    folder = tmp_path_factory.mktemp("exported")
    program = [
        text for kind, name, text in BLOCK.findall(SECTIONS["A target of export"]) if kind == "python" and not name
    ]
    run(package, [sys.executable, "-W", "error", "-c", "\n".join(program)], folder)
    return folder


def test_rust_that_is_written_means_what_the_reference_computes(exported: Path) -> None:
    text = (exported / "arm-rust" / "iiwa14.rs").read_text()
    robot = condyle.load("iiwa14")
    dyn, (q, v) = robot.compile(target="numpy"), robot.random_state(1, 3)
    x, given = np.cos(v), [q[0], v[0], np.cos(v)[0]]
    for name, inputs, known in (
        ("id", given, dyn.inverse_dynamics(q, v, x)),
        ("fd", given, dyn.forward_dynamics(q, v, x)),
        ("m", given[:1], dyn.mass_matrix(q)),
    ):
        found = interpreted(text, name, inputs, known.size)
        np.testing.assert_allclose(found, known.ravel(), rtol=0, atol=1e-10 * np.abs(known).max())


@needs("rustc")
def test_rust_that_is_written_passes_its_own_test(package: Path, exported: Path) -> None:
    (commands,) = [text for kind, _, text in BLOCK.findall(SECTIONS["A target of export"]) if kind == "sh"]
    assert "5 passed" in run(package, ["bash", "-euo", "pipefail", "-c", commands], exported)
