"""Packed arrays: what kernels work on, with the states of a tile side by side and zeros left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from types import EllipsisType
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.runtime import machine
from condyle.runtime._native import Entry, PackedBase, empty
from condyle.runtime.native import PACKED_IN, PACKED_OUT, Kernel, NativeKernel, Shape, plan_entry
from condyle.runtime.rows import MOST_DIMS, broadcast, one_row
from condyle.specification import F_EXT, Function, Port, Taking

# Which entries of an array a packed one keeps, and in which order.


MOST = 1 << 24
"""Of a dimension, of entries and of lanes."""


@dataclass(frozen=True)
class Layout:
    """One state's array of shape `dims`, packed: column c is the entry entries[c] of the flattened array.

    symmetric: entries (i, j) that are not kept equal the kept (j, i). All other entries are zero. lanes: states that
    lie side by side. Made by `layout`, which gives equal layouts as one object.
    """

    dims: tuple[int, ...]
    entries: tuple[int, ...]
    symmetric: bool
    lanes: int

    def __post_init__(self) -> None:
        """ShapeError for entries that are not those of such an array, which a pickle may bring."""
        numbers = (*self.dims, *self.entries, self.lanes)
        whole = all(type(number) is int and 0 <= number <= MOST for number in numbers)
        square = len(self.dims) == 2 and self.dims[0] == self.dims[1]
        if not whole or self.lanes < 1 or (self.symmetric and not square) or not self._ordered():
            raise ShapeError(f"Layout: no way to pack {self.dims}, {self.lanes} states a tile; pack() makes layouts")

    def _ordered(self) -> bool:
        """Whether the entries ascend, within the array."""
        return all(a < b for a, b in pairwise((-1, *self.entries, self.size)))

    @property
    def columns(self) -> int:
        """Numbers kept of each state."""
        return len(self.entries)

    @property
    def size(self) -> int:
        """Entries of the array of one state."""
        return math.prod(self.dims)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The column of each entry of the flattened array; `columns` for one that is zero."""
        offsets = np.full(self.size, self.columns)
        entries, columns = np.array(self.entries, dtype=np.intp), np.arange(self.columns)
        offsets[entries] = columns
        if self.symmetric:
            i, j = np.divmod(entries, self.dims[-1])
            offsets[j * self.dims[-1] + i] = columns
        return tuple(offsets.tolist())

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return layout, (self.dims, self.entries, self.symmetric, self.lanes)


Layouts: TypeAlias = tuple[tuple[Layout, ...], tuple[Layout, ...]]
"""Of the inputs and of the outputs of a function."""


@lru_cache(maxsize=4096)
def layout(dims: tuple[int, ...], entries: tuple[int, ...], symmetric: bool, lanes: int) -> Layout:
    """The Layout of these fields, the same object each time; calls compare by identity first."""
    return Layout(dims, entries, symmetric, lanes)


def full(dims: Sequence[int], lanes: int) -> Layout:
    """Every entry is kept."""
    dims = tuple(dims)
    return layout(dims, tuple(range(math.prod(dims))), False, lanes)


def sparse(kept: NDArray[np.bool_], symmetric: bool, lanes: int) -> Layout:
    """The entries of a matrix where `kept` is true, row by row; of a symmetric one the upper triangle only."""
    chosen = np.triu(kept) if symmetric else kept
    return layout(kept.shape, tuple(np.flatnonzero(chosen).tolist()), symmetric, lanes)


Floats: TypeAlias = NDArray[np.floating]
Index: TypeAlias = int | slice | EllipsisType | Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]


