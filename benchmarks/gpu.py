"""Times target "cuda" on a GPU: kernels on arrays that lie there, and whole calls with copies.

    python -m benchmarks.gpu [ROBOT ...]

Needs a GPU; writes results/<date>-gpu.json. "us": microseconds a batch, the least of five means over many calls that
are put into one stream, so for few states it is the time that Python takes to launch; "floor_us": bytes of inputs and
outputs over the bandwidth of a copy within the GPU, measured first.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from condyle.backends.cuda.kernel import CudaKernel
from condyle.cli.states import draw
from condyle.gpu import GpuDynamics
from condyle.runtime.cuda.answers import DeviceArray
from condyle.runtime.cuda.driver import Gpu, gpu
from condyle.signature import FUNCTIONS

BATCHES = (16, 64, 256, 1024, 16_384, 1 << 20)
MOST_BYTES = 8 << 30


def main() -> None:
    device = gpu(0)
    bandwidth = copy_bandwidth(device)
    found: dict[str, Any] = {**results.certificate(), "arch": device.arch, "copy_bytes_per_s": bandwidth, "rows": []}
    for name in sys.argv[1:] or ("iiwa14", "hyq", "atlas"):
        for dtype in ("float32", "float64"):
            dyn = condyle.load(name).compile(target="cuda", dtype=dtype)
            assert isinstance(dyn, GpuDynamics)
            for function in FUNCTIONS:
                for n in BATCHES:
                    if dyn.memory(n)[function] <= MOST_BYTES:
                        row = dict(robot=name, dtype=dtype, **measure(dyn, device, name, function, n, bandwidth))
                        found["rows"].append(row)
                        print(*row.values(), flush=True)
    path = results.FOLDER / f"{found['date'][:10]}-gpu.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def copy_bandwidth(device: Gpu, size: int = 1 << 30) -> float:
    """Bytes a second, read and written, of a copy within the GPU."""
    with device.current():
        a, b = (device.driver.number("cuMemAlloc", size) for _ in range(2))
        seconds = best(device, lambda: device.driver("cuMemcpyDtoDAsync", a, b, size, 0), 10)
        for address in (a, b):
            device.driver("cuMemFree", address)
    return 2 * size / seconds


def best(device: Gpu, work: Any, repeats: int) -> float:
    """Seconds of one piece of work: the least of five means."""
    work()
    device.driver("cuStreamSynchronize", 0)
    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        device.driver("cuStreamSynchronize", 0)
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def measure(dyn: GpuDynamics, device: Gpu, name: str, function: str, n: int, bandwidth: float) -> dict[str, Any]:
    few = draw(condyle.load(name), min(n, 1024), str(dyn.dtype), (function,)).arguments(function)
    host = [np.resize(np.asarray(array), (n, *np.shape(array)[1:])) for array in few]
    start = time.perf_counter()
    dyn.function(function)(*(array[:1] for array in host))
    build = time.perf_counter() - start
    with device.current():
        inputs = [upload(device, array) for array in host]
        answers = dyn.call(function, inputs)  # type: ignore[arg-type]
        seconds = best(device, lambda: dyn.call(function, inputs, out=answers), 100 if n <= 1024 else 10)  # type: ignore
    kernel = dyn._kernel(function, False)
    assert isinstance(kernel, CudaKernel)
    whole = [timed(lambda: dyn.function(function)(*host)) for _ in range(5)]
    size = n * sum(a.size for a in (*kernel.parts.inputs, *kernel.parts.outputs)) * dyn.dtype.itemsize
    return {
        "function": function,
        "n": n,
        "us": seconds * 1e6,
        "floor_us": size / bandwidth * 1e6,
        "states_per_us": n / seconds / 1e6,
        "with_copies_us": min(whole) * 1e6,
        "build_s": build,
        "kernels": len(kernel.parts.launches),
    }


def upload(device: Gpu, array: np.ndarray) -> DeviceArray:
    made = DeviceArray(device, array.shape, array.dtype, 0)
    dense = np.ascontiguousarray(array)
    device.driver("cuMemcpyHtoD", made.address, dense.ctypes.data, dense.nbytes)
    return made


def timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
