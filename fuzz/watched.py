"""Tells whether a file of a folder was opened, by inotify."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

IN_OPEN = 0x20


class Watched:
    """While it is entered, every file that anybody opens in the folder is noted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.handle = -1

    def __enter__(self) -> Watched:
        libc = ctypes.CDLL(None, use_errno=True)
        self.handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.handle < 0 or libc.inotify_add_watch(self.handle, os.fsencode(self.folder), IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify", str(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)

    def opened(self) -> list[str]:
        """The names of the files opened so far."""
        names: list[str] = []
        try:
            data = os.read(self.handle, 1 << 16)
        except BlockingIOError:
            return names
        at = 0
        while at < len(data):
            length = struct.unpack_from("iIII", data, at)[3]
            name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode()
            names += [name] if name else []
            at += 16 + length
        return names
