"""Arrays of a library that speaks DLPack, as CuPy and PyTorch do; anything about them may be wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from condyle.runtime.cuda import arrays
from tests.backends.cuda.fake_driver import FakeDriver

pointer: Callable[[object, bytes], int] = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Foreign:
    """changes: of the tensor's fields. streams: what it was asked to be ready in. lent: capsules that are in use."""

    def __init__(
        self,
        api: FakeDriver,
        array: np.ndarray,
        device: int = 0,
        old: bool = False,
        read_only: bool = False,
        strides: tuple[int, ...] | None = None,
        kind: int = arrays.FLOAT,
        offset: int = 0,
    ) -> None:
        self.host = np.ascontiguousarray(array)
        self.address = api.memory.adopt(self.host.view(np.uint8).reshape(-1))
        self.device, self.old, self.read_only, self.strides, self.kind = device, old, read_only, strides, kind
        self.offset = offset
        self.streams: list[int] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return arrays.CUDA, self.device

    def __dlpack__(self, *, stream: int, **version: tuple[int, int]) -> object:
        if version and self.old:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        address, bits = self.address - self.offset, 8 * self.host.itemsize
        capsule = arrays.lend(self, address, self.host.shape, bits, self.device, bool(version))
        place = pointer(capsule, arrays.VERSIONED if version else arrays.PLAIN)
        made = (arrays.ManagedVersioned if version else arrays.Managed).from_address(place)
        made.tensor.dtype.code = self.kind
        made.tensor.byte_offset = self.offset
        if version and self.read_only:
            made.flags = arrays.READ_ONLY
        if self.strides is None:
            made.tensor.strides = ctypes.POINTER(ctypes.c_int64)()
        else:
            for k, stride in enumerate(self.strides):
                made.tensor.strides[k] = stride
        return capsule
