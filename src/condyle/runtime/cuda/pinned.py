"""Memory of the processor that the GPU copies from and to by itself: found out about, and made."""

from __future__ import annotations

import contextlib
import ctypes
import math
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DeviceError
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.streams import relaxed

Rows = NDArray[np.floating]
MOST_KNOWN = 256


class Pinned:
    """Which arrays are pinned, by PyTorch, CuPy, `pinned_arrays` or anyone.

    Answers are remembered by address and size: a stale one costs time, for the driver copies from any memory.
    """

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._pinned: set[tuple[int, int]] = set()

    def has(self, rows: Rows) -> bool:
        """Whether these rows are dense and wholly in pinned memory."""
        if not rows.flags.c_contiguous or not rows.nbytes:
            return False
        address, size = address_of(rows), rows.nbytes
        if (address, size) in self._pinned:
            return True
        if not (self._host(address) and self._host(address + size - 1)):
            return False
        if len(self._pinned) >= MOST_KNOWN:
            self._pinned.clear()
        self._pinned.add((address, size))
        return True

    def _host(self, address: int) -> bool:
        driver = self._gpu.driver
        key = driver.constant("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_MEMORY_TYPE")
        host = driver.constant("CUmemorytype", "CU_MEMORYTYPE_HOST")
        try:
            (found,) = driver("cuPointerGetAttribute", key, address)
        except DeviceError:  # memory that CUDA does not know
            return False
        return found == host


def address_of(array: Rows) -> int:
    return int(array.__array_interface__["data"][0])


def pinned_arrays(gpu: Gpu, shapes: Sequence[tuple[int, ...]], dtype: np.dtype[np.floating]) -> list[Rows]:
    """Zeros in pinned memory, one array right behind the other; the memory goes with the last of them."""
    sizes = [math.prod(shape) * dtype.itemsize for shape in shapes]
    if not sum(sizes):
        return [np.zeros(shape, dtype) for shape in shapes]
    with gpu.current():
        address = gpu.driver.number("cuMemHostAlloc", sum(sizes), 0)
    memory = (ctypes.c_uint8 * sum(sizes)).from_address(address)
    weakref.finalize(memory, _free, gpu, address)
    arrays: list[Rows] = []
    start = 0
    for shape, size in zip(shapes, sizes, strict=True):
        arrays.append(np.ndarray(shape, dtype, memoryview(memory), start))
        arrays[-1][...] = 0
        start += size
    return arrays


def _free(gpu: Gpu, address: int) -> None:
    with contextlib.suppress(Exception), gpu.current(), relaxed(gpu):  # the process may be ending
        gpu.driver("cuMemFreeHost", address)
