"""Kernels, which every target hands back, and those behind machine addresses, called through the native extension."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.runtime._native import Entry, Function
from condyle.runtime.arrays import ArraySpec
from condyle.specification import Port

if TYPE_CHECKING:
    from condyle.runtime._tiles import Plan, Repeat, Single


# What every target hands back: something to call on packed batches.


class Kernel(Protocol):
    """One compiled function.

    Called with n states, inputs each (n or 1, size) and outputs each (n, size): the dtype of the kernel, last axis
    contiguous, any batch stride. A row count of 1 serves every state. Outputs must not overlap inputs or each other.
    Results are the same to the bit for any number of threads and any place in the batch.
    """

    @property
    def dtype(self) -> np.dtype[np.floating]: ...

    @property
    def description(self) -> str: ...

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None: ...


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# A function by NumPy as a Kernel: the reference, or scans.


Array = NDArray[np.floating]


class NumpyKernel:
    """run(inputs by name, each flat (n or 1, size)) -> the outputs, each flat (n, size)."""

    def __init__(
        self,
        run: Callable[[Mapping[str, Array]], Sequence[Array]],
        ports: Sequence[Port],
        dtype: np.dtype[np.floating],
        description: str,
    ) -> None:
        self._run, self._names = run, [port.name for port in ports]
        self.dtype, self.description = dtype, description

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        for output, result in zip(outputs, self._run(dict(zip(self._names, inputs, strict=True))), strict=True):
            output[...] = result


# What this installation of Condyle is made of.


PACKAGE = Path(__file__).resolve().parent.parent


@cache
def identity() -> str:
    """sha256 (hex) over Condyle's own Python sources: what they made may be used again only while they are the same.

    Empty where they cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(PACKAGE.rglob("*.py")):
            digest.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    except OSError:
        return ""
    return digest.hexdigest()


def _document(fast: Function) -> str | None:
    """The document of the method behind a fast path: `help` asks the type for it, and not the object."""
    return getattr(fast, "__doc__", None)


Function.__doc__ = property(_document)  # pyright: ignore[reportAttributeAccessIssue]

PIECE_NS = 50_000.0
PACKED_IN, PACKED_OUT, STREAM = 1, 2, 4  # as in tiles/plan.h


@dataclass(frozen=True, slots=True)
class Shape:
    """How an entry wants to be called: entries of each input and output, states a tile, workspace bytes of a thread.

    state_ns: a guess at the time of one state; it only decides how many states a thread takes at once. side: tiles that
    run side by side. least: states that a thread takes at once if there are so many and other threads have work too.
    """

    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    lanes: int
    work_bytes: int
    state_ns: float
    side: int = 1
    least: int = 0

    @staticmethod
    def estimated(
        in_sizes: tuple[int, ...],
        out_sizes: tuple[int, ...],
        lanes: int,
        work_bytes: int,
        operations: int,
        side: int = 1,
    ) -> Shape:
        """Three operations a nanosecond or so, and as much time for each entry that is moved."""
        state_ns = 0.3 * operations / lanes + 0.1 * (sum(in_sizes) + sum(out_sizes))
        return Shape(in_sizes, out_sizes, lanes, work_bytes, state_ns, side)


class Body(NamedTuple):
    """What a kernel of tiles is made of, for loops over time around it.

    single: the same for one state. packed: the shape with the columns of packed arrays as sizes.
    """

    tiles: Plan
    single: Single | None
    shape: Shape
    packed: Shape


