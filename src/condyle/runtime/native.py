"""A Kernel behind a machine address, called through the native extension."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.runtime._native import Entry, Function
from condyle.runtime.arrays import Place

if TYPE_CHECKING:
    from condyle.runtime._chain import Chain
    from condyle.runtime._tiles import Plan, Single

PIECE_NS = 50_000.0
PACKED_IN, PACKED_OUT, STREAM = 1, 2, 4  # as in tiles/plan.h
Columns: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Shape:
    """How an entry wants to be called: entries of each input and output, states a tile, workspace bytes of a thread.

    state_ns: a guess at the time of one state; it only decides how many states a thread takes at once. side: tiles that
    run side by side.
    """

    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    lanes: int
    work_bytes: int
    state_ns: float
    side: int = 1


class NativeKernel:
    """Calls `int f(n, in, in_stride, out, out_stride, work)` at `address`; `owner` keeps that code loaded.

    single: the entry for one state alone. packed: the one for packed arrays. None where there is none.
    """

    __slots__ = ("_owner", "_single_owner", "description", "dtype", "entry", "packed", "single")

    def __init__(
        self,
        address: int,
        shape: Shape,
        dtype: np.dtype[np.floating],
        description: str,
        owner: object,
    ) -> None:
        self.dtype = dtype
        self.description = description
        self.packed: Entry | None = None
        self.single: Entry | None = None
        self._owner = owner
        self._single_owner: object = None
        self.entry = Entry(
            address, shape.work_bytes, shape.lanes, dtype.char, shape.in_sizes, shape.out_sizes, _grain(shape)
        )

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        """Runs n states on at most `threads` threads; raises TypeError or ValueError for arrays that do not fit."""
        entry = self.single if n == 1 and self.single is not None else self.entry
        entry.run(n, inputs, outputs, threads)

    def add_chain(self, chain: ChainKernel) -> None:
        """From now on one state alone is computed by this kernel."""
        self._single_owner = chain
        self.single = chain.entry

    def add_single(self, single: Single, shape: Shape) -> None:
        """From now on one state alone is computed by this code."""
        self._single_owner = single
        ports = shape.in_sizes, shape.out_sizes
        self.single = Entry(single.entry, single.work_bytes, 1, self.dtype.char, *ports, 8, single.context)


class PlanKernel(NativeKernel):
    """Machine code; `columns`: of the inputs and outputs when they are packed."""

    __slots__ = ()

    def __init__(
        self, plan: Plan, shape: Shape, dtype: np.dtype[np.floating], description: str, columns: Columns | None
    ) -> None:
        self.dtype = dtype
        self.description = description
        self._owner = plan
        self._single_owner = None
        self.entry = plan_entry(plan, shape, dtype)
        self.single = None
        self.packed = None
        if columns is not None:
            packed = replace(shape, in_sizes=columns[0], out_sizes=columns[1])
            self.packed = plan_entry(plan, packed, dtype, PACKED_IN + PACKED_OUT)


class ChainKernel(NativeKernel):
    """Machine code for one state after another, the chunks of a chain in its lanes."""

    __slots__ = ()

    def __init__(self, chain: Chain, shape: Shape, dtype: np.dtype[np.floating], description: str) -> None:
        self.dtype = dtype
        self.description = description
        self._owner = chain
        self._single_owner = None
        ports = shape.in_sizes, shape.out_sizes
        grain = _grain(shape)
        self.entry = Entry(chain.entry, shape.work_bytes, 1, dtype.char, *ports, grain, chain.context)
        self.single = self.packed = None


def plan_entry(plan: Plan, shape: Shape, dtype: np.dtype[np.floating], way: int = 0) -> Entry:
    """A plan for arrays that come and go `way`; `plan` has to live as long as the entry."""
    return Entry(
        plan.entry(way),
        shape.work_bytes,
        shape.lanes,
        dtype.char,
        shape.in_sizes,
        shape.out_sizes,
        _grain(shape),
        plan.context,
        way,
        plan.entry(way | STREAM),
    )


def _grain(shape: Shape) -> int:
    whole = shape.lanes * shape.side
    return max(1, -(-int(PIECE_NS / max(shape.state_ns, 0.1)) // whole)) * whole


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
