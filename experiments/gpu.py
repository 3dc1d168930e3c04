"""Times of our CUDA kernels in float32 where there is a GPU, as benchmarks.gpu measures them: microseconds a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import condyle
from benchmarks import gpu as benchmark
from benchmarks.gpu_time import Machine
from condyle.calls.gpu import GpuDynamics
from condyle.errors import DeviceError
from condyle.runtime.cuda.driver import gpu
from experiments.numbers import digits

KERNEL, WHOLE = "kernel_us", "pinned_us"
"""The kernel alone; the call with copies both ways."""


def times(robot: str, functions: Sequence[str], batches: Sequence[int]) -> dict[str, Any]:
    """times: function to N to KERNEL and WHOLE; left_out where there is no GPU."""
    try:
        device = gpu(0)
    except DeviceError as error:
        return {"left_out": str(error)}
    plan = benchmark.Plan((robot,), tuple(batches))
    with device.current():
        machine = Machine.of(device, plan.copied)
    dyn = condyle.load(robot).compile(target="cuda", dtype="float32")
    assert isinstance(dyn, GpuDynamics)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for function in functions:
        rows = {str(n): benchmark.row(dyn, device, machine, robot, function, n, plan) for n in batches}
        found[function] = {n: {key: row[key] for key in (KERNEL, WHOLE) if key in row} for n, row in rows.items()}
    return {"gpu": benchmark.described(device), "times": found}


def us(row: Mapping[str, Any] | None, function: str, n: int, what: str = KERNEL) -> str:
    """Microseconds of a batch; what was not measured says so."""
    found = (row or {}).get("times", {}).get(function, {}).get(str(n), {}).get(what)
    return "unmeasured" if found is None else digits(found)
