"""Built objects, kept between runs: one directory an entry, verified before use, made without locks.

Where: $CONDYLE_CACHE_DIR, else $XDG_CACHE_HOME/condyle, else ~/.cache/condyle. It must be a real directory of this user
that nobody else may write: one that is not is refused (BuildError) if it was asked for by CONDYLE_CACHE_DIR, and
otherwise given up for a private temporary directory, with a warning. CONDYLE_NO_CACHE=1 keeps nothing.
CONDYLE_CACHE_MAX_MB (512) is the size above which the entries unused for longest go.

An entry is built aside and renamed into place, so that a reader sees all of it or nothing; a process killed half-way
leaves a directory that is swept up later. Its name is the hash of all that determines the content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from condyle.errors import BuildError

T = TypeVar("T")
OBJECT = "object.so"
MANIFEST = "manifest.json"
STALE_SECONDS = 3600.0
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept object: its name (the hash of what determines it), size, last use (s since the epoch) and what it is."""

    name: str
    bytes: int
    used: float
    description: str


def fetch(parts: Sequence[str], description: str, make: Callable[[Path], None], use: Callable[[Path], T]) -> T:
    """`use(object)` for the object that `parts` determine; `make(path)` writes it when it is not there or not sound.

    An object that vanishes between the check and `use` (another process may tidy up) is made again.
    """
    if _is_off():
        return _fetch_private(make, use)
    root = path()
    why = _unsafe(root)
    if why is not None:
        if "CONDYLE_CACHE_DIR" in os.environ:
            cure = "Choose a directory that only you can write, or set CONDYLE_NO_CACHE=1"
            raise BuildError(f"CONDYLE_CACHE_DIR={str(root)!r} {why}. {cure}")
        warnings.warn(f"the cache {str(root)!r} {why}: built objects are not kept", RuntimeWarning, stacklevel=2)
        return _fetch_private(make, use)
    key = _key(parts)
    error: OSError | None = None
    for _ in range(_ATTEMPTS):
        try:
            if not _sound(root / key):
                _build(root, key, description, make)
            result = use(root / key / OBJECT)
        except OSError as problem:
            error = problem
            continue
        with contextlib.suppress(OSError):
            os.utime(root / key)
        return result
    raise BuildError(f"the cache entry {str(root / key)!r} cannot be used: {error}") from error


def look(parts: Sequence[str]) -> bytes | None:
    """What `keep` was given for these parts; None where there is nothing, or nothing that may be trusted."""
    root = path()
    if _is_off() or _unsafe(root, create=False) is not None:
        return None
    place = root / _key(parts)
    try:
        if not _sound(place):
            return None
        data = (place / OBJECT).read_bytes()
        os.utime(place)
    except OSError:
        return None
    return data


def keep(parts: Sequence[str], description: str, data: bytes) -> None:
    """Keeps data for `look`; a cache that cannot be used is no obstacle: whoever looks can make the data again."""
    root = path()
    if _is_off() or _unsafe(root) is not None:
        return
    with contextlib.suppress(OSError):
        _build(root, _key(parts), description, lambda place: _write(place, data))


def _write(place: Path, data: bytes) -> None:
    place.write_bytes(data)


def _is_off() -> bool:
    return os.environ.get("CONDYLE_NO_CACHE", "") not in ("", "0")


