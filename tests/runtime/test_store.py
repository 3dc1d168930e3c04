"""Entries of any content, and what keeping one costs."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from condyle.errors import BuildError
from condyle.runtime import cache, trusted_folders
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


KEYS = [digit * 64 for digit in "abcde"]


@pytest.fixture
def store(root: Path) -> Iterator[cache.Store]:
    root.mkdir(mode=0o700)
    with trusted_folders.closing(trusted_folders.open_folder(root, create=False)) as folder:
        yield cache.Store(folder)


def test_the_estimate_grows_by_whole_kib_of_each_object_and_its_manifest(root: Path, store: cache.Store) -> None:
    lengths = list[int]()
    for key, size in zip(KEYS, (0, 1, 1024, 1025), strict=False):
        store.put(key, "", bytes(size), 1e9)
        lengths.append((root / cache.SIZE).stat().st_size)
    assert lengths == [1, 3, 5, 8]


def test_an_estimate_as_large_as_the_limit_passes_nothing(root: Path, store: cache.Store) -> None:
    """The third is counted: three small entries have less than 2 KiB."""
    lengths = list[int]()
    for key in KEYS[:3]:
        store.put(key, "", b"x", 4096.0)
        lengths.append((root / cache.SIZE).stat().st_size)
    assert lengths == [2, 4, 1]


def test_a_folder_without_an_estimate_is_three_quarters_full(root: Path, store: cache.Store) -> None:
    store.put(KEYS[0], "", b"x", 1e9)
    (root / cache.SIZE).unlink()
    store.put(KEYS[1], "", b"x", float(1 << 20))
    assert (root / cache.SIZE).stat().st_size == 768 + 2


def test_entries_go_until_three_quarters_of_the_limit_are_left(root: Path, store: cache.Store) -> None:
    """Not one sooner than the limit is passed, and not one more than that takes."""
    store.put(KEYS[0], "", bytes(10_000), 1e9)
    (first,) = store.entries()
    limit = 4.0 * first.bytes
    os.utime(root / KEYS[0], (0, 0))
    for k, key in enumerate(KEYS[1:], 1):
        store.put(key, "", bytes(10_000), limit)
        if k < 4:
            os.utime(root / key, (k, k))
            assert [kept.name for kept in store.entries()] == KEYS[: k + 1]
    assert [kept.name for kept in store.entries()] == KEYS[2:]
    assert (root / cache.SIZE).stat().st_size == 3 * first.bytes // 1024


def test_a_sound_entry_that_came_first_stays(store: cache.Store) -> None:
    for data in (b"first", b"second"):
        store.put(KEYS[0], "", data, 1e9)
        assert store.look(KEYS[0]) == b"first"


def test_what_cannot_be_taken_away_is_tried_four_times(
    root: Path, store: cache.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / KEYS[0]).write_text("a file")
    tried = list[str]()
    monkeypatch.setattr(cache.Store, "_take_away", lambda _, name: tried.append(name))
    with pytest.raises(FileExistsError, match="in the way: 'aaaa"):
        store.put(KEYS[0], "", b"x", 1e9)
    assert tried == KEYS[:1] * 4 and not list((root / cache.ASIDE).iterdir())


def test_an_entry_that_cannot_be_moved_is_not_counted(
    root: Path, store: cache.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    store.put(KEYS[0], "", b"x", 1e9)
    monkeypatch.setattr(os, "rename", refuse)
    assert store.clear() == 0 and (root / KEYS[0]).is_dir()


def test_objects_have_a_most_size(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is 256 MiB; here 3."""
    assert cache.MOST_OBJECT == 256 * 1024**2
    monkeypatch.setattr(cache, "MOST_OBJECT", 3 << 20)
    cache.keep(("as large",), "", bytes(3 << 20))
    assert cache.look(("as large",)) == bytes(3 << 20)
    with pytest.warns(RuntimeWarning, match="an object of more than 3 MiB: this object is not kept"):
        cache.keep(("larger",), "", bytes((3 << 20) + 1))
    assert cache.look(("larger",)) is None


