"""Streams of a GPU: which one is meant, what waits for what, whether a graph is being captured."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Set
from typing import Any, cast

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


def capture_of(gpu: Gpu, stream: int) -> int | None:
    """The number of the capture that this stream is in, if it is."""
    if stream == 0:  # never captured, and not to be asked while another one is
        return None
    status, number, *_ = gpu.driver("cuStreamGetCaptureInfo", stream)
    active = gpu.driver.constant("CUstreamCaptureStatus", "CU_STREAM_CAPTURE_STATUS_ACTIVE")
    return int(cast(int, number)) if status == active else None


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
    """Memory may be allocated although a graph is being captured."""
    mode = gpu.driver.constant("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_RELAXED")
    (before,) = gpu.driver("cuThreadExchangeStreamCaptureMode", mode)
    try:
        yield
    finally:
        gpu.driver("cuThreadExchangeStreamCaptureMode", before)
