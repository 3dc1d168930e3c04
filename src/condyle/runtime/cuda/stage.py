"""Rows in pinned memory on their way to the GPU and back: two slots, so that copies and kernels overlap."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from condyle.runtime.cuda.driver import Gpu

Rows = NDArray[np.floating]
ALIGN = 256


@dataclass
class Slot:
    """Pinned and device memory for one chunk of states, and the stream that works on it.

    Inputs lie one behind the other, outputs too, so that each way is one transfer.
    """

    gpu: Gpu
    stream: int
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    memory: dict[str, int] = field(default_factory=dict[str, int])
    pending: tuple[slice, Sequence[Rows]] | None = None

    @staticmethod
    def of(gpu: Gpu) -> Slot:
        flags = gpu.driver.constant("CUstream_flags", "CU_STREAM_NON_BLOCKING")
        return Slot(gpu, gpu.driver.number("cuStreamCreate", flags))

    def reserve(self, inputs: int, outputs: int, scratch: int) -> None:
        """At least so many bytes of each kind."""
        for name, size in (("in", inputs), ("out", outputs)):
            self._grow(f"host {name}", size)
            self._grow(name, size)
        self._grow("scratch", scratch)

    def _grow(self, name: str, size: int) -> None:
        if self.sizes.get(name, 0) >= size:
            return
        self._free(name)
        host = name.startswith("host")
        number = self.gpu.driver.number
        self.memory[name] = number("cuMemHostAlloc", size, 0) if host else number("cuMemAlloc", size)
        self.sizes[name] = size

    def _free(self, name: str) -> None:
        if name in self.memory:
            self.sizes.pop(name)
            call = "cuMemFreeHost" if name.startswith("host") else "cuMemFree"
            self.gpu.driver(call, self.memory.pop(name))

    def send(self, arrays: Sequence[Rows]) -> list[int]:
        """Rows to the GPU, in one transfer; their addresses there."""
        offsets, size = _offsets([array.nbytes for array in arrays])
        for array, offset in zip(arrays, offsets, strict=True):
            _rows(self.memory["host in"] + offset, array.shape, array.dtype)[...] = array
        self.gpu.driver("cuMemcpyHtoDAsync", self.memory["in"], self.memory["host in"], size, self.stream)
        return [self.memory["in"] + offset for offset in offsets]

    def places(self, sizes: Sequence[int], name: str) -> list[int]:
        """Addresses on the GPU for arrays of so many bytes."""
        return [self.memory[name] + offset for offset in _offsets(sizes)[0]] if sizes else []

    def receive(self, rows: slice, outputs: Sequence[Rows]) -> None:
        """Asks for the answers; `finish` puts them into these rows of the outputs."""
        _, size = _offsets([output[rows].nbytes for output in outputs])
        self.gpu.driver("cuMemcpyDtoHAsync", self.memory["host out"], self.memory["out"], size, self.stream)
        self.pending = rows, outputs

    def finish(self) -> None:
        """Waits for the answers, if any are under way."""
        if self.pending is None:
            return
        (rows, outputs), self.pending = self.pending, None
        self.gpu.driver("cuStreamSynchronize", self.stream)
        offsets, _ = _offsets([output[rows].nbytes for output in outputs])
        for output, offset in zip(outputs, offsets, strict=True):
            part = output[rows]
            part[...] = _rows(self.memory["host out"] + offset, part.shape, part.dtype)

    def give_up(self) -> None:
        """After an error: nothing is under way any more."""
        if self.pending is not None:
            self.pending = None
            self.gpu.driver("cuStreamSynchronize", self.stream)


def staged_bytes(sizes: Sequence[int]) -> int:
    """Bytes of arrays that lie one behind the other."""
    return _offsets(sizes)[1]


def _offsets(sizes: Sequence[int]) -> tuple[list[int], int]:
    offsets: list[int] = []
    end = 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // ALIGN) * ALIGN
    return offsets, max(end, ALIGN)


def _rows(address: int, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> Rows:
    """Memory at an address as an array."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ndarray(shape, dtype, memoryview(memory))
