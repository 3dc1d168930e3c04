"""NAME.c, robot.json and a README: a function of CasADi for each function that was named."""

from __future__ import annotations

import json
from pathlib import Path

from condyle.backends.common.exported_files import write_owned
from condyle.compile.options import DRIVE_OPTIONS
from condyle.exports.externals import source_of
from condyle.exports.projects import Job, names_of
from condyle.specification import Function

OPTIONS = ("frames", "reference_frame", "integrator", "contacts", "regressor", "sweeps", *DRIVE_OPTIONS)

_README = """\
# NAME for CasADi and acados

    cc -shared -fPIC -O1 NAME.c -o NAME.so -lm

    F = casadi.external("NAME_FN", "./NAME.so")

Vectors are columns, one state a call. Jacobian and Hessian are found by their names: jac_F, adj1_F, jac_adj1_F.
-O2 takes gcc longer and is no faster; -march=native is faster, for a library that stays on its machine.
"""


def write(job: Job) -> list[Path]:
    name = job.compiler.facts.name
    source = source_of(job.robot, job.compiler, job.functions, job.bound)
    functions = [one for one in job.functions if isinstance(one, Function)]
    names = names_of(job.robot, job.bound, functions)
    texts = {
        f"{name}.c": source,
        "robot.json": json.dumps(names, indent=1, sort_keys=True, allow_nan=False) + "\n",
        "README.md": _README.replace("NAME", name).replace("FN", functions[0].name),
    }
    return write_owned(job.out, texts)
