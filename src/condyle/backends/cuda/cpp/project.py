"""A robot's functions as a CUDA project: one header, an example that checks itself, CMakeLists.txt, README.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from condyle.backends.common.exported_files import (
    QUATERNIONS,
    Coordinates,
    birth,
    library_of,
    order,
    write_install,
    write_library,
    write_owned,
)
from condyle.backends.common.facts import UNTESTED, Facts, Vectors, in_ascii
from condyle.backends.common.facts import header as description
from condyle.backends.common.forms import beyond, write_functions
from condyle.backends.cuda.cpp.plan import Exported, Kernel, Plan, plan, write_calls, write_data, write_launch
from condyle.backends.cuda.cpp.rollout import (
    DIALECT,
    Body,
    Joints,
    Rollout,
    widths,
    write_rollout,
    write_rollout_case,
    write_rollout_launch,
)
from condyle.backends.cuda.launches import Composed
from condyle.backends.cuda.target import stages
from condyle.ir.count import tally
from condyle.ir.program import Program
from condyle.specification import Call, Function, MinusProduct, Repeat
from condyle.text import Emitter

# The device side of a header: for each kernel a body, a device function for the user's kernels, and the kernel.


def write_body(e: Emitter, kernel: Kernel, joints: Joints) -> None:
    """Writes the computation of one thread, a template on how arrays are accessed."""
    types = [f"In{k}" for k in range(len(kernel.inputs))] + [f"Out{k}" for k in range(len(kernel.outputs))]
    names = (*kernel.inputs, *kernel.outputs)
    e(f"template <typename T, {', '.join(f'typename {type_}' for type_ in types)}>")
    arguments = ", ".join(f"const {type_} {name}" for type_, name in zip(types, names, strict=True))
    with e.block(f"__device__ __forceinline__ void {kernel.name}_body({arguments})\n{{"):
        Body(e, kernel.low, kernel.inputs, kernel.outputs, joints).write()
    e("")


def write_kernel(e: Emitter, kernel: Kernel) -> None:
    """Writes the kernel: a warp for 32 states, with rows staged in shared memory."""
    pool = f"{kernel.name.upper()}_POOL"
    e("/* A thread for each state, blocks of whole warps, at most 128 threads. For each warp dynamic shared memory of")
    e(f" * {pool} numbers of type T. */")
    e(f"inline constexpr int {kernel.name.upper()}_POOL = {kernel.pool};", "template <typename T>")
    arguments = [f"Rows<T> {name}" for name in kernel.inputs] + [f"T *{name}" for name in kernel.outputs]
    head = f"__global__ void __launch_bounds__(128) {kernel.name}_kernel({', '.join(['size_t n', *arguments])})"
    widths_in, widths_out = widths(kernel.low)
    sizes = [array.size for array in kernel.program.arrays]
    tiles = [f"TileIn<T, {width}>({name}, warp)" for name, width in zip(kernel.inputs, widths_in, strict=True)]
    tiles += [
        f"TileOut<T, {width}, {size}>({name}, warp)"
        for name, width, size in zip(kernel.outputs, widths_out, sizes, strict=True)
    ]
    with e.block(head + "\n{"):
        e(f"const Warp<T> warp(n, {kernel.name.upper()}_POOL);")
        with e.block("if (warp.left > 0) {"):
            e(f"{kernel.name}_body<T>({', '.join(tiles)});")
    e("")


def write_inner(e: Emitter, function: Exported) -> None:
    """Writes the device function for the user's kernels: one thread computes one state."""
    name = function.name
    e("/* The calling thread computes one state. Entry k of x is x[k * x_stride], in registers, shared or global")
    e(" * memory. Outputs must not overlap other arrays. Without strides they are 1; a local array can then be in")
    e(" * registers. */")
    names = (*function.inputs, *function.outputs)
    arguments = [f"const T *{given}" for given in function.inputs] + [f"T *{given}" for given in function.outputs]
    strides = [f"size_t {array}_stride" for array in names]
    head = f"__device__ __forceinline__ void {name}_inner"
    e("template <typename T>")
    with e.block(f"{head}({', '.join([*arguments, *strides])})\n{{"):
        _write_stages(e, function)
    e("", "template <typename T>")
    with e.block(f"{head}({', '.join(arguments)})\n{{"):
        e(f"{name}_inner<T>({', '.join([*names, *('1' for _ in names)])});")
    e("")


