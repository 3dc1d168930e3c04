"""`tests/programs.py`: a program is asked, and not only looked for."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import pytest_runtest_setup
from tests import programs

ROOT = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    ("text", "there"), [("#!/bin/sh\nexit 0\n", True), ("#!/bin/sh\nexit 1\n", False), ("#!/nowhere/sh\n", False)]
)
def test_a_program_that_cannot_be_run_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, there: bool
) -> None:
    """The second one is as rustup's compiler without a toolchain."""
    name = f"asked-{tmp_path.name}"  # answers are kept by name
    program = tmp_path / name
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.tool(name) == (str(program) if there else "")
    assert programs.tool(f"nowhere-at-all|{name}") == programs.tool(name)
    if there:
        programs.skip_without(name)
    else:
        with pytest.raises(pytest.skip.Exception, match=rf"{name} cannot be run: apt-get install {name}"):
            programs.skip_without(name)


def test_a_marked_test_is_skipped_before_it_is_set_up() -> None:
    marked: Any = SimpleNamespace(iter_markers=lambda name: [programs.needs("nowhere-at-all").mark])
    with pytest.raises(pytest.skip.Exception, match="nowhere-at-all cannot be run"):
        pytest_runtest_setup(marked)


def test_no_test_only_looks_for_the_name_of_a_program() -> None:
    looking = re.compile(r"shutil\.which\(")
    found = [path.name for path in ROOT.rglob("*.py") if looking.search(path.read_text(encoding="utf-8"))]
    assert found == ["programs.py"], "needs(...), skip_without(...) or tool(...) of tests/programs.py ask it"
