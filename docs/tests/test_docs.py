"""Documents say what is so: programs in them run, tables come from files, commands are those of the CI."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from condyle.cli import COMMANDS
from tests.processor import slow
from tests.programs import page_named

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [ROOT / "docs" / "tour.py", *sorted((ROOT / "examples").glob("*.py"))]
NEEDS = {"17_trotting.py": "crocoddyl"}
"""Packages that the test extra lacks, of programs that need one."""
LONG = ("14_fixed_point.py", "15_walking.py", "18_stick_and_slip.py")
"""Programs of seconds, whose functions other programs and pages call too."""
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/**/*.md")]


def start_commands() -> list[str]:
    section = (ROOT / "README.md").read_text().split("## Start", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\w*\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "program", [slow(path) if path.name in LONG else path for path in PROGRAMS], ids=lambda path: path.name
)
def test_program_runs(program: Path) -> None:
    if program.name in NEEDS:
        pytest.importorskip(NEEDS[program.name])
    assert len(program.read_text().splitlines()) <= 100
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_start_holds_two_commands_of_one_line_each_and_ci_runs_them() -> None:
    commands = start_commands()
    assert [command.count("\n") for command in commands] == [1, 1]
    assert "condyle bench iiwa14" in commands[0]
    assert "pytest" in commands[1]
    ci = (ROOT / ".ci" / "run").read_text()
    for command in commands:
        assert command.strip() in ci


def test_readme_program_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    code = "".join(blocks)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page",
    [
        "kinematics",
        "inverse_kinematics",
        "momentum",
        "parameters",
        "steps",
        "rollouts",
        "solvers",
        "optimal_control",
        "ground",
        "contacts",
        "loops",
        "friction",
        "viewer",
        slow("derivatives"),
        slow("environments"),
    ],
)
def test_program_of_a_family_runs(page: str, tmp_path: Path) -> None:
    text = page_named(page).read_text()
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert programs
    for program in programs:
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", ["cpu", slow("numpy"), slow("c")])
def test_programs_of_users_functions_run(target: str, tmp_path: Path) -> None:
    text = page_named("your-functions").read_text().replace("compile()", f"compile(target={target!r})")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "script",
    [
        "tools/reference.py",
        "benchmarks.tables",
        "benchmarks.fpga.tables",
        "benchmarks.functions",
        "benchmarks.derivatives",
        "benchmarks.steps",
        "benchmarks.first_figure",
    ],
)
def test_generated_page_is_up_to_date(script: str) -> None:
    target = ["-m", script] if script.startswith("benchmarks") else [script]
    done = subprocess.run([sys.executable, *target, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"out of date: {script}\n{done.stderr}"


def test_paragraphs_of_the_readme_are_short() -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    paragraphs = [part for part in re.split(r"\n\n|\n(?=\* )", text) if not part.strip().startswith(("|", "#"))]
    assert len(paragraphs) > 15 and len((ROOT / "README.md").read_text().split()) <= 1000
    assert not [part for part in paragraphs if len(part) > 4 * 130]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_readme_names_every_command() -> None:
    (said,) = re.findall(r"available in the shell: (.*?), each with", (ROOT / "README.md").read_text())
    assert re.findall(r"`(?:condyle )?(\w+)`", said) == list(COMMANDS)


def test_readme_names_the_extra_of_every_package_that_it_imports() -> None:
    """Blocks of Python import what `pip install condyle` brings, or the sentence before says which extra does."""
    text = (ROOT / "README.md").read_text()
    for before, code in re.findall(r"\n\n([^\n]+)\n\n```pyt?h?o?n?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for package in re.findall(r"^import (\w+)", code, re.MULTILINE):
            assert package in ("condyle", "numpy") or f"`condyle[{package}]`" in before, before
