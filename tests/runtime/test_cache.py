"""The cache: private, verified, without locks, and never in the way."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from condyle.errors import BuildError
from condyle.runtime import cache


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CONDYLE_NO_CACHE", raising=False)
    return tmp_path / "cache"


class Maker:
    """Writes an object and counts how often it had to."""

    def __init__(self, content: bytes = b"object") -> None:
        self.content = content
        self.made = 0

    def __call__(self, path: Path) -> None:
        self.made += 1
        path.write_bytes(self.content)


def get(make: Callable[[Path], None], *parts: str) -> bytes:
    return cache.fetch(parts or ("a",), "something", make)


def entry(root: Path) -> Path:
    (found,) = [place for place in root.iterdir() if len(place.name) == 64]
    return found


def test_made_once(root: Path) -> None:
    make = Maker()
    assert get(make) == get(make) == b"object"
    assert make.made == 1
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert {place.name for place in root.iterdir()} == {entry(root).name, cache.ASIDE, cache.SIZE}
    assert not list((root / cache.ASIDE).iterdir())


def test_parts_do_not_run_together(root: Path) -> None:
    make = Maker()
    for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", "")):
        get(make, *parts)
    assert make.made == 4


def test_listing_and_clearing(root: Path) -> None:
    assert cache.entries() == []
    assert cache.clear() == 0
    get(Maker(), "a")
    get(Maker(b"x" * 1000), "b")
    assert [item.description for item in cache.entries()] == ["something"] * 2
    assert max(item.bytes for item in cache.entries()) > 1000
    assert cache.path() == root
    assert cache.clear() == 2
    assert cache.entries() == []
    assert [place.name for place in root.iterdir()] == [cache.ASIDE]


def change_object(place: Path) -> None:
    (place / cache.OBJECT).write_bytes(b"planted")


def change_manifest(place: Path) -> None:
    (place / cache.MANIFEST).write_text("[]")


def drop_manifest(place: Path) -> None:
    (place / cache.MANIFEST).unlink()


def drop_object(place: Path) -> None:
    (place / cache.OBJECT).unlink()


def foreign_key(place: Path) -> None:
    manifest = json.loads((place / cache.MANIFEST).read_text())
    (place / cache.MANIFEST).write_text(json.dumps({**manifest, "key": "0" * 64}))


def link_object(place: Path) -> None:
    (place / cache.OBJECT).rename(place.parent.parent / "elsewhere")
    (place / cache.OBJECT).symlink_to(place.parent.parent / "elsewhere")


def open_object(place: Path) -> None:
    (place / cache.OBJECT).chmod(0o666)


def link_entry(place: Path) -> None:
    place.rename(place.parent.parent / "elsewhere")
    place.symlink_to(place.parent.parent / "elsewhere")


def file_entry(place: Path) -> None:
    place.rename(place.parent.parent / "elsewhere")
    place.write_text("")


@pytest.mark.parametrize(
    "spoil",
    [
        change_object,
        change_manifest,
        drop_manifest,
        drop_object,
        foreign_key,
        link_object,
        open_object,
        link_entry,
        file_entry,
    ],
)
def test_an_unsound_entry_is_made_again(root: Path, spoil: Callable[[Path], None]) -> None:
    make = Maker()
    get(make)
    spoil(entry(root))
    assert get(make) == b"object"
    assert get(make) == b"object"
    assert make.made == 2
    assert not entry(root).is_symlink()


def test_a_planted_whole_entry_under_another_name_is_not_used(root: Path) -> None:
    get(Maker(b"planted"), "a")
    planted = entry(root)
    make = Maker()
    get(make, "b")
    wanted = next(place for place in root.iterdir() if len(place.name) == 64 and place != planted)
    cache.clear()
    get(Maker(b"planted"), "a")
    entry(root).rename(wanted)
    assert get(make, "b") == b"object"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_others_can_write_is_refused(root: Path, mode: int) -> None:
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(BuildError, match="written by other users"):
        get(Maker())


def test_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    root.symlink_to(tmp_path / "real")
    for use in (lambda: get(Maker()), lambda: cache.look(("a",)), cache.clear, cache.entries):
        with pytest.raises(BuildError, match="link"):
            use()


def test_what_a_link_in_it_leads_to_is_left_alone(root: Path, tmp_path: Path) -> None:
    get(Maker())
    (tmp_path / "real").mkdir(mode=0o500)
    (root / ("0" * 64)).symlink_to(tmp_path / "real")
    assert cache.clear() == 2
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o500


def test_a_foreign_directory_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(BuildError, match="another user"):
        get(Maker())


def test_a_default_directory_that_will_not_do_is_a_warning(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONDYLE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg").mkdir()
    (tmp_path / "xdg" / "condyle").write_text("a file")
    make = Maker()
    with pytest.warns(RuntimeWarning, match="not kept"):
        assert get(make) == b"object"
    assert list((tmp_path / "xdg").iterdir()) == [tmp_path / "xdg" / "condyle"]


def test_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONDYLE_CACHE_DIR", "~/here")
    assert cache.path() == tmp_path / "here"
    monkeypatch.delenv("CONDYLE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache.path() == tmp_path / ".cache" / "condyle"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.path() == tmp_path / "xdg" / "condyle"


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "CONDYLE_CACHE_DIR", "CONDYLE_NO_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a number that the system does not know
    with pytest.warns(RuntimeWarning, match="not kept"):
        assert get(Maker()) == b"object"
    assert cache.look(("a",)) is None


def test_where_from_a_directory_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path / "cache"))
    assert cache.path() == tmp_path / "cache"
    monkeypatch.chdir(tmp_path)


def test_a_size_that_is_no_number_is_taken_as_the_usual_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", "plenty")
    with pytest.warns(RuntimeWarning, match="'plenty' is no number"):
        assert get(Maker()) == b"object"


def test_no_cache(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_NO_CACHE", "1")
    make = Maker()
    assert get(make) == get(make) == b"object"
    assert make.made == 2
    assert not root.exists()


def test_the_longest_unused_go_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the limit is passed, until three quarters of it are left."""
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", "0.0135")
    make = Maker(b"x" * 3000)
    for k, name in enumerate("abcd"):
        get(make, name)
        newest = max((p for p in root.iterdir() if len(p.name) == 64), key=lambda p: p.stat().st_mtime_ns)
        os.utime(newest, (1000 + k, 1000 + k))
    get(make, "a")
    get(make, "e")
    assert make.made == 5
    assert sum(item.bytes for item in cache.entries()) < 0.0135e6 * cache.FULL
    for name in "ade":
        get(make, name)
    assert make.made == 5
    get(make, "b")
    assert make.made == 6


def test_a_failed_build_leaves_nothing(root: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise BuildError("no")

    with pytest.raises(BuildError):
        get(fail)
    assert [place.name for place in root.iterdir()] == [cache.ASIDE]
    assert not list((root / cache.ASIDE).iterdir())
