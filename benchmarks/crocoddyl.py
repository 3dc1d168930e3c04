"""An iteration of crocoddyl's FDDP with its own dynamics and with ours: writes results/crocoddyl.json.

    python -m benchmarks.crocoddyl [--quick]       --quick: one solve of each, nothing is written

An iiwa14 goes from the zero posture to 0.5 rad in every joint: 60 nodes of 0.01 s by RK4, costs of state and torque,
FDDP from zero torques. The same problem with crocoddyl's nodes in C++ with Pinocchio, with our nodes under crocoddyl's
costs, and with our nodes under a residual in NumPy. Solves take turns, the least time counts; one thread, and for
crocoddyl's nodes also as many as there are cores. Iterates are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import time
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results

NODES, DT, GOAL = 60, 0.01, 0.5
WEIGHTS = ((1.0, 1e-3), (100.0, 0.0))
"""Of state and torque, on the way and at the end."""
SOURCE = results.FOLDER / "crocoddyl.json"
ROUNDS = 15


class Problems:
    """The problem in each form, by name."""

    def __init__(self) -> None:
        import crocoddyl
        import pinocchio

        self.croc: Any = crocoddyl
        robot = condyle.load("iiwa14")
        self.state: Any = crocoddyl.StateMultibody(pinocchio.buildModelFromXML(robot.to_urdf()))
        self.dyn = robot.compile(threads=1)
        self.forms = {"crocoddyl": self.theirs(1), "condyle, crocoddyl's costs": self.ours([*map(self.costs, WEIGHTS)])}
        self.forms["condyle, a residual"] = self.ours([residual(*weights) for weights in WEIGHTS])

    def costs(self, weights: tuple[float, float]) -> Any:
        croc, goal = self.croc, np.r_[np.full(7, GOAL), np.zeros(7)]
        found = croc.CostModelSum(self.state, 7)
        residuals = croc.ResidualModelState(self.state, goal, 7), croc.ResidualModelControl(self.state, 7)
        for name, part, weight in zip(("state", "torque"), residuals, weights, strict=True):
            if weight:
                found.addCost(name, croc.CostModelResidual(self.state, part), weight)
        return found

    def theirs(self, threads: int) -> Any:
        croc, full = self.croc, self.croc.ActuationModelFull(self.state)
        models = [croc.DifferentialActionModelFreeFwdDynamics(self.state, full, self.costs(w)) for w in WEIGHTS]
        first, last = (croc.IntegratedActionModelRK(model, croc.RKType.four, DT) for model in models)
        problem = croc.ShootingProblem(np.zeros(14), [first] * NODES, last)
        problem.nthreads = threads
        return problem

    def ours(self, costs: list[Any]) -> Any:
        from condyle.interop import crocoddyl as made

        models = [made.DifferentialActionModel(self.state, self.dyn, each) for each in costs]
        first, last = (made.IntegratedActionModel(model, DT, "rk4") for model in models)
        return made.ShootingProblem(np.zeros(14), [first] * NODES, last)

    def solve(self, problem: Any) -> tuple[float, Any]:
        """Seconds an iteration, and the solver."""
        solver, x0 = self.croc.SolverFDDP(problem), np.zeros(14)
        xs, us = [x0] * (NODES + 1), [np.zeros(7)] * NODES
        begin = time.perf_counter()
        solver.solve(xs, us, 100, False)
        return (time.perf_counter() - begin) / solver.iter, solver


def residual(state: float, torque: float) -> Any:
    """r with r·r / 2 = the cost."""
    return lambda at, u: np.concatenate([state**0.5 * (at.q - GOAL), state**0.5 * at.v, torque**0.5 * u])


def measure(rounds: int) -> dict[str, Any]:
    problems = Problems()
    solvers = {name: problems.solve(form)[1] for name, form in problems.forms.items()}
    wanted = solvers["crocoddyl"]
    errors = {name: float(np.abs(np.array(each.xs) - np.array(wanted.xs)).max()) for name, each in solvers.items()}
    if max(errors.values()) > 1e-9 or len({each.iter for each in solvers.values()}) > 1:
        raise SystemExit(f"iterates differ: {errors}, {[each.iter for each in solvers.values()]}")
    threads = os.cpu_count() or 1
    problems.forms[f"crocoddyl, {threads} threads"] = problems.theirs(threads)
    times: dict[str, list[float]] = {name: [] for name in problems.forms}
    for _ in range(rounds):
        for name, form in problems.forms.items():
            times[name].append(problems.solve(form)[0])
    least = {name: 1e3 * min(taken) for name, taken in times.items()}
    return {
        "nodes": NODES,
        "iterations": int(wanted.iter),
        "cost": float(wanted.cost),
        "largest_difference": errors,
        "ms_an_iteration": least,
        "times_as_fast": {name: least["crocoddyl"] / ms for name, ms in least.items()},
        "versions": {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio", "numpy")},
        "solves": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    found = measure(1 if quick else ROUNDS)
    print(*found.items(), sep="\n")
    if not quick:
        results.merge("iteration", "iiwa14", found, SOURCE)


if __name__ == "__main__":
    main()
