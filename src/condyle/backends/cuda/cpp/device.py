"""The device side of a header: for each kernel a body, a function for other people's kernels, and the kernel itself."""

from __future__ import annotations

from condyle.backends.cuda.cpp.body import Body, Joints, widths
from condyle.backends.cuda.cpp.plan import Function, Kernel
from condyle.text import Emitter


def write_body(e: Emitter, kernel: Kernel, joints: Joints) -> None:
    """What one thread computes, whatever holds its numbers."""
    types = [f"In{k}" for k in range(len(kernel.inputs))] + [f"Out{k}" for k in range(len(kernel.outputs))]
    names = (*kernel.inputs, *kernel.outputs)
    e(f"template <typename T, {', '.join(f'typename {type_}' for type_ in types)}>")
    arguments = ", ".join(f"const {type_} {name}" for type_, name in zip(types, names, strict=True))
    with e.block(f"__device__ __forceinline__ void {kernel.name}_body({arguments})\n{{"):
        Body(e, kernel.low, kernel.inputs, kernel.outputs, joints).write()
    e("")


def write_kernel(e: Emitter, kernel: Kernel) -> None:
    """A warp on 32 states, rows through shared memory."""
    e(f"/* Launch with {kernel.name.upper()}_POOL numbers of dynamic shared memory a warp, blocks of whole warps. */")
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


def write_inner(e: Emitter, function: Function, nv: int) -> None:
    """For other people's kernels: one thread, one state."""
    name = function.name
    e("/* One state by the calling thread: entry k of an input at [k * in_stride], of an output at [k * out_stride].")
    e(" * Outputs overlap nothing. With arrays of the thread and strides of 1 all of it stays in registers. */")
    arguments = [f"const T *{given}" for given in function.inputs] + [f"T *{given}" for given in function.outputs]
    arguments += ["size_t in_stride = 1", "size_t out_stride = 1"]
    e("template <typename T>")
    with e.block(f"__device__ __forceinline__ void {name}_inner({', '.join(arguments)})\n{{"):
        if function.split:
            _write_stages(e, function, nv)
        else:
            places = [_direct(given, "const T", "in") for given in function.inputs]
            places += [_direct(given, "T", "out") for given in function.outputs]
            e(f"{name}_body<T>({', '.join(places)});")
    e("")


def _direct(name: str, type_: str, way: str) -> str:
    return f"Direct<{type_}>{{{name}, {way}_stride}}"


def _write_stages(e: Emitter, function: Function, nv: int) -> None:
    """Minv, the acceleration, the derivatives of inverse dynamics where the answers go, then the product in place."""
    q, v, third = (_direct(name, "const T", "in") for name in function.inputs[:3])
    by_q, by_v, *rest = (_direct(name, "T", "out") for name in function.outputs)
    if function.name == "dfd":
        e(f"T acceleration[{nv}];", f"minv_body<T>({q}, {rest[0]});")
        e(f"fd_body<T>({q}, {v}, {third}, Direct<T>{{acceleration, 1}});")
        third = "Direct<const T>{acceleration, 1}"
        inverse = _direct(function.outputs[2], "const T", "out")
    else:
        inverse = _direct(function.inputs[3], "const T", "in")
    e(f"did_body<T>({q}, {v}, {third}, {by_q}, {by_v});")
    e(*(f"product_inner<T, {nv}>({inverse}, {place});" for place in (by_q, by_v)))
