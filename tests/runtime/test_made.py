"""Where objects are built: in the cache, else where temporary files go, else an error that says what to do."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from condyle.errors import BuildError
from condyle.runtime import cache as module
from condyle.runtime.cache import built


class Place:
    """Builds in every folder but those that are full."""

    def __init__(self, *full: Path, error: type[Exception] = OSError) -> None:
        self.full, self.error, self.tried = full, error, list[Path]()

    def __call__(self, path: Path) -> None:
        self.tried.append(path.parent.parent)
        if path.parent.parent in self.full:
            raise BuildError("ld: final link failed") if self.error is BuildError else OSError(errno.ENOSPC, "No space")
        path.write_bytes(b"object")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.mark.parametrize("error", [OSError, BuildError])
def test_a_full_disk(tmp_path: Path, temporary: Path, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first").mkdir()
    monkeypatch.setattr(module, "_has_room", lambda place: place is not None and place != tmp_path / "first")
    make = Place(tmp_path / "first", error=error)
    assert built(make, tmp_path / "first") == b"object"
    assert make.tried == [tmp_path / "first", temporary]
    with pytest.raises(BuildError, match=r"no place to build in: .*; .*Make room, or set TMPDIR"):
        built(Place(tmp_path / "first", temporary, error=error), tmp_path / "first")
    assert not list(temporary.iterdir()) and not list((tmp_path / "first").iterdir())


def test_a_compiler_that_fails_where_there_is_room_is_asked_once(tmp_path: Path, temporary: Path) -> None:
    make = Place(tmp_path, error=BuildError)
    with pytest.raises(BuildError, match="ld: final link failed"):
        built(make, tmp_path)
    assert make.tried == [tmp_path]


def test_a_temporary_folder_that_others_can_write(tmp_path: Path, temporary: Path) -> None:
    """The cache's own folder serves; without one there is no place."""
    temporary.chmod(0o777)
    assert built(Place(), tmp_path) == b"object"
    with pytest.raises(BuildError, match=r"can be written by other users.*TMPDIR"):
        built(Place(), None)


def test_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(BuildError, match="no place to build in"):
        built(Place(), None)


def test_an_object_by_way_of_a_link_is_not_taken(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"planted")
    with pytest.raises(BuildError):
        built(lambda path: path.symlink_to(tmp_path / "elsewhere"), tmp_path)
