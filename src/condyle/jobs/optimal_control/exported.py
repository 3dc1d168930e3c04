"""A problem as C for a robot's own computer: NAME_solve and NAME_step, without allocation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from condyle.backends.c.schedule import Entry, Example, Meaning
from condyle.compile.kernels.scheduled import scheduled
from condyle.compile.options import whole
from condyle.exports.exporting import check_target, export_schedules
from condyle.ir.schedule import Schedule
from condyle.jobs.optimal_control.iteration import ASKED, STATE
from condyle.jobs.optimal_control.scheduled import LAST, Job, Problem
from condyle.jobs.optimal_control.solver import Solver
from condyle.model.array import dtype_name

SOLVE = """A plan from a state q, v in which the robot stands still, until it is solved. asked: tolerance (1e-6);
iterations at the most (100); the least mu (0: that of the tolerance)."""
STEP = """A step of predictive control: the plan of the step before, moved on by its knots, after one iteration from the
state q, v. asked: tolerance (1e-6), iterations (1), the least mu (1e-4)."""
WIDTH = {"float64": 8, "float32": 16}
"""Columns of a panel: the longest vectors."""


def export(
    problem: Problem,
    target: str,
    out: str | os.PathLike[str],
    name: str | None,
    dtype: str,
    shift: int,
    embedded: bool = False,
    **limits: Any,
) -> list[Path]:
    """See `OptimalControl.export`."""
    check_target(target)
    dtype, shift = dtype_name(dtype), whole("shift", shift, 0)
    job = problem.job(dtype, 1 if embedded else WIDTH[dtype])
    solve, step = job.schedule("cold", exported="solve"), job.schedule("plan", shift, exported="step")
    first = _example(problem, job, solve, dtype, {})
    second = first and _example(problem, job, step, dtype, first.outputs)
    entries = [_entry(problem, job, solve, SOLVE, first), _entry(problem, job, step, STEP, second)]
    return export_schedules(
        problem.robot, target, out, entries, job.functions, name, dtype, problem.bound, embedded, limits
    )


def _entry(problem: Problem, job: Job, schedule: Schedule, text: str, example: Example | None) -> Entry:
    fixed = {name: Solver.constant(problem, name) for name in _fixed(schedule)}
    every = (*schedule.inputs, *schedule.outputs)
    return Entry(schedule, text, {name: _meaning(job, schedule, name) for name in every}, example, fixed)


def _fixed(schedule: Schedule) -> list[str]:
    """Inputs that are the same in every call."""
    names = ["free", "start_state"] if schedule.name == "solve" else ["free"]
    return [name for name in names if name in schedule.inputs]


TEXTS: Mapping[str, tuple[str, str]] = {
    "q": ("joint", "configurations of all knots"),
    "v": ("joint", "velocities of all knots"),
    "u": ("joint", "controls of all intervals"),
    "torque": ("joint", "torques of all intervals"),
    "gains": ("mixed", "K of each interval, u + K [dq; dv], row major"),
    "KQ": ("mixed", "gains of accelerations by q, in panels"),
    "KV": ("mixed", "gains of accelerations by v, in panels"),
    "slack": ("1", "slacks of limits"),
    "multiplier": ("mixed", "multipliers of limits, bounds behind those of below"),
    "price": ("mixed", "multipliers of equalities"),
    "free": ("1", "1 but for the first knot"),
    "given_q": ("joint", "the state now: configuration"),
    "given_v": ("joint", "the state now: velocity"),
    "asked": ("mixed", "tolerance, iterations, the least mu"),
    "state": ("mixed", "mu, nu, damping, iterations, status (1 solved), cost, largest violation, failed iterations"),
}


def _meaning(job: Job, schedule: Schedule, name: str) -> Meaning:
    slab, item = schedule.slab(name), job.rows.get(name)
    if item is not None:
        shape = (*((slab.rows,) if item.rows > 1 else ()), *item.shape)
        return Meaning(shape or (1,), "as given", "an input of the problem")
    kind = name.removeprefix("start_").removeprefix(LAST)
    unit, text = TEXTS[kind if kind in TEXTS else name]
    if kind == "u" and job.torques is not None:
        text = "accelerations of all intervals"
    shape = (slab.size,) if slab.rows == 1 and name not in job.tables else (slab.rows, slab.size)
    where = f"{text}, of the last knot" if LAST in name else text
    before = name.startswith("start_")
    return Meaning(shape, unit, f"{where}, of the plan before" if before else where, _in_c(name))


def _in_c(name: str) -> str:
    """The name of an argument: of the state now as it is, of the plan before with a word for that."""
    if name.startswith("given_"):
        return name.removeprefix("given_")
    if name.startswith("start_"):
        return f"before_{name.removeprefix('start_')}"
    return name if name in ("asked", "gains") else f"plan_{name}"


def _example(problem: Problem, job: Job, schedule: Schedule, dtype: str, before: Mapping[str, Any]) -> Example | None:
    """A few iterations with inputs 0, from the plan before if there is one; None where that is not finite."""
    solver = problem.compile("cpu", dtype, threads=1)
    kernels = {call.kernel: solver.dynamics.kernel(job.functions[call.kernel]) for call in schedule.calls()}
    inputs: dict[str, Any] = {}
    for name in schedule.inputs:
        slab, start = schedule.slab(name), before.get(name.removeprefix("start_")) if "start_" in name else None
        values = np.zeros(slab.length) if start is None else start
        inputs[name] = np.reshape(values, (slab.rows, slab.size)).astype(dtype)
    for name in _fixed(schedule):
        inputs[name] = np.reshape(Solver.constant(problem, name), inputs[name].shape).astype(dtype)
    away = np.linspace(0.3, -0.2, problem.robot.nv)
    inputs["given_q"][0] = problem.robot.integrate(problem.robot.neutral(), away)
    inputs["asked"][0, :ASKED] = (1e-6, 1.0, 1e-4) if before else (1e-12, 3.0, 0.0)  # always as many iterations
    outputs = [np.empty((1, slab.rows * slab.size), dtype) for slab in map(schedule.slab, schedule.outputs)]
    kernel = scheduled(schedule, kernels, np.dtype(dtype))
    kernel(1, [np.reshape(inputs[name], (1, -1)) for name in schedule.inputs], outputs, 1)
    answers = dict(zip(schedule.outputs, outputs, strict=True))
    assert answers["state"].size == STATE
    if not all(np.isfinite(array).all() for array in outputs):
        return None
    return Example(inputs, answers, 1e-6 if dtype == "float64" else 1e-2)
