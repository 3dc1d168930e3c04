"""A node with four feet on the ground, by crocoddyl and by us: writes results/crocoddyl.json.

    python -m benchmarks.crocoddyl_contacts [--quick]       --quick: one round, nothing is written

ANYmal and HyQ on a floating base, four contacts in 3-D, 256 random states, one thread, no costs on either side. Two
comparisons. The node: IntegratedActionModelEuler of DifferentialActionModelContactFwdDynamics in crocoddyl's C++ loop
over all nodes, calc and calcDiff, beside one call of ours for the same: x' and forces, Fx, Fu and derivatives of the
forces. The model alone: calc and calcDiff of the differential model one by one from Python, less what a call of a model
without work takes, beside the functions cfd and dcfd. Answers are compared before anything is timed. Needs
`example-robot-data`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.crocoddyl_gaits import SOURCE, Quadruped

N, DT, ROUNDS = 256, 1e-2, 120


class Nodes:
    """The same nodes in both."""

    def __init__(self, name: str) -> None:
        from condyle.interop.crocoddyl import rebuilt

        of = self.of = Quadruped(name)
        croc, state = of.croc, of.croc.StateMultibody(of.model)
        actuation, contacts = croc.ActuationModelFloatingBase(state), croc.ContactModelMultiple(state, 12)
        for foot in of.feet:
            frame, axes = of.model.getFrameId(foot), _pinocchio().LOCAL_WORLD_ALIGNED
            one = croc.ContactModel3D(state, frame, np.zeros(3), axes, 12, np.array([0.0, 50.0]))
            contacts.addContact(foot, one)
        costs = croc.CostModelSum(state, 12)
        self.model = croc.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
        self.idle = croc.DifferentialActionModelLQR(1, 1)
        node, rng = croc.IntegratedActionModelEuler(self.model, DT), np.random.default_rng(0)
        self.xs = [np.array(state.integrate(state.zero(), rng.uniform(-1, 1, state.ndx))) for _ in range(N)]
        self.us = [rng.uniform(-10, 10, 12) for _ in range(N)]
        self.theirs = croc.ShootingProblem(self.xs[0], [node] * N, node)
        self.theirs.nthreads = 1
        self.ours = rebuilt(self.theirs, of.dyn)
        self.batch = self.ours.models[0].batch(self.ours.models)

    def compared(self) -> dict[str, float]:
        """The largest difference of x', Fx and Fu, as a part of the largest entry."""
        self.theirs.calc([*self.xs, self.xs[0]], self.us)
        self.theirs.calcDiff([*self.xs, self.xs[0]], self.us)
        (x, _), _ = self.step(), self.differentiate()
        found = {"x": x, "Fx": self.batch.by_x, "Fu": self.batch.by_u}
        datas = list(self.theirs.runningDatas)
        wanted = {"x": "xnext", "Fx": "Fx", "Fu": "Fu"}
        pairs = {name: (found[name], np.array([getattr(data, of) for data in datas])) for name, of in wanted.items()}
        return {name: float(np.abs(a - b).max() / np.abs(b).max()) for name, (a, b) in pairs.items()}

    def step(self) -> Any:
        return self.batch.steps(np.array(self.xs), np.array(self.us))

    def differentiate(self) -> None:
        self.batch.touch()
        self.batch.differentiate(0)

    def calls(self) -> dict[str, Callable[[], object]]:
        """What is timed, by name; of N states each."""
        of, x, u = self.of, np.array(self.xs), np.array(self.us)
        xs, us = [*self.xs, self.xs[0]], self.us
        q, v, tau, on = x[:, :19].copy(), x[:, 19:].copy(), np.hstack([np.zeros((N, 6)), u]), np.ones((N, 4))
        data, idle, one = self.model.createData(), self.idle.createData(), np.zeros(2)
        fd, dfd = of.dyn.constrained_forward_dynamics, of.dyn.constrained_forward_dynamics_derivatives

        def by_hand(model: Any, of_model: Any, at: Any, under: Any, slopes: bool) -> Callable[[], object]:
            call = model.calcDiff if slopes else model.calc
            return lambda: [call(of_model, a, b) for a, b in zip(at, under, strict=True)]

        return {
            "node, crocoddyl, calc": lambda: self.theirs.calc(xs, us),
            "node, crocoddyl, calcDiff": lambda: self.theirs.calcDiff(xs, us),
            "node, condyle, calc": lambda: self.batch.steps(x, u),
            "node, condyle, calcDiff": self.differentiate,
            "model, crocoddyl, calc": by_hand(self.model, data, self.xs, us, False),
            "model, crocoddyl, calcDiff": by_hand(self.model, data, self.xs, us, True),
            "no work, calc": by_hand(self.idle, idle, [one] * N, [one[:1]] * N, False),
            "no work, calcDiff": by_hand(self.idle, idle, [one] * N, [one[:1]] * N, True),
            "model, condyle, calc": lambda: fd(q, v, tau, on),
            "model, condyle, calcDiff": lambda: dfd(q, v, tau, on),
        }


def _pinocchio() -> Any:
    import pinocchio

    return pinocchio


def measure(name: str, rounds: int) -> dict[str, Any]:
    nodes = Nodes(name)
    errors = nodes.compared()
    if max(errors.values()) > 1e-7:
        raise SystemExit(f"answers differ: {errors}")
    calls, least = nodes.calls(), dict[str, float]()
    for _ in range(rounds):
        for what, call in calls.items():
            begin = time.perf_counter()
            call()
            taken = 1e6 * (time.perf_counter() - begin) / N
            least[what] = min(taken, least.get(what, taken))
    for way in ("calc", "calcDiff"):
        least[f"model, crocoddyl, {way}"] -= least[f"no work, {way}"]
    ratios = {
        f"{level}, {way}": least[f"{level}, crocoddyl, {way}"] / least[f"{level}, condyle, {way}"]
        for level in ("node", "model")
        for way in ("calc", "calcDiff")
    }
    return {
        "states": N,
        "largest_difference": errors,
        "us_a_state": least,
        "times_as_fast": ratios,
        "versions": {package: metadata.version(package) for package in ("crocoddyl", "libpinocchio", "numpy")},
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for name in ("anymal", "hyq"):
        found = measure(name, 1 if quick else ROUNDS)
        print(name, *found.items(), sep="\n")
        if not quick:
            results.merge("contacts", name, found, SOURCE)


if __name__ == "__main__":
    main()
