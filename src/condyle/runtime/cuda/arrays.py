"""Arrays that lie on a GPU: other libraries' by DLPack or `__cuda_array_interface__`, and our own, checked."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import CondyleError, DeviceError, DTypeError, ShapeError
from condyle.runtime._native import borrow, describe, lend
from condyle.runtime.arrays import ArraySpec
from condyle.runtime.cuda.driver import Gpu, Released, handle_of, wait
from condyle.runtime.cuda.stage import allocate, free_released

DLPACK = "__dlpack_device__"
CUDA, CUDA_MANAGED = 2, 13

Layout = tuple[tuple[int, ...], "tuple[int, ...] | None", str, bool]
"""Of an array: shape; strides in bytes, None for C order; number type, where NumPy has it as its typestr; read-only."""


def on_cuda(value: object) -> bool:
    """Whether the array says by DLPack that it lies on a GPU of CUDA."""
    where = getattr(value, DLPACK, None)
    return where is not None and int(cast("Callable[[], tuple[int, int]]", where)()[0]) in (CUDA, CUDA_MANAGED)


# Answers on a GPU: fresh arrays that other libraries take without a copy.


class DeviceArray:
    """A dense array on a GPU: `torch.from_dlpack(x)`, `cupy.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`, `x.numpy()`.

    It is ready in the order of `stream`; whoever takes it by DLPack in another stream waits there by itself. Its memory
    is given back in the order of all these streams. A stream that is named by a number must live as long as the array.
    """

    def __init__(
        self, gpu: Gpu, shape: tuple[int, ...], dtype: np.dtype[np.floating], stream: int, owner: object = None
    ) -> None:
        self._gpu, self.shape, self.dtype = gpu, shape, dtype
        self.layout: Layout = shape, None, f"<f{dtype.itemsize}", False
        self.device, self.nbytes = gpu.index, math.prod(shape) * dtype.itemsize
        self.address = allocate(gpu, self.nbytes, stream) if self.nbytes else 0
        self._streams: dict[int, object] = {}
        self._lent = False
        self.written_in(stream, owner)

    def written_in(self, stream: int, owner: object = None) -> None:
        """From now on it is ready in the order of this stream. owner: the object whose stream it is, if it is known."""
        self.stream, self._ready = stream, {stream}
        if owner is not None or stream not in self._streams:
            self._streams[stream] = owner

    def used_in(self, stream: int, owner: object = None) -> None:
        """Work that uses it is in this stream, after what made it."""
        self._ready.add(stream)
        if owner is not None or stream not in self._streams:
            self._streams[stream] = owner

    def is_ready_in(self, stream: int) -> bool:
        """Whether this stream waits for it already; not if it was lent, since borrowers may write it anew."""
        return stream in self._ready and not self._lent

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        self._lent = True
        self._streams.setdefault(0, None)  # the borrower's is not known
        return {
            "shape": self.shape,
            "typestr": self.layout[2],
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self.stream or 1,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._gpu.index

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
        return lend(self, self.address, self.shape, 8 * self.dtype.itemsize, self._gpu.index, versioned)

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


INTERFACE = "__cuda_array_interface__"
DTYPES = ("float32", "float64")


def is_device_array(value: object) -> bool:
    """Whether it lies on a GPU; arrays that refuse to be asked (PyTorch: a gradient is required) do."""
    if isinstance(value, np.ndarray):
        return False
    try:
        return on_cuda(value) or hasattr(value, INTERFACE)
    except (RuntimeError, BufferError, TypeError):
        return True


class Arrays:
    """The arrays of one call as they describe themselves, in lists. devices, streams: None where one is silent.

    layouts: None for what does not lie on a GPU; the error of an owner that refuses. Those that lend themselves by
    DLPack, which asks for a stream, are filled in by `borrow`; lenders: which ones these are.
    """

    __slots__ = ("_holders", "addresses", "devices", "layouts", "lenders", "streams", "values")

    def __init__(self, values: tuple[object, ...]) -> None:
        self.values, self._holders = values, list[object]()
        self.layouts: list[Layout | Exception | None]
        self.addresses, self.layouts, self.devices, self.streams, self.lenders = describe(values, DeviceArray)

    def borrow(self, stream: int) -> None:
        """Those that lend themselves by DLPack, ready in a stream, as it numbers them, for as long as this object."""
        addresses, layouts, devices = self.addresses, self.layouts, self.devices
        for k in self.lenders:
            addresses[k], layouts[k], devices[k], holder = borrow(self.values[k], stream)
            self._holders.append(holder)

    def check_devices(self, gpu: Gpu, sizes: Sequence[int], names: Sequence[str]) -> None:
        """DeviceError for an array that does not lie on this GPU; the driver is asked where its owner is silent."""
        index = gpu.index
        if self.devices.count(index) == len(self.devices):
            return
        ask, key = gpu.driver.function("cuPointerGetAttribute"), gpu.ordinal
        for address, where, size, name in zip(self.addresses, self.devices, sizes, names, strict=True):
            if where == index or not size:
                continue
            if where is not None or ask(key, address) != (0, index):
                _refuse_device(gpu, address, where, name)


def shape_of(
    layout: Layout | Exception | None, spec: ArraySpec, dtype: np.dtype[np.floating], writable: bool = False
) -> tuple[int, ...]:
    """The shape of a dense array of this dtype; DTypeError, ShapeError or DeviceError that name the argument."""
    if layout is None:
        raise DTypeError(f"{spec.name} is not on the GPU while other arguments are: pass all of them there, or none")
    if isinstance(layout, CondyleError):
        raise type(layout)(f"{spec.name}: {layout}") from layout
    if isinstance(layout, Exception):
        raise DeviceError(
            f"{spec.name} does not lend its memory ({layout}); if a gradient is recorded, pass {spec.name}.detach()"
        ) from layout
    shape, strides, typed, read_only = layout
    with contextlib.suppress(TypeError, ValueError, SyntaxError):  # NumPy does not know all that others have
        typed = str(np.dtype(typed))
    if typed != str(dtype):
        other = f', or compile(dtype="{typed}")' if typed in DTYPES else ""
        raise DTypeError(f"{spec.name} is {typed}, expected {dtype}: convert it{other}")
    if shape[len(shape) - len(spec.dims) :] != spec.dims or len(shape) < len(spec.dims) or min(shape, default=0) < 0:
        raise ShapeError(f"{spec.name} has shape {shape}, expected {spec.expected}")
    if not _dense(shape, strides, dtype.itemsize):
        raise ShapeError(f"{spec.name} is not contiguous on the GPU: pass a contiguous copy")
    if writable and read_only:
        raise ShapeError(f"{spec.name} is read-only")
    return shape


def _dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or not all(shape):
        return True
    step = item
    if len(strides) != len(shape):
        return False
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != step:
            return False
        step *= length
    return True


def _refuse_device(gpu: Gpu, address: int, where: int | None, name: str) -> NoReturn:
    """What the driver says of an address once more, as an error."""
    if where is None:
        try:
            where = gpu.driver.number("cuPointerGetAttribute", gpu.ordinal, address)
        except DeviceError as error:
            raise DeviceError(f"{name} does not point into memory of a GPU: {error}") from error
    raise DeviceError(f"{name} is on GPU {where}, expected {gpu.index}: move it, or compile(device={where})")
