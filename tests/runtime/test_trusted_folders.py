"""Which directories are trusted, and that what was checked is what is used."""

from __future__ import annotations

import hashlib
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from condyle.errors import BuildError
from condyle.runtime import cache, trusted_folders
from tests.runtime.test_cache import Maker, get, root

__all__ = ["root"]


def usable(path: Path, create: bool = True) -> bool:
    os.close(trusted_folders.open_folder(path, create))
    return True


@pytest.mark.parametrize(("mode", "fine"), [(0o755, True), (0o777, False), (0o775, False), (0o1777, True)])
def test_a_parent_that_others_can_write_is_refused_unless_it_is_sticky(tmp_path: Path, mode: int, fine: bool) -> None:
    for folder in (tmp_path / "open", tmp_path / "open" / "inner"):
        folder.mkdir()
    (tmp_path / "open").chmod(mode)
    for path in (tmp_path / "open" / "cache", tmp_path / "open" / "inner" / "cache"):
        if fine:
            assert usable(path)
        else:
            with pytest.raises(trusted_folders.RefusedError, match="open', which can be written by other users"):
                usable(path)
            assert not path.exists()


def test_what_is_made_is_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        assert usable(tmp_path / "a" / "b" / "cache")
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "cache"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_links_on_the_way_are_followed_and_checked(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "absolute").symlink_to(tmp_path / "real")
    (tmp_path / "relative").symlink_to("absolute/inner/../inner")
    assert usable(tmp_path / "absolute" / "cache") and (tmp_path / "real" / "cache").is_dir()
    assert usable(tmp_path / "relative" / "cache") and (tmp_path / "real" / "inner" / "cache").is_dir()
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(trusted_folders.RefusedError, match="real', which can be written"):
        usable(tmp_path / "relative" / "cache")
    (tmp_path / "turns").symlink_to("turns/turns")
    with pytest.raises(trusted_folders.RefusedError, match="too many links"):
        usable(tmp_path / "turns" / "cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory or a link to another user")
def test_directories_and_links_of_other_users_are_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    (tmp_path / "link").symlink_to(tmp_path)
    os.lchown(tmp_path / "link", 12345, 12345)
    for name in ("theirs", "link"):
        with pytest.raises(trusted_folders.RefusedError, match=f"{name}', which belongs to another user"):
            usable(tmp_path / name / "cache")


