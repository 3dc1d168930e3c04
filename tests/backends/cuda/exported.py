"""Exported CUDA C++ on the processor: g++ compiles it against the shim, ctypes calls it."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.api import Robot
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.cpp.plan import Exported, Plan, plan
from condyle.backends.cuda.cpp.project import header
from condyle.functions import DEFAULT, function_of
from condyle.runtime import cache, trusted_folders
from condyle.specification import Function
from tests.backends.cuda.simulate import kernels

Floats = NDArray[np.floating]
SHIM = Path(__file__).parent / "shim"
TYPES = {"float64": "double", "float32": "float"}


def planned(one: Robot, functions: Sequence[str | Function] = DEFAULT) -> Plan:
    return plan(*kernels(one).exported([*map(function_of, functions)]))


def text(found: Plan, facts: Facts, joints: Mapping[str, Sequence[int]] | None = None) -> str:
    return header(found, facts, joints or {})


@dataclasses.dataclass
class Library:
    """What was exported, compiled for the processor."""

    found: Plan
    code: Any

    def function(self, name: str) -> Exported:
        return next(function for function in self.found.functions if function.name == name)

    def kernels(self, name: str, inputs: Sequence[Floats], seed: int = 0) -> list[Floats]:
        """FN_launch on arrays "on the GPU", (n, size) each; one row serves every state."""
        dtype, n = inputs[0].dtype, max(len(array) for array in inputs)
        self.code.shim_seed(seed)
        function = self.function(name)
        strides = [size if len(array) == n else 0 for array, (_, size) in zip(inputs, function.takes, strict=True)]
        outputs = [np.full((n + 2, array.size), np.nan, dtype) for array in function.parts.outputs]
        scratch = np.full(n * function.scratch + 1, np.nan, dtype)
        call = getattr(self.code, f"{name}_launch_{TYPES[str(dtype)]}")
        status = call(n, pointers(inputs), sizes(strides), pointers([out[1:] for out in outputs]), pointer(scratch))
        assert status == 0
        assert self.code.shim_faults() == 0
        for out in outputs:
            assert np.isnan(out[0]).all() and np.isnan(out[-1]).all()
        return [out[1:-1] for out in outputs]

    def threads(self, name: str, inputs: Sequence[Floats], far: int) -> list[Floats]:
        """FN_inner, one state after the other; bit k of far: entries of array k, outputs last, lie n numbers apart."""
        n, function = len(inputs[0]), self.function(name)
        rows = [array.reshape(n, -1) for array in inputs]
        given = [np.ascontiguousarray(array.T if far >> k & 1 else array) for k, array in enumerate(rows)]
        apart = [bool(far >> k & 1) for k in range(len(rows), len(rows) + len(function.parts.outputs))]
        shapes = [
            (array.size, n) if way else (n, array.size)
            for array, way in zip(function.parts.outputs, apart, strict=True)
        ]
        outputs = [np.full(shape, np.nan) for shape in shapes]
        getattr(self.code, f"{name}_inner_double")(n, pointers(given), pointers(outputs), far)
        return [out.T if way else out for out, way in zip(outputs, apart, strict=True)]

    def all_at_once(
        self, name: str, inputs: Sequence[Floats], capacity: int, fail: int = -1
    ) -> tuple[int, list[Floats]]:
        """init_data, METHOD, free_data: the first error, and the answers; fail: which call of the runtime fails."""
        n, dtype = len(inputs[0]), inputs[0].dtype
        outputs = [np.full((n, array.size), np.nan, dtype) for array in self.function(name).parts.outputs]
        self.code.shim_fail_after(fail)
        call = getattr(self.code, f"{name}_data_{TYPES[str(dtype)]}")
        status = call(capacity, n, pointers(inputs), pointers(outputs))
        self.code.shim_fail_after(-1)
        assert self.code.shim_faults() == 0
        return status, outputs


def pointer(array: Floats) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def pointers(arrays: Sequence[Floats]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def sizes(numbers: Sequence[int]) -> Any:
    return (ctypes.c_size_t * len(numbers))(*numbers)


def compile_library(folder: Path, found: Plan, name: str, nq: int, nv: int) -> Library:
    """All functions in both types, one translation unit, once for all workers; warnings are errors; without
    optimisation, since the text is long and the batches are short."""
    header, around = text(found, Facts(nq, nv, "abc", "0", name)), calls(found, name)
    flags = ["-std=c++17", "-O0", "-g0", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", f"-DSHIM_ROBOT={name}"]

    def make(path: Path) -> None:
        (folder / f"{name}.cuh").write_text(header, encoding="ascii")
        (folder / "calls.cpp").write_text(around, encoding="ascii")
        command = ["g++", *flags, "-fPIC", "-shared", f"-I{SHIM}", f"-I{folder}", "calls.cpp", "-o", str(path)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr[:4000]

    shim = [path.read_text() for path in sorted(SHIM.iterdir())]
    library = trusted_folders.library(cache.fetch(["shim", *flags, header, around, *shim], f"{name} shim", make))
    library.shim_held.restype = ctypes.c_size_t
    for function in found.functions:
        for real in TYPES.values():
            getattr(library, f"{function.name}_launch_{real}").argtypes = [ctypes.c_size_t] + 4 * [ctypes.c_void_p]
            getattr(library, f"{function.name}_data_{real}").argtypes = 2 * [ctypes.c_size_t] + 2 * [ctypes.c_void_p]
        inner = getattr(library, f"{function.name}_inner_double")
        inner.argtypes, inner.restype = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int], None
    return Library(found, library)


def calls(found: Plan, name: str) -> str:
    """Functions that ctypes can call around those of the header."""
    lines = [f'#include "{name}.cuh"', '#include "shim.cpp"']
    for function in found.functions:
        for real in TYPES.values():
            lines += [launch_call(function, name, real), data_call(function, name, real)]
        lines.append(inner_call(function, name))
    return "\n".join(lines) + "\n"


def launch_call(function: Exported, name: str, real: str) -> str:
    given = [f"{{in[{k}], stride[{k}]}}" for k in range(len(function.inputs))]
    given += [f"out[{k}]" for k in range(len(function.outputs))]
    given += ["scratch"] if function.composed else ["nullptr"]
    arguments = f"size_t n, const {real} *const *in, const size_t *stride, {real} *const *out, {real} *scratch"
    body = f"(void)scratch; return {name}::{function.name}_launch<{real}>(n, {', '.join(given)});"
    return f'extern "C" int {function.name}_launch_{real}({arguments}) {{ {body} }}'


def inner_call(function: Exported, name: str) -> str:
    """For double; bit k of far: the entries of a state in array k lie n numbers apart, else side by side."""
    places = [(f"in[{k}]", size) for k, (_, size) in enumerate(function.takes)]
    places += [(f"out[{k}]", size) for k, (_, size) in enumerate(function.answers)]
    given = [f"{place} + i * (far >> {k} & 1 ? 1 : {size})" for k, (place, size) in enumerate(places)]
    given += [f"far >> {k} & 1 ? n : 1" for k in range(len(places))]
    head = f"void {function.name}_inner_double(size_t n, const double *const *in, double *const *out, int far)"
    return f"""
extern "C" {head}
{{
    for (size_t i = 0; i < n; i++) {{
        {name}::{function.name}_inner<double>({", ".join(given)});
    }}
}}"""


def data_call(function: Exported, name: str, real: str) -> str:
    copies = [f"memcpy(data.h_{x}, in[{k}], n * {size} * sizeof(R));" for k, (x, size) in enumerate(function.takes)]
    backs = [f"memcpy(out[{k}], data.h_{x}, n * {size} * sizeof(R));" for k, (x, size) in enumerate(function.answers)]
    return f"""
extern "C" int {function.name}_data_{real}(size_t capacity, size_t n, const {real} *const *in, {real} *const *out)
{{
    typedef {real} R;
    {name}::Data<R> data = {{}};
    cudaError_t status = {name}::init_data(&data, capacity);
    if (status != cudaSuccess) {{
        return data.h_q || data.d_q || data.host || data.device ? -1 : status;
    }}
    if (n <= capacity) {{
        {" ".join(copies)}
    }}
    status = {name}::{function.method}(&data, n);
    if (status == cudaSuccess) {{
        {" ".join(backs)}
    }}
    const cudaError_t freed = {name}::free_data(&data);
    return status != cudaSuccess ? status : freed;
}}"""