def _write_stages(e: Emitter, function: Exported) -> None:
    """Writes the steps in order. A product overwrites its right operand; other scratch arrays are local."""
    made, parts = function.implementation, function.parts
    arrays = zip((*made.inputs, *made.outputs), (*function.inputs, *function.outputs), strict=True)
    where = {array.name: (name, f"{name}_stride") for array, name in arrays}
    lies_in = {step.right: step.gives for step in made.steps if isinstance(step, MinusProduct)}

    def place(name: str, type_: str) -> str:
        pointer, stride = where[lies_in.get(name, name)]
        return f"Direct<{type_}>{{{pointer}, {stride}}}"

    for array in parts.scratch:
        if array.name not in lies_in:
            where[array.name] = f"own_{array.name}", "1"
            e(f"T own_{array.name}[{array.size}];")
    for step, part in zip(stages(made.steps), parts.launches, strict=True):
        reads, writes = ([array.name for array in arrays] for arrays in (part.reads, part.writes))
        if isinstance(step, Call):
            places = [place(name, "const T") for name in reads] + [place(name, "T") for name in writes]
            e(f"{step.function.name}_body<T>({', '.join(places)});")
            continue
        size = part.reads[0].shape[0]
        e(*(f"product_inner<T, {size}>({place(reads[0], 'const T')}, {place(name, 'T')});" for name in writes))


# NAME.cuh: all functions of one robot in one file that needs only the CUDA runtime's header.


ABI = 2
"""Raised when the meaning of an exported name changes."""

NUMBERS = "float or double"
_SUPPORT = Path(__file__).parent / "support"


def support(name: str) -> str:
    """The text of a hand-written file that is included in every header."""
    return (_SUPPORT / name).read_text(encoding="ascii")


def header(plan: Plan, facts: Facts, joints: Joints, bodies: int = 0, rollouts: Sequence[Rollout] = ()) -> str:
    """The text of NAME.cuh. joints: see `Joints`, for comments. bodies: number of moving bodies."""
    e = Emitter()
    guard = f"CONDYLE_{facts.name.upper()}_CUH"
    e(f"/* {facts.name}.cuh: rigid-body dynamics of one robot on NVIDIA GPUs, sm_80 or later. C++17.")
    e(f" * robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, {NUMBERS}")
    e(f" * Condyle {facts.version or '-'}, ABI {ABI}")
    e(" *", " * Each function FN, with METHOD its name below, has")
    e(" *   FN_inner             a device function: the calling thread computes one state")
    e(" *   FN_kernel            the kernel, if FN is one kernel")
    e(" *   FN_launch            launches on arrays in device memory")
    e(" *   METHOD_compute_only  the same on the device arrays of a Data")
    e(" *   METHOD               copies the host arrays of a Data to the GPU, computes, copies back, waits")
    e(" * Host functions return a cudaError_t. FN_launch and METHOD_compute_only are asynchronous.", " *")
    e(*(f" * {function.name}: {function.method}" for function in plan.functions))
    e(*(f" * {rollout.name}: only {rollout.name}_kernel and {rollout.name}_launch" for rollout in rollouts), " */")
    e(f"#ifndef {guard}", f"#define {guard}", "")
    e("#ifndef __CUDACC_RTC__", "#include <cuda_runtime.h>", "#include <math.h>", "#include <stddef.h>", "#endif", "")
    e(f"namespace {facts.name} {{", "")
    e(f"inline constexpr int ABI = {ABI}, NQ = {facts.nq}, NV = {facts.nv}, N_BODIES = {bodies};")
    e(
        f'inline constexpr const char *FINGERPRINT = "{facts.fingerprint}";',
        f'inline constexpr const char *VERSION = "{facts.version}";',
    )
    e("", support("tiles.cuh"), support("numbers.cuh"))
    ops = {op for kernel in plan.kernels for op in tally(kernel.program)}
    if beyond(ops):
        e(support("operations.cuh"))
        for bits, number in ((64, "double"), (32, "float")):
            write_functions(e, ops, bits, f"__device__ inline {number}", DIALECT, _literal(number))
    if plan.product:
        e(support("product.cuh"))
    for kernel in plan.kernels:
        e(*description(kernel.program, facts, NUMBERS, ABI))
        write_body(e, kernel, joints)
        write_kernel(e, kernel)
    for function in plan.functions:
        write_inner(e, function)
    for rollout in rollouts:
        write_rollout(e, rollout)
    e("#ifndef __CUDACC_RTC__", "", support("host.cuh"))
    for function in plan.functions:
        write_launch(e, function)
    for rollout in rollouts:
        write_rollout_launch(e, rollout)
    write_data(e, plan)
    for function in plan.functions:
        write_calls(e, function)
    e("#endif", "", f"}}  // namespace {facts.name}", "", "#endif")
    return e.text()


