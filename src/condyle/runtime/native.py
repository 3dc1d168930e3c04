"""A Kernel behind a machine address, called through the native extension."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from condyle.runtime._native import Entry, Function
from condyle.runtime.arrays import Place

if TYPE_CHECKING:
    from condyle.runtime._tiles import Single

PIECE_NS = 50_000.0


@dataclass(frozen=True, slots=True)
class Shape:
    """How an entry wants to be called: entries of each input and output, states a tile, workspace bytes of a thread.

    state_ns: a guess at the time of one state; it only decides how many states a thread takes at once.
    """

    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    lanes: int
    work_bytes: int
    state_ns: float


class NativeKernel:
    """Calls `int f(n, in, in_stride, out, out_stride, work)` at `address`; `owner` keeps that code loaded.

    With a context (an address too), f takes it as its last argument. single: the entry for one state alone.
    """

    __slots__ = ("_owner", "_single_owner", "description", "dtype", "entry", "single")

    def __init__(
        self,
        address: int,
        shape: Shape,
        dtype: np.dtype[np.floating],
        description: str,
        owner: object,
        context: int = 0,
    ) -> None:
        self.dtype = dtype
        self.description = description
        self.single: Entry | None = None
        self._owner = owner
        self._single_owner: object = None
        grain = max(shape.lanes, int(PIECE_NS / max(shape.state_ns, 0.1)))
        self.entry = Entry(
            address, shape.work_bytes, shape.lanes, dtype.char, shape.in_sizes, shape.out_sizes, grain, context
        )

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        """Runs n states on at most `threads` threads; raises TypeError or ValueError for arrays that do not fit."""
        entry = self.single if n == 1 and self.single is not None else self.entry
        entry.run(n, inputs, outputs, threads)

    def add_single(self, single: Single, shape: Shape) -> None:
        """From now on one state alone is computed by this code."""
        self._single_owner = single
        ports = shape.in_sizes, shape.out_sizes
        self.single = Entry(single.entry, single.work_bytes, 1, self.dtype.char, *ports, 8, single.context)


def fast_twin(
    slow: Callable[..., object],
    takes_f_ext: bool,
    inputs: Sequence[Place],
    outputs: Sequence[Place],
    dtype: np.dtype[np.floating],
    result: type[tuple[object, ...]] | None,
    threads: int,
) -> Function | None:
    """What a method is called through: runs plain arrays at once, as soon as it has an entry, else calls the method.

    takes_f_ext: the last input is external forces. result: the named tuple of several outputs. None for a robot with
    empty arrays.
    """
    if not all(place.size for place in (*inputs, *outputs)):
        return None
    names = (*(sys.intern(place.name) for place in inputs), "out")
    befores, afters = (tuple(place.dims for place in places) for places in (inputs, outputs))
    return Function(slow, names, takes_f_ext, befores, afters, dtype, result, threads)
