"""route -> target -> cache: the only orchestrator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from condyle.compile import Target
from condyle.compile.kernels import composed
from condyle.compile.routes import Router, check_invertible
from condyle.derivatives import vjp
from condyle.functions import LIBRARY
from condyle.model.robot import Frame, Robot
from condyle.runtime.native import Kernel
from condyle.runtime.packed import Layouts
from condyle.specification import Function, Repeat
from condyle.trace.straight import layout_of

if TYPE_CHECKING:
    from condyle.compile.gpu import GpuFunction, GpuKernels


@dataclass
class Compiler(Router):
    """Everything that is compiled for one tree."""

    robot: Robot | None = field(default=None, kw_only=True)
    """whose tree it is; without it nothing is checked before it is built"""
    device: int = field(default=0, kw_only=True)
    kernels: Mapping[Function, str] = field(default_factory=dict[Function, str], kw_only=True)
    """target "cuda": in which form a function runs, in the words of `backends.cuda.target.requested`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layouts = lru_cache(1024)(self._layouts)
        self.bodies = lru_cache(64)(self._kernel)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The frames that can be asked for."""
        return {} if self.robot is None else self.robot.frames

    def line(self, function: Function, target: Target, dtype: str, n: int) -> str:
        """What runs for n states, for people: the route, its operations, the target where it is another one.

        What a long robot has is not counted, which takes seconds.
        """
        repeat = function.repeat
        if repeat is not None:
            return self._repeated_line(function, repeat, target, dtype, n)
        of = self.by_columns(function)
        if of is not None:
            times = composed.count(self.tree, of)
            return f"{function.name:12} {'columns':24}{times} times: {self.line(of.function, target, dtype, n)}"
        parts = () if target.is_reference else self.parts(function)
        if parts:
            return f"{function.name:12} {'calls':24}{'; '.join(self.line(part, target, dtype, n) for part in parts)}"
        computes = target.computes
        if self.is_too_long(function):
            computes, route = target, self.reference_route(function)
            work = "too long for straight-line code, and without loops: it runs in NumPy, much slower"
        elif self.is_hopeless(function):
            from condyle.trace.loops import rolled_route

            route, work = rolled_route(function) + ", rolled", f"loops over {len(self.tree.links)} links"
        elif self.is_long_straight(function):
            route, work = self.candidates(function)[0], "straight-line code, not counted here: that takes seconds"
        else:
            row = self.work(function)
            route = str(row["route"])
            work = f"{row['mul']} mul, {row['add']} add, {row['div']} div, {row['sincos']} sincos per state"
        return f"{function.name:12} {route:23} {work}" + ("" if computes is target else f", target {computes.name}")

    def _repeated_line(self, function: Function, repeat: Repeat, target: Target, dtype: str, n: int) -> str:
        """Of a loop over time: what its steps are."""
        name, forward = f"{function.name:12}", self.line(repeat.function, target, dtype, n)
        if not repeat.backwards:
            ends = (
                f", until {repeat.until} > 0 for {'any' if repeat.together else 'each'} state" if repeat.until else ""
            )
            return f"{name} {'at most ' if ends else ''}{repeat.steps} times{ends}: {forward}"
        backward = self.line(vjp(repeat.function), target, dtype, n)
        return (
            f"{name} forward, every state kept, some rollouts at a time: {repeat.steps - 1} times: {forward}; "
            f"then backward: {repeat.steps} times: {backward}"
        )

    def check(self, function: Function, target: Target) -> None:
        """Errors that name the joint if the robot has no such function; see `checks`."""
        if self.robot is not None and function.repeat is None and function.inverts:
            check_invertible(self.robot)

    def _kernel(self, function: Function, target: Target, dtype: str) -> Kernel:
        """The kernel of one function, kept or built; checked before."""
        kept = self.kept(function, target, dtype)
        if kept is not None:
            return kept
        self.check(function, target)
        return self.build(function, target, dtype)

    def build(self, function: Function, target: Target, dtype: str) -> Kernel:
        """The kernel of one function for one target."""
        if function.repeat is not None:
            from condyle.compile.kernels.composed import build

            return build(function, self.tree, lambda of: self.bodies(of, target, dtype))
        return target.build(self, function, dtype)

    def kept(self, function: Function, target: Target, dtype: str) -> Kernel | None:
        """The kernel that `build` made in an earlier run, if there is one."""
        return None if function.repeat is not None else target.kept(self, function, dtype)

    @staticmethod
    def keeps(function: Function) -> bool:
        """Whether its key says all that it computes, so that its kernels are kept between runs."""
        return function.root in LIBRARY or function.root.content != ""

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

    def _layouts(self, function: Function, target: Target, dtype: str) -> Layouts:
        """How the inputs and the outputs of a function are packed for a target."""
        lanes = target.lanes(dtype)
        return tuple(layout_of(self.tree, port, lanes) for port in function.inputs), tuple(
            layout_of(self.tree, port, lanes) for port in function.outputs
        )