def _literal(number: str) -> Callable[[float], str]:
    return lambda value: f"{number}({value!r})"


STATES = 1000
"""States of the example: several blocks, and a last warp that is not full."""


_APART = "Example"
"""The namespace of the example. Its capital letter keeps it different from any robot's."""


def export_cuda(
    functions: Sequence[Composed],
    programs: Mapping[Function, Program],
    facts: Facts,
    joints: Joints,
    out: Path,
    vectors: Mapping[str, Vectors],
    robot: Mapping[str, object],
    coordinates: Sequence[Coordinates],
    bodies: int = 0,
    rollouts: Sequence[tuple[str, str, Repeat, str]] = (),
) -> list[Path]:
    """Writes NAME.cuh, example.cu, known.h, CMakeLists.txt, README.md, robot.json and the manifest; gives the paths.

    Only files that an export wrote are replaced: see `write_owned`. programs: of all functions that are called.
    vectors: of each function, in float64. robot: names of joints, bodies and frames, written to robot.json only.
    coordinates: the order of the joints, for the README. bodies: number of moving bodies. rollouts: (name, repeated
    function, loop, equation). Raises UnsupportedError for a constant that is not finite in float, or a name that CUDA
    C++ does not allow.
    """
    found = plan(functions, programs)
    repeated = _rollouts(found, rollouts)
    texts = {
        f"{facts.name}.cuh": header(found, facts, joints, bodies, repeated),
        "known.h": known_results(found, vectors, repeated),
        "example.cu": example(found, facts, vectors, repeated),
        "CMakeLists.txt": cmake(facts),
        "README.md": readme(found, facts, coordinates, repeated, vectors),
        "robot.json": json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n",
    }
    return write_owned(out, texts)


def _rollouts(plan: Plan, rollouts: Sequence[tuple[str, str, Repeat, str]]) -> list[Rollout]:
    named, found = {function.name: function for function in plan.functions}, list[Rollout]()
    for name, of, repeat, equation in rollouts:
        ports = named[of].implementation.function
        inputs, outputs = ([port.name for port in some] for some in (ports.inputs, ports.outputs))
        carried = tuple((outputs.index(port), inputs.index(port)) for port in repeat.carried)
        by_time, summed = frozenset(map(inputs.index, repeat.by_time)), frozenset(map(outputs.index, repeat.summed))
        found.append(Rollout(name, named[of], carried, by_time, summed, in_ascii(equation)))
    return found


def known_results(plan: Plan, vectors: Mapping[str, Vectors], rollouts: Sequence[Rollout] = ()) -> str:
    """known.h: states with results of the reference."""
    e = Emitter()
    rows = max((len(case.inputs[0]) for case in vectors.values()), default=1)
    e("/* States with known results, in double. */", "#include <stddef.h>", "", f"namespace {_APART} {{", "")
    e(f"const size_t STATES = {rows};")
    for name, function in (
        *((one.name, one) for one in plan.functions),
        *((one.name, one.function) for one in rollouts),
    ):
        if name not in vectors:
            continue
        case = vectors[name]
        names = [f"{name}_{port}" for port in (*function.inputs, *function.outputs)]
        for table, array in zip(names, (*case.inputs, *case.outputs), strict=True):
            e.table(f"static const double {table}", [repr(float(x)) for x in np.ravel(array)], 4)
    e("", f"}}  // namespace {_APART}")
    return e.text()


def example(plan: Plan, facts: Facts, vectors: Mapping[str, Vectors], rollouts: Sequence[Rollout] = ()) -> str:
    """example.cu: calls every function on both types and compares."""
    e = Emitter()
    name = facts.name
    tested = [one for one in plan.functions if one.name in vectors]
    repeated = [one for one in rollouts if one.name in vectors]
    untested = [one.name for one in (*plan.functions, *rollouts) if one.name not in vectors]
    e("/* Calls every function on states with known results; exit status 0 if all results agree. */")
    e(f'#include "{name}.cuh"', '#include "known.h"', "#include <cmath>", "#include <cstdio>", "")
    e(f"namespace {_APART} {{", "")
    e(support("example.cuh"))
    there_and_back = _inverses(tested)
    if there_and_back:
        _write_round_trip(e, *there_and_back, name)
    for rollout in repeated:
        write_rollout_case(e, rollout, name, vectors[rollout.name])
    e("template <typename T>")
    with e.block(f"bool run({name}::Data<T> *data, size_t n)\n{{"):
        e("bool right = true;")
        for function in tested:
            _write_call(e, function, name, vectors[function.name])
        if there_and_back:
            e("right = round_trip(data, n) && right;")
        e(*(f"right = run_{rollout.name}<T>(n) && right;" for rollout in repeated))
        e("return right;")
    e("", "template <typename T>")
    with e.block("bool all()\n{"):
        e(f"const size_t n = {STATES};", f"{name}::Data<T> data = {{}};")
        with e.block(f'if (!check({name}::init_data(&data, n), "init_data")) {{'):
            e("return false;")
        e("const bool right = run(&data, n);")
        e(f'return check({name}::free_data(&data), "free_data") && right;')
    e("", f"}}  // namespace {_APART}", "")
    with e.block("int main()\n{"):
        e(*(f'std::printf("%s: no test: %s\\n", "{one}", "{UNTESTED}");' for one in untested))
        e(f"const bool right = {_APART}::all<double>();", f"return {_APART}::all<float>() && right ? 0 : 1;")
    return e.text()


