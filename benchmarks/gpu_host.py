"""What a call on arrays of a GPU takes of the processor, with a driver that does nothing: no GPU is needed.

    python -m benchmarks.gpu_host

Writes results/gpu_host.json: microseconds of processor time, the least of many samples, by function, number type, and
by what the arrays are: Condyle's own, those of `__cuda_array_interface__`, those of DLPack. "out": with `out=`; "new":
with new answers, whose memory comes from the pool and goes back there. `empty` is a Python function that does nothing,
for a scale. What the arrays' own libraries and the real driver take comes on top.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import pinned
from condyle.calls.gpu import GpuDynamics
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.arrays import DeviceArray

ROBOT, STATES, STREAM = "iiwa14", 1024, 5
METHODS = {"id": "inverse_dynamics", "dfd": "forward_dynamics_derivatives"}
ATTRIBUTES = {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0, "MULTIPROCESSOR_COUNT": 132}
SAMPLES, CALLS = 200, 100


class Names:
    """An enumeration of the driver, whose members are their own names."""

    def __getattr__(self, name: str) -> str:
        return name


class IdleDriver:
    """One GPU whose driver does nothing: every call succeeds at once."""

    CUstreamCaptureStatus = SimpleNamespace(CU_STREAM_CAPTURE_STATUS_NONE=0)
    CUresult = SimpleNamespace(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT=906)
    cuuint64_t = int

    def __init__(self) -> None:
        self._addresses = count(1 << 33, 1 << 24)

    def __getattr__(self, name: str) -> Any:
        """All that is called once, at the start."""
        return Names() if name.startswith("CU") else lambda *arguments: (0, 1)

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, 13_000

    def cuDeviceGetAttribute(self, key: str, device: int) -> tuple[int, int]:
        return 0, ATTRIBUTES.get(key.removeprefix("CU_DEVICE_ATTRIBUTE_"), 232_448)

    def cuFuncGetAttribute(self, key: str, function: int) -> tuple[int, int]:
        return 0, 1024

    def CUmemPoolProps(self) -> SimpleNamespace:
        return SimpleNamespace(location=SimpleNamespace())

    def cuCtxPushCurrent(self, context: int) -> tuple[int]:
        return (0,)

    def cuCtxPopCurrent(self) -> tuple[int, int]:
        return 0, 1

    def cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
        return 0, 0

    def cuPointerGetAttribute(self, key: str, address: int) -> tuple[int, int]:
        return 0, 0

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> tuple[int, int]:
        return 0, next(self._addresses)

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
        return (0,)

    def cuLaunchKernel(self, *arguments: object) -> tuple[int]:
        return (0,)


class OfDlpack:
    """An array that says that it lies on a GPU, and lends itself as NumPy's do."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int, max_version: tuple[int, int]) -> object:
        return self.array.__dlpack__(max_version=max_version)


def makers(dtype: str) -> dict[str, Callable[[tuple[int, ...]], Any]]:
    """New arrays of a shape, by kind."""
    real, device, addresses = np.dtype(dtype), drivers.gpu(0), count(1 << 40, 1 << 24)

    def of_interface(shape: tuple[int, ...]) -> Any:
        layout = {"shape": shape, "typestr": real.str, "data": (next(addresses), False), "strides": None, "version": 3}
        return SimpleNamespace(__cuda_array_interface__={**layout, "stream": STREAM})

    return {
        "condyle": lambda shape: DeviceArray(device, shape, real, STREAM),
        "interface": of_interface,
        "dlpack": lambda shape: OfDlpack(np.empty(shape, real)),
    }


def least_us(work: Callable[[], object]) -> float:
    """Microseconds of processor time of a call: the least of the samples, each the mean of some calls."""
    for _ in range(3):
        work()
    times: list[int] = []
    for _ in range(SAMPLES):
        start = time.process_time_ns()
        for _ in range(CALLS):
            work()
        times.append(time.process_time_ns() - start)
    return round(min(times) / CALLS / 1e3, 2)


def rows() -> Iterator[dict[str, Any]]:
    for dtype in ("float32", "float64"):
        dyn = cast("GpuDynamics", condyle.load(ROBOT).compile(target="cuda", dtype=dtype, kernels="thread"))
        for name, method in METHODS.items():
            inputs, outputs = dyn.binder(FUNCTIONS[name]).specs
            for kind, make in makers(dtype).items():
                arrays = [make((STATES, *spec.dims)) for spec in inputs]
                taken = tuple(make((STATES, *spec.dims)) for spec in outputs)
                out, call = taken[0] if len(taken) == 1 else taken, getattr(dyn.on(STREAM), method)
                us = {
                    "out": least_us(lambda call=call, arrays=arrays, out=out: call(*arrays, out=out)),
                    "new": least_us(lambda call=call, arrays=arrays: call(*arrays)),
                }
                yield {"function": name, "dtype": dtype, "arrays": kind, **us}


def main() -> None:
    idle = drivers.Driver(IdleDriver())
    drivers.driver = lambda: idle  # type: ignore[assignment]
    with pinned():
        report: dict[str, Any] = {**results.certificate(), "machine": results.machine(), "robot": ROBOT}
        report |= {"states": STATES, "empty_us": least_us(lambda: None), "rows": []}
        for row in rows():
            print(*row.values(), flush=True)
            report["rows"].append(row)
        dyn = cast("GpuDynamics", condyle.load(ROBOT).compile(target="cuda"))
        report["on_us"] = least_us(lambda: dyn.on(STREAM))
    results.write(results.FOLDER / "gpu_host.json", report)


if __name__ == "__main__":
    main()
