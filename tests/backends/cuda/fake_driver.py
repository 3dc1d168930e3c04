"""A CUDA driver that computes: its memory is NumPy's, its kernels, which it takes as PTX, run on the interpreter."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tests.backends.cuda.interpret import Kernel, launch, parse
from tests.backends.cuda.memory import Memory


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701


class CUdevice_attribute(IntEnum):  # noqa: N801
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 9
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 0
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 2
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 99 * 1024


class CUfunction_attribute(IntEnum):  # noqa: N801
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUstream_flags(IntEnum):  # noqa: N801
    CU_STREAM_NON_BLOCKING = 1


class CUpointer_attribute(IntEnum):  # noqa: N801
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


OK = CUresult.CUDA_SUCCESS


class FakeDriver:
    """Enough of cuda.bindings.driver. room: bytes of device memory. calls: what was asked for."""

    CUdevice_attribute = CUdevice_attribute
    CUfunction_attribute = CUfunction_attribute
    CUstream_flags = CUstream_flags
    CUpointer_attribute = CUpointer_attribute

    def __init__(self, gpus: int = 1, room: int = 1 << 30, toolkit: int = 11000) -> None:
        self.memory, self.gpus, self.room, self.toolkit = Memory(), gpus, room, toolkit
        self.host: dict[int, Any] = {}
        self.limits: dict[int, int] = {}
        self.kernels: dict[int, Kernel] = {}
        self.modules: dict[int, dict[str, Kernel]] = {}
        self.depth = 0
        self.calls: list[str] = []
        self._numbers = itertools.count(1)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu"):
            self.calls.append(name)
        return object.__getattribute__(self, name)

    def cuDeviceGetCount(self) -> Any:
        return OK, self.gpus

    def cuDeviceGet(self, index: int) -> Any:
        return OK, index

    def cuDeviceGetAttribute(self, key: IntEnum, device: int) -> Any:
        return OK, int(key)

    def cuDriverGetVersion(self) -> Any:
        return OK, self.toolkit

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return OK, "context"

    def cuCtxPushCurrent(self, context: str) -> Any:
        self.depth += 1
        return (OK,)

    def cuCtxPopCurrent(self) -> Any:
        self.depth -= 1
        return OK, "context"

    def cuModuleLoadData(self, image: bytes) -> Any:
        number = next(self._numbers)
        self.modules[number] = parse(image.rstrip(b"\0").decode("ascii"))
        return OK, number

    def cuModuleGetFunction(self, module: int, name: bytes) -> Any:
        number = next(self._numbers)
        self.kernels[number] = self.modules[module][name.decode("ascii")]
        return OK, number

    def cuFuncSetAttribute(self, function: int, key: IntEnum, value: int) -> Any:
        self.limits[function] = value
        return (OK,)

    def cuMemAlloc(self, size: int) -> Any:
        assert self.depth
        if size == 0:
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0
        if size + sum(map(len, self.memory.blocks.values())) > self.room:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        return OK, self.memory.allocate(size)

    def cuMemAllocAsync(self, size: int, stream: int) -> Any:
        return self.cuMemAlloc(size)

    def cuMemFree(self, address: int) -> Any:
        self.memory.free(address)
        return (OK,)

    def cuMemFreeAsync(self, address: int, stream: int) -> Any:
        return self.cuMemFree(address)

    def cuMemHostAlloc(self, size: int, flags: int) -> Any:
        data = (ctypes.c_uint8 * size)()
        self.host[ctypes.addressof(data)] = data
        return OK, ctypes.addressof(data)

    def cuMemFreeHost(self, address: int) -> Any:
        del self.host[address]
        return (OK,)

    def cuStreamCreate(self, flags: int) -> Any:
        return OK, 100 + next(self._numbers)

    def cuStreamSynchronize(self, stream: int) -> Any:
        return (OK,)

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        self.memory.bytes_at(to, size)[:] = _bytes(source, size)
        return (OK,)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        _bytes(to, size)[:] = self.memory.bytes_at(source, size)
        return (OK,)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        return self.cuMemcpyHtoDAsync(to, source, size, 0)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        self.memory.bytes_at(to, size)[:] = self.memory.bytes_at(source, size)
        return (OK,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> Any:
        return self.cuMemcpyDtoHAsync(to, source, size, 0)

    def cuPointerGetAttribute(self, key: IntEnum, address: int) -> Any:
        try:
            self.memory.bytes_at(address, 1)
        except IndexError:
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0
        return OK, 0

    def cuLaunchKernel(
        self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int,
        parameters: tuple[Sequence[int], Sequence[Any]], extra: int,
    ) -> Any:  # fmt: skip
        assert (gy, gz, by, bz, extra) == (1, 1, 1, 1, 0)
        assert self.depth
        values, types = parameters
        assert [ctypes.sizeof(kind) for kind in types] == [4, 4] + [8] * (len(values) - 2)
        if shared > self.limits[function] or bx > 128:
            return (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,)
        launch(self.kernels[function], gx, bx, shared, values, self.memory)
        return (OK,)


def _bytes(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
