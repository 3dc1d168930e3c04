"""How much of an iteration of one problem is parallel over knots: writes "knots" of results/optimal_control.json.

    python -m benchmarks.control_threads [--quick]       --quick: few steps, nothing is written

A step of predictive control from one plan, again and again, one thread, processor time: an iiwa14's figure of eight (64
knots), the trotting HyQ (50) and anymal_kinova (67, semi-implicit) of `experiments/whole`. Then each of its functions
of one knot alone, over all knots. What is left is in order of knots: the Riccati recursion, and Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.bench import pinned
from benchmarks.optimal_control import SOURCE, Loop
from condyle.cli.bound import Sampling, interleaved
from experiments.dadu2023.trot import course
from experiments.dadu2023.walker import NV
from experiments.whole import trot_with_arm
from experiments.whole.quadruped import Quadruped

OVER_KNOTS = ("linearise", "step", "trial", "measure", "torque")
Step = Callable[[], Any]


def arm() -> tuple[Any, Step]:
    loop = Loop(1, "float64", "all")
    for _ in range(30):
        loop.advance()
    return loop.solver, loop.iteration()


def quadruped() -> tuple[Any, Step]:
    walker = Quadruped()
    return steady(walker.problem().compile(threads=1), walker.stance, np.zeros(18), walker.h, walker.inputs)


def quadruped_with_arm() -> tuple[Any, Step]:
    planner = trot_with_arm.Planner("semi_implicit_euler")
    walker = planner.walker

    def inputs(begin: float) -> dict[str, Any]:
        times = begin + trot_with_arm.H * np.arange(trot_with_arm.KNOTS + 1)
        return planner.inputs(walker.wanted(course(times, walker.stance[:3], walker.feet, walker.tip)))

    return steady(planner.solver, walker.stance, np.zeros(NV), trot_with_arm.H, inputs)


def steady(solver: Any, q: Any, v: Any, h: float, inputs: Callable[[float], dict[str, Any]]) -> tuple[Any, Step]:
    """A step after 40 others from a robot that stands."""
    plan = solver.solve(q, v, **inputs(0.0))
    for k in range(1, 40):
        plan = solver.step(plan, plan.q[1], plan.v[1], **inputs(k * h))
    q, v, given = plan.q[1].copy(), plan.v[1].copy(), inputs(40 * h)
    return solver, lambda: solver.step(plan, q, v, **given)


ROBOTS = {"iiwa14": arm, "hyq": quadruped, "anymal_kinova": quadruped_with_arm}


def over_knots(solver: Any) -> dict[str, Step]:
    """Each function of a knot over all of them; its time does not depend on numbers."""
    calls = dict[str, Step]()
    for name in (name for name in OVER_KNOTS if name in solver.job.functions):
        function, n = solver.job.functions[name], solver.problem.knots
        kernel = solver.dynamics.kernel(function)
        arrays = [np.ones((n, size)) for size in kernel.entry.sizes]
        inputs, outputs = arrays[: len(function.inputs)], arrays[len(function.inputs) :]
        calls[name] = lambda kernel=kernel, n=n, ins=inputs, outs=outputs: kernel(n, ins, outs, 1)
    return calls


def measure(make: Callable[[], tuple[Any, Step]], samples: int) -> dict[str, Any]:
    solver, step = make()
    with pinned():
        spreads = interleaved({"all": step, **over_knots(solver)}, Sampling("cpu", samples))
    us = {name: spread.minimum / 1e3 for name, spread in spreads.items()}
    share = sum(value for name, value in us.items() if name != "all") / us["all"]
    return {"us": us, "over_knots": share, "at_most_by_2_threads": 1.0 / (1.0 - share / 2.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for robot, make in ROBOTS.items():
        answer = measure(make, 3 if quick else 40)
        print(robot, *answer.items(), sep="\n  ")
        if not quick:
            results.merge("knots", robot, answer, SOURCE)


if __name__ == "__main__":
    main()
