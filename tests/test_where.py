"""Every file of the package has a place of its tests; every folder of the package and of tests has a smoke test."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from tests.where import ROOT, WHERE, places

PACKAGE = Path(condyle.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
FOLDERS = sorted({str(Path(module).parent) for module in MODULES} - {"."})
SMOKE = "mark.smoke"


def files_of(place: str) -> list[Path]:
    path = ROOT / place
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def test_every_module_has_a_place_of_its_tests() -> None:
    entries = ("__init__.py", "__main__.py")
    assert not [module for module in MODULES if module not in entries and not places(module)]


def test_rows_name_what_exists_and_is_needed() -> None:
    for source, tests in WHERE.items():
        assert (PACKAGE / source).is_dir() or (PACKAGE / f"{source}.py").is_file(), f"{source}: move or drop its row"
        for place in tests:
            assert [file for file in files_of(place) if file.is_file()], f"{source}: {place} has no tests"


def test_the_nearest_place_is_the_first() -> None:
    assert places("jobs/closures.py") == ("tests/contacts/test_closing.py",)
    assert places("model/joints") == ("tests/model/joints",)
    assert places("identity.py") == ("tests/test_identity.py",)
    assert places("nothing/here.py") == ()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_of_the_package_has_a_smoke_test(folder: str) -> None:
    assert any(SMOKE in file.read_text(encoding="utf-8") for place in places(folder) for file in files_of(place))


def test_every_folder_of_tests_has_a_smoke_test() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert not [
        folder.relative_to(ROOT).as_posix()
        for folder in sorted(folders)
        if not any(SMOKE in path.read_text(encoding="utf-8") for path in folder.glob("test_*.py"))
    ]
