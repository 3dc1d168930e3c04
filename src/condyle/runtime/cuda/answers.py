"""Answers on a GPU: fresh arrays that other libraries take without a copy."""

from __future__ import annotations

import contextlib
import math

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.runtime.cuda import dlpack
from condyle.runtime.cuda.driver import Gpu, Released
from condyle.runtime.cuda.pool import allocate, free_released
from condyle.runtime.cuda.streams import handle_of, is_captured, wait


class DeviceArray:
    """A dense array on a GPU: `torch.from_dlpack(x)`, `cupy.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`, `x.numpy()`.

    It is ready in the order of `stream`; whoever takes it by DLPack in another stream waits there by itself. Its memory
    is given back in the order of all these streams. A stream that is named by a number must live as long as the array.
    """

    def __init__(
        self, gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int, owner: object = None
    ) -> None:
        self._gpu, self.shape, self.dtype = gpu, shape, dtype
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.address = allocate(gpu, self.nbytes, stream) if self.nbytes else 0
        self._streams: dict[int, object] = {}
        self._lent = False
        self.written_in(stream, owner)

    def written_in(self, stream: int, owner: object = None) -> None:
        """From now on it is ready in the order of this stream. owner: the object whose stream it is, if it is known."""
        self.stream = stream
        self._ready = set[int]()
        self.used_in(stream, owner)

    def used_in(self, stream: int, owner: object = None) -> None:
        """Work that uses it is in this stream, after what made it."""
        self._ready.add(stream)
        self._streams[stream] = owner if owner is not None else self._streams.get(stream)

    def is_ready_in(self, stream: int) -> bool:
        """Whether this stream waits for it already; not if it was lent, since borrowers may write it anew."""
        return stream in self._ready and not self._lent

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        self._lent = True
        self._streams.setdefault(0, None)  # the borrower's is not known
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
            if not self.is_ready_in(reader):
                with self._gpu.current():
                    wait(self._gpu, reader, {self.stream})
            self.used_in(reader)
        self._lent = True
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
                self._gpu.released.append(Released(self.address, self.stream, self._streams))
                free_released(self._gpu)


def fresh(
    gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int, owner: object = None
) -> DeviceArray:
    """A new array; UnsupportedError while a graph is captured from the stream, which would own the memory."""
    if is_captured(gpu, stream):
        raise UnsupportedError("this stream is being captured into a graph, which needs arrays that stay: pass out=")
    return DeviceArray(gpu, shape, dtype, stream, owner)
