"""Arrays of a library that speaks DLPack, as CuPy and PyTorch do; anything about them may be wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import ClassVar
from weakref import WeakSet

import numpy as np

from condyle.runtime._native import lend
from condyle.runtime.cuda.arrays import CUDA
from tests.backends.cuda.fake_driver import FakeDriver

FLOAT, READ_ONLY = 2, 1
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"


class Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """DLTensor; strides count entries, none at all is C order."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, from DLPack 1.0 on."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def managed(capsule: object, versioned: bool) -> Managed | ManagedVersioned:
    """What is in a capsule."""
    kind, name = (ManagedVersioned, VERSIONED) if versioned else (Managed, PLAIN)
    return kind.from_address(_pointer(capsule, name))


_pointer: Callable[[object, bytes], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Foreign:
    """changes: of the tensor's fields. streams: what it was asked to be ready in. alive: all that live, lent or not."""

    alive: ClassVar[WeakSet[Foreign]] = WeakSet()

    def __init__(
        self,
        api: FakeDriver,
        array: np.ndarray,
        device: int = 0,
        old: bool = False,
        read_only: bool = False,
        strides: tuple[int, ...] | None = None,
        kind: int = FLOAT,
        offset: int = 0,
    ) -> None:
        self.host = np.ascontiguousarray(array)
        self.address = api.memory.adopt(self.host.view(np.uint8).reshape(-1))
        self.device, self.old, self.read_only, self.strides, self.kind = device, old, read_only, strides, kind
        self.offset = offset
        self.streams: list[int] = []
        Foreign.alive.add(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: int, **version: tuple[int, int]) -> object:
        if version and self.old:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        address, bits = self.address - self.offset, 8 * self.host.itemsize
        capsule = lend(self, address, self.host.shape, bits, self.device, bool(version))
        made = managed(capsule, bool(version))
        made.tensor.dtype.code = self.kind
        made.tensor.byte_offset = self.offset
        if isinstance(made, ManagedVersioned) and self.read_only:
            made.flags = READ_ONLY
        if self.strides is None:
            made.tensor.strides = ctypes.POINTER(ctypes.c_int64)()
        else:
            for k, stride in enumerate(self.strides):
                made.tensor.strides[k] = stride
        return capsule
