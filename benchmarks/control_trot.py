"""An iteration of a trotting quadruped, crocoddyl's and ours: writes "trot" of results/optimal_control.json.

    python -m benchmarks.control_trot [--quick]       --quick: few rounds, nothing is written

crocoddyl's trot of a HyQ (18 dof, `benchmarks.crocoddyl_gaits`): 50 knots of 0.01 s, feet on the ground in turn. Its
two impacts are nodes of their own; ours are in the step of the knot behind, which takes their costs, and all feet on
the ground take part in them. Costs are the same: friction cones, limits of joints and speeds, posture, centre of mass,
feet, torques. Both solve from standing; then single iterations take turns, from the solution and a disturbed state, in
processor time. Needs crocoddyl and `example-robot-data`.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import pinned
from benchmarks.control_problems import Array, Problem
from benchmarks.crocoddyl_gaits import Quadruped
from benchmarks.crocoddyl_trot import TRACKED, own, residual
from benchmarks.optimal_control import SOURCE

DT, STEP, SUPPORT = 1e-2, 23, 2
GAINS = (0.0, 50.0)
"""Of position and velocity, of crocoddyl's contacts."""
IMPACT = 10.0**0.5
"""Of the posture at an impact: the root of its weight, for entries of weight 1 (root) and 10 (joints, speeds)."""


def shooting(of: Quadruped) -> Any:
    return of.gaits().createTrottingProblem(of.standing, 0.15, 0.1, DT, STEP, SUPPORT)


def trot(of: Quadruped, theirs: Any) -> Problem:
    """crocoddyl's problem as ours."""
    numbers, flags, impacts = list[Array](), list[Array](), list[float]()
    landing = np.zeros((TRACKED, 4))
    nodes = [*theirs.runningModels, theirs.terminalModel]
    for node in nodes:
        if hasattr(node, "impulses"):
            landing = own(node.costs, of.feet).reshape(TRACKED, 4)
            continue
        way = node.differential
        mine = own(way.costs, of.feet).reshape(TRACKED, 4)
        landing[:, 0] /= 1.0 if node is nodes[-1] else DT**0.5  # costs of an impact and of the end are not times dt
        numbers.append(np.where(landing[:, :1] > 0.0, landing, mine).ravel())
        flags.append(np.array([f"{foot}_contact" in way.contacts.contacts.todict() for foot in of.feet], float))
        impacts.append(float(landing.any()))
        landing = np.zeros((TRACKED, 4))
    state, contacts = theirs.terminalModel.state, tuple(condyle.Contact(foot, gains=GAINS) for foot in of.feet)
    standing = of.standing[: of.robot.nq].copy()
    rest, root = residual(state, of.feet, of.standing), DT**0.5

    def landed(at: Any, impact: Any) -> Any:
        posture = at.difference(standing, at.q) * np.r_[np.ones(6), np.full(12, 10.0)]
        return IMPACT * impact * np.concatenate([posture, 10.0 * at.v])

    def running(at: Any, u: Any, active: Any, own: Any, impact: Any) -> dict[str, Any]:
        held = at.constrained_forward_dynamics(np.concatenate([np.zeros(6), u]), active)
        pushes = [at.frame(foot).rotation @ held.force[k, :3] for k, foot in enumerate(of.feet)]
        return {"residual": [root * rest(at, u, np.concatenate(pushes), own), landed(at, impact)]}

    def last(at: Any, own: Any, impact: Any) -> dict[str, Any]:
        return {"residual": [rest(at, np.zeros(12), np.zeros(12), own), landed(at, impact)]}

    x0, knots = np.array(theirs.x0), len(flags) - 1
    q, v = x0[None, : state.nq], x0[None, state.nq :]
    us = np.array([u for u in theirs.quasiStatic([x0] * theirs.T) if len(u)])
    start = np.repeat(q[:, None], knots + 1, 1), np.repeat(v[:, None], knots + 1, 1), us[None]
    values = {"own": np.array(numbers)[None], "impact": np.array(impacts)[None]}
    return Problem(
        "hyq trots", of.robot, running, last, knots, DT, q, v, {"own": 4 * TRACKED, "impact": ()}, values,
        ("own", "impact"), contacts=contacts, flags=np.array(flags[:-1]), start=start,
    )  # fmt: skip


