"""Functions of a robot on Dask arrays: lazy, by blocks of states, on threads, processes or a cluster.

    far = condyle.interop.dask.wrap(dyn)        # or a user's function, compiled
    tau = far.inverse_dynamics(q, v, a)         # one Dask array or more; NumPy arrays are cut alike, or one for all
    tau.compute()

Blocks are those of the first Dask argument that has states; the dimensions of a state are one block. A worker has the
robot and the options by pickle, and compiles, or takes the kernel from its own cache, at its first block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from condyle.dynamics import Dynamics
from condyle.errors import ShapeError, UnsupportedError
from condyle.interop.block_methods import Function, Functions
from condyle.interop.blocks import Call, Input, Target, Task, engine_of, run
from condyle.user.function import CompiledFunction

Array = NDArray[np.floating]


@overload
def wrap(of: Dynamics) -> Functions: ...
@overload
def wrap(of: CompiledFunction) -> Function: ...
def wrap(of: Target) -> Functions | Function:
    """An object with the methods of `of`; UnsupportedError where Dask is not installed."""
    try:
        lazy = Lazy(of, import_module("dask.array"), import_module("dask").delayed)
    except ImportError as error:
        raise UnsupportedError("Dask is not installed: pip install 'condyle[dask]'") from error
    return Function(of, lazy) if isinstance(of, CompiledFunction) else Functions(of, lazy)


class Lazy:
    """Graphs of Dask, one task a block."""

    def __init__(self, target: Target, array: Any, delayed: Callable[..., Any]) -> None:
        self._array, self._dtype = array, engine_of(target).dtype
        self._there = delayed(target, pure=True, traverse=False)  # one value of the graph, sent to a worker once

    def takes(self, value: object) -> bool:
        """Whether this is a Dask array."""
        return isinstance(value, self._array.Array)

    def answers(self, call: Call) -> Sequence[Any]:
        """Dask arrays."""
        lengths, fresh = self._blocks(call), count(1)
        states = () if lengths is None else (0,)  # 0: the index of states; the others are of one block each
        pairs: list[Any] = []
        for x in call.inputs:
            own = tuple(next(fresh) for _ in x.dims)
            pairs += [self._cut(call.method, x, lengths), own if x.is_shared else (0, *own)]
        none = np.empty((0,) * len(states), object)
        found = self._array.blockwise(
            _block, states, self._there, None, call.task, None, *pairs, dtype=object, meta=none, **BLOCKWISE
        )
        return [self._answer(found, k, lengths, dims, call.sums[k], fresh) for k, dims in enumerate(call.outputs)]

    def _answer(
        self, found: Any, k: int, lengths: Sequence[int] | None, dims: Sequence[int], is_sum: bool, fresh: count[int]
    ) -> Any:
        """One of the answers of all blocks."""
        states = () if lengths is None else (0,)
        own = tuple(next(fresh) for _ in dims)
        chunks = {} if lengths is None else {0: (1,) * len(lengths) if is_sum else tuple(lengths)}
        answer = self._array.blockwise(
            _part,
            (*states, *own),
            found,
            states,
            k,
            None,
            is_sum,
            None,
            new_axes=dict(zip(own, dims, strict=True)),
            adjust_chunks=chunks,
            dtype=self._dtype,
            meta=np.empty((0,) * (len(states) + len(own)), self._dtype),
            **BLOCKWISE,
        )
        return answer.sum(axis=0) if is_sum else answer

    def _blocks(self, call: Call) -> tuple[int, ...] | None:
        """Lengths of the blocks of states; None where every argument is one for all."""
        if not any(self.takes(x.value) for x in call.inputs):
            raise ShapeError(f"{call.method}: no argument is a Dask array; call the method of the Dynamics itself")
        if all(x.is_shared for x in call.inputs):
            return None
        first = next((x.value for x in call.inputs if self.takes(x.value) and not x.is_shared), None)
        if first is None:
            raise ShapeError(f"{call.method}: no argument with states is a Dask array: their blocks are not known")
        found: tuple[int, ...] = first.chunks[0]
        if any(np.isnan(length) for length in found):
            raise ShapeError(
                f"{call.method}: a Dask array has blocks of unknown length: call its compute_chunk_sizes()"
            )
        return found

    def _cut(self, method: str, x: Input, lengths: tuple[int, ...] | None) -> Any:
        """An argument in blocks of states, or whole where it is one for all of them."""
        chunks = tuple((size,) for size in x.dims)
        if not x.is_shared and lengths is not None:
            if x.value.shape[0] != sum(lengths):
                raise ShapeError(f"{method}: {x.name} has {x.value.shape[0]} states, expected {sum(lengths)} states")
            chunks = (lengths, *chunks)
        return x.value.rechunk(chunks) if self.takes(x.value) else self._array.from_array(x.value, chunks, name=False)


BLOCKWISE: dict[str, Any] = {"concatenate": True, "align_arrays": False}


def _block(target: Target, task: Task, *args: Array) -> Any:
    """The answers of a block, in a worker."""
    return run(target, task, args)


def _part(found: tuple[Array, ...], k: int, is_sum: bool) -> Array:
    """One of them; of a sum, a row of one."""
    return found[k][None] if is_sum else found[k]
