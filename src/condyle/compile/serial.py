"""route -> target -> cache: the only orchestrator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from condyle.backends.common.facts import Facts
from condyle.backends.cpu import build as cpu_target
from condyle.backends.cpu import keep as cpu_kept
from condyle.choices import ADDED
from condyle.compile import columns
from condyle.compile.checks import check_elements, check_invertible
from condyle.compile.routes import Router
from condyle.derivatives import vjp
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import OWN
from condyle.ir.sweep import Code
from condyle.model.robot import Frame, Robot
from condyle.runtime.kernel import Kernel
from condyle.runtime.layout import Layouts
from condyle.runtime.numpy_kernel import NumpyKernel
from condyle.specification import UNBOUND, Function, Repeat
from condyle.trace.structure import layout_of

if TYPE_CHECKING:
    from condyle.compile.gpu import GpuFunction, GpuKernels

MADE = "made"
"""What C is told that a function of users, or a derivative, is called: their own names may be no names there."""

LINE = 64
"""Bytes of a column's numbers in one tile where no instruction set says otherwise."""


@dataclass
class Compiler(Router):
    """Everything that is compiled for one tree."""

    robot: Robot | None = field(default=None, kw_only=True)
    """whose tree it is; without it nothing is checked before it is built"""
    device: int = field(default=0, kw_only=True)
    kernels: Mapping[Function, str] = field(default_factory=dict[Function, str], kw_only=True)
    """target "cuda": in which form a function runs, in the words of `backends.cuda.forms.requested`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layouts = lru_cache(1024)(self._layouts)
        self.bodies = lru_cache(64)(self._kernel)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The frames that can be asked for."""
        return {} if self.robot is None else self.robot.frames

    def needs_elements(self, function: Function, target: str) -> bool:
        """Whether every link must have inertia along its own joint for this function: never in serial code."""
        return False

    def line(self, function: Function, target: str, dtype: str, n: int) -> str:
        """What runs for n states, for people: the route, its operations, the target where it is another one.

        What a long robot has is not counted, which takes seconds.
        """
        repeat = function.repeat
        if repeat is not None:
            return self._repeated_line(function, repeat, target, dtype, n)
        of = self.by_columns(function)
        if of is not None:
            times = columns.count(self.tree, of)
            return f"{function.name:12} {'columns':24}{times} times: {self.line(of.function, target, dtype, n)}"
        parts = self.parts(function) if target != "numpy" else ()
        if parts:
            return f"{function.name:12} {'calls':24}{'; '.join(self.line(part, target, dtype, n) for part in parts)}"
        if self.is_too_long(function):
            target, route = "numpy", self.reference_route(function)
            work = "too long for straight-line code, and without loops: it runs in NumPy, much slower"
        elif self.is_hopeless(function):
            from condyle.trace.rolled import rolled_route

            route, work = rolled_route(function) + ", rolled", f"loops over {len(self.tree.links)} links"
        elif self.is_long_straight(function):
            route, work = self.candidates(function)[0], "straight-line code, not counted here: that takes seconds"
        else:
            row = self.work(function)
            route = str(row["route"])
            work = f"{row['mul']} mul, {row['add']} add, {row['div']} div, {row['sincos']} sincos per state"
        return f"{function.name:12} {route:23} {work}" + ("" if runs(target) == target else f", target {runs(target)}")

    def _repeated_line(self, function: Function, repeat: Repeat, target: str, dtype: str, n: int) -> str:
        """Of a loop over time: what its steps are."""
        name, forward = f"{function.name:12}", self.line(repeat.of, target, dtype, n)
        if not repeat.backwards:
            return f"{name} {repeat.steps} times: {forward}"
        backward = self.line(vjp(repeat.of), target, dtype, n)
        return (
            f"{name} forward, every state kept, some rollouts at a time: {repeat.steps - 1} times: {forward}; "
            f"then backward: {repeat.steps} times: {backward}"
        )

    def check(self, function: Function, target: str) -> None:
        """Errors that name the joint if the robot has no such function; see `checks`."""
        if self.robot is not None and function.repeat is None and function.inverts:
            check_invertible(self.robot)
            if self.needs_elements(function, target):
                check_elements(self.robot, self.tree)

    def _kernel(self, function: Function, target: str, dtype: str) -> Kernel:
        """The kernel of one function, kept or built; checked before."""
        kept = self.kept(function, target, dtype)
        if kept is not None:
            return kept
        self.check(function, target)
        return self.build(function, target, dtype)

    def build(self, function: Function, target: str, dtype: str) -> Kernel:
        """The kernel of one function for one target; "cpu" leaves to C what it cannot do."""
        if function.repeat is not None:
            from condyle.compile.repeated import build

            return build(function, self.tree, lambda of: self.bodies(of, target, dtype))
        of = None if target == "cuda" else self.by_columns(function)
        if of is not None:
            one = of.function, target, dtype
            return columns.ColumnsKernel.of(self.tree, of, self.kept(*one) or self.build(*one))
        if target not in ("cuda", "numpy") and self.parts(function):
            return self._composed(function, target, dtype)
        if target == "numpy" or (target != "cuda" and self.is_too_long(function)):
            from condyle.trace.reference import evaluate

            route = self.reference_route(function)
            run = partial(evaluate, self.tree, function, route)
            return NumpyKernel(run, function.inputs, np.dtype(dtype), f"NumPy, {route}")
        if target == "cuda":
            from condyle.backends.cuda.function import CudaFunction
            from condyle.runtime.cuda.driver import gpu

            device = gpu(self.device)
            return CudaFunction(self.gpu(function, dtype, device.multiprocessors), device, np.dtype(dtype))
        code = self.code(function)
        if runs(target) == "cpu":
            layouts = self.layouts(function, target, dtype)
            # a compiler serves where the system forbids new code, and loops that machine code has no form for
            with suppress(BuildError, UnsupportedError):
                made = cpu_target.assembled(code, dtype, layouts=layouts)
                kernel = cpu_target.load(made, layouts)
                if self.keeps(function):
                    cpu_kept.keep(self._key(function, dtype), made)
                return kernel
        if function.without_forces not in OWN:
            return self._by_text(replace(code, name=MADE), self.facts, target, dtype)
        return self._by_text(code, replace(self.facts, functions={code.name: function}), target, dtype)

    def _by_text(self, code: Code, facts: Facts, target: str, dtype: str) -> Kernel:
        """By a target that was added, else by C."""
        if target in ADDED:
            return import_module(f"condyle.backends.added.{target}").build(code, facts, dtype)
        from condyle.backends.c import build as c_target

        return c_target.build(code, facts, dtype)

    def _composed(self, function: Function, target: str, dtype: str) -> Kernel:
        """By kernels of other functions: of a long robot."""
        from condyle.compile.composed import ComposedKernel

        route = function.routes[self.serving(function)[0]]
        names = [port.name for port in function.inputs]
        said = f"calls of {', '.join(map(str, self.parts(function)))}"

        def kernel(of: Function) -> Kernel:
            return self.bodies(of, target, dtype)

        return ComposedKernel(self.tree, cast(Any, route.run).record, names, kernel, np.dtype(dtype), said)

    def kept(self, function: Function, target: str, dtype: str) -> Kernel | None:
        """The kernel that `build` made in an earlier run, if there is one."""
        if target != "cpu" or function.repeat is not None or not self.keeps(function):
            return None
        return cpu_kept.find(self._key(function, dtype), self.layouts(function, target, dtype))

    @staticmethod
    def keeps(function: Function) -> bool:
        """Whether its key says all that it computes, so that its kernels are kept between runs."""
        return function.root in OWN or function.root.content != ""

    def _key(self, function: Function, dtype: str) -> cpu_kept.Key:
        named = {of.key: route for of, route in self.routes.items()}
        routes = repr(sorted(named.items()))  # a route to one function may decide that of another
        bound = {option: getattr(self.tree, option) for option in function.options}
        bound = {option: value for option, value in bound.items() if value != getattr(UNBOUND, option)}
        said = f"{routes} {bound}" if bound else routes
        return cpu_kept.Key(self.facts.fingerprint, function.key, said, dtype, function.name)

    @cached_property
    def gpu_kernels(self) -> GpuKernels:
        """The kernels that functions on a GPU are made of."""
        from condyle.compile.gpu import GpuKernels

        return GpuKernels(self)

    def gpu(self, function: Function, dtype: str, multiprocessors: int) -> GpuFunction:
        """What a function runs as on a GPU of so many multiprocessors."""
        from condyle.compile.gpu import GpuFunction

        words = self.kernels.get(function) or self.kernels.get(function.without_forces, "")
        return GpuFunction(self.gpu_kernels, function, dtype, multiprocessors, words)

    def lanes(self, target: str, dtype: str) -> int:
        """States that lie side by side in packed arrays of a target."""
        return cpu_target.lanes(dtype) if target == "cpu" else LINE // np.dtype(dtype).itemsize

    def _layouts(self, function: Function, target: str, dtype: str) -> Layouts:
        """How the inputs and the outputs of a function are packed for a target."""
        lanes = self.lanes(target, dtype)
        return tuple(layout_of(self.tree, port, lanes) for port in function.inputs), tuple(
            layout_of(self.tree, port, lanes) for port in function.outputs
        )


def runs(target: str) -> str:
    """What computes when this target is asked for: itself, but "c" for "cpu" without machine code."""
    return "c" if target == "cpu" and not cpu_target.supported() else target


def fall_back(error: BuildError) -> None:
    """Say once that there is no compiler."""
    warnings.warn(
        f"{error}; NumPy answers instead, much slower. Install a C compiler (Debian: apt install gcc)",
        RuntimeWarning,
        stacklevel=4,
    )
