"""The entries in one open cache folder: each a directory with an object and a manifest that holds the object's hash."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
import time
from dataclasses import dataclass
from typing import cast

from condyle.runtime import trusted
from condyle.runtime.trusted import closing

OBJECT, MANIFEST = "object.so", "manifest.json"
ASIDE = ".aside"
"""Where entries are built and where they are deleted: few things at a time, so that it is cheap to look for rubbish."""
SIZE = ".size"
"""A file whose length says how many KiB are kept, more or less: a build adds to it, a count of all entries sets it."""
MOST_OBJECT, MOST_MANIFEST = 256 << 20, 4096
STALE_SECONDS = 3600.0
KIB = 1024
ATTEMPTS = 4
FULL = 0.75
"""Part of the limit that is kept when it was passed: counting all entries takes a while and shall come seldom."""
_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept object: its name (the hash of what determines it), size, last use (s since the epoch) and what it is."""

    name: str
    bytes: int
    used: float
    description: str


class Store:
    """All that is done in a cache folder, relative to its descriptor."""

    def __init__(self, root: int) -> None:
        self._root = root

    def look(self, key: str) -> bytes | None:
        """The object, if the entry is ours, whole, and what its manifest says. What was hashed is what is returned."""
        with contextlib.suppress(OSError), closing(trusted.subfolder(key, self._root)) as place:
            manifest = _manifest(place)
            data = trusted.read(OBJECT, place, MOST_OBJECT)
            if manifest.get("key") == key and manifest.get("sha256") == hashlib.sha256(data).hexdigest():
                with contextlib.suppress(OSError):
                    os.utime(place)
                return data
        return None

    def put(self, key: str, description: str, data: bytes, limit: float) -> None:
        """Builds the entry aside and renames it into place; a sound one that came first stays. Raises OSError."""
        if len(data) > MOST_OBJECT:
            raise OSError(errno.EFBIG, f"an object of more than {MOST_OBJECT >> 20} MiB")
        manifest = {"key": key, "sha256": hashlib.sha256(data).hexdigest(), "description": description[:200]}
        name = f"new-{os.getpid()}-{secrets.token_hex(8)}"
        with closing(self.aside()) as aside:
            os.mkdir(name, 0o700, dir_fd=aside)
            try:
                with closing(trusted.subfolder(name, aside)) as place:
                    trusted.write(OBJECT, place, data)
                    trusted.write(MANIFEST, place, json.dumps(manifest).encode())
                passed = self._count(len(data) + KIB, limit)
                self._place(name, aside, key)
            finally:
                trusted.remove(name, aside)
            _sweep(aside)
        if passed:
            self._evict(key, limit)

    def aside(self) -> int:
        """A descriptor of the folder to build in."""
        with contextlib.suppress(OSError):
            return trusted.subfolder(ASIDE, self._root, create=True)
        self._open_up(ASIDE)
        with contextlib.suppress(NotADirectoryError, OSError):
            return trusted.subfolder(ASIDE, self._root)
        with contextlib.suppress(OSError):
            os.unlink(ASIDE, dir_fd=self._root)
        return trusted.subfolder(ASIDE, self._root, create=True)

    def entries(self) -> list[Entry]:
        """What is kept, the entry unused for longest first."""
        found: list[Entry] = []
        for name in self._names():
            with contextlib.suppress(OSError), closing(trusted.subfolder(name, self._root)) as place:
                description = _manifest(place).get("description")
                found.append(Entry(name, *_measure(place), description if isinstance(description, str) else ""))
        return sorted(found, key=lambda entry: (entry.used, entry.name))

    def clear(self) -> int:
        """Removes every entry and all rubbish; returns how many entries there were."""
        count = sum(self._take_away(name) for name in self._names())
        with contextlib.suppress(OSError), closing(self.aside()) as aside:
            _sweep(aside)
        trusted.remove(SIZE, self._root)
        self._sweep_old()
        return count

    def _names(self) -> list[str]:
        with os.scandir(self._root) as items:
            return [item.name for item in items if _KEY.fullmatch(item.name)]

    def _place(self, name: str, aside: int, key: str) -> None:
        for _ in range(ATTEMPTS):
            try:
                os.rename(name, key, src_dir_fd=aside, dst_dir_fd=self._root)
                return
            except OSError:  # noqa: PERF203
                if self.look(key) is not None:
                    return
                self._take_away(key)
        raise FileExistsError(f"in the way: {key!r}")

    def _take_away(self, name: str) -> bool:
        """Takes an entry away in one step, then deletes it."""
        gone = f"old-{os.getpid()}-{secrets.token_hex(8)}"
        with contextlib.suppress(OSError), closing(self.aside()) as aside:
            self._open_up(name)
            os.rename(name, gone, src_dir_fd=self._root, dst_dir_fd=aside)
            trusted.remove(gone, aside)
            return True
        return False

    def _open_up(self, name: str) -> None:
        """A directory has to be writable to be moved elsewhere."""
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=self._root, follow_symlinks=False).st_mode):
                os.chmod(name, 0o700, dir_fd=self._root)

    def _count(self, size: int, limit: float) -> bool:
        """Adds to the estimate of what is kept; whether it passes the limit. No entry is looked at."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(SIZE, flags | os.O_CREAT, 0o600, dir_fd=self._root)
        except OSError:
            trusted.remove(SIZE, self._root)
            return True
        with closing(descriptor):
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                trusted.remove(SIZE, self._root)
                return True
            if status.st_size == 0 and self._names():  # of a version that had no such file
                os.ftruncate(descriptor, int(FULL * limit / KIB))
            os.write(descriptor, bytes(-(-size // KIB)))  # appended: no process loses what another one adds
            return os.fstat(descriptor).st_size * KIB > limit

    def _evict(self, fresh: str, limit: float) -> None:
        """Counts what is kept; removes what was unused for longest if it is too much."""
        kept: list[tuple[float, str, int]] = []
        for name in self._names():
            with contextlib.suppress(OSError), closing(trusted.subfolder(name, self._root)) as place:
                size, used = _measure(place)
                kept.append((used, name, size))
        total = sum(size for _, _, size in kept)
        goal = limit if total <= limit else FULL * limit
        for _, name, size in sorted(kept):
            if total > goal and name != fresh and self._take_away(name):
                total -= size
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_CREAT
            with closing(os.open(SIZE, flags, 0o600, dir_fd=self._root)) as descriptor:
                os.ftruncate(descriptor, max(1, total // KIB))
        self._sweep_old()

    def _sweep_old(self) -> None:
        """Deletes what killed processes of older versions left in the folder itself."""
        with os.scandir(self._root) as items:
            names = [item.name for item in items if item.name.startswith((".old-", ".new-"))]
        for name in names:
            if name.startswith(".old-") or _is_stale(name, self._root):
                trusted.remove(name, self._root)


def _manifest(place: int) -> dict[str, object]:
    """Empty where it is not sound: it may hold anything."""
    try:
        data: object = json.loads(trusted.read(MANIFEST, place, MOST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", data) if isinstance(data, dict) else {}


def _measure(place: int) -> tuple[int, float]:
    """Bytes of an entry and its last use."""
    with os.scandir(place) as items:
        return sum(item.stat(follow_symlinks=False).st_size for item in items), os.fstat(place).st_mtime


def _is_stale(name: str, here: int) -> bool:
    try:
        return time.time() - os.stat(name, dir_fd=here, follow_symlinks=False).st_mtime >= STALE_SECONDS
    except OSError:
        return False


def _sweep(aside: int) -> None:
    """Deletes what killed processes left behind; a build that may still be going on is let be."""
    with os.scandir(aside) as items:
        names = [item.name for item in items]
    for name in names:
        if name.startswith("old-") or _is_stale(name, aside):
            trusted.remove(name, aside)
