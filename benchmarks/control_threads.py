"""One problem alone by one thread and by several: writes "threads" of results/optimal_control.json.

    python -m benchmarks.control_threads [--quick]       --quick: few steps, nothing is written

A step of predictive control from one plan, again and again, on the wall: an iiwa14's figure of eight (64 knots), the
trotting HyQ (50) and anymal_kinova (67, semi-implicit) of `experiments/whole`. Numbers of threads take turns of some
steps. A turn is quiet where all other programs took less than QUIET of a core. Bits of plans are compared.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.optimal_control import SOURCE, Loop
from experiments.dadu2023.trot import course
from experiments.dadu2023.walker import NV
from experiments.whole import trot_with_arm
from experiments.whole.quadruped import Quadruped

TURN, QUIET, THREADS = 50, 0.1, (1, 2)
Step = Callable[[], Any]


def arm(threads: int) -> Step:
    loop = Loop(1, "float64", "all", threads)
    for _ in range(30):
        loop.advance()
    return loop.iteration()


def quadruped(threads: int) -> Step:
    walker = Quadruped()
    solver = walker.problem().compile(threads=threads)
    return steady(solver, walker.stance, np.zeros(18), walker.h, walker.inputs)


def quadruped_with_arm(threads: int) -> Step:
    planner = trot_with_arm.Planner("semi_implicit_euler", threads)
    walker = planner.walker

    def inputs(begin: float) -> dict[str, Any]:
        times = begin + trot_with_arm.H * np.arange(trot_with_arm.KNOTS + 1)
        return planner.inputs(walker.wanted(course(times, walker.stance[:3], walker.feet, walker.tip)))

    return steady(planner.solver, walker.stance, np.zeros(NV), trot_with_arm.H, inputs)


def steady(solver: Any, q: Any, v: Any, h: float, inputs: Callable[[float], dict[str, Any]]) -> Step:
    """A step after 40 others from a robot that stands."""
    plan = solver.solve(q, v, **inputs(0.0))
    for k in range(1, 40):
        plan = solver.step(plan, plan.q[1], plan.v[1], **inputs(k * h))
    q, v, given = plan.q[1].copy(), plan.v[1].copy(), inputs(40 * h)
    return lambda: solver.step(plan, q, v, **given)


ROBOTS = {"iiwa14": arm, "hyq": quadruped, "anymal_kinova": quadruped_with_arm}


def busy() -> float:
    """Seconds that all cores have worked."""
    words = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, soft, *_ = map(int, words)
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def turns(steps: dict[int, Step], count: int) -> Iterator[tuple[int, bool, list[float]]]:
    """Threads, whether it was quiet, and microseconds of each step."""
    for _ in range(count // TURN):
        for threads, step in steps.items():
            took, begin, all_before, own_before = list[float](), time.perf_counter(), busy(), time.process_time()
            while len(took) < TURN or time.perf_counter() - begin < 0.1:  # the system counts in 10 ms
                start = time.perf_counter_ns()
                step()
                took.append((time.perf_counter_ns() - start) / 1e3)
            others = busy() - all_before - (time.process_time() - own_before)
            yield threads, others < QUIET * (time.perf_counter() - begin), took


def measure(make: Callable[[int], Step], count: int) -> dict[str, Any]:
    steps = {threads: make(threads) for threads in THREADS}
    plans = [step().answers for step in steps.values()]
    same = all(np.array_equal(x, y) for x, y in zip(*plans, strict=True))
    every, quiet = ({n: list[float]() for n in THREADS} for _ in range(2))
    for threads, is_quiet, took in turns(steps, count):
        every[threads] += took
        quiet[threads] += took if is_quiet else []
    return {"same_bits": same, "every": spread(every), "quiet": spread(quiet) if all(quiet.values()) else None}


def spread(times: dict[int, list[float]]) -> dict[str, Any]:
    us = {str(n): {f"p{p}": float(np.percentile(took, p)) for p in (1, 50, 99)} for n, took in times.items()}
    first, last = (us[str(n)] for n in (THREADS[0], THREADS[-1]))
    return {"us": us, "steps": min(map(len, times.values())), "times_as_fast": first["p50"] / last["p50"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for robot, make in ROBOTS.items():
        answer = measure(make, 2 * TURN if quick else 2000)
        print(robot, *answer.items(), sep="\n  ")
        if not quick:
            results.merge("threads", robot, answer, SOURCE)


if __name__ == "__main__":
    main()
