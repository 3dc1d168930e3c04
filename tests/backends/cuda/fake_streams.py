"""Streams of the fake driver: work waits in them until somebody waits for it, as on a GPU; graphs record it.

What NVIDIA's documentation forbids while a graph is captured fails and makes the capture invalid; what it leaves
undefined is noted in `faults`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Work = Callable[[], None]


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_NOT_SUPPORTED = 801
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906


class CUstream_flags(IntEnum):  # noqa: N801
    CU_STREAM_NON_BLOCKING = 1


class CUevent_flags(IntEnum):  # noqa: N801
    CU_EVENT_DEFAULT = 0
    CU_EVENT_DISABLE_TIMING = 2


class CUstreamCaptureStatus(IntEnum):
    CU_STREAM_CAPTURE_STATUS_NONE = 0
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2


class CUstreamCaptureMode(IntEnum):
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0
    CU_STREAM_CAPTURE_MODE_RELAXED = 2


OK = CUresult.CUDA_SUCCESS
NOT_NOW = CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED


@dataclass
class Graph:
    """Work that is captured from the stream `origin`. streams: those that take part.

    memory: allocations that it owns, until the graph and what was instantiated of it are destroyed.
    """

    number: int
    origin: int
    streams: set[int]
    valid: bool = True
    work: list[Work] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)


@dataclass
class Event:
    """What must be done before it: so many pieces of work of a stream, or the capture that it is recorded in."""

    stream: int = 0
    count: int = 0
    graph: Graph | None = None


@dataclass
class Queue:
    """Work of one stream; done: how much of it."""

    work: list[Work] = field(default_factory=list)
    done: int = 0


class Streams:
    """The part of the driver that has to do with order. broken: what every wait answers once a kernel has failed.

    blocking: streams that wait for stream 0 and it for them; all others are non-blocking. gone: destroyed ones.
    legacy: what was put into stream 0, by name. faults: calls whose effect is undefined.
    """

    CUresult = CUresult
    CUstream_flags = CUstream_flags
    CUevent_flags = CUevent_flags
    CUstreamCaptureStatus = CUstreamCaptureStatus
    CUstreamCaptureMode = CUstreamCaptureMode

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.queues: dict[int, Queue] = {}
        self.events: dict[int, Event] = {}
        self.captures: dict[int, Graph] = {}
        self.graphs: dict[int, Graph] = {}
        self.blocking: set[int] = set()
        self.gone: set[int] = set()
        self.legacy: list[str] = []
        self.faults: list[str] = []
        self.mode = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        self.broken = OK

    def refused(self, name: str, stream: int) -> CUresult:
        """Whether work may be put into a stream: not into stream 0 while a graph is captured from a blocking one."""
        if stream in self.gone:
            self.faults.append(f"{name} in a stream that was destroyed")
            return CUresult.CUDA_ERROR_INVALID_HANDLE
        if stream == 0:
            self.legacy.append(name)
            blocked = [self.captures[one] for one in self.blocking & set(self.captures)]
            for graph in blocked:
                graph.valid = False
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT if blocked else OK
        return OK

    def put(self, stream: int, work: Work, name: str = "work") -> CUresult:
        """Into a stream, or into the graph that is captured from it."""
        status = self.refused(name, stream)
        if status != OK:
            return status
        if stream in self.captures:
            self.captures[stream].work.append(work)
        else:
            self.queues.setdefault(stream, Queue()).work.append(work)
        return OK

    def reach(self, stream: int, count: int | None = None) -> None:
        """Does the work of a stream, up to `count` pieces of it."""
        queue = self.queues.setdefault(stream, Queue())
        while queue.done < (len(queue.work) if count is None else count):
            queue.done += 1
            queue.work[queue.done - 1]()

    def reach_all(self) -> None:
        for stream in list(self.queues):
            self.reach(stream)

    def unsafe(self) -> bool:
        """Whether a call that may wait or allocate is refused; captures are invalid then."""
        if not self.captures or self.mode == CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED:
            return False
        for graph in self.captures.values():
            graph.valid = False
        return True

    def synchronised(self) -> CUresult:
        """After the processor has waited."""
        return self.broken

    def cuStreamCreate(self, flags: int) -> Any:
        number = 100 + next(self.numbers)
        if flags != CUstream_flags.CU_STREAM_NON_BLOCKING:
            self.blocking.add(number)
        return OK, number

    def cuStreamDestroy(self, stream: int) -> Any:
        self.reach(stream)
        self.gone.add(stream)
        return (OK,)

    def cuStreamSynchronize(self, stream: int) -> Any:
        status = self.refused("cuStreamSynchronize", stream)
        if status != OK:
            return (status,)
        if stream in self.captures or self.unsafe():
            return (NOT_NOW,)
        self.reach(stream)
        return (self.synchronised(),)

    def cuCtxSynchronize(self) -> Any:
        if self.captures:
            return (NOT_NOW,)
        self.reach_all()
        return (self.synchronised(),)

    def cuEventCreate(self, flags: int) -> Any:
        number = next(self.numbers)
        self.events[number] = Event()
        return OK, number

    def cuEventRecord(self, event: int, stream: int) -> Any:
        status = self.refused("cuEventRecord", stream)
        if status == OK:
            count = len(self.queues.setdefault(stream, Queue()).work)
            self.events[event] = Event(stream, count, self.captures.get(stream))
        return (status,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> Any:
        before = self.events[event]
        if before.graph is not None:  # the stream takes part in the capture from now on
            self.captures[stream] = before.graph
            before.graph.streams.add(stream)
            return (OK,)
        if stream in self.captures:
            self.captures[stream].valid = False
            return (CUresult.CUDA_ERROR_STREAM_CAPTURE_ISOLATION,)
        return (self.put(stream, lambda: self.reach(before.stream, before.count), "cuStreamWaitEvent"),)

    def cuEventSynchronize(self, event: int) -> Any:
        self.reach(self.events[event].stream, self.events[event].count)
        return (self.synchronised(),)

    def cuEventElapsedTime(self, start: int, end: int) -> Any:
        return OK, 0.5

    def cuEventDestroy(self, event: int) -> Any:
        del self.events[event]
        return (OK,)

    def cuStreamBeginCapture(self, stream: int, mode: IntEnum) -> Any:
        self.captures[stream] = Graph(next(self.numbers), stream, {stream})
        return (OK,)

    def cuStreamEndCapture(self, stream: int) -> Any:
        graph = self.captures[stream]
        for one in graph.streams:
            del self.captures[one]
        if not graph.valid:
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, None
        if graph.streams != {stream}:
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_UNJOINED, None
        self.graphs[graph.number] = graph
        return OK, graph.number

    def cuStreamIsCapturing(self, stream: int) -> Any:
        """It breaks no capture, of stream 0 neither."""
        if stream in self.gone:
            return CUresult.CUDA_ERROR_INVALID_HANDLE, None
        if stream == 0 and self.blocking & set(self.captures):
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, None
        graph = self.captures.get(stream)
        return OK, CUstreamCaptureStatus(0 if graph is None else 1 if graph.valid else 2)

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> Any:
        before, self.mode = self.mode, mode
        return OK, before

    def cuGraphInstantiate(self, graph: int, flags: int) -> Any:
        source = self.graphs[graph]
        if source.memory and sum(one is source for one in self.graphs.values()) > 1:
            return CUresult.CUDA_ERROR_NOT_SUPPORTED, None
        ready = next(self.numbers)
        self.graphs[ready] = source
        return OK, ready

    def cuGraphLaunch(self, graph: int, stream: int) -> Any:
        for work in self.graphs[graph].work:
            self.put(stream, work)
        return (OK,)

    def cuGraphExecDestroy(self, graph: int) -> Any:
        return self.cuGraphDestroy(graph)

    def cuGraphDestroy(self, graph: int) -> Any:
        source = self.graphs.pop(graph)
        if all(one is not source for one in self.graphs.values()):
            self.reach_all()
            for address in source.memory:
                self.give_up(address)
        return (OK,)

    def give_up(self, address: int) -> None:
        """Frees memory that a graph owned."""
        raise NotImplementedError
