"""Everything of a robot's FPGA accelerator; this file is the door: a plan, a schedule, tasks, the written project.

`functions` (those with a hardware plan), `plans` (from a tree to a pipeline's Program, with `staged` and `magnitudes`),
`box` (the states that an accelerator is made for), `rtl` (formats, operators, emitters: they know no
robot), `simulation` (the Verilog), `integers` (the same in Python).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from condyle.backends.common.exported_files import Coordinates
from condyle.errors import AccuracyWarning
from condyle.fpga.box import FORCE, answer_of, bounds_of_q, box_of, consistent, limits, sampled
from condyle.fpga.functions import tasks as functions
from condyle.fpga.plans import ROUTES, Options, accelerator, advice, compared, errors, held, planned
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.boundary import Boundary, packets
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.evaluate import Answer, evaluate
from condyle.fpga.rtl.export import Facts, Sheet, Tasks, write
from condyle.fpga.rtl.vectors import answer_lines, refused_lines, task_lines, task_of
from condyle.model.robot import Robot

__all__ = [
    "FORCE",
    "ROUTES",
    "Accelerator",
    "Options",
    "accelerator",
    "answer_of",
    "bounds_of_q",
    "box_of",
    "compared",
    "consistent",
    "errors",
    "export_verilog",
    "functions",
    "held",
    "limits",
    "planned",
    "sampled",
    "sheet_of",
    "tasks",
]
FAR = (("v", 4.0), ("v", 1e3), ("a", 1e3), ("q", 3.0))
"""How far states are outside the box in simulated tasks. Some fit their words, some are clamped by the host."""


def sheet_of(robot: Robot, plan: Plan, options: Options, states: int) -> Sheet:
    """Errors over so many states of the box, with warnings."""
    found = errors(robot, plan, states)
    return Sheet(found, states, plan.box, tuple(advice(robot, options, found, states)))


def tasks(
    robot: Robot,
    acc: Accelerator,
    each: int,
    seed: int = 2,
    refused: int = 0,
    boundary: Boundary | None = None,
    wrong: bool = True,
) -> Tasks:
    """`each` tasks of every function, mixed, with the model's answers; some states are outside the box.

    refused: so many tasks of every unknown code. boundary: also packets of the same tasks, and wrong packets.
    """
    states = sampled(robot, each, seed, acc.plan.box)
    for k, (name, factor) in enumerate(FAR[: max(1, each // 4)], 1):
        states[name][-k] *= factor
    states = consistent(robot, states, acc.plan.box)
    lines = refused_lines(acc, refused, np.random.default_rng(seed))
    of = {function: task_of(acc.plan, function, states) for function in acc.plan.functions}
    for function, given in of.items():
        answer: Answer = evaluate(acc.plan, function, given)
        lines += zip(task_lines(acc, function, given, each), answer_lines(acc, function, answer, each), strict=True)
    order: list[int] = np.random.default_rng(seed).permutation(len(lines)).tolist()
    sent = packets(acc, boundary, of, seed, wrong) if boundary else ()
    return Tasks(tuple(lines[k][0] for k in order), tuple(lines[k][1] for k in order), tuple(sent))


def export_verilog(
    robot: Robot,
    options: Options,
    out: Path,
    version: str,
    names: Mapping[str, object],
    joints: Sequence[Coordinates],
) -> list[Path]:
    """Writes the whole project and returns its files. joints: their order, for the README."""
    acc = accelerator(robot, options)
    facts = Facts(options.name, robot.fingerprint, version, options.clock, options.word, options.boundary)
    sheet = sheet_of(robot, acc.plan, options, options.states)
    for warning in sheet.warnings:
        warnings.warn(warning, AccuracyWarning, stacklevel=2)
    return write(out, acc, facts, sheet, tasks(robot, acc, 10, refused=1, boundary=options.boundary), names, joints)