class Packed(PackedBase):
    """An array of many states as kernels work on it, from `Dynamics.pack` or from a call with packed arguments.

    blocks: (tiles, columns, lanes): the states of a tile lie side by side, and a column is one entry of every state;
    entries that are zero in every state are left out, of symmetric matrices one triangle. The last tile may have more
    lanes than there are states left; theirs mean nothing. The fields cannot be set, the numbers in `blocks` can.
    """

    __slots__ = ()

    def __new__(cls, blocks: Floats, layout: Layout, batch: tuple[int, ...], /) -> Packed:
        """DTypeError or ShapeError for fields that do not fit each other."""
        if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DTypeError(f"Packed: layout is {type(layout).__name__}, expected one that pack() made")
        try:
            made = super().__new__(cls, blocks, layout, batch)
        except TypeError as error:
            raise DTypeError(f"Packed: {error}; pack() makes packed arrays") from error
        except (ValueError, OverflowError) as error:
            raise ShapeError(f"{error}; pack() makes packed arrays") from error
        if blocks.dtype.char not in "df":
            raise DTypeError(f"Packed: blocks are {blocks.dtype}, expected float64 or float32")
        return made

    def check_blocks(self, name: str) -> None:
        """ShapeError where `blocks` were resized, reshaped or given another dtype since."""
        blocks, layout = self.blocks, self.layout
        expected = (tiles(math.prod(self.batch), layout), layout.columns, layout.lanes)
        flags = blocks.flags
        if blocks.shape != expected or blocks.dtype.char not in "df" or not (flags.c_contiguous and flags.aligned):
            raise ShapeError(
                f"{name}: blocks were changed: {blocks.dtype} {blocks.shape} with strides {blocks.strides}, expected "
                f"contiguous floats {expected}; pack() makes a new one"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dense array: batch dimensions, then those of one state."""
        return (*self.batch, *self.layout.dims)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.blocks.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of `blocks`."""
        return self.blocks.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a packed number has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Packed(shape={self.shape}, dtype={self.dtype}, blocks={self.blocks.shape})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return type(self), (self.blocks, self.layout, self.batch)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        if copy is False:
            raise ValueError("a packed array becomes a dense one by copying only")
        dense = self.dense()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Floats:
        """The dense arrays of the states that `index` chooses among the batch dimensions, a copy."""
        self.check_blocks("packed array")
        states = np.asarray(np.reshape(np.arange(math.prod(self.batch)), self.batch)[index])
        tile, lane = np.divmod(states, self.layout.lanes)
        rows = _spread(self.blocks[tile, :, lane], self.layout)
        return np.reshape(rows, (*(int(length) for length in states.shape), *self.layout.dims))

    def dense(self, out: Floats | None = None) -> Floats:
        """Return the dense array (*batch, *dims), with zeros and both triangles; or fill `out=` with it."""
        self.check_blocks("dense")
        if len(self.shape) > MOST_DIMS:
            raise ShapeError(f"dense: {len(self.shape)} dimensions, and NumPy allows {MOST_DIMS}: pack fewer of them")
        if out is None:
            machine.check("dense", math.prod(self.batch), math.prod(self.shape) * self.dtype.itemsize)
            out = empty(self.shape, self.dtype)
        else:
            self._check_out(out)
        n, layout, flags = math.prod(self.batch), self.layout, out.flags
        if n == 0 or out.size == 0:
            return out
        movers = _movers(layout, self.dtype)
        if movers is None or not (flags.c_contiguous and flags.aligned):
            rows = np.reshape(np.swapaxes(self.blocks, 1, 2), (-1, layout.columns))[:n]
            out[...] = np.reshape(_spread(rows, layout), self.shape)
        else:
            movers.dense.run(n, (self.blocks,), (np.reshape(out, (n, layout.size)),), 1)
        return out

    def _check_out(self, out: Floats) -> None:
        if not isinstance(out, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DTypeError(f"dense: out is no NumPy array: {type(out).__name__}")
        if out.shape != self.shape or out.dtype != self.dtype:
            raise ShapeError(f"dense: out is {out.dtype} {out.shape}, expected {self.dtype} {self.shape}")
        if not out.flags.writeable or np.may_share_memory(out, self.blocks):
            raise ShapeError("dense: out is read-only, or memory of this array: pass a fresh array")


def _spread(kept: Floats, layout: Layout) -> Floats:
    """(..., columns) to (..., size)."""
    with_zero = np.concatenate([kept, np.zeros((*kept.shape[:-1], 1), kept.dtype)], axis=-1)
    return with_zero[..., layout.offsets]


def tiles(n: int, layout: Layout) -> int:
    """That n states fill, the last one perhaps in part."""
    return -(-n // layout.lanes)


def packed_bytes(n: int, layout: Layout, dtype: np.dtype[np.floating]) -> int:
    """Of the blocks of n states."""
    return tiles(n, layout) * layout.columns * layout.lanes * dtype.itemsize


def pack_rows(rows: Floats, layout: Layout, batch: tuple[int, ...], blocks: Floats | None = None) -> Packed:
    """Rows (n, size), the last axis contiguous, as a packed array, in `blocks` if given."""
    n, lanes = math.prod(batch), layout.lanes
    count = tiles(n, layout)
    if blocks is None:
        blocks = empty((count, layout.columns, lanes), rows.dtype)
    movers = _movers(layout, rows.dtype)
    if n and movers is not None:
        movers.pack.run(n, (rows,), (blocks,), 1)
    elif n:
        states = np.minimum(np.arange(count * lanes), n - 1)
        kept = rows[:, layout.entries][states]
        blocks[...] = np.swapaxes(np.reshape(kept, (count, lanes, layout.columns)), 1, 2)
    return Packed(blocks, layout, batch)


class Movers(NamedTuple):
    """Rows to tiles and back; the entries live as long as the plan."""

    plan: object
    pack: Entry
    dense: Entry


@lru_cache(maxsize=256)
def _movers(layout: Layout, dtype: np.dtype[np.floating]) -> Movers | None:
    """What packs rows and what makes rows again: a plan without code; None where NumPy has to do it."""
    isa = machine.instruction_set_of(layout.lanes * dtype.itemsize)
    if isa is None or not layout.columns or dtype.char not in "df":
        return None
    size, columns = layout.size, layout.columns
    slots = [*layout.offsets, *range(size), *([0] * (-size % 16)), *layout.entries]
    ports = (0, size, columns, 0, size, size, len(slots) - columns, columns)
    bits = dtype.itemsize * 8
    plan = machine.plan(isa, bits, machine.RETURN, b"", slots, b"", (size + 1, 1, 1, 0, 0, 0, *ports))

    def entry(in_size: int, out_size: int, way: int) -> Entry:
        return plan_entry(plan, Shape.estimated((in_size,), (out_size,), layout.lanes, plan.work_bytes, 0), dtype, way)

    return Movers(plan, entry(size, columns, PACKED_OUT), entry(columns, size, PACKED_IN))


class PackedCall(NamedTuple):
    """A checked call with packed arrays: n states, what goes in, what comes out. An input may be one row (1, size)."""

    n: int
    inputs: tuple[Packed | Floats, ...]
    outputs: tuple[Packed, ...]

    def run(self, kernel: Kernel, threads: int) -> tuple[Packed, ...]:
        """The results, by a kernel that takes packed arrays or by one that takes rows."""
        if not self.outputs[0].blocks.size:
            return self.outputs
        if isinstance(kernel, NativeKernel) and kernel.packed is not None:
            inputs = [x.blocks if isinstance(x, Packed) else x for x in self.inputs]
            kernel.packed.run(self.n, inputs, [x.blocks for x in self.outputs], threads)
        else:
            inputs = [np.reshape(x.dense(), (self.n, -1)) if isinstance(x, Packed) else x for x in self.inputs]
            outputs = [np.empty((self.n, x.layout.size), x.dtype) for x in self.outputs]
            kernel(self.n, inputs, outputs, threads)
            for rows, x in zip(outputs, self.outputs, strict=True):
                pack_rows(rows, x.layout, x.batch, x.blocks)
        return self.outputs


class PackedBinder:
    """Checks the packed calls of one function; `layouts` is how it wants its arrays."""

    def __init__(self, method: str, names: Sequence[str], layouts: Layouts, dtype: np.dtype[np.floating]) -> None:
        self._method, self._names, self._dtype = method, names, dtype
        self.layouts = layouts

    def bind(self, args: Sequence[object], out: object = None) -> PackedCall:
        """ShapeError, DTypeError or UnsupportedError that names the argument, what it is and what was expected."""
        inputs = self._inputs(args)
        arrays = [array for array in inputs if isinstance(array, Packed)]
        for name, array, layout in zip(self._names, inputs, self.layouts[0], strict=True):
            if isinstance(array, Packed):
                self._check(name, array, layout)
        batch = arrays[0].batch if arrays else ()
        if any(array.batch != batch for array in arrays):
            listed = ", ".join(f"{name} {array.shape}" for name, array in zip(self._names, inputs, strict=True))
            raise ShapeError(f"{self._method}: packed arrays are not broadcast, their batches must agree: {listed}")
        n = math.prod(batch)
        results = self._fresh(batch, n) if out is None else self._out(out, inputs, batch)
        return PackedCall(n, inputs, results)

    def _inputs(self, args: Sequence[object]) -> tuple[Packed | Floats, ...]:
        if len(args) != len(self._names):
            raise ShapeError(f"{self._method}: {len(args)} arguments given, expected {', '.join(self._names)}")
        some = any(isinstance(array, Packed) for array in args)
        found = [self._input(array, layout, some) for array, layout in zip(args, self.layouts[0], strict=True)]
        plain = [name for name, array in zip(self._names, found, strict=True) if array is None]
        if plain:
            packed = next((n for n, x in zip(self._names, args, strict=True) if isinstance(x, Packed)), "out")
            cure = "pack every argument with pack(), or none; what all states share may be an array without batch"
            raise UnsupportedError(f"{self._method}: {packed} is packed and {', '.join(plain)} not: {cure} dimensions")
        return tuple(array for array in found if array is not None)

    def _input(self, array: object, layout: Layout, some: bool) -> Packed | Floats | None:
        """A packed array, or one row for all states; None for anything else."""
        if isinstance(array, Packed):
            return array
        return one_row(array, layout.dims, self._dtype) if some and layout.columns == layout.size else None

    def _check(self, name: str, array: Packed, layout: Layout) -> None:
        has, head = array.layout, f"{self._method}: {name} is packed"
        if array.dtype != self._dtype:
            cure = f'pack({name}.dense().astype("{self._dtype}"))'
            raise DTypeError(f"{head} {array.dtype}, expected {self._dtype}: {cure} makes it so")
        if has == layout:
            array.check_blocks(f"{self._method}: {name}")
            return
        if has.dims != layout.dims:
            expected = f"(..., {', '.join(map(str, layout.dims))})"
            raise ShapeError(f"{head} from an array of shape {array.shape}, expected {expected}")
        if has.lanes != layout.lanes:
            cure = f"pack({name}.dense()) makes it so"
            raise UnsupportedError(f"{head} {has.lanes} states a tile, this target takes {layout.lanes}: {cure}")
        raise ShapeError(
            f"{head} with {has.columns} entries kept, this takes {layout.columns}: it is another quantity or from a "
            f"robot of another structure; pack({name}.dense(), port) packs it anew"
        )

    def _fresh(self, batch: tuple[int, ...], n: int) -> tuple[Packed, ...]:
        machine.check(self._method, n, sum(packed_bytes(n, layout, self._dtype) for layout in self.layouts[1]))
        return tuple(
            Packed(empty((tiles(n, layout), layout.columns, layout.lanes), self._dtype), layout, batch)
            for layout in self.layouts[1]
        )

    def _out(self, out: object, inputs: Sequence[Packed | Floats], batch: tuple[int, ...]) -> tuple[Packed, ...]:
        listed = tuple(cast("Sequence[object]", out)) if isinstance(out, (tuple, list)) else (out,)
        if len(listed) != len(self.layouts[1]):
            raise ShapeError(f"{self._method}: out has {len(listed)} arrays, expected {len(self.layouts[1])}")
        results: list[Packed] = []
        for k, (array, layout) in enumerate(zip(listed, self.layouts[1], strict=True)):
            name = "out" if len(listed) == 1 else f"out[{k}]"
            if not isinstance(array, Packed):
                raise UnsupportedError(f"{self._method}: {name} is not packed as the arguments are; use dense(out=)")
            self._check(name, array, layout)
            if array.batch != batch:
                raise ShapeError(f"{self._method}: {name} has the batch {array.batch}, expected {batch}")
            if not array.blocks.flags.writeable:
                raise ShapeError(f"{self._method}: {name} is read-only")
            others = (other.blocks if isinstance(other, Packed) else other for other in (*inputs, *results))
            if any(np.may_share_memory(array.blocks, other) for other in others):
                raise ShapeError(f"{self._method}: {name} overlaps an input or another output; pass a fresh array")
            results.append(array)
        return tuple(results)


# External forces of packed calls.


FORCES = (F_EXT.name, f"d{F_EXT.name}")
"""Ports whose arrays packed calls broadcast: forces and tangents of them are mostly one for all states, or none."""


class Packs(Protocol):
    """What packs arrays: `Dynamics`."""

    def packed(self, array: ArrayLike, chosen: Port) -> Packed: ...


def with_packed_forces(
    dyn: Packs, function: Function, arguments: Sequence[ArrayLike], batch: tuple[int, ...]
) -> Sequence[ArrayLike]:
    """The arguments of a packed call, dense external forces and tangents of them packed, one for each state.

    Of a derivative an array without batch dimensions stays as it is: calls take it.
    """
    ports = function.inputs
    if len(ports) != len(arguments):
        return arguments  # the call says what is missing
    taken = isinstance(function.origin, Taking)
    dense = [
        port.name in FORCES and not isinstance(x, Packed) and (taken or np.ndim(x) > len(port.dims))
        for port, x in zip(ports, arguments, strict=True)
    ]
    every = zip(ports, arguments, dense, strict=True)
    return [_packed_forces(dyn, x, batch, port) if pack else x for port, x, pack in every]


def _packed_forces(dyn: Packs, f_ext: ArrayLike, batch: tuple[int, ...], port: Port) -> Packed:
    packed = dyn.packed(f_ext, port)
    if packed.batch == batch:
        return packed
    if broadcast((packed.batch, batch)) != batch:
        others = f"{batch}, the batch of the other arguments"
        raise ShapeError(f"{port.name} has the batch {packed.batch}, which does not broadcast to {others}")
    return dyn.packed(np.broadcast_to(packed.dense(), batch + packed.layout.dims), port)
