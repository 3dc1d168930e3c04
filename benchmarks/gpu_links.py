"""Times scans over links on a GPU: one state of a robot, compared with one core of the same machine's processor.

    python -m benchmarks.gpu_links [ROBOT ...]

A number is a chain of so many links, a name a bundled robot, NAME-floating one on a free joint.

Needs a GPU; writes results/<date>-gpu-links.json. "us": microseconds a call, the mean of 100 in a graph, arrays on the
GPU; "cpu_us": the same call by target "cpu" with links="auto" on one thread. The goal: five times faster
forward and inverse dynamics at 1024 links.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import condyle
from benchmarks import gpu_time, results
from benchmarks.gpu import on_gpu
from condyle.calls.gpu import GpuDynamics
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.runtime.cuda.driver import Gpu, gpu

ROBOTS = ("32", "128", "1024", "hyq-floating", "atlas")


def main() -> None:
    device = gpu(0)
    found: dict[str, Any] = {**results.certificate(), "arch": device.arch, "rows": []}
    for name in sys.argv[1:] or ROBOTS:
        for dtype in ("float32", "float64"):
            for function in DEFAULT:
                found["rows"].append(measure(device, name, dtype, function))
                print(*found["rows"][-1].values(), flush=True)
    path = results.FOLDER / f"{found['date'][:10]}-gpu-links.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def measure(device: Gpu, name: str, dtype: str, function: str, repeats: int = 100) -> dict[str, Any]:
    robot = robot_of(name)
    rng = np.random.default_rng(0)
    state = robot.random_state(1, rng)
    drive = 0.1 * rng.standard_normal((1, robot.nv))
    known = {"q": state.q, "v": state.v, "a": drive, "tau": drive, "Minv": np.eye(robot.nv)[None]}
    host = [known[port.name].astype(dtype) for port in FUNCTIONS[function].inputs]
    scans = robot.compile(target="cuda", links="scan", dtype=dtype)
    assert isinstance(scans, GpuDynamics)
    core = robot.compile(target="cpu", links="auto", dtype=dtype, threads=1).function(function)
    row = {"robot": name, "dtype": dtype, "function": function, "us": on_gpu(scans, device, function, host, repeats)}
    row["cpu_us"] = gpu_time.on_host(lambda: core(*host), repeats)
    return {**row, "ratio": row["cpu_us"] / row["us"]}


def robot_of(name: str) -> condyle.Robot:
    if name.isdigit():
        return condyle.chain(int(name), rng=1)
    return condyle.load(name.removesuffix("-floating"), floating_base=name.endswith("-floating"))


if __name__ == "__main__":
    main()
