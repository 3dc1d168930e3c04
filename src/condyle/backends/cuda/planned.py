"""The launches of a call whose addresses are known later, and are then put in without Python (XLA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from condyle.backends.cuda.kernel import CudaKernel


class At(NamedTuple):
    """A parameter: the address of buffer `port` plus `value` bytes; port -1: the number `value`."""

    port: int
    value: int


class Planned(NamedTuple):
    """One launch. Buffers are numbered: inputs, outputs, then one for all scratch."""

    function: int
    grid: int
    block: int
    shared_bytes: int
    values: tuple[At, ...]


def scratch_bytes(kernel: CudaKernel, n: int) -> int:
    """Bytes of scratch of a call with n states."""
    return kernel.sizes.piece(n) * kernel.sizes.scratch if n else 0


def planned(kernel: CudaKernel, n: int, strides: Sequence[int]) -> list[Planned]:
    """The launches of `CudaKernel.on_device` for n states, in order.

    strides: bytes between the rows of each input; 0: one row for all states.
    """
    parts, item = kernel.parts, kernel.dtype.itemsize
    piece, outputs = kernel.sizes.piece(n), len(parts.inputs)
    moving = [*strides, *(array.size * item for array in parts.outputs)]
    pitch = {array.name: array.size * item for array in (*parts.outputs, *parts.scratch)}
    pitch |= {array.name: stride for array, stride in zip(parts.inputs, strides, strict=True)}
    kept, offset = dict[str, At](), 0
    for array in parts.scratch:
        kept[array.name] = At(outputs + len(parts.outputs), offset)
        offset += piece * array.size * item
    made: list[Planned] = []
    for start in range(0, n, piece):
        some = min(piece, n - start)
        arrays = (*parts.inputs, *parts.outputs)
        places = kept | {array.name: At(k, start * moving[k]) for k, array in enumerate(arrays)}
        made += (_planned_launch(kernel, number, some, places, pitch) for number in range(len(kernel.launches)))
    return made


def _planned_launch(kernel: CudaKernel, number: int, n: int, places: dict[str, At], pitch: dict[str, int]) -> Planned:
    launch = kernel.launches[number]
    grid, block = launch.shape(n, kernel.gpu.multiprocessors)
    values = launch.values(n, places, pitch)
    shared = launch.text.shared_bytes(block)
    numbers = tuple(value if isinstance(value, At) else At(-1, value) for value in values)
    return Planned(int(cast(int, launch.function.handle)), grid, block, shared, numbers)
