"""1024 tracking problems of an iiwa14 solved together on a processor: problems a second.

The instance is that of GATO (A2R-Lab/GATO, MIT: examples/benchmark_fig8.py, python/bsqp/config.py). It is a figure of
eight of 6 s with 64 knots 0.01 s apart. A solve is one iteration from the last answer. The weights are 2 (tip), 0.01
(velocity), 2e-6 (torque) and 50 (last tip). Each problem is an arm at another place of the curve, with a disturbed
state.

Ours differs in four ways. The step is semi-implicit Euler's; theirs also has the acceleration's h^2 / 2. Limits are
left out, or they are those of positions, velocities and torques by an interior point method; theirs has a barrier of
weight 0.01 at the joints' limits. The linear system is solved exactly, by a backward pass; theirs is solved by
conjugate gradients up to 1e-4. The line search tries the whole step first; theirs tries 8 lengths together. GATO's
printed times are of an Indy7, which has six joints.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments.figure import Figure, Lines

Array = NDArray[np.floating]

TIP = "iiwa_link_7"
H, KNOTS, LOOP = 0.01, 64, 6.0
START = np.array([0.75, 0.2, 0.0, -0.5, 0.0, 0.3, 0.0]) * np.pi
"""Near the curve's middle."""
RUNNING, LAST = np.sqrt([2.0, 1e-2, 2e-6]), np.sqrt([50.0, 1e-2])
"""Of the residuals tip - goal, v and u."""
PRINTED = {"1": 0.12, "32": 0.37, "64": 0.75, "128": 1.48, "256": 2.95, "512": 7.76}
"""GATO's milliseconds a solve of so many problems with 64 knots, one iteration, float32, Indy7: printed in its heatmap
(plots/gato_solve_time_heatmap.png); 1024 are left out there."""
ROWS = ("1 float32", "64 float32", "1024 float32", "1024 float64", "1024 float32 one core", "1024 float32 limits")
QUICK = ("64 float32",)


def figure_eight(t: Array) -> Array:
    """The goal at times t (...) [s], (..., 3): in a plane turned by 45 degrees about the vertical axis."""
    s = 2.0 * np.pi * t / LOOP
    x, y, z = 0.4 * np.sin(s), 0.5, 0.6 + 0.2 * np.sin(2.0 * s) + 0.2
    return np.stack([(x - y) / np.sqrt(2.0), (x + y) / np.sqrt(2.0), z], axis=-1)


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [LAST[0] * (at.frame(TIP).translation - goal), LAST[1] * at.v]}


def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    miss = at.frame(TIP).translation - goal
    return {"residual": [RUNNING[0] * miss, RUNNING[1] * at.v, RUNNING[2] * u]}


def measure(row: str, quick: bool) -> dict[str, Any]:
    """The arms settle from a posture and come to the curve; then so many solves in closed loop, timed one by one."""
    count, dtype, *more = row.split(" ", 2)
    fleet = Fleet(int(count), dtype, 1 if "one core" in more else os.cpu_count() or 1, "limits" in more)
    fleet.settle(3 if quick else 20)
    for _ in range(10 if quick else 100):
        fleet.solve()
        fleet.advance()
    times, busy, errors = list[float](), list[float](), list[Array]()
    for _ in range(5 if quick else 100):
        start, before = time.perf_counter(), time.process_time()
        fleet.solve()
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - before)
        errors.append(fleet.advance())
    ms, miss = np.array(times) * 1e3, np.array(errors)
    return {
        "problems": fleet.count,
        "threads": fleet.threads,
        "solves": len(times),
        "solve_ms": {f"p{p}": float(np.percentile(ms, p)) for p in (1, 50, 99)},
        "processor_us_a_problem": float(1e6 * np.median(busy) / fleet.count),
        "problems_per_s": float(fleet.count / np.median(times)),
        "tracking_error_m": {"mean": miss.mean(), "worst_problem": miss.mean(axis=0).max(), "max": miss.max()},
        "finite": float(np.isfinite(fleet.plan.cost).mean()),
    }


class Fleet:
    """Many arms, each at its own time of the curve, with their plans."""

    def __init__(self, count: int, dtype: str, threads: int, limited: bool = False) -> None:
        self.count, self.threads, self.dtype = count, threads, dtype
        robot = condyle.load("iiwa14")
        limits: dict[str, Any] = dict.fromkeys(("u", "q", "v"), limited)
        problem = condyle.OptimalControl(
            robot, running, last, knots=KNOTS - 1, dt=H, inputs={"goal": 3}, by_knot=("goal",), bounds=limits
        )
        self.solver = problem.compile(dtype=dtype, threads=threads)
        self.arm = robot.compile(integrator="rk4", frames=(TIP,))
        self.rng = np.random.default_rng(0)
        self.time = LOOP * np.arange(count) / count
        self.q, self.v = (np.tile(x, (count, 1)).astype(dtype) for x in (START, np.zeros(7)))
        self.plan = self.solver.solve(self.q, self.v, goal=self.goals(), most=1)
        self.shift = 0

    def goals(self) -> Array:
        return figure_eight(self.time[:, None] + H * np.arange(KNOTS)).astype(self.dtype)

    def settle(self, iterations: int) -> None:
        """Iterations of all plans, the arms standing still."""
        for _ in range(iterations):
            self.solve()

    def solve(self) -> None:
        """One iteration of every plan, moved on where the arms moved."""
        self.plan = self.solver.step(self.plan, self.q, self.v, shift=self.shift, goal=self.goals())
        self.shift = 0

    def advance(self) -> Array:
        """The arms move on by a knot, and are disturbed; how far tips are from goals (count,)."""
        q, v, u = (x.astype(np.float64) for x in (self.q, self.v, self.plan.u[:, 0]))
        after = self.arm.step(q, v, u, H)
        disturbed = after.v + self.rng.normal(0.0, 1e-2, after.v.shape)
        self.time = self.time + H
        self.q, self.v = after.q.astype(self.dtype), disturbed.astype(self.dtype)
        self.shift = 1
        tip = self.arm.frame_placements(after.q).translation[:, 0]
        return np.linalg.norm(tip - figure_eight(self.time), axis=1)


def figures(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """Ours on all cores in float32, and what GATO prints."""
    ours = {int(row["problems"]): row["solve_ms"]["p50"] for name, row in rows.items() if name.endswith("float32")}
    points = dict(sorted(ours.items()))
    lines = {
        "condyle float32, a processor": (list(points), list(points.values())),
        "GATO, a GPU, printed": ([int(name) for name in PRINTED], list(PRINTED.values())),
    }
    return {"One solve of all problems": Lines("problems", "ms", lines)} if points else {}


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    """Heading to table, its head first, from measured rows and GATO's printed times."""
    head = ["problems", "one solve of all, ms", "problems a second", "mean tracking error, mm"]
    found = [[*head, "processor time a problem, us"]]
    for name in ROWS:
        row = rows.get(name)
        if row is None:
            found.append([name, "not measured"])
            continue
        error = 1e3 * row["tracking_error_m"]["mean"]
        busy = f"{row['processor_us_a_problem']:.0f}"
        found.append([name, f"{row['solve_ms']['p50']:.2f}", f"{row['problems_per_s']:.0f}", f"{error:.1f}", busy])
    for name, ms in PRINTED.items():
        found.append([f"GATO, {name}, a GPU, printed", f"{ms:.2f}", f"{1e3 * int(name) / ms:.0f} (derived)", "-", "-"])
    return {"Problems a second": found}
