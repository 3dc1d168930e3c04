"""Batches that are larger than memory: chunks of states, read, computed and written one after the other.

While a chunk is computed the next one is read. A journal says how many states are done, so that a job whose process was
killed goes on where it was.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from condyle.calls.mapping.job import Array, Job, Journal, Sink, Source, Stored, Writer, length, opened, writer
from condyle.errors import ShapeError, StateError, UnsupportedError

STRIDE = 512
"""Bytes from one that is touched to the next: less than a page, as NumPy lets other threads run in long loops only."""

__all__ = ["Job", "Sink", "Source", "run"]


def run(
    job: Job, source: Source, sink: Sink, chunk: int, journal: str | os.PathLike[str] | None, progress: bool | None
) -> int:
    """How many states were computed, those of an earlier run left out; see `Dynamics.map`."""
    if not hasattr(chunk, "__index__") or operator.index(chunk) < 1:
        raise ShapeError(f"{job.method}: chunk={chunk!r}, expected an integer, 1 state or more")
    if isinstance(source, Iterator):
        if journal is not None:
            raise UnsupportedError(f"{job.method}: an iterator cannot go back to where a journal is: give arrays")
        return _stream(job, source, sink, progress)
    states = length(job, source)
    writes = writer(job, sink, states, source)
    with nullcontext() if journal is None else opened(job, journal, states) as record:
        begin = 0 if record is None else record.begun(lambda begin, end: _read(job, source, begin, end), writes.read)
        return _chunks(job, source, writes, int(chunk), begin, states, record, progress)


def _chunks(
    job: Job,
    source: Sequence[Stored],
    writes: Writer,
    chunk: int,
    begin: int,
    states: int,
    journal: Journal | None,
    progress: bool | None,
) -> int:
    """All chunks from a state on; how many states they have."""
    count = 0
    with ThreadPoolExecutor(1) as reader, _bar(progress, states, begin, job.method) as bar:
        ahead: Future[list[Array]] | None = None
        while begin < states:
            end = min(begin + chunk, states)
            inputs = ahead.result() if ahead else _read(job, source, begin, end)
            last = min(end + chunk, states)
            ahead = reader.submit(_read, job, source, end, last) if end < states else None
            answers = _compute(writes, begin, inputs)
            if journal is not None:
                journal.keep(begin, end, inputs, answers)
            count += end - begin
            bar.update(end - begin)
            begin = end
    return count


def _stream(job: Job, source: Iterator[Sequence[Array]], sink: Sink, progress: bool | None) -> int:
    """Chunks as an iterator gives them."""
    begin, writes = 0, None
    with _bar(progress, None, 0, job.method) as bar:
        for inputs in source:
            states = length(job, inputs)
            writes = writes or writer(job, sink, None, ())
            _compute(writes, begin, _read(job, inputs, 0, states))
            begin += states
            bar.update(states)
    return begin


def _compute(writes: Writer, begin: int, inputs: list[Array]) -> Sequence[Array]:
    """The answers of a chunk, written; a StateError counts states from the first of all."""
    try:
        return writes.put(begin, inputs)
    except StateError as error:
        rows = tuple(begin + row for row in error.rows)
        raise StateError(f"{error}. States are counted from {begin} of the source", rows) from error


def _read(job: Job, source: Sequence[Stored], begin: int, end: int) -> list[Array]:
    """States begin to end of every input, in memory; what lies there already is not copied."""
    found: list[Array] = []
    for dims, array in zip(job.inputs.values(), source, strict=True):
        own = len(array.shape) > len(dims)
        part = np.asarray(array[begin:end] if own else array, job.dtype)
        found.append(_touched(part) if isinstance(array, np.memmap) else part)
    return found


def _touched(part: Array) -> Array:
    """A piece of a memory map once the system has read its pages: here, while the chunk before is computed."""
    if not (part.flags.c_contiguous and part.flags.aligned):
        return np.array(part, order="C")
    numbers: Any = part.reshape(-1)  # pyright: ignore[reportUnknownMemberType]
    numbers.view(np.uint8)[::STRIDE].max(initial=0)
    return part


class Bar(Protocol):
    """A bar of progress."""

    def update(self, n: int) -> object: ...


class _NoBar:
    def update(self, n: int) -> None:
        """Nothing is shown."""


def _bar(progress: bool | None, states: int | None, begin: int, method: str) -> AbstractContextManager[Bar]:
    """tqdm's; by default on a terminal, and only where tqdm is installed."""
    if progress is False:
        return nullcontext(_NoBar())
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError as error:
        if progress:
            raise UnsupportedError("progress=True needs tqdm: pip install tqdm") from error
        return nullcontext(_NoBar())
    disable = None if progress is None else False
    made: AbstractContextManager[Bar] = tqdm(
        total=states, initial=begin, desc=method, unit="state", unit_scale=True, disable=disable
    )
    return made
