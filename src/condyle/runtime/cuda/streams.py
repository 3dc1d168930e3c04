"""Streams of a GPU: which one is meant, what waits for what, whether a graph is being captured."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Set
from enum import Enum
from typing import Any

from condyle.errors import DTypeError
from condyle.runtime.cuda.driver import Gpu


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
    status, values = gpu.driver.attempt("cuStreamIsCapturing", stream)
    if status == gpu.driver.constant("CUresult", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"):
        return Stream.CAPTURED
    if int(status):
        return Stream.GONE
    none = gpu.driver.constant("CUstreamCaptureStatus", "CU_STREAM_CAPTURE_STATUS_NONE")
    return Stream.READY if values[0] == none else Stream.CAPTURED


def is_captured(gpu: Gpu, stream: int) -> bool:
    """Whether a graph is captured from this stream; never from stream 0."""
    return stream != 0 and state_of(gpu, stream) == Stream.CAPTURED


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
