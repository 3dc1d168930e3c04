"""Functions on PyTorch tensors, compared with direct calls: writes results/interop_torch.json.

    python -m benchmarks.interop_torch [--quick]       --quick: a few rounds, nothing is written

fd of an iiwa14 and of a HyQ on a floating base, one state and 4096, on one thread and on all cores: the direct call
with fresh answers, the call on tensors, the same recorded for gradients, and forward and backward together. Beside it
a rollout of 50 steps with its gradient. Calls take turns, the least time of each counts. Gradients are compared with
`dyn.vjp` before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results

SOURCE = results.FOLDER / "interop_torch.json"
ROBOTS = {"iiwa14": False, "hyq": True}
SIZES = (1, 4096)
STEPS, DT, ROLLED = 50, 0.005, 256
ROUNDS = 60


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of each call: the least and the median."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            begin = time.perf_counter()
            call()
            taken[name].append(1e6 * (time.perf_counter() - begin))
    return {name: {"least": min(all_of), "median": float(np.median(all_of))} for name, all_of in taken.items()}


def forward_and_back(torch: Any, far: Any, dyn: condyle.Dynamics, state: Any) -> dict[str, Callable[[], Any]]:
    q, v, tau = state
    given = [torch.from_numpy(x) for x in state]
    leaves = [torch.from_numpy(x).requires_grad_() for x in state]
    bar = torch.ones_like(given[1])
    found = torch.autograd.grad(far.forward_dynamics(*leaves), leaves, bar)
    want = dyn.vjp("fd")(q, v, tau, bar.numpy())
    if not (np.array_equal(found[1].numpy(), want.v) and np.array_equal(found[2].numpy(), want.tau)):
        raise SystemExit("gradients differ from the library's vjp")
    vjp, cotangent = dyn.vjp("fd"), bar.numpy()
    return {
        "direct": lambda: dyn.forward_dynamics(q, v, tau),
        "tensors": lambda: far.forward_dynamics(*given),
        "recorded": lambda: far.forward_dynamics(*leaves),
        "forward and backward": lambda: torch.autograd.grad(far.forward_dynamics(*leaves), leaves, bar),
        "direct, and vjp": lambda: (dyn.forward_dynamics(q, v, tau), vjp(q, v, tau, cotangent)),
    }


def rolled(torch: Any, far: Any, dyn: condyle.Dynamics, state: Any) -> dict[str, Callable[[], Any]]:
    leaves = [torch.from_numpy(x).requires_grad_() for x in state]
    given, dt = [x.detach() for x in leaves], torch.tensor(DT, dtype=torch.float64)

    def loss() -> Any:
        return (far.rollout(*leaves, dt).v ** 2).sum()

    return {
        "direct": lambda: dyn.rollout(*state, DT),
        "tensors": lambda: far.rollout(*given, dt),
        "forward and backward": lambda: torch.autograd.grad(loss(), leaves),
    }


def measure(rounds: int) -> list[dict[str, Any]]:
    import torch

    from condyle.interop.torch import wrap

    rows: list[dict[str, Any]] = []
    for name, floating in ROBOTS.items():
        robot = condyle.load(name, floating_base=floating)
        for threads in sorted({1, os.cpu_count() or 1}):
            torch.set_num_threads(threads)
            dyn = robot.compile(threads=threads)
            far = wrap(dyn)
            for n in SIZES:
                q, v = robot.random_state(n, 0)
                calls = forward_and_back(torch, far, dyn, (q, v, 0.1 * v))
                rows.append(
                    {"function": "fd", "robot": name, "states": n, "threads": threads, "us": least(calls, rounds)}
                )
            q, v = robot.random_state(ROLLED, 0)
            tau = np.random.default_rng(0).normal(size=(ROLLED, STEPS, robot.nv))
            us = least(rolled(torch, far, dyn, (q, v, tau)), max(2, rounds // 10))
            rows.append(
                {"function": f"rollout of {STEPS} steps", "robot": name, "states": ROLLED, "threads": threads, "us": us}
            )
    for row in rows:
        us = {call: times["least"] for call, times in row["us"].items()}
        row["tensors_to_direct"] = us["tensors"] / us["direct"]
        row["both_to_forward"] = us["forward and backward"] / us["tensors"]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = measure(4 if quick else ROUNDS)
    for row in rows:
        print(*(f"{key} {value}" for key, value in row.items() if key != "us"), sep=", ")
        print("   ", {call: round(times["least"], 1) for call, times in row["us"].items()})
    if not quick:
        found = {"rows": rows, "rounds": ROUNDS, "versions": {"torch": metadata.version("torch")}}
        results.merge("functions on tensors", "iiwa14, hyq", found, SOURCE)


if __name__ == "__main__":
    main()
