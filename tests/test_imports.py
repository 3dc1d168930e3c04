"""What starts the command and the first call imports what it needs, and nothing beside: time that users wait."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import condyle
from condyle.algorithms import file_of

HEAVY = ("numpy", "condyle.readers.load", "condyle.compile.compiler")
OTHERS = (
    "condyle.fpga",
    "condyle.fpga.rtl",
    "condyle.backends.cuda",
    "condyle.links.compiler",
    "condyle.derivatives.code",
    "condyle.calls.call",
    "condyle.symbolic",
    "condyle.user",
    "urllib.request",
)
CALL = """
robot = condyle.load("iiwa14")
q, v = robot.random_state(1, 0)
robot.compile(target="numpy").inverse_dynamics(q, v, v)
"""


def imported(code: str) -> set[str]:
    """The modules that a process has after this code."""
    program = f"import sys, condyle\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.splitlines())


@pytest.mark.parametrize(
    "code",
    ["", "condyle.__version__", "import condyle.cli; condyle.cli.parser(None)", "condyle.cli.parser('cache')"],
)
def test_help_needs_no_numpy(code: str) -> None:
    assert not imported(f"import condyle.cli; {code}") & set(HEAVY)


def test_functions_are_described_without_algorithms() -> None:
    modules = imported("from condyle.functions import FUNCTIONS\nfor one in FUNCTIONS.values(): one.signature")
    assert "numpy" not in modules
    assert {name for name in modules if name.startswith(("condyle.algorithms", "condyle.links"))} == {
        "condyle.algorithms"
    }


def test_a_call_needs_no_other_target() -> None:
    assert not imported(CALL) & set(OTHERS)


def test_public_names_need_no_call_before() -> None:
    assert imported("; ".join(f"condyle.{name}" for name in condyle.__all__))


def test_every_public_name_is_there() -> None:
    values = {name for name in condyle.__all__ if getattr(condyle, name).__name__ == name}
    assert {*values, "random", "ground"} == set(condyle.__all__)  # modules with other names
    assert set(condyle.__all__) <= set(dir(condyle))
    with pytest.raises(AttributeError, match="'condyle' has no attribute 'Robots'"):
        condyle.Robots  # type: ignore[attr-defined]


@pytest.mark.parametrize("folder", ["condyle.algorithms", "condyle.links.algorithms"])
def test_a_folder_says_that_it_lacks_a_name(folder: str) -> None:
    """pickle asks every module for the name that it looks for."""
    module = importlib.import_module(folder)
    assert not hasattr(module, "torch")
    assert hasattr(module, "derivatives")


def test_what_a_file_of_a_folder_lacks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that no file has is no attribute; what a file itself cannot import is its own error."""
    folder = tmp_path / "some_files"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "broken.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("absent", "_broken"):
        with pytest.raises(AttributeError, match=f"^module 'some_files' has no attribute '{name}'$"):
            file_of("some_files", name)
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        file_of("some_files", "broken")
