"""Times scans over links on a GPU: one state of a long chain, against one core of the processor beside it.

    python -m benchmarks.gpu_links [LINKS ...]

Needs a GPU; writes results/<date>-gpu-links.json. "us": microseconds a call, the mean of 100 in a graph, arrays on the
GPU; "cpu_us": the same call by target "cpu" with links="auto" on one thread. The goal: five times faster at 1024 links.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import condyle
from benchmarks import gpu_time, results
from benchmarks.gpu import on_gpu
from condyle.gpu import GpuDynamics
from condyle.runtime.cuda.driver import Gpu, gpu

FUNCTIONS = ("id", "fd")
LINKS = (32, 128, 1024)


def main() -> None:
    device = gpu(0)
    found: dict[str, Any] = {**results.certificate(), "arch": device.arch, "rows": []}
    for links in map(int, sys.argv[1:] or LINKS):
        for dtype in ("float32", "float64"):
            for function in FUNCTIONS:
                found["rows"].append(measure(device, links, dtype, function))
                print(*found["rows"][-1].values(), flush=True)
    path = results.FOLDER / f"{found['date'][:10]}-gpu-links.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def measure(device: Gpu, links: int, dtype: str, function: str, repeats: int = 100) -> dict[str, Any]:
    robot = condyle.chain(links, rng=1)
    rng = np.random.default_rng(0)
    state = robot.random_state(1, rng)
    host = [x.astype(dtype) for x in (state.q, state.v, 0.1 * rng.standard_normal((1, links)))]
    scans = robot.compile(target="cuda", links="scan", dtype=dtype)
    assert isinstance(scans, GpuDynamics)
    core = robot.compile(target="cpu", links="auto", dtype=dtype, threads=1).function(function)
    row = {"links": links, "dtype": dtype, "function": function, "us": on_gpu(scans, device, function, host, repeats)}
    row["cpu_us"] = gpu_time.on_host(lambda: core(*host), repeats)
    return {**row, "ratio": row["cpu_us"] / row["us"]}


if __name__ == "__main__":
    main()