class NativeKernel:
    """A Kernel behind an entry; `owner` keeps its code loaded.

    single: the entry for one state alone. packed: the one for packed arrays. columns: the same for whole tiles, with
    the inputs `shared` as rows (see `backends.cpu.columns`). body: of a kernel of tiles. None where there is none.
    """

    __slots__ = (
        "_checked",
        "_forms",
        "_owner",
        "body",
        "columns",
        "description",
        "dtype",
        "entry",
        "packed",
        "shared",
        "single",
    )

    def __init__(
        self, entry: Entry, dtype: np.dtype[np.floating], description: str, owner: object, packed: Entry | None = None
    ) -> None:
        self.entry, self.dtype, self.description, self.packed = entry, dtype, description, packed
        self.single: Entry | None = None
        self.columns: Entry | None = None
        self.shared: tuple[bool, ...] = ()
        self.body: Body | None = None
        self._owner, self._forms = owner, list[object]()
        self._checked: dict[tuple[tuple[int, int], ...], tuple[Plan, Entry]] = {}

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        """Runs n states on at most `threads` threads; raises TypeError or ValueError for arrays that do not fit."""
        entry = self.single if n == 1 and self.single is not None else self.entry
        entry.run(n, inputs, outputs, threads)

    def add_single(self, entry: Entry, owner: object) -> None:
        """From now on one state alone is computed behind this entry."""
        self.single = entry
        self._forms.append(owner)

    def add_columns(self, form: Single, shape: Shape, shared: tuple[bool, ...]) -> None:
        """From now on there is a form for columns. shared: of each input, whether it is a row for all of them."""
        work, ports, way = form.work_bytes, (shape.in_sizes, shape.out_sizes), PACKED_IN + PACKED_OUT
        numbers = work, shape.lanes, self.dtype.char, *ports, _grain(shape), form.context, way
        self.columns = Entry(form.columns, *numbers)
        self.shared = shared
        self._forms.append(form)

    def checked(self, inputs: Sequence[ArraySpec]) -> Entry:
        """The entry that checks the quaternions of its inputs itself, if it is one of tiles; else the plain one."""
        places = tuple(quaternion_places(inputs))
        if self.body is None or not places:
            return self.entry
        if places not in self._checked:
            plan = self.body.tiles.checked(places)
            self._checked[places] = plan, plan_entry(plan, self.body.shape, self.dtype, checks=True)
        return self._checked[places][1]


def entry_of(address: int, shape: Shape, dtype: np.dtype[np.floating], context: int = 0) -> Entry:
    """The function `int f(n, in, in_stride, out, out_stride, work, context)` at an address."""
    ports = shape.in_sizes, shape.out_sizes
    return Entry(address, shape.work_bytes, shape.lanes, dtype.char, *ports, _grain(shape), context)


def quaternion_places(inputs: Sequence[ArraySpec]) -> Iterator[tuple[int, int]]:
    """The input and the first entry of each quaternion of configurations; an input may hold several of these."""
    for k, spec in enumerate(inputs):
        for start in range(0, spec.size, spec.dims[-1]) if spec.quaternions else ():
            yield from ((k, start + first) for first, _ in spec.quaternions)


def plan_entry(
    plan: Plan | Repeat, shape: Shape, dtype: np.dtype[np.floating], way: int = 0, checks: bool = False
) -> Entry:
    """A plan for arrays that come and go `way`; `plan` has to live as long as the entry. checks: see `Plan.checked`."""
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
        checks,
        _grain(replace(shape, least=0)) if shape.least else 0,
    )


def _grain(shape: Shape) -> int:
    """How many states a thread takes at once; 1 says that one state alone takes longer than that."""
    if shape.state_ns > PIECE_NS:
        return max(1, shape.least)
    whole = shape.lanes * shape.side
    return max(max(1, -(-int(PIECE_NS / max(shape.state_ns, 0.1)) // whole)) * whole, shape.least)


MOST_DIMS = 4
"""Dimensions of a port that native calls take, MAX_DIMS in common.h."""
MOST_LENGTH = 1 << 20
"""The longest of them: see read_ports in function.h."""
MOST_PORTS = 64
"""Inputs, and outputs, that they take: MAX_PORTS there."""


def fast_path(
    slow: Callable[..., object],
    last_is_optional: bool,
    inputs: Sequence[ArraySpec],
    outputs: Sequence[ArraySpec],
    dtype: np.dtype[np.floating],
    result: type[tuple[object, ...]] | None,
    threads: int,
    shares: bool = True,
    positional: int = sys.maxsize,
) -> Function | None:
    """What a method is called through: runs plain arrays at once, as soon as it has an entry, else calls the method.

    last_is_optional: it is external forces. result: the named tuple of several outputs. shares: whether an
    input without batch dimensions may be one row for all states. positional: so many arguments may be given without
    their names; the method has those behind in another order. None for a robot with empty arrays, and for arrays of
    many dimensions or long ones.
    """
    every = [spec.dims for spec in (*inputs, *outputs)]
    if not all(len(dims) <= MOST_DIMS and all(0 < length <= MOST_LENGTH for length in dims) for dims in every):
        return None
    names = (*(sys.intern(spec.name) for spec in inputs), "out")
    befores, afters = (tuple(spec.dims for spec in specs) for specs in (inputs, outputs))
    fractions = sum(1 << k for k, spec in enumerate(inputs) if spec.is_fraction)
    positives = sum(1 << k for k, spec in enumerate(inputs) if spec.is_positive)
    configurations = sum(1 << k for k, spec in enumerate(inputs) if spec.quaternions)
    places = next((tuple(first for first, _ in spec.quaternions) for spec in inputs if spec.quaternions), ())
    ranges = fractions, positives, configurations, places
    return Function(slow, names, last_is_optional, befores, afters, dtype, result, threads, shares, positional, *ranges)
