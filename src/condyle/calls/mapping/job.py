"""What a job is, and how far it is, in a file: a job whose process was killed goes on where it was.

The file has hashes of the inputs and answers of the last chunk that is done. A job goes on only where its source and
its sink still have them. A file beside it, with .lock behind the name, is there while a job runs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DTypeError, OutOfMemoryError, ShapeError, UnsupportedError
from condyle.identity import Parts, differing
from condyle.runtime.arrays import refuse_lazy

MOST = 1 << 16
"""Bytes of a journal."""
SMALL = 1 << 20
"""Bytes of a chunk, inputs and answers together, that is written down at once."""
WAIT = 0.5
"""Seconds between journals of larger chunks, so that hashing them takes a few per cent of a job's time."""
RESTART = "delete the file to compute all states again, or name another"


@dataclass(frozen=True)
class Done:
    """What a journal says. begin, done: of the last chunk; inputs, answers: its hashes. identity: see `Job`."""

    function: str
    states: int
    begin: int
    done: int
    inputs: str
    answers: str
    identity: dict[str, str]

    @staticmethod
    def read(text: bytes) -> Done:
        """ValueError, TypeError and RecursionError for what is none."""
        parsed: object = json.loads(text.decode("utf-8"))
        names = {field.name for field in fields(Done)}
        if not isinstance(parsed, dict) or set(entries := cast("dict[str, Any]", parsed)) != names:
            raise ValueError(f"expected {', '.join(sorted(names))}")
        if any(type(entries[name]) is not int for name in ("states", "begin", "done")):
            raise ValueError("its numbers are not whole")
        if any(type(entries[name]) is not str for name in ("function", "inputs", "answers")):
            raise ValueError("its hashes are not text")
        if not isinstance(entries["identity"], dict):
            raise ValueError("its identity has no parts")
        if not 0 <= entries["begin"] < entries["done"] <= entries["states"]:
            raise ValueError("its numbers are not those of a chunk")
        return Done(**entries)


def hashed(arrays: Sequence[Array]) -> str:
    """sha256 (hex) of numbers, shapes and types."""
    sha256 = hashlib.sha256()
    for array in arrays:
        dtype: Any = array.dtype
        sha256.update(f"{dtype.str}{array.shape}".encode())
        sha256.update(np.ascontiguousarray(array).data)
    return sha256.hexdigest()


class Journal:
    """The journal of a job that runs, at a path that nothing else writes."""

    def __init__(self, job: Job, path: Path, states: int) -> None:
        self._job, self._path, self._states = job, path, states
        self._written_at = -WAIT

    def begun(self, source: Callable[[int, int], list[Array]], sink: Callable[[int, int], list[Array]] | None) -> int:
        """States that an earlier run has done; UnsupportedError for the journal of another job, of other arrays.

        source, sink: what they have of some states; None for a sink that cannot be read.
        """
        done = self._read()
        if done is None:
            return 0
        job, named = self._job, f"{self._job.method}: journal {str(self._path)!r}"
        differences = [] if done.function == job.function else ["function"]
        differences += [] if done.states == self._states else [f"states ({done.states}, here {self._states})"]
        differences += differing(done.identity, job.identity)
        if differences:
            raise UnsupportedError(f"{named} is of another job (what differs: {', '.join(differences)}): {RESTART}")
        chunk = f"states {done.begin} to {done.done - 1}, the last ones that are done"
        if hashed(source(done.begin, done.done)) != done.inputs:
            raise UnsupportedError(f"{named}: the source is another one: {chunk}, have other inputs here: {RESTART}")
        if sink is not None and hashed(sink(done.begin, done.done)) != done.answers:
            raise UnsupportedError(
                f"{named}: the sink does not have the answers of {chunk}: it is another one, or was made anew. Open a "
                f'memory map that exists with mode "r+" and not "w+"; or {RESTART}'
            )
        return done.done

    def keep(self, begin: int, end: int, inputs: Sequence[Array], answers: Sequence[Array]) -> None:
        """A chunk is done. Large ones are written down from time to time, and the last one."""
        now = time.monotonic()
        is_small = sum(x.nbytes for x in (*inputs, *answers)) <= SMALL
        if not is_small and end < self._states and now < self._written_at + WAIT:
            return
        job = self._job
        done = Done(job.function, self._states, begin, end, hashed(inputs), hashed(answers), dict(job.identity))
        self._write(json.dumps(asdict(done)).encode())
        self._written_at = time.monotonic()

    def _read(self) -> Done | None:
        """None where there is no file."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe does not block
            with open(os.open(self._path, flags), "rb") as file:  # noqa: PTH123
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError("it is no file")
                return Done.read(file.read(MOST + 1))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnsupportedError(
                f"{self._job.method}: journal {str(self._path)!r} cannot be read ({error.strerror or error}): name a "
                "file that can be read and written, not a link to it"
            ) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise UnsupportedError(
                f"{self._job.method}: {str(self._path)!r} is no journal of a job ({error}); {RESTART}"
            ) from error

    def _write(self, data: bytes) -> None:
        """Written beside and renamed: a killed process leaves the old journal or the new one."""
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            with contextlib.suppress(FileNotFoundError):
                beside.unlink()  # of a run that was killed; of a link the link itself
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(beside, flags, 0o666), "wb") as file:  # noqa: PTH123
                file.write(data)
            beside.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise UnsupportedError(
                f"{self._job.method}: journal {str(self._path)!r} cannot be written ({error.strerror or error}): make "
                "room and run the job again; it goes on where the journal is"
            ) from error


@contextmanager
def opened(job: Job, journal: str | os.PathLike[str], states: int) -> Generator[Journal]:
    """The journal at a path, for this run alone; UnsupportedError where no journal can be, before anything is computed.

    Where a file system has no locks, two runs at once are not noticed.
    """
    if not isinstance(journal, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"{job.method}: journal={journal!r}; name a file in a folder that exists")
    path = Path(journal)
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written, there is no folder {path.parent}"
        raise UnsupportedError(f"{job.method}: journal={str(path)!r} {what}; name a file in a folder that exists")
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = _locked(lock)
    except BlockingIOError:
        raise UnsupportedError(
            f"{job.method}: another run has the journal {str(path)!r}: wait until it ends, or name another journal and "
            "another sink"
        ) from None
    except OSError as error:
        raise UnsupportedError(
            f"{job.method}: journal={str(path)!r}: {lock.name!r} beside it cannot be written "
            f"({error.strerror or error}); name a file in a folder that can be written"
        ) from error
    try:
        yield Journal(job, path, states)
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor of the locked file; BlockingIOError where another run has it. A killed process leaves no lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            with _without_locks():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # a run that ended just now deleted it


@contextmanager
def _without_locks() -> Generator[None]:
    """Goes on where a file system has no locks."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError:
        return


