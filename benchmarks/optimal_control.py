"""Optimal control of an iiwa14: times, convergence, predictive control, crocoddyl: writes results/optimal_control.json.

    python -m benchmarks.optimal_control [--quick] [NAME...]    NAME: of a measurement; --quick: little, nothing is kept

Problems are those of `benchmarks.control_problems`. Times are of a call in Python: of the processor with one thread; on
the wall with all cores and in `steady`. An iteration is `solver.step(plan, q, v, shift=1)`: the figure of eight moves
on by a knot, and the line search and the new plan are in it. crocoddyl, where it is installed, has the same problems in
nodes of C++, one thread, in the same run. In `mpc` the robot moves as its plan says: what
is off is the plan's fault. `instructions` needs valgrind, `export` a C compiler.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import time
from collections.abc import Callable
from importlib import metadata, util
from itertools import product
from typing import Any

import numpy as np

from benchmarks import control_export, control_instructions, results
from benchmarks import control_problems as problems
from benchmarks.bench import pinned
from benchmarks.control_problems import Array, Problem
from condyle.cli.bound import Sampling, interleaved

SOURCE = results.FOLDER / "optimal_control.json"
DTYPES = ("float64", "float32")
BATCHES = (1, 16, 128, 1024)
NEAR = 1e-3
"""Of the optimum's cost, and of violations in parts of a bound's range: what counts as arrived."""


class Loop:
    """Plans of many problems on the figure of eight, one iteration and a knot further at each call."""

    def __init__(self, count: int, dtype: str, limits: str, threads: int = 1) -> None:
        problem = problems.figure_eight(count, limits)
        self.problem, self.dtype = problem, dtype
        self.solver = problem.job().compile(dtype=dtype, threads=threads)
        self.q, self.v = (x.astype(dtype) for x in (problem.q, problem.v))
        self.times = problems.LOOP * np.arange(count) / count
        self.goal = self.goals()
        self.plan = self.solver.solve(self.q, self.v, goal=self.goal, most=30, tolerance=1e-4)

    def goals(self) -> Array:
        return problems.goals(self.times, self.problem.knots).astype(self.dtype)

    def move(self) -> None:
        """The robots make the plan's first step, and goals move on."""
        self.q, self.v = (np.ascontiguousarray(x[:, 1]) for x in (self.plan.q, self.plan.v))
        self.times = self.times + problems.H
        self.goal = self.goals()

    def follow(self, shift: int = 1) -> None:
        """An iteration of all plans."""
        self.plan = self.solver.step(self.plan, self.q, self.v, shift=shift, goal=self.goal)

    def advance(self, iterations: int = 1) -> None:
        """Robots move, and plans follow."""
        self.move()
        self.follow()
        for _ in range(iterations - 1):
            self.follow(0)

    def iteration(self) -> Callable[[], Any]:
        """One iteration of all plans from where they are, again and again the same one."""
        plan, q, v, goal, step = self.plan, self.q, self.v, self.goal, self.solver.step
        return lambda: step(plan, q, v, shift=1, goal=goal)


def iteration(quick: bool) -> dict[str, Any]:
    """Times of one iteration, in microseconds of the whole batch and of a problem."""
    batches = BATCHES[:2] if quick else BATCHES
    found: dict[str, Any] = {}
    for dtype, limits, count in product(DTYPES, ("none", "all"), batches):
        found[f"{dtype}, limits {limits}, {count}"] = spread_of(Loop(count, dtype, limits), count, quick)
    cores = os.cpu_count() or 1
    if cores > 1 and not quick:
        for dtype in DTYPES:
            loops = {n: Loop(BATCHES[-1], dtype, "none", n).iteration() for n in (1, cores)}
            both = interleaved({str(n): call for n, call in loops.items()}, Sampling())
            found[f"{dtype}, {cores} cores by 1"] = both["1"].minimum / both[str(cores)].minimum
    return found


def spread_of(loop: Loop, count: int, quick: bool) -> dict[str, float]:
    for _ in range(5 if quick else 40):
        loop.advance()
    with pinned():
        spread = interleaved({"step": loop.iteration()}, Sampling("cpu", 3 if quick else 40))["step"]
    us = {"us": spread.minimum / 1e3, "median_us": spread.median / 1e3}
    return {**us, "us_a_problem": spread.minimum / 1e3 / count, "finite": float(np.isfinite(loop.plan.cost).mean())}


def convergence(quick: bool) -> dict[str, Any]:
    """Iterations from cold until cost and violation are within `NEAR` of the optimum: 256 random reaching problems."""
    problem = problems.reaching(16 if quick else 256)
    found: dict[str, Any] = {"problems": len(problem), "near": NEAR}
    exact = (
        problem.job().compile(threads=1).solve(problem.q, problem.v, tolerance=1e-9, most=300, **problem.arguments())
    )
    found["truth"] = {str(word): int(n) for word, n in zip(*np.unique(exact.status, return_counts=True), strict=True)}
    for dtype in DTYPES:
        solver = problem.job().compile(dtype=dtype, threads=1)
        arguments = {name: None if x is None else x.astype(dtype) for name, x in problem.arguments().items()}
        found[dtype] = arrivals(solver, problem, exact.cost, arguments)
    return found