def test_a_pipe_with_a_reader_is_no_estimate(root: Path, store: cache.Store) -> None:
    """It can be opened to write, and is replaced by a file."""
    os.mkfifo(root / cache.SIZE)
    reader = os.open(root / cache.SIZE, os.O_RDONLY | os.O_NONBLOCK)
    store.put(KEYS[0], "", b"x", 1e9)
    os.close(reader)
    assert (root / cache.SIZE).is_file() and (root / cache.SIZE).stat().st_size == 1


def test_entries_are_listed_by_use_then_by_name_with_a_short_description(root: Path, store: cache.Store) -> None:
    for key, use in zip(("c" * 64, "a" * 64, "b" * 64), (5, 7, 5), strict=True):
        store.put(key, "d" * 201, b"1234", 1e9)
        os.utime(root / key, (use, use))
    found = store.entries()
    assert [(item.name[0], item.used) for item in found] == [("b", 5.0), ("c", 5.0), ("a", 7.0)]
    assert {item.description for item in found} == {"d" * 200}
    assert {item.bytes for item in found} == {4 + (root / ("a" * 64) / cache.MANIFEST).stat().st_size}


def test_use_is_noted(root: Path) -> None:
    get(Maker())
    os.utime(entry(root), (0, 0))
    assert cache.look(("a",)) == b"object" and cache.entries()[0].used > 1e9


def test_a_build_is_rubbish_after_an_hour(root: Path, store: cache.Store) -> None:
    """In the folder for builds, and in the cache itself, where older versions built."""
    os.close(store.aside())
    now = time.time()
    ages = {"new-young": 3500.0, "new-old": 3700.0, "old-young": 0.0}
    for name, age in ages.items():
        for place in (root / cache.ASIDE / name, root / f".{name}"):
            place.mkdir()
            os.utime(place, (now - age, now - age))
    assert store.clear() == 0
    assert sorted(place.name for place in root.iterdir()) == [cache.ASIDE, ".new-young"]
    assert [place.name for place in (root / cache.ASIDE).iterdir()] == ["new-young"]
    with trusted_folders.closing(store.aside()) as aside:
        assert not cache._is_stale("gone", aside)


@pytest.mark.parametrize(
    ("said", "limit"),
    [("", 512e6), ("0", 0.0), ("-1", 0.0), ("1.5", 1.5e6), ("2e3", 2e9), ("inf", 1e12), ("1e9", 1e12)],
)
def test_the_limit_is_said_in_mb(said: str, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", said)
    assert cache._limit() == limit


@pytest.mark.parametrize("said", ["nan", "512 MB"])
def test_a_limit_that_is_no_number_is_512_mb(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_CACHE_MAX_MB", said)
    with pytest.warns(RuntimeWarning, match=f"CONDYLE_CACHE_MAX_MB='{said}' is no number: taken as 512"):
        assert cache._limit() == 512e6


@pytest.mark.parametrize(("said", "is_kept"), [("", True), ("0", True), ("1", False), ("no", False)])
def test_any_word_but_0_keeps_nothing(root: Path, said: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_NO_CACHE", said)
    cache.keep(("a",), "", b"x")
    assert (cache.look(("a",)) == b"x") is is_kept


def test_a_look_and_a_check_make_no_folder(root: Path) -> None:
    cache.check()
    assert cache.look(("a",)) is None and not root.exists()
    root.write_text("a file")
    with pytest.raises(BuildError, match=r"CONDYLE_CACHE_DIR='.*' is not a directory"):
        cache.check()


def test_a_place_with_room_takes_16_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[int]()

    class File(io.BytesIO):
        def write(self, data: object, /) -> int:
            written.append(len(data))  # type: ignore[arg-type]
            return 0

    monkeypatch.setattr(cache.tempfile, "TemporaryFile", lambda dir: File())
    assert cache._has_room(tmp_path) and written == [16 * 1024**2]

    def full(dir: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(cache.tempfile, "TemporaryFile", full)
    assert not cache._has_room(tmp_path)
