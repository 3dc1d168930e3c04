"""Seconds from a loaded robot to a derivative's first answer, nothing kept from earlier runs: a process of its own.

python -m benchmarks.cold ROBOT NAME         prints JSON; NAME is "vjp_fd" and so on, or "reach"
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

CASES = (
    ("panda", "reach"),
    ("panda", "vjp_fd"),
    ("panda", "hessian_fd"),
    ("atlas-floating", "vjp_fd"),
    ("talos-reduced-floating", "vjp_fd"),
)


def measure(robot: str, name: str, times: int) -> dict[str, Any]:
    """The least and the median of some runs, each with an empty cache."""
    found: list[dict[str, float]] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "benchmarks.cold", robot, name]
            said = subprocess.run(
                words, env={**os.environ, "CONDYLE_CACHE_DIR": folder}, capture_output=True, text=True, check=True
            )
        found.append(json.loads(said.stdout))
    kinds = {kind: [one[kind] for one in found] for kind in found[0]}
    result = {kind: {"minimum": min(of), "median": median(of)} for kind, of in kinds.items()}
    print(robot, name, {kind: round(of["minimum"], 3) for kind, of in result.items()}, flush=True)
    return result


def one(robot: str, name: str) -> dict[str, float]:
    """Traced, differentiated, compiled, called once."""
    import numpy as np

    from benchmarks.robots import chosen

    (case,) = chosen([robot])
    loaded, rng = case.load(), np.random.default_rng(0)
    q, v = loaded.random_state(1, rng)
    given = [rng.uniform(-1.0, 1.0, (1, loaded.nv)) for _ in range(4)]
    begin, worked = time.perf_counter(), time.process_time()
    if name == "reach":
        from benchmarks.costs import reach

        made = loaded.function(reach, inputs={"q": "nq", "v": "nv", "u": loaded.nv}).compile(threads=1)
        made(q, v, given[0])
        made.jacobian(by=("q", "v", "u"))(q, v, given[0])
    else:
        kind, _, of = name.partition("_")
        getattr(loaded.compile(threads=1), kind)(of)(q, v, given[0], given[1])
    return {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - worked}


if __name__ == "__main__":
    print(json.dumps(one(*sys.argv[1:])))
