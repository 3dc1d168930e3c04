"""NAME.rs: the functions in Rust, and tests of them with the answers of the reference."""

from __future__ import annotations

from pathlib import Path

from condyle.backends.common.exported_files import write_owned
from condyle.backends.common.facts import Vectors
from condyle.backends.rust import numbers, write_function
from condyle.errors import UnsupportedError
from condyle.exports.known_answers import vectors_of
from condyle.exports.projects import Job
from condyle.ir.program import Program
from condyle.text import Emitter

OPTIONS = ("frames", "reference_frame", "integrator", "contacts")


def write(job: Job) -> list[Path]:
    if job.rollouts:
        raise UnsupportedError("target 'rust' has no rollouts: repeat 'step' in a loop, or use target 'c'")
    e, facts = Emitter(), job.compiler.facts
    e(f"//! Written by Condyle {facts.version}, robot {facts.fingerprint}.", "#![allow(unused_variables)]")
    for function in job.variants:
        program = job.compiler.straight(function)
        e("", f"/// {function.method}({', '.join(port.name for port in function.inputs)})")
        write_function(e, program)
        _write_test(e, program, vectors_of(job.robot, job.compiler, function, "float64"))
    return write_owned(job.out, {f"{facts.name}.rs": e.text()})


def _write_test(e: Emitter, program: Program, vectors: Vectors) -> None:
    """Writes a test: the error is small beside the largest entry of the reference's answers."""
    e("#[test]")
    with e.block(f"fn {program.name}_is_right() {{"):
        e(*(f"let mut y{k} = [0.0; {array.size}];" for k, array in enumerate(program.arrays)))
        for row in range(len(vectors.inputs[0])):
            given = [f"&{numbers(x[row])}" for x in vectors.inputs]
            e(f"{program.name}({', '.join([*given, *(f'&mut y{k}' for k in range(len(program.arrays)))])});")
            for k, known in enumerate(vectors.outputs):
                allowed = vectors.tolerance_of(k) * float(abs(known).max())
                with e.block(f"for (found, known) in y{k}.iter().zip({numbers(known[row])}) {{"):
                    e(f"assert!((found - known).abs() <= {allowed!r});")
