"""Streams of the fake driver: work waits in them until somebody waits for it, as on a GPU; graphs record it."""

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
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


class CUstream_flags(IntEnum):  # noqa: N801
    CU_STREAM_NON_BLOCKING = 1


class CUevent_flags(IntEnum):  # noqa: N801
    CU_EVENT_DEFAULT = 0
    CU_EVENT_DISABLE_TIMING = 2


class CUstreamCaptureStatus(IntEnum):
    CU_STREAM_CAPTURE_STATUS_NONE = 0
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1


class CUstreamCaptureMode(IntEnum):
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0
    CU_STREAM_CAPTURE_MODE_RELAXED = 2


OK = CUresult.CUDA_SUCCESS
NOT_NOW = CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED


@dataclass
class Event:
    """What must be done before it: so many pieces of work of a stream."""

    stream: int = 0
    count: int = 0


@dataclass
class Queue:
    """Work of one stream; done: how much of it."""

    work: list[Work] = field(default_factory=list)
    done: int = 0


class Streams:
    """The part of the driver that has to do with order. broken: what every wait answers once a kernel has failed."""

    CUstream_flags = CUstream_flags
    CUevent_flags = CUevent_flags
    CUstreamCaptureStatus = CUstreamCaptureStatus
    CUstreamCaptureMode = CUstreamCaptureMode

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.queues: dict[int, Queue] = {}
        self.events: dict[int, Event] = {}
        self.captures: dict[int, tuple[int, list[Work]]] = {}
        self.graphs: dict[int, list[Work]] = {}
        self.mode = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        self.broken = OK

    def put(self, stream: int, work: Work) -> None:
        """Into a stream, or into the graph that it is captured into."""
        if stream in self.captures:
            self.captures[stream][1].append(work)
        else:
            self.queues.setdefault(stream, Queue()).work.append(work)

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
        """Whether calls that may wait or allocate are refused."""
        return bool(self.captures) and self.mode != CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED

    def cuStreamCreate(self, flags: int) -> Any:
        return OK, 100 + next(self.numbers)

    def cuStreamDestroy(self, stream: int) -> Any:
        self.reach(stream)
        return (OK,)

    def cuStreamSynchronize(self, stream: int) -> Any:
        if stream in self.captures:
            return (NOT_NOW,)
        self.reach(stream)
        return (self.broken,)

    def cuCtxSynchronize(self) -> Any:
        if self.captures:
            return (NOT_NOW,)
        self.reach_all()
        return (self.broken,)

    def cuEventCreate(self, flags: int) -> Any:
        number = next(self.numbers)
        self.events[number] = Event()
        return OK, number

    def cuEventRecord(self, event: int, stream: int) -> Any:
        assert stream not in self.captures
        self.events[event] = Event(stream, len(self.queues.setdefault(stream, Queue()).work))
        return (OK,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> Any:
        before = self.events[event]
        self.put(stream, lambda: self.reach(before.stream, before.count))
        return (OK,)

    def cuEventSynchronize(self, event: int) -> Any:
        self.reach(self.events[event].stream, self.events[event].count)
        return (self.broken,)

    def cuEventElapsedTime(self, start: int, end: int) -> Any:
        return OK, 0.5

    def cuEventDestroy(self, event: int) -> Any:
        del self.events[event]
        return (OK,)

    def cuStreamBeginCapture(self, stream: int, mode: IntEnum) -> Any:
        self.captures[stream] = next(self.numbers), []
        return (OK,)

    def cuStreamEndCapture(self, stream: int) -> Any:
        number, work = self.captures.pop(stream)
        self.graphs[number] = work
        return OK, number

    def cuStreamGetCaptureInfo(self, stream: int) -> Any:
        if stream not in self.captures:
            return OK, CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE, 0, None
        return OK, CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE, self.captures[stream][0], None

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> Any:
        before, self.mode = self.mode, mode
        return OK, before

    def cuGraphInstantiate(self, graph: int, flags: int) -> Any:
        return OK, graph

    def cuGraphLaunch(self, graph: int, stream: int) -> Any:
        for work in self.graphs[graph]:
            self.put(stream, work)
        return (OK,)

    def cuGraphExecDestroy(self, graph: int) -> Any:
        return (OK,)

    def cuGraphDestroy(self, graph: int) -> Any:
        return (OK,)
