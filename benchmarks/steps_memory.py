"""Memory of many rollouts, in a process of its own: python -m benchmarks.steps_memory ROBOT N T prints JSON."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.robots import chosen
from benchmarks.steps_common import DT, Plan
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat

ROLLOUTS, STEPS = 100_000, 100


def memory(plan: Plan) -> dict[str, Any]:
    """The most memory that 10^5 rollouts of 100 steps take, last state only, over inputs and answers."""
    n, steps = (1000, 10) if plan.quick else (ROLLOUTS, STEPS)
    command = [sys.executable, "-m", "benchmarks.steps_memory", plan.case.name, str(n), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=results.ROOT)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def one(name: str, n: int, steps: int) -> dict[str, Any]:
    """In this process: the memory in use before, without inputs and answers, counts for neither side."""
    (case,) = chosen([name])
    robot = case.load()
    rollout = robot.compile(threads=1).function(repeat(FUNCTIONS["step"], steps, ("tau",), last=True))
    few = robot.random_state(256, 0)
    rollout(*few, np.zeros((256, steps, robot.nv)), DT)
    before = _peak()
    q, v = np.tile(few.q, (-(-n // 256), 1))[:n], np.tile(few.v, (-(-n // 256), 1))[:n]
    tau = np.ones((n, steps, robot.nv))
    answer = rollout(q, v, tau, DT)
    own = sum(array.nbytes for array in (q, v, tau, *answer))
    return {"rollouts": n, "steps": steps, "own_bytes": own, "peak_bytes": _peak() - before}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
