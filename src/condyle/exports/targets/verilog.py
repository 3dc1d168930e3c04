"""A Verilog accelerator with a test bench, a Makefile and report.json."""

from __future__ import annotations

from pathlib import Path

from condyle import fpga
from condyle.exports.projects import Job, names_of, order_of
from condyle.functions import FUNCTIONS
from condyle.specification import Function
from condyle.specification.integrators import BOUNDARY

OPTIONS = (
    *("part", "word", "dsp", "clock", "f_ext", "step", "constants", "folding", "pipeline", "root", "box", "overflow"),
    *BOUNDARY,
)


def planned() -> dict[str, Function]:
    """The functions of accelerators."""
    return {name: task.function for name, task in fpga.functions().items()}


def write(job: Job) -> list[Path]:
    names_of_tasks = tuple(function.name for function in job.functions)
    options = fpga.Options(names_of_tasks, name=job.compiler.facts.name, **job.options)
    robot = fpga.held(job.robot, options.root)
    library = [function for function in FUNCTIONS.values() if function in job.functions]
    names = names_of(robot, job.bound, library)
    return fpga.export_verilog(robot, options, job.out, job.compiler.facts.version, names, order_of(robot))
