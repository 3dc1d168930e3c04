"""Clocks of a GPU: kernels in a graph, copies, and what the machine can do at best."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from condyle.backends.cuda.kernel import CudaKernel, image_of
from condyle.runtime.cuda.driver import Gpu

LANES = {80: (64, 32), 86: (128, 2), 87: (128, 2), 89: (128, 2), 90: (128, 64), 100: (128, 64), 103: (128, 2)}
"""Numbers of 32 and of 64 bits that a multiprocessor works on a cycle (CUDA C++ programming guide, "Arithmetic
instructions"); of others as of the last consumer GPUs."""
CONSUMER = (128, 2)
FETCH = 64
"""Bytes of code a cycle that a multiprocessor gets from the second cache, at most."""
EMPTY = """.version 7.0
.target sm_80
.address_size 64
.visible .entry empty(
    .param .u32 n,
    .param .u32 zero
)
{
ret;
}
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a GPU can do: bytes a second of a copy within it, instructions a second, cycles a second."""

    bandwidth: float
    rates: dict[str, float]
    clock: float

    @staticmethod
    def of(gpu: Gpu, size: int) -> Machine:
        clock = 1e3 * gpu.attribute("CLOCK_RATE")
        lanes = LANES.get(int(gpu.arch[3:]), CONSUMER)
        rates = {f"float{32 * (k + 1)}": clock * gpu.multiprocessors * lane for k, lane in enumerate(lanes)}
        return Machine(copy_bandwidth(gpu, size), rates, clock)

    def floor_us(self, operations: float, size: int, code: int, dtype: str) -> dict[str, float]:
        """Microseconds at the least for so many instructions, bytes of memory and bytes of code."""
        parts = {
            "operations": operations / self.rates[dtype],
            "bytes": size / self.bandwidth,
            "code": code / (FETCH * self.clock),
        }
        return {name: 1e6 * seconds for name, seconds in parts.items()}


@contextmanager
def own_stream(gpu: Gpu) -> Generator[int, None, None]:
    flags = gpu.driver.constant("CUstream_flags", "CU_STREAM_NON_BLOCKING")
    stream = gpu.driver.number("cuStreamCreate", flags)
    try:
        yield stream
    finally:
        gpu.driver("cuStreamDestroy", stream)


def in_graph(gpu: Gpu, work: Callable[[int], object], launches: int, repeats: int = 3) -> float:
    """Microseconds of one piece of work: `launches` of them captured into a graph, which is launched once to warm up.

    The median over some launches of the graph, by events on the GPU.
    """
    driver = gpu.driver
    with gpu.current(), own_stream(gpu) as stream:
        work(stream)
        driver("cuStreamSynchronize", stream)
        mode = driver.constant("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_GLOBAL")
        driver("cuStreamBeginCapture", stream, mode)
        try:
            for _ in range(launches):
                work(stream)
        finally:
            (graph,) = driver("cuStreamEndCapture", stream)
        (ready,) = driver("cuGraphInstantiate", graph, 0)
        try:
            driver("cuGraphLaunch", ready, stream)
            times = [by_events(gpu, lambda: driver("cuGraphLaunch", ready, stream), stream) for _ in range(repeats)]
        finally:
            driver("cuGraphExecDestroy", ready)
            driver("cuGraphDestroy", graph)
    return median(times) / launches


def by_events(gpu: Gpu, work: Callable[[], object], stream: int) -> float:
    """Microseconds between two events around what is put into the stream."""
    driver = gpu.driver
    flags = driver.constant("CUevent_flags", "CU_EVENT_DEFAULT")
    start, end = (driver("cuEventCreate", flags)[0] for _ in range(2))
    try:
        driver("cuEventRecord", start, stream)
        work()
        driver("cuEventRecord", end, stream)
        driver("cuEventSynchronize", end)
        (milliseconds,) = driver("cuEventElapsedTime", start, end)
    finally:
        driver("cuEventDestroy", start)
        driver("cuEventDestroy", end)
    return 1e3 * float(milliseconds)  # type: ignore[arg-type]


def on_host(work: Callable[[], object], repeats: int) -> float:
    """Microseconds of a call, as the processor sees them: the median after one call to warm up."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * median(times)


def copy_bandwidth(gpu: Gpu, size: int) -> float:
    """Bytes a second, read and written, of a copy within the GPU."""
    with gpu.current(), own_stream(gpu) as stream:
        a, b = (gpu.driver.number("cuMemAlloc", size) for _ in range(2))
        copy = lambda: gpu.driver("cuMemcpyDtoDAsync", a, b, size, stream)  # noqa: E731
        copy()
        times = [by_events(gpu, copy, stream) for _ in range(10)]
        for address in (a, b):
            gpu.driver("cuMemFree", address)
    return 2e6 * size / median(times)


def copies_alone(gpu: Gpu, inputs: int, outputs: int, repeats: int) -> float:
    """Microseconds of one transfer each way between pinned memory and the GPU, waited for."""
    driver = gpu.driver
    with gpu.current(), own_stream(gpu) as stream:
        host = driver.number("cuMemHostAlloc", inputs + outputs, 0)
        device = driver.number("cuMemAlloc", inputs + outputs)

        def work() -> None:
            driver("cuMemcpyHtoDAsync", device, host, inputs, stream)
            driver("cuMemcpyDtoHAsync", host + inputs, device + inputs, outputs, stream)
            driver("cuStreamSynchronize", stream)

        found = on_host(work, repeats)
        driver("cuMemFree", device)
        driver("cuMemFreeHost", host)
    return found


def empty_kernel(gpu: Gpu, launches: int) -> float:
    """Microseconds of a kernel that does nothing."""
    with gpu.current():
        function = gpu.function(EMPTY.encode("ascii") + b"\0", "empty", 0)
    return in_graph(gpu, lambda stream: gpu.launch(function, 1, 32, 0, stream, (0, 0)), launches)


def code_bytes(kernel: CudaKernel) -> int:
    """Machine code of all launches, 16 bytes an instruction; 0 where only the driver made it."""
    images = (image_of(part, kernel.gpu)[1] for part in kernel.parts.launches)
    return sum(text_bytes(image) for image in images if image[:4] == b"\x7fELF")


def text_bytes(elf: bytes) -> int:
    """Bytes of the sections of an ELF file that hold code."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    (strings,) = struct.unpack_from("<Q", elf, table + names * entry + 0x18)
    total = 0
    for k in range(count):
        (name,) = struct.unpack_from("<I", elf, table + k * entry)
        (size,) = struct.unpack_from("<Q", elf, table + k * entry + 0x20)
        total += size * elf[strings + name :].startswith(b".text.")
    return total
