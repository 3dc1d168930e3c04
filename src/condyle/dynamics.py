"""Dynamics: the functions of one robot, compiled at their first use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.about import About
from condyle.chunked import Mapped
from condyle.compile.checks import check_bound, check_ports, unbound
from condyle.compile.serial import Compiler, fall_back
from condyle.derivatives import parsed
from condyle.errors import BuildError
from condyle.functions import FUNCTIONS, variant
from condyle.methods import Methods, method_of, result_of
from condyle.model.state import quaternions_of
from condyle.opened_calls import OpenedCall
from condyle.options import CompileArguments
from condyle.packing import Packing, known_function
from condyle.rolling import Rolling
from condyle.runtime.arrays import Binder
from condyle.runtime.forks import Guard
from condyle.runtime.kernel import Kernel, cores
from condyle.runtime.native import Function as FastPath
from condyle.runtime.native import NativeKernel, fast_path
from condyle.runtime.packed import Packed, PackedBinder
from condyle.runtime.ranges import check_ranges
from condyle.specification import Function
from condyle.trace.structure import sizes

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None


class Dynamics(Packing, Rolling, Mapped, About, Methods):
    """The functions of one robot on one target. Safe to call from many threads, and from a forked process.

    A method takes arrays (..., size) with any leading batch dimensions, which broadcast, and returns new arrays or
    fills `out=`. Where all arguments are `Packed`, so are the answers and `out=`. Shapes: q (..., nq); v, a, tau (...,
    nv); f_ext (..., n_bodies, 6), [force; torque] on each body in the axes of its link, or as `force_frame` says; it is
    constant in these axes when q varies. Units: SI. Derivatives by q are in the local tangent space.
    Errors: ShapeError and DTypeError name the argument, what was expected and what to do.
    """

    def __init__(
        self,
        compiler: Compiler,
        target: str,
        dtype: str,
        threads: int | None,
        recipe: tuple[Callable[..., Dynamics], CompileArguments],
        numbers: Mapping[str, Array] | None = None,
    ) -> None:
        """numbers: those of the robot that are inputs, and its own."""
        self._recipe, self._parts = recipe, dict[str, str]()
        self._quaternions = quaternions_of(recipe[1].robot) if recipe[1].check else ()
        self._numbers = dict(numbers or {})
        self._zeros: dict[tuple[int, ...], Array] = {}
        self._compiler = compiler
        self._target = target
        self._dtype = dtype
        self.threads = threads or cores()
        self._kernels: dict[tuple[str, bool], Kernel] = {}
        self._binders: dict[str, Binder] = {}
        self._guard = Guard(threading.RLock)
        self._fast: dict[str, list[FastPath]] = {}
        self._derivatives: dict[tuple[object, ...], Any] = {}
        self._rolled: Any = None
        self._shadow_methods()

    def __reduce__(self) -> tuple[Callable[..., Dynamics], CompileArguments]:
        """A pickle is the robot and the options; the other side compiles or takes it from its own cache."""
        return self._recipe

    def __repr__(self) -> str:
        """One line: the robot, and what runs."""
        return f"<{type(self).__name__} of {self._recipe[1].robot!r}: target {self._target}, {self._dtype}>"

    @property
    def target(self) -> str:
        """What runs: "cpu", "c", "numpy" or "cuda". "cpu" leaves to C what this machine cannot do (see `explain`)."""
        return self._target

    @property
    def signature(self) -> dict[str, str]:
        """The gufunc signature of each function by its short name: {"id": "(nq),(nv),(nv)->(nv)", ...}."""
        return {name: FUNCTIONS[variant(name, self._numbers)].signature for name in self._functions}

    def function(self, name: str) -> Callable[..., Any]:
        """Return the method of a function by its short name, such as "fd", or of a derivative, such as "vjp_fd".

        Wherever a function is named, the name of its method does too: "forward_dynamics", "vjp_forward_dynamics".
        """
        known = known_function(name)
        name, derived = known.name, parsed(known.name)
        if known.repeat is not None:
            return self._rollouts.named(name)
        if name in FUNCTIONS:
            return getattr(self, known.method)
        if derived is None:
            return method_of(known).__get__(self)
        return self._derivative(derived.kind, derived.of, derived.by if derived.is_partial else None)

    def jvp(self, name: str) -> Callable[..., Any]:
        """Return the derivative of a function, by its short name, along tangents of its inputs.

        `jvp("fd")(q, v, tau, dq, dv, dtau)` returns da = da/dq dq + da/dv dv + da/dtau dtau. UnsupportedError.
        """
        return self._derivative("jvp", name)

    def vjp(self, name: str) -> Callable[..., Any]:
        """Return the derivatives of cotangents times the answers of a function, by its short name, by every input.

        `vjp("fd")(q, v, tau, a_bar)` returns the named tuple (q, v, tau); its q is (da/dq)^T a_bar, in the tangent
        space of q. `vjp("rollout")(q, v, tau, dt, q_bar, v_bar, f_ext=..., every=..., last=..., by_time=...)` is that
        of `rollout`, with its options. UnsupportedError.
        """
        return self._rollouts.vjp() if name == "rollout" else self._derivative("vjp", name)

    def jacobian(self, name: str, by: Sequence[str] | None = None) -> Callable[..., Any]:
        """Return the derivatives of a function, by its short name, by some inputs; by=None is by all.

        `jacobian("fd", by=("q",))(q, v, tau)` returns da/dq (..., nv, nv). UnsupportedError.
        """
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str) -> Callable[..., Any]:
        """Return the symmetric second derivative of lam^T f by all inputs of a function f, by its short name.

        `hessian("fd")(q, v, tau, lam)` returns (..., n, n), n the sizes of all tangents together. UnsupportedError.
        """
        return self._derivative("hessian", name)

    def _derivative(self, kind: str, of: str, by: Sequence[str] | None = None) -> Callable[..., Any]:
        """A `Derivative`, with a native callable in front where it serves; one for all who ask."""
        key = kind, of, tuple(by) if isinstance(by, list) else by
        try:
            return self._derivatives[key]
        except (KeyError, TypeError):  # of what is no name, the next line says it
            function = known_function(of)
        from condyle.derived_calls import Derivative  # at first use: calls of functions need none of it

        made = Derivative(self, kind, function.name, by, self._own_numbers(function))
        with self._guard.lock:
            if made.recipe not in self._derivatives:
                fast = self.direct(made.name, made, made.result, not made.sums, made.positional)
                self._derivatives[made.recipe] = fast or made
        self._derivatives[key] = self._derivatives[made.recipe]
        return self._derivatives[key]

    def forget(self, prefixes: tuple[str, ...], kept: Collection[str]) -> None:
        """Lets go of functions whose names begin so, but for some; each is made again when it is called."""
        with self._guard.lock:
            for name in [name for name in self._binders if name.startswith(prefixes) and name not in kept]:
                self._binders.pop(name, None)
                self._fast.pop(name, None)
                self._kernels.pop((name, False), None)

    @property
    def _functions(self) -> list[str]:
        """Those that can be called: with open inertias also those of masses that the robot has not."""
        if not self._numbers:
            return self._compiler.functions
        return [name for name in FUNCTIONS if not unbound(self._compiler.tree, FUNCTIONS[variant(name, self._numbers)])]

    def zeros(self, dims: tuple[int, ...]) -> Array:
        """What stands for an input that is zero where it is not given, for all states; always the same array."""
        return self._zeros.setdefault(dims, np.zeros(dims, self.dtype))

    def _own_numbers(self, function: Function) -> dict[str, Array]:
        """The numbers that are inputs of a function."""
        return {name: own for name, own in self._numbers.items() if name in function.numbers}

    def call(
        self,
        name: str,
        args: Sequence[ArrayLike],
        f_ext: ArrayLike | None = None,
        out: Out = None,
        ranges: bool = True,
    ) -> tuple[Array, ...]:
        """The answers of a function, by its short name, in a tuple; ranges: numbers out of range are a StateError."""
        name = name if name in self._binders else known_function(name).name
        binder = self.binder(name)
        given = args if f_ext is None else (*args, f_ext)
        every = (*given, *(out if isinstance(out, (tuple, list)) else (out,)))
        first = next((x for x in every if isinstance(x, Packed)), None)
        if first is not None:
            if any(isinstance(x, Packed) for x in args):
                given = self.with_packed_forces(name, given, f_ext is not None, first.batch)
            packed = self._packed_binder(name, f_ext is not None).bind(given, out)
            rows = [
                x.dense() if spec.quaternions and isinstance(x, Packed) else x
                for spec, x in zip(binder.specs[0], packed.inputs, strict=False)
            ]
            check_ranges(FUNCTIONS[name].called, binder.specs[0], rows)
            return cast("tuple[Array, ...]", packed.run(self.kernel(name, f_ext is not None), self.threads))
        call = binder.bind(args, f_ext, cast("Array | Sequence[Array] | None", out), ranges)
        if call.outputs[0].size:  # neither without states nor without joints
            self.kernel(name, f_ext is not None)(call.n, call.inputs, call.outputs, self.threads)
        return call.finish()

    def _shadow_methods(self) -> None:
        """Puts a native callable in front of each method: it takes plain calls and leaves all others to the method."""
        for name in self._functions:
            method = FUNCTIONS[name].method
            numbers = self._own_numbers(FUNCTIONS[name])
            if numbers:
                setattr(self, method, OpenedCall(self, FUNCTIONS[name], numbers).front)
            elif getattr(type(self), method, None) is getattr(Dynamics, method, None):  # no subclass's own
                direct = self.direct(name, getattr(self, method))
                if direct is not None:
                    setattr(self, method, direct)

    def direct(
        self,
        name: str,
        slow: Callable[..., object],
        result: type[tuple[Any, ...]] | None = None,
        shares: bool = True,
        positional: int = sys.maxsize,
    ) -> FastPath | None:
        """A native callable in front of `slow`, which calls a function by its short name; None where there is none.

        result: the named tuple of the answers, where it is not that of the function. shares, positional: see
        `fast_path`.
        """
        if self._target == "numpy":
            return None
        function, (inputs, outputs) = FUNCTIONS[name], self.binder(name).specs
        result = result or result_of(function)
        ports = function.takes_f_ext, inputs, outputs
        fast = fast_path(slow, *ports, self.dtype, result, self.threads, shares, positional)
        if fast is not None:
            self._fast.setdefault(name, []).append(fast)
            for f_ext in (False, True):
                self._connect(name, f_ext, self._kernels.get((name, f_ext)))
        return fast

    def _connect(self, name: str, f_ext: bool, kernel: Kernel | None) -> None:
        """What is called instead of the method from now on."""
        if not isinstance(kernel, NativeKernel):
            return
        for fast in self._fast.get(name, []):
            fast.set_entry(f_ext, kernel.checked(self.binder(name).specs[0]), kernel.single)
            if kernel.packed is not None and FUNCTIONS[name].repeat is None:  # layouts of time axes are long
                before, after = self._compiler.layouts(name, f_ext, self._target, self._dtype)
                fast.set_packed(f_ext, kernel.packed, Packed, before + after)

    def binder(self, name: str) -> Binder:
        """What checks the calls of a function, by its short name; UnsupportedError where there is none."""
        binder = self._binders.get(name)
        if binder is None:
            function = known_function(name)
            name = function.name
            check_bound(self._compiler.tree, function, self._compiler.frames)
            if self._target != "numpy":
                check_ports(function)
            binder = self._binders[name] = Binder(
                function, sizes(self._compiler.tree), self.dtype, quaternions=self._quaternions
            )
        return binder

    def _packed_binder(self, name: str, f_ext: bool) -> PackedBinder:
        function = FUNCTIONS[name]
        layouts = self._compiler.layouts(name, f_ext, self._target, self._dtype)
        return PackedBinder(function.called, [port.name for port in function.ports(f_ext)], layouts, self.dtype)

    def kernel(self, name: str, f_ext: bool = False) -> Kernel:
        """Return the compiled code of a function by its short name, for callers other than Python."""
        kernel = self._kernels.get((name, f_ext))
        if kernel is None:
            name = known_function(name).name
            self.binder(name)  # or its error
            with self._guard.lock:
                kernel = self._kernels.get((name, f_ext)) or self._build(name, f_ext)
                self._connect(name, f_ext, kernel)
                self._kernels[name, f_ext] = kernel  # last: a child of a fork before this line does all of it again
        return kernel

    def _build(self, name: str, f_ext: bool) -> Kernel:
        kept = self._compiler.kept(name, f_ext, self._target, self._dtype)  # a cache that is refused is an error
        if kept is not None:
            return kept
        self._compiler.check(name, self._target)
        if self._target == "cuda":
            return self._compiler.build(name, f_ext, self._target, self._dtype)  # freed with this object
        try:
            return self._compiler.bodies(name, f_ext, self._target, self._dtype)
        except BuildError as error:
            if self._target != "cpu":
                raise
            fall_back(error)
            return self._compiler.build(name, f_ext, "numpy", self._dtype)
