"""Scratch on the GPU for one call, in the order of its stream; or for a graph, which keeps it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextlib import contextmanager

from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.streams import capture_of, relaxed
from condyle.runtime.forks import Guard


class Scratch:
    """A call takes it from the driver's pool and gives it back in stream order.

    While a stream is captured, nothing may be taken: memory is got beside the graph, serves all calls of that capture
    in that stream, and stays as long as this object, for graphs may be launched at any time.
    """

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._kept: dict[tuple[int, int], tuple[int, int]] = {}
        self._all: list[int] = []
        self._guard = Guard()

    @contextmanager
    def borrowed(self, size: int, stream: int) -> Generator[int, None, None]:
        """The address of so many bytes; 0 for none."""
        if not size:
            yield 0
            return
        capture = capture_of(self._gpu, stream)
        if capture is not None:
            with self._guard.lock:  # launches of one call stay together
                yield self._of_graph(capture, stream, size)
            return
        driver = self._gpu.driver
        address = driver.number("cuMemAllocAsync", size, stream)
        try:
            yield address
        finally:
            driver("cuMemFreeAsync", address, stream)

    def _of_graph(self, capture: int, stream: int, size: int) -> int:
        address, room = self._kept.get((capture, stream), (0, 0))
        if room < size:
            with relaxed(self._gpu):
                address = self._gpu.driver.number("cuMemAlloc", size)
            self._kept[capture, stream] = address, size
            self._all.append(address)
        return address

    def __del__(self, quiet: type[contextlib.suppress] = contextlib.suppress) -> None:  # no module may be left
        with quiet(Exception), self._gpu.current():  # the process may be ending
            for address in self._all:
                self._gpu.driver("cuMemFree", address)
