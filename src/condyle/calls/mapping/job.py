"""What a job is: a function, and what holds its states; what does not fit is said before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DTypeError, ShapeError
from condyle.identity import Parts
from condyle.runtime.given import refuse_lazy

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
