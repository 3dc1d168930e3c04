"""Entries of any content, and what keeping one costs."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from condyle.runtime import cache
from tests.runtime.test_cache import Maker, entry, get, root

__all__ = ["root"]

MANIFESTS = {
    "deep": b"[" * 100_000,
    "deep and small": b"[" * 4000,
    "an object": b'{"a":' * 700 + b"1" + b"}" * 700,
    "long": b'{"key": "' + b"x" * 10_000_000 + b'"}',
    "a number": b"1" * 4000,
    "no text": b"\xff\xfe\x00",
    "surrogates": b'{"key": "\\ud800"}',
    "nothing": b"",
    "lists": json.dumps({"key": [], "sha256": {}, "description": [[[]]]}).encode(),
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS.keys())
def test_a_manifest_may_hold_anything(root: Path, text: bytes) -> None:
    make = Maker()
    get(make)
    (entry(root) / cache.MANIFEST).write_bytes(text)
    assert [item.description for item in cache.entries()] == [""]
    assert cache.look(("a",)) is None
    assert get(make) == get(make) == b"object" and make.made == 2


def test_a_pipe_and_a_vast_file_are_not_read(root: Path) -> None:
    for name in (cache.OBJECT, cache.MANIFEST):
        for spoil in (lambda path: os.mkfifo(path), lambda path: os.truncate(os.open(path, os.O_CREAT | 1), 1 << 40)):
            make = Maker()
            get(make)
            (entry(root) / name).unlink()
            spoil(entry(root) / name)
            assert cache.look(("a",)) is None
            assert get(make) == b"object" and cache.look(("a",)) == b"object"
        cache.clear()


@pytest.mark.parametrize("name", [cache.ASIDE, cache.SIZE])
@pytest.mark.parametrize("what", ["file", "folder", "link", "pipe", "closed"])
def test_whatever_stands_where_our_own_files_stand(root: Path, name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    root.mkdir(mode=0o700)
    place = root / name
    if what in ("folder", "closed"):
        place.mkdir(mode=0o700 if what == "folder" else 0)
    elif what == "link":
        place.symlink_to(tmp_path / "outside")
    elif what == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("x" * 100)
    make = Maker()
    assert get(make) == get(make) == b"object" and make.made == 1
    assert not list((tmp_path / "outside").iterdir())
    assert cache.clear() == 1


def calls_of(work: object) -> Counter[str]:
    """System calls by name, of one call in this thread."""
    found: Counter[str] = Counter()

    def note(frame: object, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__module__", None) in ("posix", "_io", None):
            found[getattr(called, "__name__", "")] += 1

    sys.setprofile(note)
    try:
        work()  # type: ignore[operator]
    finally:
        sys.setprofile(None)
    return found


def test_keeping_looks_at_no_other_entry(root: Path) -> None:
    """As much work with many entries as with one: none is opened, listed or measured."""
    cache.keep(("first",), "", b"x")
    few = calls_of(lambda: cache.keep(("few",), "", b"x"))
    for k in range(300):
        place = root / f"{k:064x}"
        place.mkdir(mode=0o700)
        (place / cache.MANIFEST).write_text("{}")
        (place / cache.OBJECT).write_text("")
    many = calls_of(lambda: cache.keep(("many",), "", b"x"))
    assert sum(few.values()) > 10 and abs(sum(many.values()) - sum(few.values())) < 10
    assert len(cache.entries()) == 303


def test_entries_are_counted_once_the_limit_is_passed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", "0.1")
    counted: list[int] = []
    evict = cache.Store._evict
    monkeypatch.setattr(cache.Store, "_evict", lambda *given: (counted.append(1), evict(*given)))
    for k in range(100):
        cache.keep((str(k),), "", bytes(5000))
        assert sum(item.bytes for item in cache.entries()) <= 0.1e6
    assert 3 < len(counted) < 40


def test_a_folder_of_a_version_that_did_not_count(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken as nearly full: what it holds is counted before long, and rubbish of that version goes."""
    for k in range(20):
        cache.keep((str(k),), "", bytes(5000))
    (root / cache.SIZE).unlink()
    (root / ".old-1").mkdir()
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", "0.05")
    for k in range(100, 104):
        cache.keep((str(k),), "", bytes(5000))
    assert sum(item.bytes for item in cache.entries()) <= 0.05e6
    assert not (root / ".old-1").exists()


def test_a_full_disk_is_a_warning_and_no_more(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(name: str, here: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache.trusted_folders, "write", full)
    make = Maker()
    with pytest.warns(RuntimeWarning, match="No space left on device: this object is not kept"):
        assert get(make) == b"object"
    assert not list((root / cache.ASIDE).iterdir())
