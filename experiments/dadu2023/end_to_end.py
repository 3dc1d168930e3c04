"""A trotting quadruped with an arm: the period of its controller with the dynamics of each library, and its tracking.

Of the instance the paper states only the 24 degrees of freedom. Here it is anymal-kinova with a horizon of 67 steps of
15 ms, RK4 with derivatives, and one Gauss-Newton SQP iteration in each control step, by multiple shooting. Inputs are
the joints' torques and the forces of the feet that stand, by a trot's schedule. The base moves at 0.25 m/s, and the tip
draws a circle. Controllers of one row make each plan one after the other, so that other programs slow all of them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from condyle import fpga
from condyle.errors import UnsupportedError
from experiments import accelerator
from experiments.dadu2023.engines import Crocoddyl, Engine, Ours, Pinocchio
from experiments.dadu2023.loop import QUIET, Loop
from experiments.dadu2023.printed import DYNAMICS_SHARE_CPU, RATE_GAIN
from experiments.dadu2023.sqp import PARTS, Controller
from experiments.dadu2023.walker import KNOTS, NQ, NV, H, Walker
from experiments.figure import Bars, Figure

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

SECONDS = 6.0
FPGA = "anymal-kinova accelerator"
GROUPS = {
    "trot": ("condyle", "condyle float32", "pinocchio"),
    "trot one core": ("condyle", "condyle float32", "pinocchio"),
    "trot crocoddyl": ("condyle", "crocoddyl"),
    "trot float32": ("condyle float32",),
    "trot mujoco": ("condyle",),
}
"""Row to its controllers; the robot follows the first one."""
ROWS = (*GROUPS, FPGA)
QUICK = ("trot mujoco",)
HEAD = ["row", "dynamics by", "threads", "p99 / p50 of all steps", "quiet steps", "p50, us", "p99, us", "p99 / p50"]
HEAD += ["steps a second", "times pinocchio's rate", "share of the dynamics"]
STAGES = 4
"""Of RK4, one after the other."""

TEXT = (
    f"The paper says that the control rate of a quadruped with an arm rises by {RATE_GAIN - 1:.0%} over 4 threads of a "
    f"processor, and that dynamics are {DYNAMICS_SHARE_CPU} of a period on processors. It does not state the model, "
    "the solver, the horizon, the step, the cost, the gait, the contacts, the processor, the values of figure 2, or "
    "the word. So this instance is ours, and its numbers are of this instance only.\n\n"
    f"The robot is anymal-kinova, with {KNOTS} steps of {1e3 * H:g} ms, 48 states and 30 inputs. Dynamics are A and B "
    "of all steps, and the steps of the line search. LQ are the costs to second order and the effect of the feet's "
    "forces. Riccati is the backward pass, by matrix products of NumPy and LAPACK on one core; it is the same for all. "
    "The robot follows each plan by its feedback at 1 kHz, on springs of 50 kN/m, or in MuJoCo with MuJoCo's contacts. "
    "A plan is made from the state that is predicted for the time at which the plan takes effect.\n\n"
    "Pinocchio is C++ with a thread and a model for each core. Its stages do not have the terms by which ours keeps "
    "the fourth order on a floating base, so it computes less. crocoddyl runs its own loop over nodes on one thread; "
    "the copies of its matrices to NumPy are counted.\n\n"
    "The machine is shared and has slow phases. A fixed piece of work is timed before and after each control step. A "
    f"step is quiet if both took at most {QUIET} times the least time. The times are those of quiet steps."
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    if row == FPGA:
        return schedule()
    threads = 1 if row in ("trot one core", "trot crocoddyl") else os.cpu_count() or 1
    try:
        controllers = {name: made(name, threads) for name in GROUPS[row]}
    except UnsupportedError as error:
        return {"left_out": str(error)}
    loop = Loop(controllers, "mujoco" if "mujoco" in row else "springs")
    gc.disable()
    try:
        loop.until(0.6 if quick else SECONDS)
    except FloatingPointError as error:
        return {"diverged": f"{error}, at {loop.time:.3f} s"}
    finally:
        gc.enable()
    engines = {name: controller.engine.about for name, controller in controllers.items()}
    agreed = {name: agreement(loop, controller) for name, controller in controllers.items()}
    found = {"threads": threads, "engines": engines, "agreement": agreed}
    return {**found, "periods": loop.periods(), "tracking": loop.tracking()}


def made(name: str, threads: int) -> Controller:
    walker = Walker("float32" if "float32" in name else "float64", threads)
    return Controller(walker, engine_of(name, walker, threads))


def engine_of(name: str, walker: Walker, threads: int) -> Engine:
    if name == "pinocchio":
        return Pinocchio(walker, threads)
    return Crocoddyl(walker) if name == "crocoddyl" else Ours(walker)


def agreement(loop: Loop, controller: Controller) -> dict[str, float]:
    """How far A, B and the steps along the first plan are from ours in float64, relative to the largest entry."""
    leader, exact = loop.leader, Ours(loop.walker)
    force = leader.cost(leader.q, leader.v, leader.u, loop.wanted(leader, loop.time))[0]
    given = [x[:KNOTS].astype(float) for x in (leader.q, leader.v, force)]
    theirs = controller.engine.linearise(*(x.astype(controller.walker.dtype) for x in given))
    pairs = zip(("A", "B", "q", "v"), exact.linearise(*given), theirs, strict=True)
    return {name: float(np.abs(x - y).max() / np.abs(x).max()) for name, x, y in pairs}


def schedule() -> dict[str, Any]:
    """Cycles of an accelerator for this robot: all seven functions in 62 % of an XCVU9P's DSPs, 27x18 bits."""
    of = fpga.accelerator(Walker().robot, fpga.Options())
    cycles = {f: {"latency": of.latency(f), "interval": of.interval(f)} for f in of.plan.functions}
    floats = NQ + 2 * NV, NV + 3 * NV * NV  # q, v, tau; a and its derivatives
    return {"dsp": of.dsp, "functions": cycles, "bytes": [4 * n for n in floats]}


