"""A CUDA C++ header for float and double, and an example that checks itself."""

from __future__ import annotations

from pathlib import Path

from condyle.backends.cuda.cpp.project import export_cuda
from condyle.known_answers import rollout_vectors, vectors_of
from condyle.projects import Job, facts_of, joints_of, names_of, order_of, variants
from condyle.specification import Function

OPTIONS = ("frames", "reference_frame", "integrator", "inputs", "contacts")


def write(job: Job) -> list[Path]:
    own = variants([one if isinstance(one, Function) else one.repeat.of for one in job.functions])
    functions, programs = job.compiler.gpu_kernels.exported(own)
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, "float64") for one in own}
    vectors |= {one.name: rollout_vectors(job.robot, job.compiler, one, "float64") for one in job.rollouts}
    specifications = [*own, *(one.function for one in job.rollouts)]
    names, order = names_of(job.robot, job.bound, specifications), order_of(job.robot)
    bodies, facts = len(job.robot.bodies), facts_of(job)
    rollouts = [(one.name, one.repeat.of.name, one.repeat, one.function.equation) for one in job.rollouts]
    joints = joints_of(job.robot)
    return export_cuda(functions, programs, facts, joints, job.out, vectors, names, order, bodies, rollouts)