def _write_call(e: Emitter, function: Exported, name: str, case: Vectors) -> None:
    for given, size in function.takes:
        e(f"fill(data->h_{given}, n, {function.name}_{given}, {size});")
    with e.block(f'if (!check({name}::{function.method}(data, n), "{function.method}")) {{'):
        e("return false;")
    for k, (made, size) in enumerate(function.answers):
        what = f'"{function.name} {made}", data->h_{made}, n, {function.name}_{made}, {size}'
        e(f"right = compare({what}, {case.tolerance_of(k)!r}) && right;")


def _inverses(functions: Sequence[Exported]) -> tuple[Exported, Exported] | None:
    """A function of three inputs, the last two as long as each other, and its inverse, where both are exported."""
    exported = {one.implementation.function: one for one in functions}
    for function in functions:
        inverse, sizes = function.implementation.function.inverse, [size for _, size in function.takes]
        back = None if inverse is None else exported.get(inverse)
        if back is not None and len(sizes) == 3 and sizes[1] == sizes[2]:
            return function, back
    return None


def _write_round_trip(e: Emitter, function: Exported, back: Exported, robot: str) -> None:
    """back(.., function(.., x)) = x, on random second and third inputs and the known first one."""
    (known, length), (other, _), (x, size) = function.takes
    said = [one.method.replace("_", " ") for one in (back, function)]
    e(f"/* For random {other} and {x}, {said[0]} of the result of {said[1]} must be {x}. */", "template <typename T>")
    with e.block(f"bool round_trip({robot}::Data<T> *data, size_t n)\n{{"):
        e("unsigned long long seed = 1;", f"fill(data->h_{known}, n, {function.name}_{known}, {length});")
        with e.block(f"for (size_t k = 0; k < 2 * {size} * n; k++) {{"):
            e("seed = seed * 6364136223846793005ull + 1442695040888963407ull;")
            e("const double x = double(seed >> 11) / double(1ull << 52) - 1;")
            e(f"(k < {size} * n ? data->h_{other}[k] : data->h_{x}[k - {size} * n]) = T(x);")
        for one in (function, back):
            if one is back:
                e(f"T *const wanted = new T[{size} * n];")
                with e.block(f"for (size_t k = 0; k < {size} * n; k++) {{"):
                    e(f"wanted[k] = data->h_{x}[k];")
            with e.block(f'if (!check({robot}::{one.method}(data, n), "{one.method}")) {{'):
                e(*(["delete[] wanted;"] if one is back else []), "return false;")
        e("double error = 0;", "bool right = true;")
        with e.block(f"for (size_t k = 0; k < {size} * n; k++) {{"):
            e(f"const double off = std::fabs(double(data->h_{x}[k]) - double(wanted[k]));")
            e("error = std::fmax(error, off);", "right = right && off == off;")
        e("delete[] wanted;", "right = right && error <= (sizeof(T) == 8 ? 1e-8 : 1e-1);")
        law = f"{back.name}({function.name}({x})) = {x}"
        e(f'std::printf("{law:25}%-6s %s  error %.1e\\n", sizeof(T) == 8 ? "double" : "float",')
        e('            right ? "right" : "WRONG", error);', "return right;")
    e("")


