"""Built objects, kept between runs: one directory an entry, verified before use, made without locks.

Where: $CONDYLE_CACHE_DIR, else $XDG_CACHE_HOME/condyle, else ~/.cache/condyle. It must be a real directory of this user
that nobody else can write or replace (see `trusted`): one that is not is refused (BuildError) if it was asked for by
CONDYLE_CACHE_DIR, and otherwise given up, with a warning: nothing is kept. CONDYLE_NO_CACHE=1 keeps nothing.
CONDYLE_CACHE_MAX_MB (512) is the size above which the entries unused for longest go.

An entry is built aside and renamed into place, so that a reader sees all of it or nothing; a process killed half-way
leaves a directory that is swept up later. Its name is the hash of all that determines the content. An entry that is not
sound is made again; an error in keeping is a warning, for nothing is lost but time.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from condyle.errors import BuildError
from condyle.runtime import trusted
from condyle.runtime.made import built
from condyle.runtime.store import ASIDE, MANIFEST, OBJECT, STALE_SECONDS, Entry, Store
from condyle.runtime.trusted import closing

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
        return trusted.open_folder(path(), create)
    except FileNotFoundError:
        return None
    except trusted.RefusedError as error:
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