def measure(rounds: int) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", condyle.ModelWarning)  # damping of joints, which neither has
        of = Quadruped("hyq")
    theirs = shooting(of)
    problem = trot(of, theirs)
    warnings.simplefilter("ignore", condyle.ModelWarning)
    answer, costs = of.solve(theirs)
    begin = time.perf_counter()
    solvers = {dtype: problem.job().compile(dtype=dtype, threads=1) for dtype in ("float64", "float32")}
    given = {dtype: arguments_of(problem, dtype) for dtype in solvers}
    plans = {dtype: solver.solve(*given[dtype][0], **given[dtype][1]) for dtype, solver in solvers.items()}
    built = time.perf_counter() - begin
    for name, plan in plans.items():
        print(name, plan.status, plan.iterations, plan.cost, plan.violation, "crocoddyl", costs[-1], len(costs))
    xs, us = list(answer.xs), list(answer.us)
    disturbed = problem.v + 0.05 * np.random.default_rng(0).normal(size=problem.v.shape)
    theirs.x0 = np.r_[problem.q[0], disturbed[0]]
    times: dict[str, list[float]] = {name: [] for name in ("crocoddyl", "crocoddyl, all cores", *plans)}
    with pinned():
        for _ in range(rounds):
            times["crocoddyl"].append(one_iteration(of, theirs, xs, us))
            for name, solver in solvers.items():
                (q, _), inputs = given[name]
                inputs = {key: value for key, value in inputs.items() if key != "start"}
                v = disturbed.astype(name)
                begin = time.process_time()
                solver.step(plans[name], q, v, shift=0, **inputs)
                times[name].append(time.process_time() - begin)
    theirs.nthreads = os.cpu_count() or 1
    times["crocoddyl, all cores"] = [one_iteration(of, theirs, xs, us, time.perf_counter) for _ in range(rounds)]
    least = {name: 1e3 * min(taken) for name, taken in times.items()}
    return {
        "knots": problem.knots,
        "iterations": {"crocoddyl": len(costs), **{name: int(plan.iterations[0]) for name, plan in plans.items()}},
        "cost": {"crocoddyl": costs[-1], **{name: float(plan.cost[0]) for name, plan in plans.items()}},
        "ms_an_iteration": least,
        "median_ms": {name: 1e3 * float(np.median(taken)) for name, taken in times.items()},
        "times_as_long": {name: least["crocoddyl"] / least[name] for name in plans},
        "seconds_to_compile": built,
        "versions": {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio", "numpy")},
        "rounds": rounds,
    }


def arguments_of(problem: Problem, dtype: str) -> tuple[tuple[Array, Array], dict[str, Any]]:
    """q, v, and the rest of what `solve` takes, in a number type."""
    named = problem.arguments()
    start = None if named["start"] is None else tuple(x.astype(dtype) for x in named["start"])
    inputs = {name: value.astype(dtype) for name, value in named.items() if name != "start"}
    return (problem.q.astype(dtype), problem.v.astype(dtype)), {**inputs, "start": start}


def one_iteration(
    of: Quadruped, problem: Any, xs: Any, us: Any, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds of an iteration of FDDP from a plan; of the processor."""
    solver = of.croc.SolverFDDP(problem)
    begin = clock()
    solver.solve(xs, us, 1, False)
    return clock() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    found = measure(5 if quick else 60)
    print(*found.items(), sep="\n")
    if not quick:
        results.merge("trot", "hyq", found, SOURCE)


if __name__ == "__main__":
    main()
