"""What a fork does to the other threads' locks: a child finds those of this package free, and those of imports too."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType

IMPORTS = "<frozen importlib._bootstrap"
PACKAGE = __name__.partition(".")[0]
PATIENCE_S = 10.0
"""How long a fork waits for imports at most: they take milliseconds."""


class Guard:
    """`with guard.lock:` as with a lock of threading; a forked child gets a new one, for who held it is not there.

    `lock` must be read anew for every use. A `with` that is under way in the thread that forks ends with the old one.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[bool]] = threading.Lock) -> None:
        self._make = make
        self.lock = make()
        _GUARDS.add(self)

    def renew(self) -> None:
        self.lock = self._make()


_GUARDS: weakref.WeakSet[Guard] = weakref.WeakSet()


def _renew() -> None:
    for guard in list(_GUARDS):
        guard.renew()


def _wait_for_imports() -> None:
    """Python has a lock for each module: a child that wants a module which another thread was importing waits for ever.

    The first use of a function imports what generates code. So a fork waits until no other thread imports for this
    package.
    """
    end = time.monotonic() + PATIENCE_S
    while _others_import() and time.monotonic() < end:
        time.sleep(0.001)


def _others_import() -> bool:
    own = threading.get_ident()
    stacks = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    return any(_imports(frame) for thread, frame in stacks.items() if thread != own)


def _imports(frame: FrameType | None) -> bool:
    """Whether this stack holds both an import and code of this package."""
    importing = ours = False
    while frame is not None and not (importing and ours):
        importing = importing or frame.f_code.co_filename.startswith(IMPORTS)
        ours = ours or str(frame.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE
        frame = frame.f_back
    return importing and ours


os.register_at_fork(before=_wait_for_imports, after_in_child=_renew)
