"""The targets of `compile`: what each builds, what it keeps between runs, and where it runs.

`TARGETS` has them by the words that people type. Nothing else tells targets apart by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np

from condyle.backends.cpu import build as keep
from condyle.backends.cpu import build as machine_code
from condyle.backends.cpu.target import NEEDS
from condyle.compile import Scans, Target
from condyle.compile.compiler import Compiler
from condyle.compile.kernels import composed
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import LIBRARY
from condyle.ir.loops import Code
from condyle.runtime.native import Kernel, NumpyKernel
from condyle.runtime.toolchain import find_compiler
from condyle.specification import UNBOUND, Function
from condyle.specification.integrators import ADDED

PLAIN_NAME = "made"
"""What C is told that a function of users, or a derivative, is called: their own names may be no names there."""


class Reference(Target):
    """NumPy: what tests compare every other target with."""

    name = "numpy"
    scans = Scans.ALL
    is_reference = True

    def build(self, compiler: Compiler, function: Function, dtype: str) -> Kernel:
        return by_columns(self, compiler, function, dtype) or reference(compiler, function, dtype)


class Text(Target):
    """A target that compiles the text of one function: C, or a file of `backends/added`."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self._module = name, module

    def build(self, compiler: Compiler, function: Function, dtype: str) -> Kernel:
        kernel = by_columns(self, compiler, function, dtype) or by_calls(self, compiler, function, dtype)
        if kernel is not None:
            return kernel
        if compiler.is_too_long(function):
            return reference(compiler, function, dtype)
        return self.compiled(compiler, function, compiler.code(function), dtype)

    def compiled(self, compiler: Compiler, function: Function, code: Code, dtype: str) -> Kernel:
        """The kernel of code."""
        if function.without_forces in LIBRARY:
            facts = replace(compiler.facts, functions={code.name: function})
        else:
            code, facts = replace(code, name=PLAIN_NAME), compiler.facts
        build = import_module(self._module).build  # at first use
        return build(code, facts, dtype)


C = Text("c", "condyle.backends.c.build")
NUMPY = Reference()


class MachineCode(Text):
    """Machine code of our own, kept between runs; C where the processor or the code is beyond it."""

    scans = Scans.SEGMENTS

    @property
    def computes(self) -> Target:
        return self if machine_code.supported() else C

    @property
    def instead(self) -> Target:
        return NUMPY

    @property
    def instruction_set(self) -> str:
        return machine_code.supported()[0].name if machine_code.supported() else ""

    def lanes(self, dtype: str) -> int:
        return machine_code.lanes(dtype)

    def kept(self, compiler: Compiler, function: Function, dtype: str) -> Kernel | None:
        if not compiler.keeps(function):
            return None
        return keep.find(cache_key(compiler, function, dtype), compiler.layouts(function, self, dtype))

    def compiled(self, compiler: Compiler, function: Function, code: Code, dtype: str) -> Kernel:
        if machine_code.supported():
            layouts = compiler.layouts(function, self, dtype)
            # a compiler serves where the system forbids new code, and loops that machine code has no form for
            with suppress(BuildError, UnsupportedError):
                marks = [port.is_shared for port in function.inputs]
                shared = () if None in marks else tuple(map(bool, marks))
                lower = tuple(port.lower for port in function.outputs)
                panel = max((port.lanes for port in function.inputs), default=0)
                assembled = machine_code.assembled(code, dtype, None, layouts, shared, lower, panel)
                kernel = machine_code.load(assembled, layouts)
                if compiler.keeps(function):
                    keep.keep(cache_key(compiler, function, dtype), assembled)
                return kernel
        return super().compiled(compiler, function, code, dtype)


class Cuda(Target):
    """An NVIDIA GPU."""

    name = "cuda"
    scans = Scans.LANES
    on_device = True

    def build(self, compiler: Compiler, function: Function, dtype: str) -> Kernel:
        from condyle.backends.cuda.kernel import CudaFunction
        from condyle.runtime.cuda.driver import gpu

        device = gpu(compiler.device)
        return CudaFunction(compiler.gpu(function, dtype, device.multiprocessors), device, np.dtype(dtype))


CPU, CUDA = MachineCode("cpu", "condyle.backends.c.build"), Cuda()

TARGETS: Mapping[str, Target] = {
    **{target.name: target for target in (CPU, C, NUMPY, CUDA)},
    **{name: Text(name, f"condyle.backends.added.{name}") for name in ADDED},
}


def available(target: Target) -> Target:
    """The target that serves on this machine: machine code, else C where there is a compiler, else NumPy."""
    if target.computes is target:
        return target
    try:
        find_compiler()
    except BuildError as error:
        fall_back(BuildError(f"machine code {NEEDS}, and {error}"))
        return NUMPY
    return target.computes


def fall_back(error: BuildError) -> None:
    """Say once that there is no compiler."""
    warnings.warn(
        f"{error}; NumPy answers instead, much slower. Install a C compiler (Debian: apt install gcc)",
        RuntimeWarning,
        stacklevel=4,
    )


def cache_key(compiler: Compiler, function: Function, dtype: str) -> keep.Key:
    """By what the machine code of a function is found again."""
    named = {of.name: route for of, route in compiler.routes.items()}
    routes = repr(sorted(named.items()))  # a route to one function may decide that of another
    bound = {option: getattr(compiler.tree, option) for option in function.options}
    bound = {option: value for option, value in bound.items() if value != getattr(UNBOUND, option)}
    said = f"{routes} {bound}" if bound else routes
    return keep.Key(compiler.facts.fingerprint, function.key, said, dtype, function.name)


def reference(compiler: Compiler, function: Function, dtype: str) -> Kernel:
    """By the algorithm itself on arrays."""
    from condyle.trace.reference import evaluate

    route = compiler.reference_route(function)
    run = partial(evaluate, compiler.tree, function, route)
    return NumpyKernel(run, function.inputs, np.dtype(dtype), f"NumPy, {route}")


def by_columns(target: Target, compiler: Compiler, function: Function, dtype: str) -> Kernel | None:
    """A Jacobian or a Hessian that is too long as straight code: one column after the other."""
    of = compiler.by_columns(function)
    if of is None:
        return None
    column = compiler.kept(of.function, target, dtype) or compiler.build(of.function, target, dtype)
    return composed.ColumnsKernel.create(compiler.tree, of, column)


def by_calls(target: Target, compiler: Compiler, function: Function, dtype: str) -> Kernel | None:
    """By kernels of other functions: of a long robot."""
    parts = compiler.parts(function)
    if not parts:
        return None
    from condyle.compile.kernels.composed import ComposedKernel

    route = function.routes[compiler.serving(function)[0]]
    names = [port.name for port in function.inputs]
    said = f"calls of {', '.join(map(str, parts))}"

    def kernel(part: Function) -> Kernel:
        return compiler.bodies(part, target, dtype)

    return ComposedKernel(compiler.tree, cast(Any, route.run).record, names, kernel, np.dtype(dtype), said)
