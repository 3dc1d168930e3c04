"""Times of our CUDA kernels in float32 where there is a GPU, as benchmarks.gpu measures them: microseconds a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.gpu.context import card
from benchmarks.gpu.times import Plan, Timed
from condyle.errors import DeviceError
from condyle.runtime.cuda.driver import gpu
from experiments.numbers import digits

KERNEL, WHOLE = "kernel_us", "pinned_us"
"""The kernel alone; the call with copies both ways."""
MOST_HOST = 1 << 30
"""Bytes of pinned memory."""


def times(robot: str, functions: Sequence[str], batches: Sequence[int], plan: Plan = Plan()) -> dict[str, Any]:  # noqa: B008
    """times: function to N to KERNEL and WHOLE; left_out where there is no GPU."""
    try:
        device = gpu(0)
    except DeviceError as error:
        return {"left_out": str(error)}
    timed = Timed(robot, device, plan)
    return {"gpu": card(device), "times": {name: {str(n): row(timed, name, n) for n in batches} for name in functions}}


def row(timed: Timed, function: str, n: int) -> dict[str, float]:
    """Of one batch."""
    us = {KERNEL: timed.kernel_us(function, n)}
    if n * timed.sized(function, n).sizes.all <= MOST_HOST:
        us[WHOLE] = timed.whole_calls(function, n)[WHOLE]
    return us


def us(row: Mapping[str, Any] | None, function: str, n: int, what: str = KERNEL) -> str:
    """Microseconds of a batch; what was not measured says so."""
    found = (row or {}).get("times", {}).get(function, {}).get(str(n), {}).get(what)
    return "unmeasured" if found is None else digits(found)