def test_nothing_is_made_for_a_look(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        usable(tmp_path / "none" / "cache", create=False)
    assert not list(tmp_path.iterdir())


def test_no_descriptor_is_left_open(root: Path) -> None:
    get(Maker())
    count = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(20):
        get(Maker())
        cache.look(("b",))
    root.chmod(0o777)
    for _ in range(20):
        with pytest.raises(BuildError):
            get(Maker())
    assert len(os.listdir("/proc/self/fd")) == count  # noqa: PTH208


def planted(root: Path) -> Path:
    """A whole cache of the attacker's beside the victim's: the same entry, other bytes, a manifest that fits them."""
    cache.keep(("a",), "", b"evil")
    evil = root.with_name("evil")
    root.rename(evil)
    cache.keep(("a",), "", b"good")
    return evil


def swap(root: Path, evil: Path) -> None:
    root.rename(root.with_name("hidden"))
    evil.rename(root)


def test_what_was_hashed_is_what_is_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can write the parent swaps the directory after the check; the descriptors hold the one that was checked."""
    evil, sha256, swapped = planted(root), hashlib.sha256, list[int]()

    def hashed(data: bytes = b""):
        found = sha256(data)
        if data == b"good" and not swapped:
            swapped.append(1)
            swap(root, evil)
        return found

    monkeypatch.setattr(hashlib, "sha256", hashed)
    assert cache.look(("a",)) == b"good"
    assert swapped and cache.look(("a",)) == b"evil"  # the swap took place; here the attacker is this user itself


def test_a_parent_that_another_swaps_all_the_time(root: Path) -> None:
    """The same as a race: the directory stands in a parent that others can write, and is refused."""
    evil, stop, seen = planted(root), threading.Event(), set[object]()
    root.parent.chmod(0o777)

    def attack() -> None:
        hidden = root.with_name("hidden")
        while not stop.is_set():
            for old, new in ((root, hidden), (evil, root), (root, evil), (hidden, root)):
                old.rename(new)

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        for _ in range(300):
            with pytest.raises(BuildError, match="can be written by other users"):
                seen.add(cache.look(("a",)))
    finally:
        stop.set()
        thread.join()
    assert not seen


def test_an_object_that_no_way_can_load_is_a_build_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refused(_: bytes) -> Iterator[str]:
        raise trusted_folders.RefusedError("belongs to another user")
        yield ""

    for way in ("_in_memory", "_in_private_folder"):
        monkeypatch.setattr(trusted_folders, way, refused)
    with pytest.raises(BuildError, match="cannot be loaded: belongs to another user; belongs to another user"):
        trusted_folders.loaded(b"", lambda path: path)


def test_a_way_that_goes_up_from_the_root_stays_there(tmp_path: Path) -> None:
    assert usable(Path("/../..").joinpath(*tmp_path.parts[1:], "cache"))
    assert (tmp_path / "cache").is_dir()


@pytest.mark.parametrize(("count", "fine"), [(40, True), (41, False)])
def test_40_links_are_followed(tmp_path: Path, count: int, fine: bool) -> None:
    (tmp_path / "link0").mkdir()
    for k in range(count):
        (tmp_path / f"link{k + 1}").symlink_to(f"link{k}")
    path = tmp_path / f"link{count}" / "cache"
    if fine:
        assert usable(path)
    else:
        with pytest.raises(trusted_folders.RefusedError, match=r"cannot be made \(too many links\)"):
            usable(path)


def test_a_folder_that_this_user_cannot_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def access(name: str, mode: int, dir_fd: int) -> bool:
        asked.append(mode)
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(trusted_folders.RefusedError, match=r"^cannot be written$"):
        usable(tmp_path / "cache")
    assert asked == [os.W_OK | os.X_OK]


def test_what_is_no_folder_cannot_be_passed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(trusted_folders.RefusedError, match=r"cannot be made \(Not a directory\)"):
        usable(tmp_path / "file" / "cache")
    with pytest.raises(trusted_folders.RefusedError, match="is not a directory"):
        usable(tmp_path / "file")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[int]:
    with trusted_folders.closing(trusted_folders.open_folder(tmp_path, create=False)) as folder:
        yield folder


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_subfolder_that_others_can_write_is_an_error(tmp_path: Path, here: int, mode: int) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub").chmod(mode)
    count = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(PermissionError, match="'sub' can be written by others"):
        trusted_folders.subfolder("sub", here)
    assert len(os.listdir("/proc/self/fd")) == count  # noqa: PTH208
    (tmp_path / "sub").chmod(0o755)
    os.close(trusted_folders.subfolder("sub", here))
    with pytest.raises(FileNotFoundError, match="'none'"):
        trusted_folders.subfolder("none", here)


def test_a_file_is_read_up_to_the_most_bytes(tmp_path: Path, here: int) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert trusted_folders.read("file", here, 5) == b"12345"
    with pytest.raises(PermissionError, match="'file' is no file of this user, or larger than 4 bytes"):
        trusted_folders.read("file", here, 4)
    (tmp_path / "file").chmod(0o622)
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "pipe"):
        with pytest.raises(PermissionError, match=f"^'{name}' is no file of this user, or larger than 5 bytes"):
            trusted_folders.read(name, here, 5)


def test_a_file_is_written_once_and_for_this_user_alone(tmp_path: Path, here: int) -> None:
    before = os.umask(0o777)
    try:
        trusted_folders.write("file", here, b"data")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError, match="'file'"):
        trusted_folders.write("file", here, b"other")
    assert (tmp_path / "file").read_bytes() == b"data"


def test_all_of_a_folder_is_removed_and_nothing_behind_its_links(tmp_path: Path, here: int) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "file").write_text("")
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    for name in ("folder", "link", "none"):
        trusted_folders.remove(name, here)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["kept"]


def test_a_library_is_loaded_where_few_descriptors_are_allowed() -> None:
    """Files in memory have one number in all processes where that is allowed, and any other where it is not."""

    def content(path: str) -> tuple[bytes, int]:
        return Path(path).read_bytes(), int(path.rpartition("/")[2])

    assert trusted_folders.loaded(b"code", content)[0] == b"code"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (900, hard))
    try:
        data, number = trusted_folders.loaded(b"code", content)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert data == b"code" and number < 900
    assert len(os.listdir("/proc/self/fd")) == count  # noqa: PTH208
