"""Memory of a GPU in the order of streams: from a pool of Condyle's, and back to it when no capture is in the way."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.streams import Stream, state_of, wait


def allocate(gpu: Gpu, size: int, stream: int) -> int:
    """The address of so many bytes, there in the order of the stream. A graph that is captured from it owns them."""
    return gpu.driver.number("cuMemAllocFromPoolAsync", size, gpu.pool, stream)


@contextmanager
def scratch(gpu: Gpu, size: int, stream: int) -> Generator[int, None, None]:
    """The address of memory for the launches of one call; 0 for none."""
    address = allocate(gpu, size, stream) if size else 0
    try:
        yield address
    finally:
        if size:
            gpu.driver("cuMemFreeAsync", address, stream)


def free_released(gpu: Gpu) -> None:
    """Frees what was released, after all that its streams do now.

    What is put into a stream while a graph is captured from it becomes part of the graph. Such memory stays until the
    next call.
    """
    for _ in range(len(gpu.released)):
        try:
            released = gpu.released.popleft()
        except IndexError:  # another thread frees it
            return
        states = {stream: state_of(gpu, stream) for stream in released.streams}
        usable = [stream for stream, state in states.items() if state != Stream.GONE] or [0]
        if any(state_of(gpu, stream) == Stream.CAPTURED for stream in usable):
            gpu.released.append(released)
            continue
        stream = released.stream if released.stream in usable else usable[0]
        wait(gpu, stream, set(usable))
        gpu.driver("cuMemFreeAsync", released.address, stream)
