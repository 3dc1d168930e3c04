"""Builds an object in a folder of its own: in the cache, or where temporary files go if there is no room."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from condyle.errors import BuildError
from condyle.runtime import trusted
from condyle.runtime.store import OBJECT

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
        except (OSError, trusted.RefusedError) as error:
            problems.append(str(error))
    raise BuildError(
        f"there is no place to build in: {'; '.join(problems)}. Make room, or set TMPDIR to a directory that only you "
        "can write and that has room"
    )


def _made_in(base: Path | None, make: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory(prefix=f"new-{os.getpid()}-", dir=base, ignore_cleanup_errors=True) as place:
        try:
            folder = trusted.open_folder(Path(place).absolute(), create=False)
        except trusted.RefusedError as error:
            raise trusted.RefusedError(f"{place!r} {error}") from None
        with trusted.closing(folder):
            make(Path(place) / OBJECT)
            os.chmod(OBJECT, 0o600, dir_fd=folder)
            return trusted.read(OBJECT, folder, sys.maxsize)


def _has_room(base: Path | None) -> bool:
    with suppress(OSError), tempfile.TemporaryFile(dir=base) as file:
        file.write(bytes(ROOM))
        file.flush()
        return True
    return False
