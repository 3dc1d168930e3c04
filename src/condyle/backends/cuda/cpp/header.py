"""NAME.cuh: all functions of one robot in one file that needs only the CUDA runtime's header."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from condyle.backends.common.describe import header as description
from condyle.backends.common.facts import Facts
from condyle.backends.common.forms import beyond, write_functions
from condyle.backends.cuda.cpp.body import DIALECT, Joints
from condyle.backends.cuda.cpp.device import write_body, write_inner, write_kernel
from condyle.backends.cuda.cpp.host import write_calls, write_data, write_launch
from condyle.backends.cuda.cpp.plan import Plan
from condyle.backends.cuda.cpp.rollout import Rollout, write_rollout, write_rollout_launch
from condyle.ir.count import tally
from condyle.text import Emitter

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
