"""The device side of a header: for each kernel a body, a device function for the user's kernels, and the kernel."""

from __future__ import annotations

from condyle.backends.cuda.cpp.body import Body, Joints, widths
from condyle.backends.cuda.cpp.plan import Exported, Kernel
from condyle.backends.cuda.forms import stages
from condyle.specification import Call, MinusProduct
from condyle.text import Emitter


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
