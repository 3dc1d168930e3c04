"""A CUDA C++ header for float and double, and an example that checks itself."""

from __future__ import annotations

from pathlib import Path

from condyle.backends.cuda.cpp.project import export_cuda
from condyle.functions import variants
from condyle.functions.open_rollouts import opened
from condyle.known_answers import rollout_vectors, vectors_of
from condyle.projects import Job, facts_of, joints_of, names_of, order_of

OPTIONS = ("frames", "reference_frame", "integrator", "inputs", "contacts")


def write(job: Job) -> list[Path]:
    repeated = [repeat.of for repeat in map(opened, job.functions) if repeat is not None]
    made = variants([*(one for one in job.functions if opened(one) is None), *repeated])
    functions, programs = job.compiler.gpu_kernels.exported(made)
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, "float64") for one in made}
    vectors |= {one.name: rollout_vectors(job.robot, job.compiler, one, "float64") for one in job.rollouts}
    specifications = [*(one.function for one in made), *(one.function for one in job.rollouts)]
    names, order = names_of(job.robot, job.bound, specifications), order_of(job.robot)
    bodies, facts = len(job.robot.bodies), facts_of(job)
    rollouts = [(one.name, one.repeat.of, one.repeat, one.function.equation) for one in job.rollouts]
    joints = joints_of(job.robot)
    return export_cuda(functions, programs, facts, joints, job.out, vectors, names, order, bodies, rollouts)