def _key(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()


def path() -> Path:
    """Where entries are kept (it may not exist yet)."""
    chosen = os.environ.get("CONDYLE_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))  # noqa: PTH100, PTH111
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _home() / ".cache") / "condyle"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user whom the system does not know, without HOME: nothing can be kept
        return Path(os.devnull)


def entries() -> list[Entry]:
    """What is kept, the entry unused for longest first."""
    found: list[Entry] = []
    for place in _listed(path()):
        with contextlib.suppress(OSError):
            manifest = _manifest(place) or {}
            size = sum(item.stat().st_size for item in place.iterdir())
            found.append(Entry(place.name, size, place.stat().st_mtime, str(manifest.get("description", ""))))
    return sorted(found, key=lambda entry: (entry.used, entry.name))


def clear() -> int:
    """Removes every entry; returns how many there were. Objects in use stay loaded."""
    root = path()
    if _unsafe(root, create=False) is not None:
        return 0
    count = sum(_remove(place) for place in _listed(root))
    _sweep(root)
    return count


def _listed(root: Path) -> Iterator[Path]:
    if root.is_symlink() or not root.is_dir():
        return
    for place in sorted(root.iterdir()):
        if len(place.name) == 64 and place.is_dir() and not place.is_symlink():
            yield place


def _unsafe(root: Path, create: bool = True) -> str | None:
    """Why this directory must not be trusted with code, or None."""
    try:
        if create:
            root.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                root.mkdir(mode=0o700)
        status = os.lstat(root)
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory (a link will not do)"
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    if status.st_mode & 0o022:
        return "can be written by other users"
    return None if os.access(root, os.W_OK | os.X_OK) else "cannot be written"


def _fetch_private(make: Callable[[Path], None], use: Callable[[Path], T]) -> T:
    with tempfile.TemporaryDirectory(prefix="condyle-") as place:
        made = Path(place) / OBJECT
        make(made)
        return use(made)


def _manifest(place: Path) -> dict[str, object] | None:
    try:
        data: object = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, object]", data) if isinstance(data, dict) else None


def _sound(place: Path) -> bool:
    """Whether this entry is ours, whole, and what its manifest says."""
    try:
        for item, kind in ((place, stat.S_ISDIR), (place / OBJECT, stat.S_ISREG), (place / MANIFEST, stat.S_ISREG)):
            status = os.lstat(item)
            if not kind(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return False
        manifest = _manifest(place)
        return (
            manifest is not None
            and manifest.get("key") == place.name
            and manifest.get("sha256") == hashlib.sha256((place / OBJECT).read_bytes()).hexdigest()
        )
    except OSError:
        return False


def _build(root: Path, key: str, description: str, make: Callable[[Path], None]) -> None:
    root.mkdir(mode=0o700, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".new-{os.getpid()}-", dir=root))
    try:
        make(aside / OBJECT)
        (aside / OBJECT).chmod(0o600)
        manifest = {
            "key": key,
            "sha256": hashlib.sha256((aside / OBJECT).read_bytes()).hexdigest(),
            "description": description,
        }
        (aside / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        (aside / MANIFEST).chmod(0o600)
        _place(aside, root / key)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _evict(root, key)


def _place(aside: Path, place: Path) -> None:
    """Renames into place; whoever came first stays if its entry is sound."""
    for _ in range(_ATTEMPTS):
        try:
            aside.rename(place)
            return
        except OSError:  # noqa: PERF203
            if _sound(place):
                return
            _remove(place)
    raise FileExistsError(f"in the way: {str(place)!r}")


def _remove(place: Path) -> bool:
    """Takes an entry away in one step, then deletes it."""
    gone = place.with_name(f".old-{os.getpid()}-{place.name[:8]}-{time.monotonic_ns()}")
    try:
        place.rename(gone)
    except OSError:
        return False
    if gone.is_dir() and not gone.is_symlink():
        shutil.rmtree(gone, ignore_errors=True)
    else:
        gone.unlink(missing_ok=True)
    return True


def _evict(root: Path, fresh: str) -> None:
    limit, kept = _limit(), entries()
    total = sum(entry.bytes for entry in kept)
    for entry in kept:
        if total > limit and entry.name != fresh:
            total -= entry.bytes
            _remove(root / entry.name)
    _sweep(root)


def _limit() -> float:
    """Bytes that may be kept."""
    given = os.environ.get("CONDYLE_CACHE_MAX_MB") or "512"
    try:
        return float(given) * 1e6
    except ValueError:
        warnings.warn(f"CONDYLE_CACHE_MAX_MB={given!r} is no number: taken as 512", RuntimeWarning, stacklevel=2)
        return 512e6


def _sweep(root: Path) -> None:
    """Deletes what killed processes left behind; a build that may still be going on is let be."""
    for place in (*root.glob(".old-*"), *root.glob(".new-*")):
        with contextlib.suppress(OSError):
            if place.name.startswith(".old-") or time.time() - os.lstat(place).st_mtime >= STALE_SECONDS:
                shutil.rmtree(place, ignore_errors=True)
