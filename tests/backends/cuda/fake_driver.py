"""A CUDA driver that computes: its memory is NumPy's, its kernels, which it takes as PTX, run on the interpreter."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tests.backends.cuda.fake_streams import NOT_NOW, OK, CUresult, Streams
from tests.backends.cuda.fake_values import (
    CUdevice_attribute,
    CUfunction_attribute,
    CUmemAllocationType,
    CUmemLocationType,
    CUmemorytype,
    CUmemPool_attribute,
    CUmemPoolProps,
    CUpointer_attribute,
    CUshared_carveout,
    cuuint64_t,
)
from tests.backends.cuda.interpret import Kernel, launch, parse
from tests.backends.cuda.memory import Memory

CONTEXT = 0xC0
"""The address of the one context."""


@dataclass
class Pool:
    """Bytes in use, and mapped for use. threshold: bytes that stay mapped at a synchronisation."""

    threshold: int = 0
    used: int = 0
    mapped: int = 0


class FakeDriver(Streams):
    """Enough of cuda.bindings.driver. room: bytes of device memory. calls: what was asked for.

    attributes: of every GPU. most_threads: what a kernel's registers leave. used: bytes of device memory taken.
    mapped: bytes that pools have mapped, one after the other. carveouts: of functions, in percent.
    """

    CUdevice_attribute = CUdevice_attribute
    CUfunction_attribute = CUfunction_attribute
    CUpointer_attribute = CUpointer_attribute
    CUmemorytype = CUmemorytype
    CUshared_carveout = CUshared_carveout
    CUmemAllocationType = CUmemAllocationType
    CUmemLocationType = CUmemLocationType
    CUmemPool_attribute = CUmemPool_attribute
    CUmemPoolProps = CUmemPoolProps
    cuuint64_t = cuuint64_t

    def __init__(self, gpus: int = 1, room: int = 1 << 30, version: int = 12_080) -> None:
        super().__init__()
        self.memory, self.gpus, self.room, self.version = Memory(), gpus, room, version
        self.attributes = dict(zip(CUdevice_attribute, (1_980_000, 2, 2_619_000, 9, 0, 99 * 1024), strict=True))
        self.most_threads, self.image_error, self.used = 1024, OK, 0
        self.host: dict[int, Any] = {}
        self.limits: dict[int, int] = {}
        self.carveouts: dict[int, int] = {}
        self.pools = {0: Pool()}
        self.pool_of: dict[int, Pool] = {}
        self.mapped = 0
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
        of = (
            self.limits
            if key == CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            else self.carveouts
        )
        of[function] = value
        return (OK,)

    def cuFuncGetAttribute(self, key: IntEnum, function: int) -> Any:
        return OK, self._threads(function)

    def cuMemAlloc(self, size: int) -> Any:
        return (NOT_NOW, 0) if self.unsafe() else self.allocated(size)

    def allocated(self, size: int) -> Any:
        """What every kind of allocation answers."""
        assert self.depth
        if size == 0:
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0
        if size + self.used > self.room:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        address = self.memory.allocate(size)
        self.sizes[address] = size
        self.used += size
        return OK, address

    def cuMemPoolCreate(self, properties: CUmemPoolProps) -> Any:
        if (properties.allocType, properties.location.type) != (1, 1) or properties.location.id >= self.gpus:
            return CUresult.CUDA_ERROR_INVALID_VALUE, None
        number = next(self.numbers)
        self.pools[number] = Pool()
        return OK, number

    def cuMemPoolSetAttribute(self, pool: int, key: IntEnum, value: cuuint64_t) -> Any:
        assert isinstance(value, cuuint64_t)
        self.pools[pool].threshold = value
        return (OK,)

    def cuMemAllocAsync(self, size: int, stream: int) -> Any:
        return self.cuMemAllocFromPoolAsync(size, 0, stream)

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> Any:
        """While a graph is captured, the graph owns the memory."""
        status = self.refused("cuMemAllocFromPoolAsync", stream)
        if status != OK:
            return status, 0
        status, address = self.allocated(size)
        if status == OK and stream in self.captures:
            self.captures[stream].memory.append(address)
        elif status == OK:
            self.pool_of[address] = of = self.pools[pool]
            of.used += size
            self.mapped += max(0, of.used - of.mapped)
            of.mapped = max(of.mapped, of.used)
        return status, address

    def synchronised(self) -> CUresult:
        """Pools give back what they have mapped beyond their thresholds."""
        for pool in self.pools.values():
            pool.mapped = max(pool.used, min(pool.mapped, pool.threshold))
        return self.broken

    def cuMemGetInfo(self) -> Any:
        return OK, self.room - self.used, self.room

    def give_up(self, address: int) -> None:
        size = self.sizes.pop(address)
        self.memory.free(address)
        self.used -= size
        if address in self.pool_of:
            self.pool_of.pop(address).used -= size

    def cuMemFree(self, address: int) -> Any:
        if self.unsafe():
            return (NOT_NOW,)
        self.reach_all()
        self.give_up(address)
        return (OK,)

    def cuMemFreeAsync(self, address: int, stream: int) -> Any:
        """A graph can only free what it allocates; it keeps the addresses for its next launch."""
        if stream in self.captures:
            graph = self.captures[stream]
            graph.valid = graph.valid and address in graph.memory
            return (OK if graph.valid else CUresult.CUDA_ERROR_INVALID_VALUE,)
        return (self.put(stream, lambda: self.give_up(address), "cuMemFreeAsync"),)

    def cuMemHostAlloc(self, size: int, flags: int) -> Any:
        if self.unsafe():
            return NOT_NOW, 0
        data = (ctypes.c_uint8 * size)()
        self.host[ctypes.addressof(data)] = data
        return OK, ctypes.addressof(data)

    def cuMemFreeHost(self, address: int) -> Any:
        if self.unsafe():
            return (NOT_NOW,)
        self.reach_all()
        del self.host[address]
        return (OK,)

    def is_pinned(self, address: int) -> bool:
        return any(start <= address < start + len(data) for start, data in self.host.items())

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            self.memory.bytes_at(to, size)[:] = _bytes(source, size)

        return self._copy(copy, source, stream, "cuMemcpyHtoDAsync")

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            _bytes(to, size)[:] = self.memory.bytes_at(source, size)

        return self._copy(copy, to, stream, "cuMemcpyDtoHAsync")

    def _copy(self, copy: Any, host: int, stream: int, name: str) -> Any:
        """Memory that is not pinned is copied before the call returns."""
        status = self.put(stream, copy, name)
        if status == OK and not self.is_pinned(host):
            self.reach(stream)
        return (status,)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        self.reach(0)
        return self.cuMemcpyHtoDAsync(to, source, size, 0)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, stream: int) -> Any:
        def copy() -> None:
            self.memory.bytes_at(to, size)[:] = self.memory.bytes_at(source, size)

        return (self.put(stream, copy, "cuMemcpyDtoDAsync"),)

    def cuMemsetD8Async(self, to: int, value: int, size: int, stream: int) -> Any:
        def fill() -> None:
            self.memory.bytes_at(to, size)[:] = value

        return (self.put(stream, fill, "cuMemsetD8Async"),)

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
        parameters: int, extra: int,
    ) -> Any:  # fmt: skip
        assert (gy, gz, by, bz, extra) == (1, 1, 1, 1, 0)
        assert self.depth
        kinds = [ctypes.c_uint32] * 2 + [ctypes.c_uint64] * (len(self.kernels[function].parameters) - 2)
        places = (ctypes.c_void_p * len(kinds)).from_address(parameters)
        values = [kind.from_address(place).value for kind, place in zip(kinds, places, strict=True)]
        if shared > self.limits[function] or bx > self._threads(function):
            return (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,)
        run = self.kernels[function], gx, bx, shared, values, self.memory
        return (self.put(stream, lambda: launch(*run), "cuLaunchKernel"),)


def _bytes(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
