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
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.errors import ShapeError, UnsupportedError
from condyle.interop.blocks import Call, Function, Functions, Input, Target, Task, check_target, engine_of, run
from condyle.user.function import CompiledFunction

Array = NDArray[np.floating]


@overload
def wrap(of: Dynamics) -> Functions: ...
@overload
def wrap(of: CompiledFunction) -> Function: ...
def wrap(of: Target) -> Functions | Function:
    """An object with the methods of `of`; UnsupportedError where Dask is not installed."""
    check_target("wrap", of)
    try:
        lazy = Lazy(of, import_module("dask.array"), import_module("dask").delayed)
        import_module("dask.base").normalize_token.register(specification.Function, _token)
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
        """Dask arrays.

        Index 0 is that of states, and 1, 2, ... are those of a state's dimensions, of one block each. `found` keeps all
        of them: where indices end, Dask does not fuse a block with what makes its inputs.
        """
        lengths, most = self._blocks(call), max(len(x.dims) for x in call.inputs)
        pairs: list[Any] = []
        for x in call.inputs:
            own = tuple(range(1, len(x.dims) + 1))
            pairs += [self._cut(call.method, x, lengths), own if x.is_shared else (0, *own)]
        found = self._array.blockwise(
            _block,
            tuple(range(most + 1)),
            self._there,
            None,
            call.task,
            None,
            *pairs,
            new_axes={} if lengths else {0: 1},
            dtype=object,
            meta=np.empty((0,) * (most + 1), object),
            **BLOCKWISE,
        )
        blocks = (1,) if lengths is None else lengths
        answers = [
            self._answer(found, k, (1,) * len(blocks) if is_sum else blocks, dims)
            for k, (dims, is_sum) in enumerate(zip(call.outputs, call.sums, strict=True))
        ]
        answers = [x.sum(axis=0) if is_sum else x for x, is_sum in zip(answers, call.sums, strict=True)]
        return answers if lengths else [x[0] for x in answers]

    def _answer(self, blocks: Any, k: int, lengths: tuple[int, ...], dims: tuple[int, ...]) -> Any:
        """One of the answers of all blocks; of a sum, or of one state, a row of one."""
        more = dict(enumerate(dims, 1))
        return self._array.blockwise(
            _part,
            tuple(range(len(dims) + 1)),
            blocks,
            tuple(range(blocks.ndim)),
            k,
            None,
            len(dims),
            None,
            new_axes={index: n for index, n in more.items() if index >= blocks.ndim},
            adjust_chunks={0: lengths, **{index: (n,) for index, n in more.items() if index < blocks.ndim}},
            dtype=self._dtype,
            meta=np.empty((0,) * (len(dims) + 1), self._dtype),
            **(BLOCKWISE if blocks.ndim <= len(dims) + 1 else {**BLOCKWISE, "concatenate": None}),
        )

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


BLOCKWISE: dict[str, Any] = {
    "concatenate": True,
    "align_arrays": False,
}  # as of da.map_blocks, for only the like is fused


def _token(function: specification.Function) -> str:
    """By what Dask tells tasks apart."""
    return function.key


def _block(target: Target, task: Task, *args: Array) -> Any:
    """The answers of a block, in a worker."""
    return run(target, task, args)


def _part(block: Any, k: int, dims: int) -> Array:
    """One of a block's answers; they come in lists where the inputs had more dimensions."""
    if isinstance(block, list):
        return _part(block[0], k, dims)
    answer: Array = block[k]
    return answer if answer.ndim > dims else answer[None]
