"""crocoddyl's quadrupedal gaits with its own contacts and with ours: writes results/crocoddyl.json.

    python -m benchmarks.crocoddyl_gaits [--quick]       --quick: one solve of each, nothing is written

ANYmal walks, trots, paces, bounds and jumps as in `examples/quadrupedal_gaits_fwddyn.py` of crocoddyl, each from where
the one before ended; FDDP, one thread. Costs of every iteration are compared with crocoddyl's nodes and with its log.
Then solves of the trot from rest take turns, by crocoddyl's nodes, by ours under its costs, and by ours with the costs
as a residual; the least processor time of an iteration counts. Needs `example-robot-data`.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.crocoddyl_trot import by_residual

FEET = {
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "hyq": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
}
GAITS = {
    "walking": (0.25, 0.15, 1e-2, 25, 2),
    "trotting": (0.15, 0.1, 1e-2, 25, 2),
    "pacing": (0.15, 0.1, 1e-2, 25, 5),
    "bounding": (0.15, 0.1, 1e-2, 25, 5),
    "jumping": (0.15, [0.0, 0.3, 0.0], 1e-2, 10, 20),
}
"""Of each gait its length and height [m], time step [s], nodes of a step, nodes on all feet; in crocoddyl's order."""
LOG = {
    "walking": "204700 12140 6408 2927 1720 649.7 617.2 608.1 588.7 588.6 588.6 588.6",
    "trotting": "18060 1708 1355 624.0 427.3 427.3 427.3 427.3 427.3",
    "pacing": "79200 6617 5469 1938 1279 821.0 803.5 801.9 801.8 801.8 801.8 801.8 801.8",
    "bounding": "207700 79630 62300 11450 6229 2881 2221 2071 2068 2068 2068 2068 2068 2068 2068",
    "jumping": "1439000 1102000 620000 181300 53940 35470 11430 3339 3334 3111 3099 3059 3059 3059 3059 3059 3059",
}
"""Costs of iterations, four digits: `examples/log/quadrupedal_gaits_fwddyn.log` of crocoddyl at commit 30db9237."""
SOURCE = results.FOLDER / "crocoddyl.json"
ROUNDS = 15


class Quadruped:
    """A robot of `example-robot-data` in both."""

    def __init__(self, name: str = "anymal") -> None:
        import crocoddyl
        import example_robot_data
        from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

        from condyle.interop.crocoddyl import arranged

        self.croc: Any = crocoddyl
        loaded: Any = example_robot_data.load(name)
        self.model, self.feet = loaded.model, FEET[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", condyle.ModelWarning)  # ANYmal's base has inertias of 1e-22 kg m²
            self.robot = arranged(condyle.load(loaded.urdf, floating_base=True), self.model)
        self.dyn = self.robot.compile(contacts=[condyle.Contact(foot) for foot in self.feet], threads=1)
        self._gaits: Any = SimpleQuadrupedalGaitProblem

    @property
    def standing(self) -> Any:
        return np.concatenate([self.model.referenceConfigurations["standing"], np.zeros(self.model.nv)])

    def gaits(self) -> Any:
        """crocoddyl's problems; it keeps whether a step is the first."""
        return self._gaits(self.model, *self.feet)

    def problem(self, gaits: Any, name: str, x0: Any) -> Any:
        given = copy.deepcopy(GAITS[name])  # crocoddyl adds to lists that it is given
        return getattr(gaits, f"create{name.capitalize()}Problem")(x0, *given)

    def rebuilt(self, problem: Any) -> Any:
        from condyle.interop.crocoddyl import rebuilt

        return rebuilt(problem, self.dyn)

    def by_residual(self, problem: Any) -> Any:
        return by_residual(problem, self)

    def solve(self, problem: Any) -> tuple[Any, list[float]]:
        """The solver, and the cost of each iteration."""
        solver, log, x0 = self.croc.SolverFDDP(problem), self.croc.CallbackLogger(), np.array(problem.x0)
        solver.setCallbacks([log])
        us = [np.asarray(u) for u in problem.quasiStatic([x0] * problem.T)]
        solver.solve([x0] * (problem.T + 1), us, 100, False)
        return solver, list(log.costs)

    def seconds(self, problem: Any, iterations: int) -> float:
        """Of the processor, an iteration: the logger, which copies in Python, is not there."""
        solver, x0 = self.croc.SolverFDDP(problem), np.array(problem.x0)
        us = [np.asarray(u) for u in problem.quasiStatic([x0] * problem.T)]
        begin = time.process_time()
        solver.solve([x0] * (problem.T + 1), us, 100, False)
        return (time.process_time() - begin) / iterations

    def all(self, is_ours: bool) -> dict[str, list[float]]:
        """Costs of the iterations of every gait, each from where the one before ended."""
        gaits, x, found = self.gaits(), self.standing, dict[str, list[float]]()
        for name in GAITS:
            problem = self.problem(gaits, name, x)
            solver, found[name] = self.solve(self.rebuilt(problem) if is_ours else problem)
            x = np.array(solver.xs[-1])
        return found


def logged(name: str) -> list[float]:
    """crocoddyl's own costs, to four digits."""
    return [float(word) for word in LOG[name].split()]


def differences(found: dict[str, list[float]], wanted: dict[str, list[float]]) -> dict[str, float]:
    """Of each gait the largest relative difference of an iteration's cost; infinite for another number of them."""
    pairs = ((name, np.array(costs), np.array(wanted[name])) for name, costs in found.items())
    return {name: float(np.abs(a / b - 1).max()) if len(a) == len(b) else float("inf") for name, a, b in pairs}


def measure(rounds: int) -> dict[str, Any]:
    of = Quadruped()
    theirs, ours = of.all(False), of.all(True)
    to_theirs, to_log = differences(ours, theirs), differences(ours, {name: logged(name) for name in GAITS})
    trot = of.problem(of.gaits(), "trotting", of.standing)
    forms = {
        "crocoddyl": trot,
        "condyle, crocoddyl's costs": of.rebuilt(trot),
        "condyle, a residual": of.by_residual(trot),
    }
    trots = {name: of.solve(form)[1] for name, form in forms.items()}
    alike = differences(trots, dict.fromkeys(forms, trots["crocoddyl"]))
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, form in forms.items():
            times[name].append(of.seconds(form, len(trots[name])))
    least = {name: 1e3 * min(taken) for name, taken in times.items()}
    return {
        "iterations": {name: len(costs) for name, costs in ours.items()},
        "cost": {name: costs[-1] for name, costs in ours.items()},
        "difference_from_crocoddyl": to_theirs,
        "difference_from_its_log": to_log,
        "trot": {
            "nodes": int(trot.T),
            "iterations": len(trots["crocoddyl"]),
            "difference": alike,
            "ms_an_iteration": least,
        },
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
        results.merge("gaits", "anymal", found, SOURCE)


if __name__ == "__main__":
    main()