Array = NDArray[np.floating]
# What a job is: a function, and what holds its states; what does not fit is said before anything is computed.


Dims = tuple[int, ...]


class Stored(Protocol):
    """What holds states: a NumPy array, a memory map, a Zarr array."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...


Source = Sequence[Stored] | Iterator[Sequence[Array]]
Sink = Stored | Sequence[Stored] | Callable[[int, tuple[Array, ...]], object]


@dataclass(frozen=True)
class Job:
    """A function, by its method's name; names and dimensions of what it takes and gives; compute(inputs, out or None).

    function: its name. identity: hashes of what must be the same where a job goes on: robot, number type, options.
    """

    method: str
    inputs: Mapping[str, Dims]
    outputs: Mapping[str, Dims]
    dtype: np.dtype[np.floating]
    compute: Callable[[Sequence[Array], tuple[Array, ...] | None], tuple[Array, ...]]
    function: str
    identity: Parts


def length(job: Job, source: Sequence[Stored]) -> int:
    """States of the source; a ShapeError or DTypeError names what does not fit."""
    expected = f"expected a list with an array for each input: {', '.join(job.inputs)}"
    if hasattr(source, "shape") or isinstance(source, (str, Mapping)) or not isinstance(source, Collection):  # pyright: ignore
        raise DTypeError(f"{job.method}: the source is {type(source).__name__}, {expected}")
    if len(source) != len(job.inputs):
        raise ShapeError(f"{job.method}: the source has {len(source)} arrays, {expected}")
    lengths: dict[str, int] = {}
    for (name, dims), array in zip(job.inputs.items(), source, strict=True):
        check(job, name, array, dims)
        if len(array.shape) == len(dims) + 1:
            lengths[name] = array.shape[0]
    if len(set(lengths.values())) != 1:
        said = ", ".join(f"{name} {n}" for name, n in lengths.items()) or "no input has states"
        raise ShapeError(f"{job.method}: inputs must have the same number of states: {said}")
    return next(iter(lengths.values()))


def check(job: Job, name: str, array: Stored, dims: Dims, shared: bool = True) -> None:
    """Whether an array holds states (n, *dims), or, where `shared`, one for all (*dims)."""
    refuse_lazy(job.method, name, array)
    if not all(hasattr(array, has) for has in ("shape", "dtype", "__getitem__")):
        raise DTypeError(f"{job.method}: {name} is {type(array).__name__}, expected an array, a memory map or the like")
    if np.dtype(array.dtype) != job.dtype:
        raise DTypeError(f"{job.method}: {name} is {array.dtype}, expected {job.dtype}")
    shape = tuple(array.shape)
    if shape[1:] != dims and not (shared and shape == dims):
        raise ShapeError(f"{job.method}: {name} has shape {shape}, expected (states, {', '.join(map(str, dims))})")


# Where the answers of a job go: arrays, memory maps and the like, or a function.


class Writer(NamedTuple):
    """put(begin, inputs) computes a chunk, puts its answers where they belong and returns them.

    read(begin, end): the answers that are there already; None for a function, which cannot be read.
    """

    put: Callable[[int, list[Array]], Sequence[Array]]
    read: Callable[[int, int], list[Array]] | None


def writer(job: Job, sink: Sink, states: int | None, source: Sequence[Stored]) -> Writer:
    """What writes into a sink. states: how many there will be, where it is known."""
    if callable(sink):

        def pass_on(begin: int, inputs: list[Array]) -> tuple[Array, ...]:
            answers = job.compute(inputs, None)
            sink(begin, answers)
            return answers

        return Writer(pass_on, None)
    if not hasattr(sink, "shape") and not isinstance(sink, (list, tuple)):
        what = f"{type(sink).__name__}, expected an array for each answer, or a function sink(begin, answers)"
        raise DTypeError(f"{job.method}: the sink is {what}")
    listed: Sequence[Stored] = [sink] if hasattr(sink, "shape") else list(sink)  # type: ignore[list-item, arg-type]
    if len(listed) != len(job.outputs):
        raise ShapeError(
            f"{job.method}: the sink has {len(listed)} arrays, expected one for each answer: {', '.join(job.outputs)}"
        )
    for (name, dims), array in zip(job.outputs.items(), listed, strict=True):
        check(job, name, array, dims, shared=False)
        _check_sink(job, name, array, states, source)
    for name, array in zip(job.outputs, listed, strict=True):
        _reserve(job, name, array)

    def read(begin: int, end: int) -> list[Array]:
        return [np.asarray(array[begin:end], job.dtype) for array in listed]

    def put(begin: int, inputs: list[Array]) -> Sequence[Array]:
        return _write(job, listed, begin, inputs)

    return Writer(put, read)


def _check_sink(job: Job, name: str, array: Stored, states: int | None, source: Sequence[Stored]) -> None:
    if states is not None and array.shape[0] != states:
        raise ShapeError(f"{job.method}: {name} has {array.shape[0]} states, the source {states}")
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ShapeError(f"{job.method}: {name} is read-only; open a memory map with mode='r+'")
    if any(_overlap(array, x) for x in source):
        raise ShapeError(f"{job.method}: {name} overlaps the source; give another sink")


def _reserve(job: Job, name: str, array: Stored) -> None:
    """Takes the disk's blocks of a memory map before anything is written: a full disk ends a process that writes one.

    OutOfMemoryError where there are too few. File systems that cannot reserve are left as they are.
    """
    path = _file_of(array)
    if path is None or not hasattr(os, "posix_fallocate"):  # which macOS lacks
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # renamed or deleted since it was opened
        return
    status = os.fstat(descriptor)
    try:
        if status.st_blocks * 512 < status.st_size:
            os.posix_fallocate(descriptor, 0, status.st_size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return
        raise OutOfMemoryError(
            f"{job.method}: {name} is a memory map of {path!r}, {status.st_size} bytes, for which the disk has no room "
            f"({error.strerror}): make room, or put it on another disk"
        ) from error
    finally:
        os.close(descriptor)


def _file_of(array: Any) -> str | None:
    """The file behind a memory map, or behind a part of one; None for other arrays."""
    while isinstance(array, np.ndarray):
        path: str | os.PathLike[str] | None = getattr(cast(object, array), "filename", None)
        if path is not None:
            return os.fspath(path)
        array = cast("NDArray[Any]", array).base
    return None


def _write(job: Job, listed: Sequence[Stored], begin: int, inputs: list[Array]) -> Sequence[Array]:
    n = max(len(x) for x, dims in zip(inputs, job.inputs.values(), strict=True) if x.ndim > len(dims))
    for name, array in zip(job.outputs, listed, strict=True):
        if begin + n > array.shape[0]:
            raise ShapeError(f"{job.method}: {name} has {array.shape[0]} states, the source more")
    if all(_in_memory(array) for array in listed):
        parts = tuple(np.asarray(array[begin : begin + n]) for array in listed)
        job.compute(inputs, parts)
        return parts
    answers = job.compute(inputs, None)
    for array, answer in zip(listed, answers, strict=True):
        array[begin : begin + n] = answer
    return answers


def _in_memory(array: Stored) -> bool:
    return isinstance(array, np.ndarray)


def _overlap(x: Any, y: Any) -> bool:
    """Whether two arrays may lie over one another: the same array, the same memory, or maps of the same file."""
    if x is y:
        return True
    if not (_in_memory(x) and _in_memory(y)):
        return False
    files = getattr(x, "filename", None), getattr(y, "filename", None)
    return np.may_share_memory(x, y) or (files[0] is not None and files[0] == files[1])
