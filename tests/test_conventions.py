"""Habits that a machine can keep cheaply: sizes, layers, what a clone must not mention."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import condyle

ROOT = Path(__file__).resolve().parent.parent
TEXT = {".c", ".cpp", ".h", ".json", ".md", ".py", ".pyi", ".toml", ".txt", ".urdf", ""}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("not a clone")
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def test_files_are_short() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "size.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_imports_go_downwards_only() -> None:
    pytest.importorskip("importlinter", reason="pip install 'condyle[lint]'")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_mentions_a_path_of_the_machine_it_was_written_on() -> None:
    paths = (f"{ROOT}/", f"{Path.home()}/")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        if path.suffix in TEXT
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if any(name in line for name in paths)
    ]
    assert not found


def test_texts_in_the_source_name_files_that_exist() -> None:
    """Names of files in comments and docstrings, so that one that moves takes them along."""
    exported = {"condyle_host.py", "serial.py"}  # what an accelerator's folder has
    names = {path.name for path in tracked()} | exported
    gone = [
        f"{path.relative_to(ROOT)}: {name}.py"
        for path in tracked()
        if path.is_relative_to(ROOT / "src") and path.suffix in TEXT
        for name in re.findall(r"(?<![\w.{}])(\w+)\.py\b", path.read_text(encoding="utf-8", errors="replace"))
        if f"{name}.py" not in names
    ]
    assert not gone


def test_records_say_only_what_is_not_the_default() -> None:
    """So that a word means something: a record says slots, frozen or order, or that it is compared as a thing."""
    defaults = re.compile(
        r"@dataclass\([^)]*((frozen|slots|order|kw_only|unsafe_hash)=False|(eq|init|repr)=True)[^)]*\)"
        r"|\bfield\([^\n]*((init|repr|compare|hash)=True|kw_only=False)"
    )
    sources = Path(condyle.__file__).parent.rglob("*.py")
    found = [(path.name, one[0]) for path in sources for one in defaults.finditer(path.read_text(encoding="utf-8"))]
    assert not found


def test_packages_have_their_data() -> None:
    """Wheels have what package-data names: all but Python, READMEs and the source of a built extension."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads pyproject.toml")
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    folders = {package: ROOT / "src" / package.replace(".", "/") for package in data}
    assert not [package for package, folder in folders.items() if not folder.is_dir()]
    named = {file for package, patterns in data.items() for p in patterns for file in folders[package].glob(p)}
    inside = [path for path in tracked() if path.is_relative_to(ROOT / "src") and path.suffix != ".py"]
    assert {path.name for path in inside if path not in named} <= {"README.md", "_native.c"}


def test_importing_condyle_imports_nothing_but_numpy() -> None:
    code = (
        "import sys, numpy; before = set(sys.modules); import condyle, condyle.cli; new = set(sys.modules) - before;"
        "roots = {name.partition('.')[0] for name in new} - set(sys.stdlib_module_names) - {'condyle', 'numpy'};"
        "sys.exit(' '.join(sorted(root for root in roots if not root.startswith('_'))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
