"""The CUDA driver, every call checked: a failure is a DeviceError that says what to do."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import weakref
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import DeviceError, DTypeError
from condyle.runtime._native import launch

BROKEN = (
    "a kernel of this process failed, and CUDA is of no use to it any more: restart it. If an array was freed or too "
    "small while it was in use, that is why; else please report it"
)
CAPTURE = "not while a graph is being captured: pass out=, arrays of this stream, and call the function once before"
CURES = {
    "CUDA_ERROR_NO_DEVICE": "no NVIDIA GPU here, or CUDA_VISIBLE_DEVICES hides it; target 'cpu' runs everywhere",
    "CUDA_ERROR_OUT_OF_MEMORY": "the GPU is out of memory: pass fewer states at once, or free arrays",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "the kernel needs more than this GPU has; please report it",
    "CUDA_ERROR_INVALID_VALUE": "an address or a size is not what the driver expects: was an array freed meanwhile?",
    "CUDA_ERROR_INVALID_HANDLE": "the stream was destroyed, or is of another GPU: pass one that exists",
    "CUDA_ERROR_ILLEGAL_ADDRESS": BROKEN,
    "CUDA_ERROR_MISALIGNED_ADDRESS": BROKEN,
    "CUDA_ERROR_LAUNCH_FAILED": BROKEN,
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the kernel took longer than the display allows: pass fewer states at once",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "the GPU's memory is faulty: restart the process, and the machine if it stays",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": CAPTURE,
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": CAPTURE,
    "CUDA_ERROR_NOT_SUPPORTED": "this GPU or its driver has no memory pools: a newer driver may",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the code is not for this GPU; clear the cache (condyle cache clear)",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is too old: install one for CUDA 12 or later",
    "CUDA_ERROR_INVALID_DEVICE": "there is no such GPU",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver was updated: restart the machine",
}
OLDEST = (8, 0)
OLDEST_DRIVER = 11_040
"""CUDA 11.4: memory in stream order, also while a graph is captured."""
MOST_BLOCKS = (1 << 31) - 1
POOL_KEEPS = 1 << 30
"""Bytes that the pool does not give back at a synchronisation. The driver's own pools give everything back, and map
memory anew for the next call."""


class Api(Protocol):
    """What the bindings of the driver look like: functions that return a status and values, and enumerations."""

    def __getattr__(self, name: str) -> object: ...


class Driver:
    """Calls by name; `values` are what follows the status."""

    def __init__(self, api: ModuleType | Api) -> None:
        self._api = api
        self._pid = os.getpid()
        self._constants: dict[tuple[str, str], object] = {}

    def __call__(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """The values of one driver call; DeviceError if it failed."""
        try:
            answer = getattr(self._api, name)(*arguments)
        except RuntimeError as error:
            raise _lacking(name) from error
        if answer[0]:
            word = getattr(answer[0], "name", str(answer[0]))
            raise DeviceError(f"{name}: {word}: {CURES.get(word, 'the driver refused')}")
        return answer[1:]

    def check_process(self) -> None:
        """DeviceError in a child of the process that started the driver."""
        if os.getpid() != self._pid:
            raise DeviceError(
                "this process was forked after CUDA had started, which CUDA does not allow: start workers with "
                'multiprocessing.get_context("spawn"), or use the GPU only after the fork'
            )

    def function(self, name: str) -> Callable[..., tuple[Any, ...]]:
        """A function that every driver has: its status, then values."""
        return getattr(self._api, name)

    def attempt(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """The status of one driver call, then its values, which mean something if the status is 0."""
        try:
            return getattr(self._api, name)(*arguments)
        except RuntimeError as error:
            raise _lacking(name) from error

    def number(self, name: str, *arguments: object) -> int:
        """The only value of a call, as a number."""
        (value,) = self(name, *arguments)
        return int(value)

    def constant(self, kind: str, name: str) -> object:
        """A member of an enumeration."""
        if (kind, name) not in self._constants:
            self._constants[kind, name] = getattr(getattr(self._api, kind), name)
        return self._constants[kind, name]

    def value(self, kind: str, *arguments: object) -> Any:
        """A new structure or number of the driver's type `kind`."""
        return getattr(self._api, kind)(*arguments)