def arrivals(solver: Any, problem: Problem, best: Array, arguments: dict[str, Any]) -> dict[str, Any]:
    """Costs after 1, 2, ... iterations are those of solves that end there: what arrives stays there."""
    first, most = np.full(len(problem), np.inf), 60
    q, v = (x.astype(solver.dtype) for x in (problem.q, problem.v))
    for k in range(1, most + 1):
        plan = solver.solve(q, v, most=k, tolerance=1e-9, **arguments)
        near = (plan.cost <= best * (1.0 + NEAR)) & (plan.violation <= NEAR) & np.isfinite(plan.cost)
        first = np.where(near & ~np.isfinite(first), k, first)
        first = np.where(near, first, np.inf) if k < most else first
    there = np.isfinite(first)
    return {
        "median": float(np.median(first[there])),
        "p90": float(np.percentile(first[there], 90)),
        "largest": float(first[there].max()),
        "never": int((~there).sum()),
        "elsewhere": int((plan.cost > best * (1.0 + NEAR)).sum()),
    }


def refill(quick: bool) -> dict[str, Any]:
    """256 reaching problems, each until it is solved, against all for as long as the slowest takes."""
    problem = problems.reaching(16 if quick else 256)
    return {dtype: refilled(problem, dtype, 2 if quick else 10) for dtype in DTYPES}


def refilled(problem: Problem, dtype: str, samples: int, tolerance: float = 1e-4) -> dict[str, Any]:
    solver = problem.job().compile(dtype=dtype, threads=1)
    arguments = {name: None if x is None else x.astype(dtype) for name, x in problem.arguments().items()}
    q, v = problem.q.astype(dtype), problem.v.astype(dtype)
    iterations = solver.solve(q, v, tolerance=tolerance, **arguments).iterations.astype(int)
    slowest = int(iterations.max())
    groups = np.pad(iterations, (0, -len(iterations) % 8)).reshape(-1, 8)
    calls = {
        "alone": lambda: solver.solve(q, v, tolerance=tolerance, **arguments),
        "slowest": lambda: solver.solve(q, v, tolerance=1e-30, most=slowest, **arguments),
    }
    with pinned():
        times = interleaved(calls, Sampling("cpu", samples, longest_s=8.0))
    return {
        "ms": {name: spread.minimum / 1e6 for name, spread in times.items()},
        "times_as_fast": times["slowest"].minimum / times["alone"].minimum,
        "iterations": {"mean": float(iterations.mean()), "median": float(np.median(iterations)), "largest": slowest},
        "slowest_of_8_by_mean": float(groups.max(axis=1).mean() / iterations.mean()),
        "us_an_iteration": times["alone"].minimum / 1e3 / float(iterations.sum()),
    }


