"""C99 sources, a header, a CMake package, and a test that checks itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from condyle.backends.c.embedded import export_embedded
from condyle.backends.c.export import export_c
from condyle.backends.c.part_report import budget_of, check_embedded
from condyle.backends.common.facts import body_of, held_of
from condyle.compile.options import DRIVE_OPTIONS
from condyle.errors import UnsupportedError
from condyle.exports.known_answers import rollout_vectors, vectors_of, well_posed
from condyle.exports.projects import Job, facts_of_job, names_of, order_of
from condyle.functions.open_rollouts import OpenRollout
from condyle.ir.loops import Code, Repeated
from condyle.specification import Function
from condyle.trace.loops import time_loop

OPTIONS = (
    "dtype",
    "frames",
    "reference_frame",
    "integrator",
    "inputs",
    "contacts",
    "regressor",
    "sweeps",
    "embedded",
    "libm",
    "part",
    "flash",
    "stack",
    *DRIVE_OPTIONS,
)


def write(job: Job) -> list[Path]:
    if job.options.get("embedded"):
        return _embedded(job)
    check_embedded(False, job.options)
    compiler, order = job.compiler, order_of(job.robot)
    codes = [compiler.code(function) for function in job.variants]
    programs = [*codes, *(_open(one, compiler.code(one.repeat.function)) for one in job.rollouts)]
    held = {program.name: held_of(body_of(program)) for program in programs}
    vectors = {
        one.name: vectors_of(job.robot, compiler, one, job.dtype, held[one.name], code=code)
        for one, code in zip(job.variants, codes, strict=True)
    }
    vectors |= {one.name: rollout_vectors(job.robot, compiler, one, job.dtype, held[one.name]) for one in job.rollouts}
    names, bodies = names_of(job.robot, job.bound, job.specifications), len(job.robot.bodies)
    return export_c(programs, facts_of_job(job), job.out, well_posed(vectors), names, order, job.dtype, bodies)


STATES = 2
"""In the test of an embedded project, which has to fit into a microcontroller."""


def _embedded(job: Job) -> list[Path]:
    """One state a call, and each function as it was named."""
    if job.rollouts:
        raise UnsupportedError(
            f"functions: {job.rollouts[0].name!r}: embedded=True has no rollouts, whose arrays have any size: export "
            "the function that is repeated, such as 'step', and call it in a loop"
        )
    budget = budget_of(job.options, job.dtype)
    compiler, functions = job.compiler, [one for one in job.functions if isinstance(one, Function)]
    if any(one.name == "check" for one in functions):
        raise UnsupportedError("functions: 'check': the test of an embedded project has that name: choose another one")
    codes = [compiler.code(function) for function in functions]
    vectors = {
        one.name: vectors_of(job.robot, compiler, one, job.dtype, (), STATES, code)
        for one, code in zip(functions, codes, strict=True)
    }
    names, bodies = names_of(job.robot, job.bound, functions), len(job.robot.bodies)
    where = names, order_of(job.robot), job.dtype, bodies, "libm" in job.options, budget
    return export_embedded(codes, facts_of_job(job), job.out, well_posed(vectors), *where)


def _open(rollout: OpenRollout, code: Code) -> Repeated:
    """As code: the number of steps says nothing."""
    body = replace(code, name=rollout.name)
    return Repeated(rollout.name, body, time_loop(rollout.repeat), body.inputs, body.arrays)