def tables(rows: Rows) -> dict[str, Table]:
    return {
        "A control step": periods(rows),
        "Medians of its parts, us": parts(rows),
        "Tracking": tracking(rows),
        "Dynamics of a control step by an accelerator": by_accelerator(rows),
    }


def figures(rows: Rows) -> dict[str, Figure]:
    bars = {
        f"{row}: {name}": [of["parts_us"][part] / 1e3 for part in PARTS]
        for row, name, of in spreads(rows)
        if of is not None
    }
    return {"A control step, medians of its parts": Bars("ms", PARTS, bars)}


def spreads(rows: Rows) -> Iterator[tuple[str, str, Mapping[str, Any] | None]]:
    """Row, controller, and its quiet control steps; None where there are none."""
    for row in GROUPS:
        for name, of in rows.get(row, {}).get("periods", {}).items():
            yield row, name, of.get("quiet")


def periods(rows: Rows) -> Table:
    missing = {row: rows.get(row, {}).get("diverged", "not measured") for row in GROUPS}
    found = [HEAD, *([row, said] for row, said in missing.items() if "periods" not in rows.get(row, {}))]
    return found + [[row, name, *_numbers(rows[row], name, of)] for row, name, of in spreads(rows)]


def _numbers(row: Mapping[str, Any], name: str, of: Mapping[str, Any] | None) -> list[str]:
    whole, base = row["periods"][name], row["periods"].get("pinocchio", {}).get("quiet")
    every, quiet = whole["every"]["us"], f"{whole['quiet_share']:.0%}"
    first = [str(row["threads"]), f"{every['p99'] / every['p50']:.2f}", quiet]
    if of is None:
        return first
    p50, p99 = of["us"]["p50"], of["us"]["p99"]
    over = f"{base['us']['p50'] / p50:.2f}" if base else "-"
    return [
        *first,
        f"{p50:.0f}",
        f"{p99:.0f}",
        f"{p99 / p50:.2f}",
        f"{1e6 / p50:.0f}",
        over,
        f"{of['dynamics_share']:.0%}",
    ]


def parts(rows: Rows) -> Table:
    found = [["row", "dynamics by", *PARTS]]
    for row, name, of in spreads(rows):
        if of is not None:
            found.append([row, name, *(f"{of['parts_us'][part]:.0f}" for part in PARTS)])
    return found


def tracking(rows: Rows) -> Table:
    found = [["row", "plans by", "base, mean, mm", "base, largest, mm", "tip, mean, mm", "tip, largest, mm"]]
    for row, names in GROUPS.items():
        of = rows.get(row, {}).get("tracking")
        if of:
            numbers = [f"{of[what][x]:.1f}" for what in ("base_mm", "tip_mm") for x in ("mean", "max")]
            found.append([row, names[0], *numbers])
    return found


def by_accelerator(rows: Rows) -> Table:
    """A and B of all steps: dfd of the states of a stage follow each other, stages wait; chain products not counted."""
    found = [["", "us", ""]]
    of = rows.get(FPGA)
    if of is None:
        return [*found, ["accelerator", "not measured"]]
    dfd = of["functions"]["dfd"]
    stage = accelerator.microseconds(dfd, KNOTS, accelerator.ASSUMED_HZ)
    link = accelerator.link_microseconds(tuple(of["bytes"]), STAGES * KNOTS)
    stages = f"dfd at {STAGES} stages of {KNOTS} states, {accelerator.ASSUMED_HZ / 1e6:g} MHz"
    found.append([stages, f"{STAGES * stage:.0f}", f"{dfd['interval']} cycles a task"])
    bandwidth = f"the link, {accelerator.LINK_BYTES_PER_S / 1e9:g} GB/s, float32"
    found.append([bandwidth, f"{link:.0f}", "both ways, without overlap"])
    for row, name, quiet in spreads(rows):
        if row == "trot" and quiet is not None:
            found.append([f"A and B and steps by {name}", f"{quiet['parts_us']['dynamics']:.0f}", "measured"])
    return found
