"""Shared objects from bytes: what was verified is what is loaded, and no file system has to allow it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from condyle.errors import BuildError
from condyle.runtime import trusted

NOEXEC_SEAL = 0x8
"""MFD_NOEXEC_SEAL, Linux 6.3: the file is no program; its pages may hold code all the same."""
Loaded = TypeVar("Loaded")
DESCRIPTOR = 900
"""The number of a file in memory where it is free: below 1024, the usual limit."""


def library(data: bytes) -> ctypes.CDLL:
    """The shared object, loaded from memory; from a private file where the system has no files in memory.

    Raises BuildError where it cannot be loaded.
    """
    return loaded(data, ctypes.CDLL)


def loaded(data: bytes, load: Callable[[str], Loaded]) -> Loaded:
    """The same by any loader, which raises OSError for a path that it cannot load."""
    problems: list[str] = []
    for way in (_in_memory, _in_private_folder):
        try:
            with way(data) as path:
                return load(path)
        except (OSError, trusted.RefusedError) as error:  # noqa: PERF203
            problems.append(str(error))
    raise BuildError(
        f"the shared object cannot be loaded: {'; '.join(problems)}. Set TMPDIR to a directory that only you can "
        "write, on a file system mounted without noexec"
    )


@contextmanager
def _in_memory(data: bytes) -> Generator[str, None, None]:
    """The path of a file in memory that nobody can change any more."""
    if not hasattr(os, "memfd_create"):
        raise OSError("this system has no files in memory")
    with trusted.closing(_moved(_memory())) as descriptor:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        fcntl.fcntl(
            descriptor,
            fcntl.F_ADD_SEALS,
            fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL,
        )
        yield _spelled(data, descriptor)


def _spelled(data: bytes, descriptor: int) -> str:
    """The path of a descriptor that says its content: slashes and dots write the binary digits of its sha256.

    The loader takes a path that it knows for the library it knows, numbers of descriptors come again, and others keep
    the path: CasADi writes it into saved functions. So a path never leads to the library of another content.
    """
    digits = f"{int.from_bytes(hashlib.sha256(data).digest(), 'big'):0256b}"
    return f"/proc/self/fd{digits.replace('0', '/').replace('1', '/.')}/{descriptor}"


def _moved(descriptor: int) -> int:
    """The same file at `DESCRIPTOR`, so that a content has one path in all processes; where that is free."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, DESCRIPTOR)
    except OSError:  # above the limit of this process
        return descriptor
    os.close(descriptor)
    return moved


def _memory() -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    with contextlib.suppress(OSError):
        return os.memfd_create("condyle", flags | NOEXEC_SEAL)
    return os.memfd_create("condyle", flags)


@contextmanager
def _in_private_folder(data: bytes) -> Generator[str, None, None]:
    with tempfile.TemporaryDirectory(prefix="condyle-", ignore_cleanup_errors=True) as place:
        name = f"{hashlib.sha256(data).hexdigest()}.so"
        with trusted.closing(trusted.open_folder(Path(place).absolute(), create=False)) as folder:
            trusted.write(name, folder, data)
        yield str(Path(place) / name)