def cmake(facts: Facts) -> str:
    """CMakeLists.txt: an interface library, a package of it, and the example as its test."""
    name, library = facts.name, library_of(facts.name)
    e = Emitter()
    write_library(e, name, ABI, "CXX", "INTERFACE")
    e(f"target_compile_features({library} INTERFACE cxx_std_17 cuda_std_17)", "")
    write_install(e, name, f"{name}.cuh")
    e("", "# the example, if this is the top-level project and there is a CUDA compiler")
    e("include(CheckLanguage)", "check_language(CUDA)")
    with e.block("if(CMAKE_CUDA_COMPILER AND CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)", "endif()"):
        with e.block("if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)", "endif()"):
            e("set(CMAKE_CUDA_ARCHITECTURES 80)  # with PTX, which drivers compile for later GPUs")
        e("enable_language(CUDA)", "enable_testing()", f"add_executable({library}_example example.cu)")
        e(f"target_link_libraries({library}_example PRIVATE {library})")
        e(f"add_test(NAME {library}_example COMMAND {library}_example)")
    return e.text()


def _said(rollouts: Sequence[Rollout], robot: str) -> str:
    if not rollouts:
        return ""
    rows = [(one.name, one.shapes, len(one.function.inputs)) for one in rollouts]
    table = "\n".join(
        f"| `{robot}::{x}_launch` | {_sized(arrays[:k])} | {_sized(arrays[k:])} |" for x, arrays, k in rows
    )
    return f"""
Rollouts repeat a function in one kernel, with a thread for each state. The output `X_next` of a step is the input X of
the next step. The results of steps number every, 2 every, ... and of the last step are stored: rows = ceil(steps /
every); with every = 0 only those of the last step, rows = 1. Rollouts have no `Data`: you allocate their arrays, which
stand behind `n, steps, every`.

| call | inputs | outputs |
|---|---|---|
{table}
"""


def readme(
    plan: Plan, facts: Facts, joints: Sequence[Coordinates], rollouts: Sequence[Rollout], tested: Collection[str]
) -> str:
    """README.md: the files, how to build, how to call, the order of the joints."""
    name, first = facts.name, plan.functions[0]
    call = first.method
    given = ", ".join(f"data.h_{x}" for x in first.inputs)
    answers = ", ".join(f"data.h_{x}" for x in first.outputs)
    arguments = ", ".join((*first.inputs, *first.outputs))
    table = "\n".join(
        f"| `{f.name}` | `{f.method}` | {_sized(f.takes)} | {_sized(f.answers)} |" for f in plan.functions
    )
    untested = "".join(
        f"\n`{one.name}` has no test: {UNTESTED}.\n" for one in (*plan.functions, *rollouts) if one.name not in tested
    )
    return f"""\
# {name}.cuh

Rigid-body dynamics of one robot, nq = {facts.nq}, nv = {facts.nv}, as CUDA C++ for `float` and `double`.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.cuh` | all functions, in one header |
| `example.cu`, `known.h` | calls every function on states with known results, and compares |
| `CMakeLists.txt` | the library `{name}::{name}`, its package, and the example as its test |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

Build and run the example. Its exit status is 0 if all results are right:

```sh
nvcc -std=c++17 -arch=native example.cu -o example && ./example
```

Or: `cmake -B build && cmake --build build && ctest --test-dir build`. It needs a GPU of compute
capability 8.0 or later and a CUDA toolkit with C++17 (11.0 or later; tried with 13.0).
`cmake --install build --prefix PLACE` installs a package; its version is the ABI number. Another project has
`find_package({name} {ABI} CONFIG REQUIRED)` and links `{name}::{name}`, or uses pkg-config with `{name}`.

```cpp
{name}::Data<float> data = {{}};
cudaError_t status = {name}::init_data(&data, 1000);  // h_ arrays in page-locked memory, d_ arrays on the GPU
// fill {given}: a row for each state
status = {name}::{call}(&data, 1000);  // copies to the GPU, computes, copies back, waits
// results are in {answers}
status = {name}::{call}_compute_only(&data, 1000, stream);  // d_ arrays to d_ arrays, asynchronous
status = {name}::free_data(&data);
```

For your own arrays in device memory there is `{first.name}_launch`. In your own kernel, where a thread computes one
state, call `{first.name}_inner<T>({arguments})`. Entries of an array are adjacent, or have a stride if you add one
argument for each array: entry k of x is x[k * x_stride], so one array can be in registers and another in global memory.
Comments in the header have shapes and units.

Functions with `_f_ext` take external forces: for each body, in the order of `robot.json`, [force; torque] at the origin
of the body's frame, in that frame's axes. In the functions without `_f_ext` they are zero.

| prefix | host call | inputs | outputs |
|---|---|---|---|
{table}

In brackets: the numbers of a state. Matrices are stored row by row.
{untested}{_said(rollouts, name)}
## Order of joints

{order(joints)}

{QUATERNIONS}"""


def _sized(arrays: Sequence[tuple[str, int | str]]) -> str:
    return ", ".join(f"{name} [{size}]" for name, size in arrays)
