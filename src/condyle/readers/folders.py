"""Which files a model may have read: regular ones in folders that the user named. What is checked is what is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from condyle.errors import Finding, ModelError


def named_folders(assets: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """The folders that the user named. ModelError for what is no list of folders."""
    if isinstance(assets, (str, os.PathLike)) or not isinstance(assets, Iterable):  # pyright: ignore
        raise ModelError(f"assets={assets!r}, expected several folders, such as assets=({str(assets)!r},)")
    named = tuple(assets)
    for folder in named:
        if not isinstance(folder, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"assets: {folder!r} is no path of a folder")
        if not Path(folder).is_dir():
            raise ModelError(f"assets: {str(folder)!r} is not a folder")
    return tuple(map(Path, named))


class Folders:
    """The folder of a model and those that the user named besides."""

    def __init__(self, model_folder: Path, others: Sequence[str | os.PathLike[str]] = ()) -> None:
        """Errors as those of `named_folders`."""
        self.model_folder = model_folder
        self.roots = tuple(Path(os.path.realpath(folder)) for folder in (model_folder, *named_folders(others)))

    def read(self, paths: Sequence[Path], most: int, what: str, where: tuple[str, int]) -> tuple[Path, bytes]:
        """The first of these files that exists: its true path and its bytes.

        Links are followed to their end, and the end must lie in a folder. `what` the model says, and where (file and
        line), begin the ModelError for a file outside, one that is not regular, over `most` bytes, or missing.
        """
        if not hasattr(os, "O_PATH"):
            raise _wrong(f"{what}, and other files than the model itself are read on Linux only", where)
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)  # names the file without opening it
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, ValueError) as error:
                raise _wrong(f"{what} cannot be read: {error}", where) from None
            try:
                return self._checked(handle, path, most, what, where)
            finally:
                os.close(handle)
        raise _wrong(f"{what}, which does not exist", where)

    def _checked(self, handle: int, path: Path, most: int, what: str, where: tuple[str, int]) -> tuple[Path, bytes]:
        same = Path(f"/proc/self/fd/{handle}")
        true = same.readlink()
        if not any(true.is_relative_to(root) for root in self.roots):
            folder = os.path.normpath(path.parent)
            is_link = true.parent != Path(os.path.realpath(folder))
            home = str(true.parent) if is_link else folder  # the folder of a link itself may be allowed already
            cure = f"copy it there, or allow its folder: assets=({home!r},), on the command line --assets {home}"
            if is_link:
                cure += f"; it is a link to {true}"
            raise _wrong(f"{what} leaves the model's directory", where, cure)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _wrong(f"{what} is not a regular file", where)
        with same.open("rb") as stream:  # the very file that was checked, whatever its name means by now
            data = stream.read(most + 1)
        if len(data) > most:
            raise _wrong(f"{what} is larger than {most} bytes", where)
        return true, data


def _wrong(message: str, where: tuple[str, int], cure: str | None = None) -> ModelError:
    return ModelError([Finding("error", message, *where, cure=cure)])
