"""A CUDA driver that computes: its memory is NumPy's, its kernels, which it takes as PTX, run on the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tests.backends.cuda.fake_streams import NOT_NOW, OK, CUresult, Streams
from tests.backends.cuda.interpret import Kernel, launch, parse
from tests.backends.cuda.memory import Memory

CONTEXT = 0xC0
"""The address of the one context."""


class CUdevice_attribute(IntEnum):  # noqa: N801
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97


class CUfunction_attribute(IntEnum):  # noqa: N801
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUpointer_attribute(IntEnum):  # noqa: N801
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


class CUmemorytype(IntEnum):
    CU_MEMORYTYPE_HOST = 1
    CU_MEMORYTYPE_DEVICE = 2


class FakeDriver(Streams):
    """Enough of cuda.bindings.driver. room: bytes of device memory. calls: what was asked for.

    attributes: of every GPU. most_threads: what a kernel's registers leave. used: bytes of device memory taken.
    """

    CUdevice_attribute = CUdevice_attribute
    CUfunction_attribute = CUfunction_attribute
    CUpointer_attribute = CUpointer_attribute
    CUmemorytype = CUmemorytype

    def __init__(self, gpus: int = 1, room: int = 1 << 30, version: int = 12_080) -> None:
        super().__init__()
        self.memory, self.gpus, self.room, self.version = Memory(), gpus, room, version
        self.attributes = dict(zip(CUdevice_attribute, (1_980_000, 2, 2_619_000, 9, 0, 99 * 1024), strict=True))
        self.most_threads, self.image_error, self.used = 1024, OK, 0
        self.host: dict[int, Any] = {}
        self.limits: dict[int, int] = {}
        self.kernels: dict[int, Kernel] = {}
        self.modules: dict[int, dict[str, Kernel]] = {}
        self.sizes: dict[int, int] = {}
        self.depth = 0
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu"):
            self.calls.append(name)
        return object.__getattribute__(self, name)

    def cuDeviceGetCount(self) -> Any:
        return OK, self.gpus

    def cuDeviceGet(self, index: int) -> Any:
        return OK, index

    def cuDeviceGetName(self, length: int, device: int) -> Any:
        return OK, b"Fake GPU".ljust(length, b"\0")

    def cuDeviceGetAttribute(self, key: CUdevice_attribute, device: int) -> Any:
        return OK, self.attributes[key]

    def cuDriverGetVersion(self) -> Any:
        return OK, self.version

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return OK, CONTEXT

    def cuCtxPushCurrent(self, context: int) -> Any:
        assert context == CONTEXT
        self.depth += 1
        return (OK,)

    def cuCtxPopCurrent(self) -> Any:
        self.depth -= 1
        return OK, CONTEXT

    def cuModuleLoadData(self, image: bytes) -> Any:
        if self.image_error:
            return self.image_error, None
        number = next(self.numbers)
        self.modules[number] = parse(image.rstrip(b"\0").decode("ascii"))
        return OK, number

    def cuModuleGetFunction(self, module: int, name: bytes) -> Any:
        number = next(self.numbers)
        self.kernels[number] = self.modules[module][name.decode("ascii")]
        return OK, number

    def cuFuncSetAttribute(self, function: int, key: IntEnum, value: int) -> Any:
        self.limits[function] = value
        return (OK,)

    def cuFuncGetAttribute(self, key: IntEnum, function: int) -> Any:
        return OK, self._threads(function)

    def cuMemAlloc(self, size: int) -> Any:
        assert self.depth
        if self.unsafe():
            return NOT_NOW, 0
        if size == 0:
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0
        if size + self.used > self.room:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        address = self.memory.allocate(size)
        self.sizes[address] = size
        self.used += size
        return OK, address

    def cuMemAllocAsync(self, size: int, stream: int) -> Any:
        assert stream not in self.captures, "a captured call allocates"
        return self.cuMemAlloc(size)

    def cuMemGetInfo(self) -> Any:
        return OK, self.room - self.used, self.room

    def _free(self, address: int) -> None:
        self.memory.free(address)
        self.used -= self.sizes.pop(address)

    def cuMemFree(self, address: int) -> Any:
        self.reach_all()
        self._free(address)
        return (OK,)

    def cuMemFreeAsync(self, address: int, stream: int) -> Any:
        assert stream not in self.captures, "a captured call frees"
        self.put(stream, lambda: self._free(address))
        return (OK,)

    def cuMemHostAlloc(self, size: int, flags: int) -> Any:
        data = (ctypes.c_uint8 * size)()
        self.host[ctypes.addressof(data)] = data
        return OK, ctypes.addressof(data)

    def cuMemFreeHost(self, address: int) -> Any:
        self.reach_all()
        del self.host[address]
        return (OK,)

    def is_pinned(self, address: int) -> bool:
        return any(start <= address < start + len(data) for start, data in self.host.items())

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            self.memory.bytes_at(to, size)[:] = _bytes(source, size)

        return self._copy(copy, source, stream)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            _bytes(to, size)[:] = self.memory.bytes_at(source, size)

        return self._copy(copy, to, stream)

    def _copy(self, copy: Any, host: int, stream: int) -> Any:
        """Memory that is not pinned is copied before the call returns."""
        self.put(stream, copy)
        if not self.is_pinned(host):
            self.reach(stream)
        return (OK,)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        self.reach(0)
        return self.cuMemcpyHtoDAsync(to, source, size, 0)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            self.memory.bytes_at(to, size)[:] = self.memory.bytes_at(source, size)

        self.put(stream, copy)
        return (OK,)

    def cuPointerGetAttribute(self, key: CUpointer_attribute, address: int) -> Any:
        if self.is_pinned(address):
            return OK, CUmemorytype.CU_MEMORYTYPE_HOST
        try:
            self.memory.bytes_at(address, 1)
        except IndexError:
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0
        return OK, 0 if key == CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL else 2

    def _threads(self, function: int) -> int:
        """Of a block, as registers and the kernel's own limit allow."""
        return min(self.most_threads, self.kernels[function].threads)

    def cuLaunchKernel(
        self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int,
        parameters: tuple[Sequence[int], Sequence[Any]], extra: int,
    ) -> Any:  # fmt: skip
        assert (gy, gz, by, bz, extra) == (1, 1, 1, 1, 0)
        assert self.depth
        values, types = parameters
        assert [ctypes.sizeof(kind) for kind in types] == ([4, 4] + [8] * len(values))[: len(values)]
        if shared > self.limits[function] or bx > self._threads(function):
            return (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,)
        self.put(stream, lambda: launch(self.kernels[function], gx, bx, shared, values, self.memory))
        return (OK,)


def _bytes(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
