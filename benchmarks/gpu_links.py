"""Times scans over links on a GPU: one state of a long chain, against one core of the processor beside it.

    python -m benchmarks.gpu_links [LINKS ...]

Needs a GPU; writes results/<date>-gpu-links.json. "us": microseconds a call, arrays on the GPU, the least of five means
over many calls in one stream; "cpu_us": the same call by target "cpu" with links="auto" on one thread. The goal for
1024 links: five times faster.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.gpu import best, timed, upload
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
    core = robot.compile(target="cpu", links="auto", dtype=dtype, threads=1).function(function)
    core(*host)
    processor = min(timed(lambda: core(*host)) for _ in range(5 * repeats))
    with device.current():
        inputs = [upload(device, array) for array in host]
        answers = scans.call(function, inputs)  # type: ignore[arg-type]
        seconds = best(device, lambda: scans.call(function, inputs, out=answers), repeats)  # type: ignore[arg-type]
    row = {"links": links, "dtype": dtype, "function": function, "us": seconds * 1e6, "cpu_us": processor * 1e6}
    return {**row, "ratio": processor / seconds}


if __name__ == "__main__":
    main()
