"""Wheels and the source archive: what is in them, and that they are used without a compiler."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools import wheels

PACKAGE = {path.relative_to(wheels.ROOT / "src").as_posix() for path in (wheels.ROOT / "src").rglob("*.py")}


def files(made: Path) -> set[str]:
    """The package's files in a wheel; metadata and libraries have other names in another build."""
    with zipfile.ZipFile(made) as archive:
        return {name for name in archive.namelist() if name.startswith("condyle/")}


def test_a_program_that_is_no_python_is_not_taken() -> None:
    assert wheels.probe("/bin/false") is None


def test_this_python_is_probed() -> None:
    found = wheels.probe(sys.executable)
    assert found is not None
    assert found.full == sys.version.split()[0]
    assert found.version.startswith(f"3.{sys.version_info.minor}")


@pytest.mark.slow
def test_the_wheel_of_the_archive_is_that_of_the_tree_and_runs_without_a_compiler(tmp_path: Path) -> None:
    pytest.importorskip("build")
    pytest.importorskip("auditwheel")
    python = wheels.probe(sys.executable)
    assert python is not None
    source = wheels.archive(tmp_path)
    with tarfile.open(source) as archive:
        packed = {name.partition("/src/")[2] for name in archive.getnames()}
    assert packed >= PACKAGE
    made = wheels.wheel(python, source, tmp_path, tmp_path / "archive")
    tree = wheels.wheel(python, wheels.ROOT, tmp_path / "tree.whl", tmp_path / "tree")
    assert files(made) == files(tree)
    assert files(made) >= PACKAGE
    assert made.name.split("-")[-1].startswith("manylinux_2_")
    said = wheels.try_out(python, made, "2", tmp_path / "use")
    assert said is not None
    assert said["numpy"].startswith("2.")
