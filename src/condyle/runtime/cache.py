"""Built objects, kept between runs: one directory an entry, verified before use, made without locks.

Where: $CONDYLE_CACHE_DIR, else $XDG_CACHE_HOME/condyle, else ~/.cache/condyle. It must be a real directory of this user
that nobody else can write or replace (see `trusted_folders`): one that is not is refused (BuildError) if it was asked
for by CONDYLE_CACHE_DIR, and otherwise given up, with a warning: nothing is kept. CONDYLE_NO_CACHE=1 keeps nothing.
CONDYLE_CACHE_MAX_MB (512) is the size above which the entries unused for longest go.

An entry is built aside and renamed into place, so that a reader sees all of it or nothing; a process killed half-way
leaves a directory that is swept up later. Its name is the hash of all that determines the content. An entry that is not
sound is made again; an error in keeping is a warning, for nothing is lost but time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from condyle.errors import BuildError
from condyle.runtime import trusted_folders
from condyle.runtime.trusted_folders import closing

# The entries in one open cache folder: each a directory with an object and a manifest that holds the object's hash.


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
        with contextlib.suppress(OSError), closing(trusted_folders.subfolder(key, self._root)) as place:
            manifest = _manifest(place)
            data = trusted_folders.read(OBJECT, place, MOST_OBJECT)
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
                with closing(trusted_folders.subfolder(name, aside)) as place:
                    trusted_folders.write(OBJECT, place, data)
                    trusted_folders.write(MANIFEST, place, json.dumps(manifest).encode())
                passed = self._count(len(data) + KIB, limit)
                self._place(name, aside, key)
            finally:
                trusted_folders.remove(name, aside)
            _sweep(aside)
        if passed:
            self._evict(key, limit)

    def aside(self) -> int:
        """A descriptor of the folder to build in."""
        with contextlib.suppress(OSError):
            return trusted_folders.subfolder(ASIDE, self._root, create=True)
        self._open_up(ASIDE)
        with contextlib.suppress(NotADirectoryError, OSError):
            return trusted_folders.subfolder(ASIDE, self._root)
        with contextlib.suppress(OSError):
            os.unlink(ASIDE, dir_fd=self._root)
        return trusted_folders.subfolder(ASIDE, self._root, create=True)

    def entries(self) -> list[Entry]:
        """What is kept, the entry unused for longest first."""
        found: list[Entry] = []
        for name in self._names():
            with contextlib.suppress(OSError), closing(trusted_folders.subfolder(name, self._root)) as place:
                description = _manifest(place).get("description")
                found.append(Entry(name, *_measure(place), description if isinstance(description, str) else ""))
        return sorted(found, key=lambda entry: (entry.used, entry.name))

    def clear(self) -> int:
        """Removes every entry and all rubbish; returns how many entries there were."""
        count = sum(self._take_away(name) for name in self._names())
        with contextlib.suppress(OSError), closing(self.aside()) as aside:
            _sweep(aside)
        trusted_folders.remove(SIZE, self._root)
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
            trusted_folders.remove(gone, aside)
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
            trusted_folders.remove(SIZE, self._root)
            return True
        with closing(descriptor):
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                trusted_folders.remove(SIZE, self._root)
                return True
            if status.st_size == 0 and self._names():  # of a version that had no such file
                os.ftruncate(descriptor, int(FULL * limit / KIB))
            os.write(descriptor, bytes(-(-size // KIB)))  # appended: no process loses what another one adds
            return os.fstat(descriptor).st_size * KIB > limit

    def _evict(self, fresh: str, limit: float) -> None:
        """Counts what is kept; removes what was unused for longest if it is too much."""
        kept: list[tuple[float, str, int]] = []
        for name in self._names():
            with contextlib.suppress(OSError), closing(trusted_folders.subfolder(name, self._root)) as place:
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
                trusted_folders.remove(name, self._root)


def _manifest(place: int) -> dict[str, object]:
    """Empty where it is not sound: it may hold anything."""
    try:
        data: object = json.loads(trusted_folders.read(MANIFEST, place, MOST_MANIFEST))
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
            trusted_folders.remove(name, aside)


# Builds an object in a folder of its own: in the cache, or where temporary files go if there is no room.


ROOM = 16 << 20
"""Bytes that a build may need: where fewer are free, a compiler that failed may have failed for that."""


def built(make: Callable[[Path], None], first: Path | None) -> bytes:
    """What `make(path)` writes, built in `first` if it is given, else in the folder for temporary files.

    Raises BuildError where neither can be written or trusted, and what `make` raises where there was room.
    """
    problems: list[str] = []
    for place in (first, None) if first else (None,):
        try:
            return _made_in(place, make)
        except BuildError as error:  # noqa: PERF203
            if _has_room(place):
                raise
            problems.append(f"{str(place or tempfile.gettempdir())!r} is full ({str(error).splitlines()[0]})")
        except (OSError, trusted_folders.RefusedError) as error:
            problems.append(str(error))
    raise BuildError(
        f"there is no place to build in: {'; '.join(problems)}. Make room, or set TMPDIR to a directory that only you "
        "can write and that has room"
    )


def _made_in(base: Path | None, make: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory(prefix=f"new-{os.getpid()}-", dir=base, ignore_cleanup_errors=True) as place:
        try:
            folder = trusted_folders.open_folder(Path(place).absolute(), create=False)
        except trusted_folders.RefusedError as error:
            raise trusted_folders.RefusedError(f"{place!r} {error}") from None
        with trusted_folders.closing(folder):
            make(Path(place) / OBJECT)
            os.chmod(OBJECT, 0o600, dir_fd=folder)
            return trusted_folders.read(OBJECT, folder, sys.maxsize)


def _has_room(base: Path | None) -> bool:
    with suppress(OSError), tempfile.TemporaryFile(dir=base) as file:
        file.write(bytes(ROOM))
        file.flush()
        return True
    return False


__all__ = ["MANIFEST", "OBJECT", "STALE_SECONDS", "Entry", "check", "clear", "entries", "fetch", "keep", "look", "path"]

MOST_LIMIT = 1e12


def fetch(parts: Sequence[str], description: str, make: Callable[[Path], None]) -> bytes:
    """The object that `parts` determine; `make(path)` writes it when it is not there or not sound.

    Raises BuildError where no place to build in will do, and what `make` raises.
    """
    with _opened(create=True) as store:
        data = None if store is None else store.look(_key(parts))
        if data is None:
            data = _built(store, make)
            _put(store, parts, description, data)
        return data


def look(parts: Sequence[str]) -> bytes | None:
    """What `keep` was given for these parts; None where there is nothing, or nothing that may be trusted."""
    with _opened(create=False) as store:
        return None if store is None else store.look(_key(parts))


def keep(parts: Sequence[str], description: str, data: bytes) -> None:
    """Keeps data for `look`; where that fails there is a warning, and whoever looks can make the data again."""
    with _opened(create=True) as store:
        _put(store, parts, description, data)


def check() -> None:
    """BuildError where CONDYLE_CACHE_DIR asks for a directory that is refused."""
    with _opened(create=False):
        pass


def path() -> Path:
    """Where entries are kept (it may not exist yet)."""
    chosen = os.environ.get("CONDYLE_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))  # noqa: PTH100, PTH111
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _home() / ".cache") / "condyle"


def entries() -> list[Entry]:
    """What is kept, the entry unused for longest first. BuildError for a directory that is refused."""
    root = _root(create=False, strict=True)
    if root is None:
        return []
    with closing(root):
        return Store(root).entries()


def clear() -> int:
    """Removes every entry; returns how many there were. Objects in use stay loaded. BuildError as `entries`."""
    root = _root(create=False, strict=True)
    if root is None:
        return 0
    with closing(root):
        return Store(root).clear()


@contextmanager
def _opened(create: bool) -> Generator[Store | None, None, None]:
    """The open cache; None where nothing is kept."""
    off = os.environ.get("CONDYLE_NO_CACHE", "") not in ("", "0")
    root = None if off else _root(create)
    if root is None:
        yield None
        return
    with closing(root):
        yield Store(root)


def _root(create: bool, strict: bool = False) -> int | None:
    """A descriptor of the cache folder; None where there is none. strict: one that is refused is an error anyhow."""
    try:
        return trusted_folders.open_folder(path(), create)
    except FileNotFoundError:
        return None
    except trusted_folders.RefusedError as error:
        chosen = bool(os.environ.get("CONDYLE_CACHE_DIR"))
        name = f"CONDYLE_CACHE_DIR={str(path())!r}" if chosen else f"the cache {str(path())!r}"
        if chosen or strict:
            cure = "Choose a directory that only you can write, or set CONDYLE_NO_CACHE=1"
            raise BuildError(f"{name} {error}. {cure}") from None
        if create:
            warnings.warn(f"{name} {error}: built objects are not kept", RuntimeWarning, stacklevel=2)
        return None


def _built(store: Store | None, make: Callable[[Path], None]) -> bytes:
    if store is None:
        return built(make, None)
    with suppress(OSError):  # a full disk: there is another place
        os.close(store.aside())
    return built(make, path() / ASIDE)


def _put(store: Store | None, parts: Sequence[str], description: str, data: bytes) -> None:
    if store is None:
        return
    try:
        store.put(_key(parts), description, data, _limit())
    except OSError as error:
        why = error.strerror or error
        warnings.warn(f"the cache {str(path())!r}: {why}: this object is not kept", RuntimeWarning, stacklevel=2)


def _key(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user whom the system does not know, without HOME: nothing can be kept
        return Path(os.devnull)


def _limit() -> float:
    """Bytes that may be kept."""
    given = os.environ.get("CONDYLE_CACHE_MAX_MB") or "512"
    try:
        limit = float(given) * 1e6
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        warnings.warn(f"CONDYLE_CACHE_MAX_MB={given!r} is no number: taken as 512", RuntimeWarning, stacklevel=2)
        return 512e6
    return min(max(limit, 0.0), MOST_LIMIT)