def mpc(quick: bool) -> dict[str, Any]:
    """The figure of eight followed with one iteration a step and with ten: distance of tips from goals, limits."""
    found: dict[str, Any] = {}
    steps, count = (20, 4) if quick else (600, 16)
    for limits in ("none", "torque", "all"):
        loops = {n: Loop(count, "float64", limits) for n in (1, 10)}
        tip = loops[1].problem.robot.compile(frames=(problems.TIP,), threads=1).frame_placements
        errors: dict[int, list[Array]] = {n: [] for n in loops}
        over = 0.0
        for _ in range(steps):
            for n, loop in loops.items():
                loop.advance(n)
                place = tip(loop.q).translation[:, 0]
                errors[n].append(np.linalg.norm(place - loop.goal[:, 0], axis=1))
                if "u" in loop.problem.bounds:
                    over = max(over, float((np.abs(loop.plan.u[:, 0]) - loop.problem.bounds["u"][1]).max()))
        mean = {n: float(np.mean(error[steps // 2 :])) for n, error in errors.items()}
        found[f"limits {limits}"] = {
            "mean_error_mm": {str(n): 1e3 * x for n, x in mean.items()},
            "one_by_ten": mean[1] / mean[10],
            "torque_over_its_limit": over,
        }
    return {"steps": steps, "problems": count, **found}


def steady(quick: bool) -> dict[str, Any]:
    """Times and memory of many steps of a problem in a loop, garbage collection off."""
    found: dict[str, Any] = {}
    count = 200 if quick else 10_000
    for dtype in DTYPES:
        loop, took, broken = Loop(1, dtype, "all"), np.zeros(count), 0
        for _ in range(20):
            loop.advance()
        with pinned():
            gc.collect()
            gc.disable()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for k in range(count):
                loop.move()
                begin = time.perf_counter_ns()
                loop.follow()
                took[k] = time.perf_counter_ns() - begin
                broken += not np.isfinite(loop.plan.cost[0])
            gc.enable()
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        halves = [float(np.median(part)) / 1e3 for part in np.array_split(took, 4)]
        us = {f"p{p}": float(np.percentile(took, p)) / 1e3 for p in (1, 50, 99, 99.9)} | {
            "max": float(took.max()) / 1e3
        }
        found[dtype] = {"us": us, "median_us_by_quarter": halves, "more_memory_kb": more, "not_finite": int(broken)}
    return {"steps": count, **found}


def crocoddyl(quick: bool) -> dict[str, Any] | None:
    """An iteration of FDDP and of ours on the same figure of eight; box-FDDP and ours from cold on reaching ones."""
    if util.find_spec("crocoddyl") is None:
        return None
    from benchmarks.control_crocoddyl import Arm

    found: dict[str, Any] = {"versions": {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio")}}
    count = 2 if quick else 16
    eight = problems.figure_eight(count)
    arm, rounds = Arm(eight, *problems.EIGHT), 1 if quick else 15
    ours = {dtype: Loop(1, dtype, "none") for dtype in DTYPES}
    for loop in ours.values():
        for _ in range(40):
            loop.advance()
    cold, warm, off = list[float](), list[float](), list[float]()
    optimum = eight.job().compile(threads=1).solve(eight.q, eight.v, tolerance=1e-9, **eight.arguments()).cost
    own: dict[str, list[float]] = {dtype: [] for dtype in DTYPES}
    with pinned():
        for k in range(rounds):
            shooting = arm.shooting(k % count)
            answer = arm.solve(shooting)
            off.append(abs(answer.cost / optimum[k % count] - 1.0))
            cold.append(1e6 * answer.seconds / answer.iterations)
            again = (list(answer.xs), list(answer.us))
            warm.append(min(1e6 * arm.solve(shooting, 1, again).seconds for _ in range(5)))
            spreads = interleaved({dtype: loop.iteration() for dtype, loop in ours.items()}, Sampling("cpu", 3))
            for dtype, spread in spreads.items():
                own[dtype].append(spread.minimum / 1e3)
    least = {"cold": min(cold), "warm": min(warm)}
    found["figure of eight"] = {
        "crocoddyl_us_an_iteration": least,
        "crocoddyl_median_us": {"cold": float(np.median(cold)), "warm": float(np.median(warm))},
        "us": {dtype: min(times) for dtype, times in own.items()},
        "times_as_long": {dtype: min(least.values()) / min(times) for dtype, times in own.items()},
        "cost_differs_by": float(max(off)),
    }
    found["reaching, torque limits"] = reached(4 if quick else 32)
    return found


def reached(count: int) -> dict[str, Any]:
    """Box-FDDP and ours from cold, torques limited, to 1e-6 of the cost: iterations, seconds, and who ends lower."""
    from benchmarks.control_crocoddyl import Arm

    problem = problems.reaching(has_speeds=False).some(slice(0, count))
    arm = Arm(problem, *problems.REACH)
    with pinned():
        answers = [arm.solve(arm.shooting(i), 500) for i in range(count)]
        solver = problem.job().compile(threads=1)
        plan = solver.solve(problem.q, problem.v, **problem.arguments())
        begin = time.process_time()
        plan = solver.solve(problem.q, problem.v, **problem.arguments())
        seconds = time.process_time() - begin
    theirs = np.array([answer.cost for answer in answers])
    iterations = np.array([answer.iterations for answer in answers])
    return {
        "problems": count,
        "iterations": {"crocoddyl": float(np.median(iterations)), "condyle": float(np.median(plan.iterations))},
        "most_iterations": {"crocoddyl": int(iterations.max()), "condyle": int(plan.iterations.max())},
        "us_a_problem": {
            "crocoddyl": 1e6 * float(np.mean([answer.seconds for answer in answers])),
            "condyle": 1e6 * seconds / count,
        },
        "same": int((np.abs(plan.cost / theirs - 1.0) < 1e-6).sum()),
        "ours_lower": int((plan.cost < theirs * (1.0 - 1e-6)).sum()),
        "theirs_lower": int((plan.cost > theirs * (1.0 + 1e-6)).sum()),
    }


MEASUREMENTS: dict[str, Callable[[bool], dict[str, Any] | None]] = {
    "iteration": iteration,
    "convergence": convergence,
    "refill": refill,
    "mpc": mpc,
    "steady": steady,
    "instructions": control_instructions.measure,
    "export": control_export.measure,
    "crocoddyl": crocoddyl,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in options.names or MEASUREMENTS:
        found = MEASUREMENTS[name](options.quick)
        if found is None:
            print(f"{name}: left out, crocoddyl or valgrind is not installed")
            continue
        print(name, *found.items(), sep="\n  ")
        if not options.quick:
            results.merge(
                name, "iiwa14", {**found, "versions": {"numpy": np.__version__, **found.get("versions", {})}}, SOURCE
            )


if __name__ == "__main__":
    main()
