"""Arrays that lie on a GPU: other libraries' by DLPack or `__cuda_array_interface__`, and our own, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from condyle.errors import CondyleError, DeviceError, DTypeError, ShapeError
from condyle.runtime.cuda import dlpack
from condyle.runtime.cuda.answers import DeviceArray
from condyle.runtime.cuda.dlpack import Lent
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.ranges import ArraySpec

INTERFACE = "__cuda_array_interface__"
DTYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class View:
    """An array somewhere on the GPU: address, shape; lender: what must live while the address is used."""

    address: int
    shape: tuple[int, ...]
    bytes: int
    lender: object


def is_device_array(value: object) -> bool:
    """Whether it lies on a GPU; arrays that refuse to be asked (PyTorch: a gradient is required) do."""
    if isinstance(value, np.ndarray):
        return False
    try:
        return dlpack.on_cuda(value) or hasattr(value, INTERFACE)
    except (RuntimeError, BufferError, TypeError):
        return True


def stream_of(value: object) -> int | None:
    """The stream in which an array is ready, where it says so; DLPack asks for ours instead."""
    if isinstance(value, DeviceArray):
        return value.stream
    if not is_device_array(value) or _lends(value):
        return None
    stream = _interface(value).stream
    return 0 if stream == 1 else stream


def view_of(
    value: object, spec: ArraySpec, dtype: np.dtype[np.floating], gpu: Gpu, stream: int, writable: bool = False
) -> View:
    """A dense array of this dtype on this GPU; DTypeError, ShapeError or DeviceError that name the argument.

    stream: the one it will be used in, as DLPack numbers them.
    """
    if not is_device_array(value):
        raise DTypeError(f"{spec.name} is not on the GPU while other arguments are: pass all of them there, or none")
    lent, lender = _lent(value, spec.name, stream)
    if lent.dtype != str(dtype):
        other = f', or compile(dtype="{lent.dtype}")' if lent.dtype in DTYPES else ""
        raise DTypeError(f"{spec.name} is {lent.dtype}, expected {dtype}: convert it{other}")
    shape = lent.shape
    if shape[len(shape) - len(spec.dims) :] != spec.dims or len(shape) < len(spec.dims):
        raise ShapeError(f"{spec.name} has shape {shape}, expected {spec.expected}")
    if not _dense(shape, lent.strides, dtype.itemsize):
        raise ShapeError(f"{spec.name} is not contiguous on the GPU: pass a contiguous copy")
    if writable and lent.read_only:
        raise ShapeError(f"{spec.name} is read-only")
    size = math.prod(shape) * dtype.itemsize
    if size:
        _check_device(lent, spec.name, gpu)
    return View(lent.address, shape, size, lender)


def _lent(value: object, name: str, stream: int) -> tuple[Lent, object]:
    if isinstance(value, DeviceArray):
        return Lent(value.address, value.shape, None, str(value.dtype), False), value
    try:
        if _lends(value):
            return dlpack.borrow(cast(dlpack.Lender, value), stream)
        return _interface(value), value
    except CondyleError as error:
        raise type(error)(f"{name}: {error}") from error
    except Exception as error:  # whatever the other library raises
        raise DeviceError(
            f"{name} does not lend its memory ({error}); if a gradient is recorded, pass {name}.detach()"
        ) from error


def _lends(value: object) -> bool:
    return not isinstance(value, DeviceArray) and dlpack.on_cuda(value)


def _interface(value: object) -> Lent:
    found = cast("dict[str, object]", getattr(value, INTERFACE))
    address, read_only = cast("tuple[int, bool]", found["data"])
    strides = cast("Sequence[int] | None", found.get("strides"))
    stream = cast("int | None", found.get("stream"))
    return Lent(
        int(address or 0),
        tuple(cast("Sequence[int]", found["shape"])),
        None if strides is None else tuple(strides),
        str(np.dtype(str(found["typestr"]))),
        read_only,
        stream=None if stream is None else int(stream),
    )


def _dense(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or not all(shape):
        return True
    step = item
    for length, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if length > 1 and stride != step:
            return False
        step *= length
    return True


def _check_device(lent: Lent, name: str, gpu: Gpu) -> None:
    where = lent.device
    if where is None:
        key = gpu.driver.constant("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL")
        try:
            where = gpu.driver.number("cuPointerGetAttribute", key, lent.address)
        except DeviceError as error:
            raise DeviceError(f"{name} does not point into memory of a GPU: {error}") from error
    if where != gpu.index:
        raise DeviceError(f"{name} is on GPU {where}, expected {gpu.index}: move it, or compile(device={where})")
