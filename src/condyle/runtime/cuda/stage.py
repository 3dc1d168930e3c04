"""Rows on their way to the GPU and back: two slots, so that copies and kernels overlap.

Arrays in pinned memory are copied from and to where they lie. All others pass through pinned memory of ours.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from condyle.runtime.cuda.driver import Gpu, Stream, address_of, relaxed, state_of, wait

Rows = NDArray[np.floating]
HOST = "host "


@dataclass
class Slot:
    """Memory for one chunk of states, and the stream that works on it.

    Inputs lie one right behind the other, outputs too, so that each way is one transfer; where users' arrays are pinned
    but not neighbours, it is one for each array. busy: something is under way. late: answers still to be handed out.
    """

    gpu: Gpu
    stream: int
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    memory: dict[str, int] = field(default_factory=dict[str, int])
    busy: bool = False
    late: list[tuple[Rows, int]] = field(default_factory=list[tuple[Rows, int]])

    @staticmethod
    def create(gpu: Gpu) -> Slot:
        flags = gpu.driver.constant("CUstream_flags", "CU_STREAM_NON_BLOCKING")
        return Slot(gpu, gpu.driver.number("cuStreamCreate", flags))

    def reserve(self, name: str, size: int) -> None:
        """At least so many bytes: "in", "out", "scratch" on the GPU, "host in" and "host out" in pinned memory."""
        if self.sizes.get(name, 0) >= size:
            return
        self.finish()
        host = name.startswith(HOST)
        driver = self.gpu.driver
        if name in self.memory:
            self.sizes.pop(name)
            driver("cuMemFreeHost" if host else "cuMemFree", self.memory.pop(name))
        self.memory[name] = driver.number("cuMemHostAlloc", size, 0) if host else driver.number("cuMemAlloc", size)
        self.sizes[name] = size

    def send(self, arrays: Sequence[Rows], pinned: Sequence[bool]) -> list[int]:
        """Rows to the GPU; their addresses there."""
        spans: list[tuple[int, int, int]] = []
        for array, direct, offset in zip(arrays, pinned, offsets([array.nbytes for array in arrays]), strict=True):
            if not direct:
                _rows(self.memory["host in"] + offset, array.shape, array.dtype)[...] = array
            host = address_of(array) if direct else self.memory["host in"] + offset
            spans.append((host, self.memory["in"] + offset, array.nbytes))
        self.busy = True
        for host, device, size in joined(spans):
            self.gpu.driver("cuMemcpyHtoDAsync", device, host, size, self.stream)
        return [device for _, device, _ in spans]

    def places(self, sizes: Sequence[int], name: str) -> list[int]:
        """Addresses on the GPU for arrays of so many bytes."""
        return [self.memory[name] + offset for offset in offsets(sizes)] if sizes else []

    def receive(self, outputs: Sequence[Rows], pinned: Sequence[bool]) -> None:
        """Asks for the answers; they are there, or handed out, by `finish`."""
        spans: list[tuple[int, int, int]] = []
        for output, direct, offset in zip(outputs, pinned, offsets([o.nbytes for o in outputs]), strict=True):
            host = address_of(output) if direct else self.memory["host out"] + offset
            spans.append((host, self.memory["out"] + offset, output.nbytes))
            if not direct:
                self.late.append((output, host))
        for host, device, size in joined(spans):
            self.gpu.driver("cuMemcpyDtoHAsync", host, device, size, self.stream)

    def finish(self) -> None:
        """Waits for what is under way."""
        if not self.busy:
            return
        late, self.late, self.busy = self.late, [], False
        self.gpu.driver("cuStreamSynchronize", self.stream)
        for output, host in late:
            output[...] = _rows(host, output.shape, output.dtype)

    def give_up(self) -> None:
        """After an error: nothing is under way any more."""
        if self.busy:
            self.busy, self.late = False, []
            self.gpu.driver("cuStreamSynchronize", self.stream)

    def __del__(self, quiet: type[contextlib.suppress] = contextlib.suppress) -> None:  # no module may be left
        with quiet(Exception), self.gpu.current(), relaxed(self.gpu):  # the process may be ending
            self.give_up()
            for name, address in self.memory.items():
                self.gpu.driver("cuMemFreeHost" if name.startswith(HOST) else "cuMemFree", address)
            self.gpu.driver("cuStreamDestroy", self.stream)


def offsets(sizes: Sequence[int]) -> list[int]:
    """Where arrays start that lie one right behind the other."""
    return list(accumulate(sizes, initial=0))[:-1]


def joined(spans: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Transfers (address here, address there, bytes), neighbours as one."""
    here = there = size = 0
    for a, b, more in spans:
        if size and (a, b) == (here + size, there + size):
            size += more
            continue
        if size:
            yield here, there, size
        here, there, size = a, b, more
    if size:
        yield here, there, size


def _rows(address: int, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> Rows:
    """Memory at an address as an array."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ndarray(shape, dtype, memoryview(memory))


# Memory of a GPU in the order of streams: from a pool of Condyle's, and back to it when no capture is in the way.


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
        usable = [stream for stream, state in states.items() if state is not Stream.GONE]
        if not usable:
            usable, states = [0], {0: state_of(gpu, 0)}
        if Stream.CAPTURED in states.values():
            gpu.released.append(released)
            continue
        stream = released.stream if released.stream in usable else usable[0]
        wait(gpu, stream, set(usable))
        gpu.driver("cuMemFreeAsync", released.address, stream)
