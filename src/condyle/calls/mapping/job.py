"""What a job is: a function, and what holds its states; what does not fit is said before anything is computed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DTypeError, OutOfMemoryError, ShapeError
from condyle.identity import Parts
from condyle.runtime.arrays import refuse_lazy

Array = NDArray[np.floating]
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
