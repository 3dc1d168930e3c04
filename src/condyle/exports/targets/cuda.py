"""A CUDA C++ header for float and double, and an example that checks itself."""

from __future__ import annotations

from pathlib import Path

from condyle.backends.cuda.cpp.project import export_cuda
from condyle.compile.options import DRIVE_OPTIONS
from condyle.exports.known_answers import rollout_vectors, vectors_of, well_posed
from condyle.exports.projects import Job, facts_of_job, joints_of, names_of, order_of, variants
from condyle.functions.open_rollouts import OpenRollout
from condyle.specification import Function

OPTIONS = ("frames", "reference_frame", "integrator", "inputs", "contacts", "regressor", "sweeps", *DRIVE_OPTIONS)


def write(job: Job) -> list[Path]:
    named = [function for function in job.functions if isinstance(function, Function)]
    steps = [rollout.repeat.function for rollout in job.functions if isinstance(rollout, OpenRollout)]
    whole = variants([*named, *steps])
    functions, programs = job.compiler.gpu_kernels.exported(whole)
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, "float32", code=programs.get(one)) for one in whole}
    vectors |= {one.name: rollout_vectors(job.robot, job.compiler, one, "float32") for one in job.rollouts}
    specifications = [*whole, *(one.function for one in job.rollouts)]
    names, order = names_of(job.robot, job.bound, specifications), order_of(job.robot)
    bodies, facts = len(job.robot.bodies), facts_of_job(job)
    rollouts = [(one.name, one.repeat.function.name, one.repeat, one.function.equation) for one in job.rollouts]
    joints = joints_of(job.robot)
    return export_cuda(functions, programs, facts, joints, job.out, well_posed(vectors), names, order, bodies, rollouts)
