"""Arrays on a GPU: other libraries' through `__cuda_array_interface__` (CuPy, PyTorch, JAX, Numba), and our own."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DeviceError, DTypeError, ShapeError
from condyle.runtime.arrays import Place
from condyle.runtime.cuda.driver import Gpu

INTERFACE = "__cuda_array_interface__"


@dataclass(frozen=True, slots=True)
class View:
    """An array somewhere on the GPU: address, shape; the stream on which it becomes ready (0: the default one)."""

    address: int
    shape: tuple[int, ...]
    bytes: int
    stream: int


def is_device_array(value: object) -> bool:
    return hasattr(value, INTERFACE)


def view_of(value: object, place: Place, dtype: np.dtype[np.floating], gpu: Gpu, writable: bool = False) -> View:
    """A dense array of this dtype on this GPU; DTypeError, ShapeError or DeviceError that name the argument."""
    if not is_device_array(value):
        raise DTypeError(f"{place.name} is not on the GPU while other arguments are: pass all of them there, or none")
    found = cast("dict[str, object]", getattr(value, INTERFACE))
    shape = tuple(cast("Sequence[int]", found["shape"]))
    address, read_only = cast("tuple[int, bool]", found["data"])
    given = np.dtype(str(found["typestr"]))
    if given != dtype:
        raise DTypeError(f'{place.name} is {given}, expected {dtype}: convert it, or compile(dtype="{given}")')
    if shape[len(shape) - len(place.dims) :] != place.dims or len(shape) < len(place.dims):
        raise ShapeError(f"{place.name} has shape {shape}, expected {place.expected}")
    if not _dense(shape, cast("Sequence[int] | None", found.get("strides")), dtype.itemsize):
        raise ShapeError(f"{place.name} is not contiguous on the GPU: pass a contiguous copy")
    if writable and read_only:
        raise ShapeError(f"{place.name} is read-only")
    size = math.prod(shape) * dtype.itemsize
    if size:
        _check_device(address, place.name, gpu)
    stream = int(cast("int | None", found.get("stream")) or 0)
    return View(int(address), shape, size, 0 if stream == 1 else stream)


def _dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or not all(shape):
        return True
    step = item
    for length, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if length > 1 and stride != step:
            return False
        step *= length
    return True


def _check_device(address: int, name: str, gpu: Gpu) -> None:
    key = gpu.driver.constant("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL")
    try:
        where = gpu.driver.number("cuPointerGetAttribute", key, address)
    except DeviceError as error:
        raise DeviceError(f"{name} does not point into memory of a GPU: {error}") from error
    if where != gpu.index:
        raise DeviceError(f"{name} is on GPU {where}, expected {gpu.index}: move it, or compile(device={where})")


class DeviceArray:
    """A fresh answer on the GPU; other libraries take it without a copy (`torch.as_tensor(x)`, `cupy.asarray(x)`)."""

    def __init__(self, gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int) -> None:
        self._gpu, self.shape, self.dtype, self._stream = gpu, shape, dtype, stream
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.address = gpu.driver.number("cuMemAlloc", self.nbytes) if self.nbytes else 0

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {
            "shape": self.shape,
            "typestr": f"<f{self.dtype.itemsize}",
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self._stream or 1,
        }

    def numpy(self) -> NDArray[np.floating]:
        """A copy in the memory of the processor."""
        result = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with self._gpu.current():
                self._gpu.driver("cuStreamSynchronize", self._stream)
                self._gpu.driver("cuMemcpyDtoH", result.ctypes.data, self.address, self.nbytes)
        return result

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            with contextlib.suppress(Exception), self._gpu.current():  # the process may be ending
                self._gpu.driver("cuMemFree", self.address)
