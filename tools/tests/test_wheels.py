"""Wheels and the source archive: what is in them, and that they are used without a compiler."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import condyle
from tools import wheels

PROJECT = (wheels.ROOT / "pyproject.toml").read_text(encoding="utf-8")
LICENSES = "src/condyle/robots/LICENSES.md"
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


def test_the_metadata_name_every_licence_of_the_bundled_robots() -> None:
    expression = re.search(r'^license = "(.*)"$', PROJECT, re.MULTILINE)
    files = re.search(r"^license-files = (\[.*\])$", PROJECT, re.MULTILINE)
    assert expression is not None and files is not None
    table = (wheels.ROOT / LICENSES).read_text(encoding="utf-8").split("| file | nv | what | licence |")[1]
    rows = [line for line in table.split("\n\n")[0].splitlines() if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} == {path.name for path in (wheels.ROOT / LICENSES).parent.glob("*.urdf")}
    robots = [set(re.findall(r"\bMIT\b|[A-Z]\w+-\d[\w.-]*", row.split("|")[4])) for row in rows]
    assert all(robots)
    assert set(expression[1].split(" AND ")) == {"Apache-2.0"}.union(*robots)
    texts = {path.relative_to(wheels.ROOT).as_posix() for path in wheels.ROOT.glob("src/condyle/**/LICENSE*")}
    assert set(ast.literal_eval(files[1])) == {"LICENSE"} | texts


def test_the_source_archive_has_what_its_tests_import() -> None:
    packed = set(re.findall(r"^graft (\S+)$", (wheels.ROOT / "MANIFEST.in").read_text(encoding="utf-8"), re.MULTILINE))
    texts = (
        path.read_text(encoding="utf-8")
        for path in (*wheels.ROOT.glob("tests/**/*.py"), *wheels.ROOT.glob("*/tests/**/*.py"))
    )
    wanted = {name for text in texts for name in re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)}
    folders = {path.name for path in wheels.ROOT.iterdir() if path.is_dir()}
    assert {"tests", "tools", "benchmarks", "experiments", "fuzz"} <= wanted & folders
    assert wanted & folders <= packed
    assert "src" in packed


def test_the_source_archive_has_every_folder_that_git_tracks() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=wheels.ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if not listed:
        pytest.skip("not a clone: only git knows which files belong to it")
    packed = re.findall(r"^graft (\S+)$", (wheels.ROOT / "MANIFEST.in").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted({name.partition("/")[0] for name in listed if "/" in name}) == sorted(packed)


def test_the_version_is_that_of_the_newest_changes() -> None:
    headings = re.findall(r"^## (.*)$", (wheels.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == condyle.__version__


def test_the_pages_name_the_versions_of_python_that_are_built_for() -> None:
    built = {version for version in wheels.VERSIONS if not version.endswith("t")}
    assert set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)) == built
    table = (wheels.ROOT / "docs/how-to/installing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| (3\.\d+)\.\d+ \|", table, re.MULTILINE)) == built


@pytest.mark.slow
@pytest.mark.parametrize("machine", wheels.PLATFORMS)
def test_the_wheel_of_the_archive_is_whole_and_runs_without_a_compiler(tmp_path: Path, machine: str) -> None:
    for package in ("build", "auditwheel", "ziglang"):
        pytest.importorskip(package, reason="pip install 'condyle[wheels]'")
    python = wheels.probe(sys.executable)
    assert python is not None
    own = wheels.builder(python, tmp_path / "python")
    source = wheels.archive(own, tmp_path / "dist", tmp_path / "archive")
    made = wheels.wheel(python, own, source, machine, tmp_path / "dist", tmp_path / "wheel")
    assert files(made) >= PACKAGE
    with zipfile.ZipFile(made) as archive:
        names = {name.partition("/licenses/")[2] for name in archive.namelist() if "/licenses/" in name}
    assert names == {"LICENSE", LICENSES}
    assert f"manylinux_2_17_{machine}" in made.name
    if machine == wheels.NATIVE:
        said = wheels.try_out(python, made, "2", tmp_path / "use")
        assert said is not None
        assert said["numpy"].startswith("2.")
