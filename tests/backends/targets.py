"""Every way to run a Program in floating point, for tests of single operations."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from condyle.backends.c.build import build as build_c
from condyle.backends.common.facts import Facts
from condyle.backends.common.forms import write_functions
from condyle.backends.cpu.build import build as build_cpu
from condyle.backends.cpu.build import supported
from condyle.backends.cuda.cpp.project import support
from condyle.backends.cuda.cpp.rollout import DIALECT
from condyle.backends.cuda.launches import Parts, straight
from condyle.ir.interp import run
from condyle.ir.program import Program
from condyle.operations import OPERATIONS, TRIGONOMETRIC
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter
from tests.backends.cuda.simulate import simulate
from tests.programs import tool

Floats = np.ndarray
Runner = Callable[[Program, Sequence[Floats]], Floats]


def _interpreter(program: Program, inputs: Sequence[Floats]) -> Floats:
    (result,) = run(program, inputs, inputs[0].dtype.type)
    return result


def _expanded(program: Program, inputs: Sequence[Floats]) -> Floats:
    """The same polynomials in NumPy, where no multiply-add is fused."""
    return _interpreter(expand(program, 8 * inputs[0].dtype.itemsize), inputs)


def _kernel(build: Callable[[Program, str], Callable[..., object]]) -> Runner:
    def runner(program: Program, inputs: Sequence[Floats]) -> Floats:
        kernel = build(program, str(inputs[0].dtype))
        (array,) = program.arrays
        out = np.full((len(inputs[0]), array.size), np.nan, inputs[0].dtype)
        kernel(len(out), [np.ascontiguousarray(x) for x in inputs], [out], 1)
        return out

    return runner


def _alone(program: Program, inputs: Sequence[Floats]) -> Floats:
    """The processor's scalar form, a state a call."""
    kernel = build_cpu(program, str(inputs[0].dtype))
    out = np.full((len(inputs[0]), program.arrays[0].size), np.nan, inputs[0].dtype)
    for k in range(len(out)):
        kernel(1, [np.ascontiguousarray(x[k : k + 1]) for x in inputs], [out[k : k + 1]], 1)
    return out


def _ptx(program: Program, inputs: Sequence[Floats]) -> Floats:
    bits = 8 * inputs[0].dtype.itemsize
    parts = Parts(program.name, bits, program.inputs, program.arrays, (straight(program, bits),))
    (result,) = simulate(parts, inputs)
    return result


@cache
def _exported(bits: int) -> ctypes.CDLL:
    """Every operation as exported CUDA C++ has it, compiled for the processor."""
    number = "double" if bits == 64 else "float"
    e = Emitter()
    e("#include <math.h>", "#include <stddef.h>", "#include <string.h>", "#define __device__", "namespace robot {")
    e(support("operations.cuh"))
    write_functions(e, OPERATIONS, bits, f"__device__ inline {number}", DIALECT, lambda value: f"{number}({value!r})")
    e("}", "using namespace robot;", f"typedef {number} T;")
    for op in set(OPERATIONS) - TRIGONOMETRIC:
        names = [f"x{k}" for k in range(OPERATIONS[op].arity)]
        arguments = ", ".join([f"const T *{name}" for name in names] + ["T *y"])
        with (
            e.block(f'extern "C" void run_{op}(size_t n, {arguments})\n{{'),
            e.block("for (size_t k = 0; k < n; k++) {"),
        ):
            e(f"y[k] = {DIALECT.spell(op, [f'{name}[k]' for name in names])};")
    with tempfile.TemporaryDirectory() as folder:
        text, made = Path(folder) / "all.cpp", Path(folder) / "all.so"
        text.write_text(e.text())
        flags = ["-std=c++17", "-O2", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared"]
        subprocess.run(["g++", *flags, str(text), "-o", str(made)], check=True)
        return ctypes.CDLL(str(made))


def _cuda_cpp(program: Program, inputs: Sequence[Floats]) -> Floats:
    kind = inputs[0].dtype
    out = np.full((len(inputs[0]), 1), np.nan, kind)
    rows = [np.ascontiguousarray(x) for x in (*inputs, out)]
    run_one = getattr(_exported(8 * kind.itemsize), f"run_{program.nodes[-1][0]}")
    run_one(ctypes.c_size_t(len(out)), *(x.ctypes.data_as(ctypes.c_void_p) for x in rows))
    return rows[-1]


RUNNERS: dict[str, Runner] = {
    "numpy": _interpreter,
    "expanded": _expanded,
    "ptx": _ptx,
    **({"c": _kernel(lambda p, dtype: build_c(p, Facts(1, 1), dtype))} if tool("gcc") else {}),
    **{f"cpu-{isa.name}": _kernel(lambda p, dtype, isa=isa: build_cpu(p, dtype, isa)) for isa in supported()},
    **({"cpu-alone": _alone} if supported() else {}),
    **({"cuda-cpp": _cuda_cpp} if tool("g++") else {}),
}
FEW = {"cpu-alone": 300, "ptx": 4_000}
"""Those that are slow, and how many states they are given."""
SINGLE = ("cuda-cpp",)
"""Those that run single operations only; test_cpp_kernels.py runs whole Programs."""
