"""A Kernel behind a machine address, called through the native extension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.runtime._native import Entry

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

    With a context (an address too), f takes it as its last argument.
    """

    __slots__ = ("_entry", "_owner", "description", "dtype")

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
        self._owner = owner
        grain = max(shape.lanes, int(PIECE_NS / max(shape.state_ns, 0.1)))
        self._entry = Entry(
            address, shape.work_bytes, shape.lanes, dtype.char, shape.in_sizes, shape.out_sizes, grain, context
        )

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        """Runs n states on at most `threads` threads; raises TypeError or ValueError for arrays that do not fit."""
        self._entry.run(n, inputs, outputs, threads)

    def direct(
        self, inputs: tuple[object, ...], outputs: tuple[object, ...], dims: tuple[tuple[int, ...], ...], threads: int
    ) -> bool:
        """Runs, and says so, if every array is plain: right dtype, C order, (n, *dims) or (*dims), no overlap."""
        return self._entry.direct(inputs, outputs, dims, threads)
