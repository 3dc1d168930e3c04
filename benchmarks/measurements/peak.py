"""The kernels alone beside a loop of independent multiply-adds: float64, one core.

A kernel is what stands between packing, sines and unpacking; it runs on one tile that stays in the nearest cache. Its
operations are those of the Program before contraction, so that a multiply-add counts as two, in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import Subject, pinned
from benchmarks.probes import Code, peak
from condyle.api import condyle_version
from condyle.backends.c.target import Facts
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.build import BITS, supported
from condyle.compiler import Compiler
from condyle.ir.program import Program
from condyle.model.tree import tree_of

DTYPE = "float64"
TILES = 64


def measure(subject: Subject) -> dict[str, Any]:
    if not supported():
        return {}
    robot, isa = subject.robot, supported()[0]
    facts = Facts(robot.nq, robot.nv, robot.fingerprint, condyle_version(), "robot")
    compiler = Compiler(tree_of(robot), facts)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        program = compiler.code(name, False)
        if not isinstance(program, Program):
            continue
        made = assemble(program, isa, BITS[DTYPE])
        work = np.full(made.numbers[0] * isa.vector_bytes // 8, 0.5).tobytes()
        code = Code([kernel.text for kernel in made.kernels], made.constants, work)
        operations = int(compiler.best(name, False).counts.arithmetic)
        functions[name] = _beside_peak(subject, code, operations, isa.lanes(BITS[DTYPE]))
        print(f"{subject.case.name:24s}{name:5s}{functions[name]['share']:.3f}", flush=True)
    return {"functions": functions}


def _beside_peak(subject: Subject, code: Code, operations: int, lanes: int) -> dict[str, Any]:
    loop, most = peak(DTYPE)
    with pinned():
        found = subject.times({"kernel": code.call(TILES), "peak": loop}, 1)
    rates = {
        "kernel": operations * lanes * TILES / found["kernel"]["median"],
        "peak": most / found["peak"]["median"],
    }
    return {
        **found,
        "ns_a_state": found["kernel"]["median"] / (TILES * lanes),
        "operations": operations,
        "gflops": rates["kernel"],
        "peak_gflops": rates["peak"],
        "share": rates["kernel"] / rates["peak"],
    }
