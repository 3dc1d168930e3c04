"""Directories that nobody but this user and root can change, opened once and used by their descriptors from then on."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TypeVar

from condyle.errors import BuildError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PASSED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # /home may be unreadable
LINKS = 40
OTHERS = stat.S_IWGRP | stat.S_IWOTH


class RefusedError(Exception):
    """Why a directory is not used; the text follows its name."""


def open_folder(path: Path, create: bool) -> int:
    """A descriptor of the directory at an absolute path: this user's, no link, and not writable by others.

    Each directory on the way belongs to root or to this user, and only sticky ones may be written by others; a link on
    the way belongs to root or to this user. So nobody else can put another directory in its place. Those that are made
    are for this user alone. Raises RefusedError; FileNotFoundError where nothing is and nothing is to be made.
    """
    way = _Way()
    try:
        return way.go(path, create)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not create:
            raise
        raise RefusedError(f"cannot be made ({error.strerror})") from error
    finally:
        way.close()


@contextmanager
def closing(descriptor: int) -> Generator[int, None, None]:
    """Closes it at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Way:
    """The directories from / to where we are, open."""

    def __init__(self) -> None:
        self.names, self.open = [""], [os.open("/", PASSED)]
        # who owns / can replace the system; in a user namespace that is a number for nobody known, not 0
        self.owners = {0, os.geteuid(), os.fstat(self.open[0]).st_uid}

    def close(self) -> None:
        while self.open:
            os.close(self.open.pop())

    def go(self, path: Path, create: bool) -> int:
        steps, links = [*reversed(path.parts[1:])], 0
        while len(steps) > 1:
            name = steps.pop()
            if name == "..":
                self._back()
            elif not self._enter(name, create):
                target = PurePath(os.readlink(name, dir_fd=self.open[-1]))
                links += 1
                if links > LINKS:
                    raise RefusedError("cannot be made (too many links)")
                while target.is_absolute() and len(self.open) > 1:
                    self._back()
                steps += reversed(target.parts[target.is_absolute() :])
        self._check_parent()
        return self._arrive(steps[0] if steps else ".", create)

    def _back(self) -> None:
        if len(self.open) > 1:
            os.close(self.open.pop())
            self.names.pop()

    def _enter(self, name: str, create: bool) -> bool:
        """Goes into a directory; False for a link that may be followed."""
        self._check_parent()
        here = self.open[-1]
        try:
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
        except FileNotFoundError:
            if not create:
                raise
            _make(name, here)
        else:
            if stat.S_ISLNK(status.st_mode):
                self._check_owner(status, f"{'/'.join([*self.names, name])!r}")
                return False
        self.open.append(os.open(name, PASSED, dir_fd=here))
        self.names.append(name)
        return True

    def _arrive(self, name: str, create: bool) -> int:
        here = self.open[-1]
        if create:
            _make(name, here)
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            raise RefusedError("is not a directory (a link will not do)")
        descriptor = os.open(name, FOLDER, dir_fd=here)
        try:
            _check_last(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _check_parent(self) -> None:
        status = os.fstat(self.open[-1])
        shown = "/".join(self.names) or "/"
        self._check_owner(status, repr(shown))
        if status.st_mode & OTHERS and not status.st_mode & stat.S_ISVTX:
            raise RefusedError(f"lies in {shown!r}, which can be written by other users (chmod go-w, if you own it)")

    def _check_owner(self, status: os.stat_result, shown: str) -> None:
        if status.st_uid not in self.owners:
            raise RefusedError(f"lies in {shown}, which belongs to another user")


def _check_last(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise RefusedError("belongs to another user")
    if status.st_mode & OTHERS:
        raise RefusedError("can be written by other users")
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor):
        raise RefusedError("cannot be written")


def _make(name: str, here: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=here)


def subfolder(name: str, here: int, create: bool = False) -> int:
    """A descriptor of a folder of this user in one; OSError for anything else that stands there."""
    if create:
        _make(name, here)
    descriptor = os.open(name, FOLDER, dir_fd=here)
    if _foreign(os.fstat(descriptor)):
        os.close(descriptor)
        raise PermissionError(f"{name!r} can be written by others")
    return descriptor


def read(name: str, here: int, most: int) -> bytes:
    """All of a file of this user; OSError for one of more bytes than `most` and for anything else that stands there."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe does not block
    with open(os.open(name, flags, dir_fd=here), "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or _foreign(status) or status.st_size > most:
            raise PermissionError(f"{name!r} is no file of this user, or larger than {most} bytes")
        return file.read(status.st_size)


def write(name: str, here: int, data: bytes) -> None:
    """A new file for this user alone; FileExistsError where something is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=here), "wb") as file:  # noqa: PTH123
        os.fchmod(file.fileno(), 0o600)
        file.write(data)


def remove(name: str, here: int) -> None:
    """Deletes a file or a folder with all that is in it, as far as it can be deleted. Links are not followed."""
    with contextlib.suppress(OSError, RecursionError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=here)
            return
        for _, folders, files, inside in os.fwalk(name, topdown=False, dir_fd=here):
            for item in files:
                os.unlink(item, dir_fd=inside)
            for item in folders:
                is_link = stat.S_ISLNK(os.stat(item, dir_fd=inside, follow_symlinks=False).st_mode)
                (os.unlink if is_link else os.rmdir)(item, dir_fd=inside)
        os.rmdir(name, dir_fd=here)


def _foreign(status: os.stat_result) -> bool:
    return status.st_uid != os.geteuid() or bool(status.st_mode & OTHERS)


# Shared objects from bytes: what was verified is what is loaded, and no file system has to allow it.


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
        except (OSError, RefusedError) as error:  # noqa: PERF203
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
    with closing(_moved(_memory())) as descriptor:
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
        with closing(open_folder(Path(place).absolute(), create=False)) as folder:
            write(name, folder, data)
        yield str(Path(place) / name)
