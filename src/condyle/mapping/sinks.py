"""Where the answers of a job go: arrays, memory maps and the like, or a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from condyle.errors import DTypeError, ShapeError
from condyle.mapping.job import Array, Job, Sink, Stored, check

Write = Callable[[int, list[Array]], object]


def writer(job: Job, sink: Sink, states: int | None, source: Sequence[Stored]) -> Write:
    """What computes a chunk that begins at a state, and puts the answers where they belong.

    states: how many there will be, where it is known.
    """
    if callable(sink):
        return lambda begin, inputs: sink(begin, job.compute(inputs, None))
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
    return lambda begin, inputs: _write(job, listed, begin, inputs)


def _check_sink(job: Job, name: str, array: Stored, states: int | None, source: Sequence[Stored]) -> None:
    if states is not None and array.shape[0] != states:
        raise ShapeError(f"{job.method}: {name} has {array.shape[0]} states, the source {states}")
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ShapeError(f"{job.method}: {name} is read-only; open a memory map with mode='r+'")
    if any(_overlap(array, x) for x in source):
        raise ShapeError(f"{job.method}: {name} overlaps the source; give another sink")


def _write(job: Job, listed: Sequence[Stored], begin: int, inputs: list[Array]) -> None:
    n = max(len(x) for x, dims in zip(inputs, job.inputs.values(), strict=True) if x.ndim > len(dims))
    for name, array in zip(job.outputs, listed, strict=True):
        if begin + n > array.shape[0]:
            raise ShapeError(f"{job.method}: {name} has {array.shape[0]} states, the source more")
    if all(_in_memory(array) for array in listed):
        job.compute(inputs, tuple(np.asarray(array[begin : begin + n]) for array in listed))
        return
    for array, answer in zip(listed, job.compute(inputs, None), strict=True):
        array[begin : begin + n] = answer


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
