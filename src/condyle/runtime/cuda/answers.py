"""Answers on a GPU: fresh arrays that other libraries take without a copy."""

from __future__ import annotations

import contextlib
import math

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.runtime.cuda import dlpack
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.streams import capture_of, handle_of, wait


class DeviceArray:
    """A dense array on a GPU: `torch.from_dlpack(x)`, `cupy.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`, `x.numpy()`.

    It is ready in the order of `stream`; whoever takes it by DLPack in another stream waits there by itself. Its memory
    is given back in the order of all these streams, so they must live as long as the array.
    """

    def __init__(self, gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int) -> None:
        self._gpu, self.shape, self.dtype, self.stream = gpu, shape, dtype, stream
        self.readers: set[int] = set()
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.address = gpu.driver.number("cuMemAllocAsync", self.nbytes, stream) if self.nbytes else 0

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        self.readers.add(0)
        return {
            "shape": self.shape,
            "typestr": f"<f{self.dtype.itemsize}",
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self.stream or 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self._gpu.index

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule; stream: the borrower's, as the array API standard numbers them (1: the default one, -1: none)."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("a DeviceArray is lent as it is: no copy, no other device; use .numpy() for a copy")
        if stream != -1:
            reader = handle_of(stream)
            self.readers.add(reader)
            with self._gpu.current():
                wait(self._gpu, reader, {self.stream})
        versioned = max_version is not None and max_version >= (1, 0)
        return dlpack.lend(self, self.address, self.shape, 8 * self.dtype.itemsize, self._gpu.index, versioned)

    def numpy(self) -> NDArray[np.floating]:
        """A copy in the memory of the processor."""
        result = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with self._gpu.current():
                self._gpu.driver("cuMemcpyDtoHAsync", result.ctypes.data, self.address, self.nbytes, self.stream)
                self._gpu.driver("cuStreamSynchronize", self.stream)
        return result

    def __del__(self, quiet: type[contextlib.suppress] = contextlib.suppress) -> None:  # no module may be left
        if getattr(self, "address", 0):
            with quiet(Exception), self._gpu.current():  # the process may be ending
                wait(self._gpu, self.stream, self.readers)
                self._gpu.driver("cuMemFreeAsync", self.address, self.stream)


def fresh(gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int) -> DeviceArray:
    """A new array; UnsupportedError while the stream is being captured, when there is no memory to be had."""
    if capture_of(gpu, stream) is not None:
        raise UnsupportedError("this stream is being captured into a graph, which needs arrays that stay: pass out=")
    return DeviceArray(gpu, shape, dtype, stream)
