"""Jobs as projects: schedules of a robot's functions in C."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from condyle.backends.c.part_report import budget_of, check_embedded
from condyle.backends.c.schedule import Entry
from condyle.backends.c.schedule_export import export_schedules_c
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.exports.exporting import compiler_of, prefix_of
from condyle.exports.projects import check_folder, folder_of, names_of, order_of
from condyle.model.array import dtype_name
from condyle.model.robot import Robot
from condyle.specification import UNBOUND, Bound, Function

TARGETS = ("c",)


def check_target(target: str) -> None:
    """UnsupportedError for a target that has no schedules."""
    if target == "cuda":
        raise UnsupportedError(
            "target 'cuda' writes no schedules, such as those of OptimalControl: export 'c', which solves a problem a "
            "call on the processor; for many problems on a GPU call compile('cuda').solve(...); a solver of your own "
            "has the header of condyle.export(robot, 'cuda', out, ('dstep', 'rollout'))"
        )
    check_choice("target", target, TARGETS)


def export_schedules(
    robot: Robot,
    target: str,
    out: str | os.PathLike[str],
    entries: Sequence[Entry],
    kernels: Mapping[str, Function],
    name: str | None = None,
    dtype: DTypeLike | None = None,
    bound: Bound = UNBOUND,
    embedded: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a project in C in which each entry's schedule is a function NAME_x(inputs, outputs, work); return the paths
    of the files.

    A call computes one problem, without allocation. x is the schedule's name, such as "solve" or "step"; work has
    NAME_x_work_bytes bytes, a constant of the header. Arguments are the schedule's `inputs` without those that are
    `fixed`, then its `outputs`, in their order; a name that C does not allow becomes array0, array1, ...

    target: "c". entries: see `backends.c.schedule.Entry`: a schedule, what it computes, the meaning of each input and
    output, and an example, which the exported test calls. kernels: {name in `Call.kernel`: its function}, for all
    schedules; operands of a call stand in the order of the function's inputs and outputs. They are compiled for this
    robot with the options `bound`; those that no schedule calls are left out. Panels of all schedules have the same
    lanes, a power of 2: 8 of float64 and 16 of float32 fill the longest vectors, and any machine computes them.
    name, dtype, embedded: as in `condyle.export`; embedded wants panels of one lane. limits: part, flash and stack.
    Errors: UnsupportedError for another target, a name, a number type, a fixed or an example's number that is not
    finite, and a folder that cannot be written.
    """
    check_target(target)
    folder, number = folder_of(out), "float64" if dtype is None else dtype_name(dtype)
    budget = budget_of(check_embedded(embedded, limits or {}), number)
    compiler = compiler_of(robot, name=prefix_of(robot) if name is None else name, bound=bound)
    try:
        check_folder(folder)
        codes = {kernel: compiler.code(function) for kernel, function in kernels.items()}
        names, order = names_of(robot, bound, ()), order_of(robot)
        return export_schedules_c(entries, codes, compiler.facts, folder, names, order, number, embedded, budget)
    except OSError as error:
        raise UnsupportedError(f"out={str(out)!r} cannot be written: {error.strerror or error}") from error
