"""Linear systems, iterations that never end early, and contacts with friction: nanoseconds a state.

    CONDYLE_NO_CACHE=1 python -m benchmarks.solvers

Writes results/solvers.json. One thread, least times of calls in turn. Linear systems: 512 states, float64, beside
`numpy.linalg.solve` of all states; seconds to trace and compile. Iterations: `iterate` of 50 steps in which no state is
done, over `rollout` of as many. Contacts: 256 landing states of HyQ on four feet, from no impulses and from the answer.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import pinned
from condyle.cli.bound import Call, Sampling, interleaved

STATES, STEPS, LANDINGS = 512, 50, 256
SAMPLING = Sampling("cpu", 15, 0.02, 1.0)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def symmetric(A: Any, b: Any) -> Any:
    return condyle.solve_symmetric(A, b)


def general(A: Any, b: Any) -> Any:
    return np.linalg.solve(A, b)


def least(calls: dict[str, Call]) -> dict[str, float]:
    return {name: times.minimum for name, times in interleaved(calls, SAMPLING).items()}


def linear(n: int) -> dict[str, float]:
    random = np.random.default_rng(n)
    half, b = random.normal(size=(STATES, n, n)), random.normal(size=(STATES, n))
    A = half @ half.swapaxes(1, 2) + n * np.eye(n)
    calls: dict[str, Call] = {"numpy": lambda: np.linalg.solve(A, b[..., None])}
    row: dict[str, float] = {}
    for f in (symmetric, general):
        start = time.perf_counter()
        compiled = condyle.function(f, inputs={"A": (n, n), "b": n}).compile(threads=1)
        compiled(A, b)
        row[f"{f.__name__}_compile_s"] = time.perf_counter() - start
        calls[f.__name__] = lambda compiled=compiled: compiled(A, b)
    return {**row, **{f"{name}_ns": ns / STATES for name, ns in least(calls).items()}}


def newton(x: Any, a: Any) -> dict[str, Any]:
    return {"x": 0.5 * (x + a / x), "done": -a[0]}


def reach(at: Any, goal: Any) -> dict[str, Any]:
    tip = at.frame("iiwa_link_7")
    J, miss = tip.jacobian[:3], tip.rotation.T @ (goal - tip.translation)
    step = J.T @ condyle.solve_symmetric(J @ J.T + 1e-3 * np.eye(3), miss)
    return {"q": at.q + step, "done": -1.0 - miss @ miss}


def iterations(dtype: str, n: int) -> dict[str, float]:
    """`iterate` over `rollout`, by function."""
    random, robot = np.random.default_rng(n), condyle.load("iiwa14")
    functions = {
        "newton": (condyle.function(newton, {"x": 3, "a": 3}), [np.ones((n, 3)), 1.0 + random.random((n, 3))]),
        "reach": (robot.function(reach, {"q": "nq", "goal": 3}), [robot.random_state(n, 0).q, random.random((n, 3))]),
    }
    ratios: dict[str, float] = {}
    for name, (function, arguments) in functions.items():
        f, inputs = function.compile(dtype=dtype, threads=1), [x.astype(dtype) for x in arguments]
        ns = least(
            {
                "iterate": lambda f=f, inputs=inputs: f.iterate(*inputs, most=STEPS),
                "rollout": lambda f=f, inputs=inputs: f.rollout(*inputs, steps=STEPS, last=True),
            }
        )
        ratios[name] = ns["iterate"] / ns["rollout"]
    return ratios


def landings(dtype: str) -> dict[str, float]:
    random, robot = np.random.default_rng(1), condyle.load("hyq", floating_base=True)
    contacts = tuple(map(condyle.Contact, FEET))
    dyn: Any = robot.compile(contacts=contacts, inputs=("impulse0",), dtype=dtype, threads=1)
    plain = robot.compile(contacts=contacts, dtype=dtype, threads=1)
    q = np.tile(robot.neutral(), (LANDINGS, 1))
    q[:, 7:] = np.tile([0.0, 0.75, -1.5, 0.0, -0.75, 1.5], 2) + random.uniform(-0.2, 0.2, (LANDINGS, 12))
    v, tau = random.normal(0.0, 0.2, (LANDINGS, robot.nv)), random.normal(0.0, 5.0, (LANDINGS, robot.nv))
    v[:, 2] -= 0.3
    arguments = [np.asarray(x, dtype) for x in (q, v, tau, np.ones(4), 0.005, np.full(4, 0.8))]
    cold = plain.contact_solve(*arguments)
    warm = dyn.contact_solve(*arguments, impulse0=cold[1])
    ns = least(
        {
            "cold": lambda: plain.contact_solve(*arguments),
            "warm": lambda: dyn.contact_solve(*arguments, impulse0=cold[1]),
        }
    )
    residuals = {"cold_residual": float(cold[2].max()), "warm_residual": float(warm[2].max())}
    return {**{f"{name}_ns": value / LANDINGS for name, value in ns.items()}, **residuals}


def main() -> None:
    os.environ["CONDYLE_NO_CACHE"] = "1"
    with pinned():
        rows = {
            "linear systems": {str(n): linear(n) for n in (12, 30, 60)},
            "iterate over rollout": {
                f"{dtype}, {n} states": iterations(dtype, n) for dtype in ("float64", "float32") for n in (1, 64, 4096)
            },
            "contact_solve, hyq": {dtype: landings(dtype) for dtype in ("float64", "float32")},
        }
    whole = {**results.certificate(), "machine": results.machine(), "rows": rows}
    results.write(results.FOLDER / "solvers.json", whole)
    for part, lines in rows.items():
        for name, row in lines.items():
            print(f"{part}, {name}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()))


if __name__ == "__main__":
    main()