def _lacking(name: str) -> DeviceError:
    """Of a function that the bindings did not find."""
    return DeviceError(f"the driver is too old, it has no {name}: install one for CUDA 12 or later")


@cache
def driver() -> Driver:
    """The driver of this machine, started. DeviceError where there is none."""
    try:
        api = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise DeviceError(
            "target 'cuda' needs the package cuda-bindings: pip install 'condyle[cuda]'; target 'cpu' needs nothing"
        ) from error
    try:
        status = int(api.cuInit(0)[0])
    except Exception as error:  # the loader of the bindings has error classes of its own
        raise DeviceError(
            f"no NVIDIA driver can be loaded here ({str(error).strip() or type(error).__name__}): install one, so that "
            "there is a libcuda.so.1, or use target 'cpu'"
        ) from error
    if status:
        raise DeviceError(f"CUDA does not start (status {status}): {CURES['CUDA_ERROR_NO_DEVICE']}")
    return Driver(api)


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel on a GPU, and what a launch may ask for: threads and dynamic shared bytes of a block."""

    handle: object
    name: str
    most_threads: int
    most_shared: int


class Current:
    """`with gpu.current():`, see there."""

    def __init__(self, driver: Driver, context: object) -> None:
        self._driver, self._context = driver, context

    def __enter__(self) -> None:
        self._driver.check_process()
        self._driver("cuCtxPushCurrent", self._context)

    def __exit__(self, *raised: object) -> None:
        self._driver("cuCtxPopCurrent")


class Released(NamedTuple):
    """Memory that nobody holds any more, and the streams in which it was used.

    streams: by handle, the object that owns the stream, so that the stream lives as long; None where it is not known.
    """

    address: int
    stream: int
    streams: Mapping[int, object]


class Gpu:
    """One GPU: its primary context, which other libraries of this process share. released: memory to be freed."""

    def __init__(self, driver: Driver, index: int) -> None:
        driver.check_process()
        count = driver.number("cuDeviceGetCount")
        if not 0 <= index < count:
            raise DeviceError(f"device={index}: this machine has {count} GPUs, numbered from 0")
        self.driver, self.index = driver, index
        (self._device,) = driver("cuDeviceGet", index)
        version = self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")
        if version < OLDEST:
            raise DeviceError(
                f"device={index} has compute capability {version[0]}.{version[1]}; needed is 8.0 or later"
            )
        self.arch = f"sm_{version[0]}{version[1]}"
        self.multiprocessors = self.attribute("MULTIPROCESSOR_COUNT")
        self.shared_bytes = self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        version = driver.number("cuDriverGetVersion")
        if version < OLDEST_DRIVER:
            raise DeviceError(
                f"the driver is for CUDA {version // 1000}.{version % 1000 // 10}, which is too old: "
                "install one for CUDA 12 or later"
            )
        self.toolkit = version // 1000
        (self._context,) = driver("cuDevicePrimaryCtxRetain", self._device)
        self._current = Current(driver, self._context)
        self.released: deque[Released] = deque()

    @property
    def context(self) -> int:
        """The address of its primary context."""
        return int(cast(int, self._context))

    @cached_property
    def no_capture(self) -> tuple[int, object]:
        """What the driver answers where it is asked whether a stream is captured, and it is not."""
        return 0, self.driver.constant("CUstreamCaptureStatus", "CU_STREAM_CAPTURE_STATUS_NONE")

    @cached_property
    def ordinal(self) -> object:
        """What the driver is asked for: the number of the GPU that an address is of."""
        return self.driver.constant("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL")

    @property
    def name(self) -> str:
        """As its maker calls it."""
        (name,) = self.driver("cuDeviceGetName", 100, self._device)
        return cast(bytes, name).split(b"\0")[0].decode("ascii", "replace")

    @cached_property
    def pool(self) -> object:
        """A pool of memory of our own: the settings of the device's pool belong to the whole process."""
        properties = self.driver.value("CUmemPoolProps")
        properties.allocType = self.driver.constant("CUmemAllocationType", "CU_MEM_ALLOCATION_TYPE_PINNED")
        properties.location.type = self.driver.constant("CUmemLocationType", "CU_MEM_LOCATION_TYPE_DEVICE")
        properties.location.id = self.index
        (pool,) = self.driver("cuMemPoolCreate", properties)
        key = self.driver.constant("CUmemPool_attribute", "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD")
        self.driver("cuMemPoolSetAttribute", pool, key, self.driver.value("cuuint64_t", POOL_KEEPS))
        return pool

    def attribute(self, name: str) -> int:
        """One of its attributes, by its name without CU_DEVICE_ATTRIBUTE_."""
        key = self.driver.constant("CUdevice_attribute", f"CU_DEVICE_ATTRIBUTE_{name}")
        return self.driver.number("cuDeviceGetAttribute", key, self._device)

    def current(self) -> Current:
        """This GPU is the one that driver calls of this thread mean."""
        return self._current

    def function(self, image: bytes, name: str, shared_bytes: int) -> Function:
        """A kernel of a module, ready to be launched with up to so many bytes of shared memory a block."""
        (module,) = self.driver("cuModuleLoadData", image)
        (function,) = self.driver("cuModuleGetFunction", module, name.encode("ascii"))
        key = self.driver.constant("CUfunction_attribute", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
        self.driver("cuFuncSetAttribute", function, key, shared_bytes)
        if shared_bytes:  # else the driver leaves room for one block, and gives the rest to the cache
            key = self.driver.constant("CUfunction_attribute", "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT")
            most = self.driver.constant("CUshared_carveout", "CU_SHAREDMEM_CARVEOUT_MAX_SHARED")
            self.driver("cuFuncSetAttribute", function, key, most)
        key = self.driver.constant("CUfunction_attribute", "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK")
        return Function(function, name, self.driver.number("cuFuncGetAttribute", key, function), shared_bytes)

    def launch(
        self, function: Function, grid: int, block: int, shared_bytes: int, stream: int, values: Sequence[int]
    ) -> None:
        """Puts a kernel in the stream; DeviceError before that, if it asks for more than there is.

        values: its parameters, numbers of up to 64 bits; of shorter parameters they are read from the lower half.
        """
        self.check_launch(function, grid, block, shared_bytes)
        launch(self.driver, function.handle, grid, block, shared_bytes, stream, tuple(values), [])

    def check_launch(self, function: Function, grid: int, block: int, shared_bytes: int) -> None:
        """DeviceError for a launch that asks for more than there is."""
        if grid > MOST_BLOCKS or block > function.most_threads or shared_bytes > function.most_shared:
            raise DeviceError(
                f"{function.name}: {grid} blocks of {block} threads and {shared_bytes} bytes of shared memory; "
                f"{self.arch} allows {MOST_BLOCKS}, {function.most_threads} and {function.most_shared}: "
                "pass fewer states at once, or report it"
            )


@cache
def gpu(index: int) -> Gpu:
    """GPU number `index`, taken into use once."""
    return Gpu(driver(), index)


# Streams of a GPU: which one is meant, what waits for what, whether a graph is being captured.


def handle_of(stream: object) -> int:
    """The CUstream of a number, or of a stream of CuPy, PyTorch, Numba or cuda.core; 0 is the default stream."""
    found: Any = stream
    if hasattr(found, "__cuda_stream__"):
        found = found.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr", "handle", "value"):  # the last is of ctypes
        found = getattr(found, name, found)
    try:
        number = int(found or 0)
    except (TypeError, ValueError):
        raise DTypeError(
            f"a stream is a number (CUstream) or a stream of CuPy, PyTorch, Numba or cuda.core, not {stream!r}"
        ) from None
    return 0 if number == 1 else number


class Stream(Enum):
    """What may be done with a stream.

    READY: anything. CAPTURED: a graph is captured from it; or, for stream 0, from a blocking stream, which work in
    stream 0 would break. GONE: it was destroyed.
    """

    READY, CAPTURED, GONE = range(3)


def state_of(gpu: Gpu, stream: int) -> Stream:
    """The state of a stream. A destroyed one is GONE only where the driver notices it."""
    answer = gpu.driver.attempt("cuStreamIsCapturing", stream)
    if answer == gpu.no_capture:
        return Stream.READY
    implicit = gpu.driver.constant("CUresult", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT")
    return Stream.CAPTURED if answer[0] in (0, implicit) else Stream.GONE


def is_captured(gpu: Gpu, stream: int) -> bool:
    """Whether a graph is captured from this stream; never from stream 0."""
    return stream != 0 and state_of(gpu, stream) is Stream.CAPTURED


def wait(gpu: Gpu, stream: int, others: Set[int]) -> None:
    """What is put into `stream` from now on starts after all that is in the other streams now."""
    for other in others:
        if other != stream:
            flags = gpu.driver.constant("CUevent_flags", "CU_EVENT_DISABLE_TIMING")
            (event,) = gpu.driver("cuEventCreate", flags)
            gpu.driver("cuEventRecord", event, other)
            gpu.driver("cuStreamWaitEvent", stream, event, 0)
            gpu.driver("cuEventDestroy", event)  # it goes when it is no longer waited for


@contextlib.contextmanager
def relaxed(gpu: Gpu) -> Generator[None, None, None]:
    """Calls that may wait for the GPU are allowed in this thread although a graph is captured from another stream."""
    mode = gpu.driver.constant("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_RELAXED")
    (before,) = gpu.driver("cuThreadExchangeStreamCaptureMode", mode)
    try:
        yield
    finally:
        gpu.driver("cuThreadExchangeStreamCaptureMode", before)


# Memory of the processor that the GPU copies from and to by itself: found out about, and made.


Rows = NDArray[np.floating]
MOST_KNOWN = 256


class Pinned:
    """Which arrays are pinned, by PyTorch, CuPy, `pinned_arrays` or anyone.

    Answers are remembered by address and size: a stale one costs time, for the driver copies from any memory.
    """

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._pinned: set[tuple[int, int]] = set()

    def has(self, rows: Rows) -> bool:
        """Whether these rows are dense and wholly in pinned memory."""
        if not rows.flags.c_contiguous or not rows.nbytes:
            return False
        address, size = address_of(rows), rows.nbytes
        if (address, size) in self._pinned:
            return True
        if not (self._host(address) and self._host(address + size - 1)):
            return False
        if len(self._pinned) >= MOST_KNOWN:
            self._pinned.clear()
        self._pinned.add((address, size))
        return True

    def _host(self, address: int) -> bool:
        driver = self._gpu.driver
        key = driver.constant("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_MEMORY_TYPE")
        host = driver.constant("CUmemorytype", "CU_MEMORYTYPE_HOST")
        try:
            (found,) = driver("cuPointerGetAttribute", key, address)
        except DeviceError:  # memory that CUDA does not know
            return False
        return found == host


def address_of(array: Rows) -> int:
    return int(array.__array_interface__["data"][0])


def pinned_arrays(gpu: Gpu, shapes: Sequence[tuple[int, ...]], dtype: np.dtype[np.floating]) -> list[Rows]:
    """Zeros in pinned memory, one array right behind the other; the memory goes with the last of them."""
    sizes = [math.prod(shape) * dtype.itemsize for shape in shapes]
    if not sum(sizes):
        return [np.zeros(shape, dtype) for shape in shapes]
    with gpu.current():
        address = gpu.driver.number("cuMemHostAlloc", sum(sizes), 0)
    memory = (ctypes.c_uint8 * sum(sizes)).from_address(address)
    weakref.finalize(memory, _free, gpu, address)
    arrays: list[Rows] = []
    start = 0
    for shape, size in zip(shapes, sizes, strict=True):
        arrays.append(np.ndarray(shape, dtype, memoryview(memory), start))
        arrays[-1][...] = 0
        start += size
    return arrays


def _free(gpu: Gpu, address: int) -> None:
    with contextlib.suppress(Exception), gpu.current(), relaxed(gpu):  # the process may be ending
        gpu.driver("cuMemFreeHost", address)
