"""C99 sources, a header, a CMake package, and a test that checks itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from condyle.backends.c.export import export_c
from condyle.backends.common.facts import body_of, held_of
from condyle.compile.options import DRIVE_OPTIONS
from condyle.exports.known_answers import rollout_vectors, vectors_of
from condyle.exports.projects import Job, facts_of_job, names_of, order_of
from condyle.functions.open_rollouts import OpenRollout
from condyle.ir.sweep import Code
from condyle.ir.time_loops import Repeated
from condyle.trace.time_loops import time_loop

OPTIONS = (
    "dtype",
    "frames",
    "reference_frame",
    "integrator",
    "inputs",
    "contacts",
    "regressor",
    "sweeps",
    *DRIVE_OPTIONS,
)


def write(job: Job) -> list[Path]:
    compiler, order = job.compiler, order_of(job.robot)
    programs = [
        *map(compiler.code, job.variants),
        *(_open(one, compiler.code(one.repeat.function)) for one in job.rollouts),
    ]
    held = {program.name: held_of(body_of(program)) for program in programs}
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, job.dtype, held[one.name]) for one in job.variants}
    vectors |= {
        one.name: rollout_vectors(job.robot, job.compiler, one, job.dtype, held[one.name]) for one in job.rollouts
    }
    names, bodies = names_of(job.robot, job.bound, job.specifications), len(job.robot.bodies)
    return export_c(programs, facts_of_job(job), job.out, vectors, names, order, job.dtype, bodies)


def _open(rollout: OpenRollout, code: Code) -> Repeated:
    """As code: the number of steps says nothing."""
    body = replace(code, name=rollout.name)
    return Repeated(rollout.name, body, time_loop(rollout.repeat), body.inputs, body.arrays)
