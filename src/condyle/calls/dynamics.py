"""Dynamics: the functions of one robot, compiled at their first use."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls import mapping
from condyle.calls.mapping import Sink, Source
from condyle.calls.methods import Methods, method_of, result_of
from condyle.compile import Target
from condyle.compile.compiler import Compiler
from condyle.compile.options import SPEED, CompileArguments, check_bound, check_ports, parts_of_compiled, unbound, whole
from condyle.compile.targets import fall_back
from condyle.derivatives import taking
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS, function_of, quantities
from condyle.functions.quantities import Q, V, push_of
from condyle.functions.steps import STEP
from condyle.identity import Identified, Parts
from condyle.model.contact import Contact
from condyle.model.state import quaternions_of
from condyle.runtime import machine
from condyle.runtime.arrays import Binder, as_array, check_ranges
from condyle.runtime.forks import Guard
from condyle.runtime.native import Function as FastPath
from condyle.runtime.native import Kernel, NativeKernel, cores, fast_path
from condyle.runtime.packed import Packed, PackedBinder, pack_rows, packed_bytes, with_packed_forces
from condyle.specification import F_EXT, Derivative, Function, Port
from condyle.specification.ports import CONTROLS
from condyle.trace.straight import layout_of, sizes

if TYPE_CHECKING:
    from condyle.calls.methods import StepRollout
    from condyle.calls.rollouts import Rollout, Rollouts

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None

LAST_DIGITS = ("target", "kernels")
"""Options that change the last digits of answers only: a large job may go on with others."""


class Dynamics(Identified, Methods):
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
        target: Target,
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
        self._kernels: dict[Function, Kernel] = {}
        self._binders: dict[Function, Binder] = {}
        self._guard = Guard(threading.RLock)
        self._fast: dict[Function, list[FastPath]] = {}
        self._derivatives: dict[object, Any] = {}
        self._rolled: Rollouts | None = None
        self._shadow_methods()

    def __reduce__(self) -> tuple[Callable[..., Dynamics], CompileArguments]:
        """A pickle is the robot and the options; the other side compiles or takes it from its own cache."""
        return self._recipe

    def __repr__(self) -> str:
        """One line: the robot, and what runs."""
        return f"<{type(self).__name__} of {self._recipe[1].robot!r}: target {self.target}, {self._dtype}>"

    @property
    def target(self) -> str:
        """What runs: "cpu", "c", "numpy" or "cuda". "cpu" leaves to C what this machine cannot do (see `explain`)."""
        return self._target.name

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The dtype of every array, in and out."""
        return np.dtype(self._dtype)

    def _identified(self) -> Parts:
        return parts_of_compiled(self._recipe[1])

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return *super().__dask_tokenize__(), *(getattr(self._recipe[1], name) for name in SPEED)

    @property
    def n_frames(self) -> int:
        """How many frames functions of frames answer for, such as `frame_placements`."""
        return len(self._compiler.tree.frames)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by name: nq, nv, n_bodies, n_frames, n_contacts, n_rows (of all contacts), n_regressor (words)."""
        return sizes(self._compiler.tree)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The contacts that it was compiled for, in the order of their flags."""
        return self._recipe[1].contacts

    @property
    def on_device(self) -> bool:
        """Whether it computes on a GPU, where its arrays may lie."""
        return self._target.on_device

    @property
    def signature(self) -> dict[str, str]:
        """The gufunc signature of each function by its short name: {"id": "(nq),(nv),(nv)->(nv)", ...}."""
        return {function.name: function.taking(*self._numbers).signature for function in self._functions}

    @property
    def _functions(self) -> list[Function]:
        """Those that can be called: with open inertias also those of masses that the robot has not."""
        if not self._numbers:
            return self._compiler.functions
        tree = self._compiler.tree
        return [function for function in FUNCTIONS.values() if not unbound(tree, function.taking(*self._numbers))]

    def driven(self, function: Function) -> Function:
        """A function as it is called here: by u in place of tau where actuators push."""
        return function.taking(CONTROLS) if CONTROLS.name in self._numbers else function

    def function(self, name: str | Function) -> Callable[..., Any]:
        """Return the method of a function by its short name, such as "fd", or of a derivative, such as "vjp_fd".

        Wherever a function is named, the name of its method does too: "forward_dynamics", "vjp_forward_dynamics".
        """
        function = function_of(name)
        if function.repeat is not None:
            return self._rollouts.named(function)
        if FUNCTIONS.get(function.name) is function:
            return getattr(self, function.method)
        origin = function.origin
        if isinstance(origin, Derivative):
            return self._derivative(origin.kind, origin.function, origin.by if origin.is_partial else None)
        return method_of(function).__get__(self)

    def jvp(self, name: str | Function) -> Callable[..., Any]:
        """Return the derivative of a function, by its short name, along tangents of its inputs.

        `jvp("fd")(q, v, tau, dq, dv, dtau)` returns da = da/dq dq + da/dv dv + da/dtau dtau. UnsupportedError.
        """
        return self._derivative("jvp", name)

    def vjp(self, name: str | Function) -> Callable[..., Any]:
        """Return the derivatives of cotangents times the answers of a function, by its short name, by every input.

        `vjp("fd")(q, v, tau, a_bar)` returns the named tuple (q, v, tau); its q is (da/dq)^T a_bar, in the tangent
        space of q. `vjp("rollout")(q, v, tau, dt, q_bar, v_bar, f_ext=..., every=..., last=..., by_time=...)` is that
        of `rollout`, with its options. UnsupportedError.
        """
        return self._rollouts.of_step("vjp") if name == "rollout" else self._derivative("vjp", name)

    def jacobian(self, name: str | Function, by: Sequence[str] | None = None) -> Callable[..., Any]:
        """Return the derivatives of a function, by its short name, by some inputs; by=None is by all.

        `jacobian("fd", by=("q",))(q, v, tau)` returns da/dq (..., nv, nv). UnsupportedError.
        """
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str | Function) -> Callable[..., Any]:
        """Return the symmetric second derivative of lam^T f by all inputs of a function f, by its short name.

        `hessian("fd")(q, v, tau, lam)` returns (..., n, n), n the sizes of all tangents together. UnsupportedError.
        """
        return self._derivative("hessian", name)

    def _derivative(self, kind: str, function: str | Function, by: Sequence[str] | None = None) -> Callable[..., Any]:
        """A `Call`, with a native callable in front where it serves; one for all who ask."""
        key = kind, function, tuple(by) if isinstance(by, list) else by
        try:
            return self._derivatives[key]
        except (KeyError, TypeError):  # of what is no name, the next line says it
            base = function_of(function)
        from condyle.calls.call import Call  # at first use: calls of functions need none of it

        call = Call.of_derivative(self, kind, base, by, self._own_numbers(base))
        with self._guard.lock:
            if call.asked not in self._derivatives:
                self._derivatives[call.asked] = call.front
        self._derivatives[key] = self._derivatives[call.asked]
        return self._derivatives[key]

    def rollout(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        dt: ArrayLike | None = None,
        *,
        f_ext: ArrayLike | None = None,
        every: int = 1,
        last: bool = False,
        steps: int | None = None,
        by_time: Sequence[str] | str = (),
        out: Out = None,
        **numbers: ArrayLike,
    ) -> StepRollout:
        """Return (q, v) after each of T steps of `step`, by the integrator of `compile`.

        q (..., nq), v (..., nv): before the first step. tau (..., T, nv): constant during each step. steps=T: tau
        (..., nv) is constant during all T steps instead, unless by_time names it. With actuators u (..., T, nu) stands
        in place of tau. dt (...) [s]: length of a step. f_ext (..., n_bodies, 6): external forces, constant during all
        steps. by_time: names of further inputs with a value for each step; their time axis stands before their own.
        numbers: what `compile(inputs=)` made arguments, constant during all steps; those of the robot where they are
        left out.
        Answers: q (..., T, nq), v (..., T, nv). every=k: those of steps k, 2 k, ... and of the last one. last=True:
        those of the last step, without time axis.
        With contacts, a state whose speeds pass `FASTEST` a step is not a number from there on, and an AccuracyWarning
        names it: a loop that was torn near a dead point, for example.
        Errors: ShapeError for time axes that differ in length or have no step; UnsupportedError for an option. A tau of
        the shape of v has two meanings without steps=: ShapeWarning, or ShapeError if it has several batch dimensions;
        by_time=("tau",) says that it has a time axis.
        """
        of_step = self._rollouts.of_step()
        options: dict[str, Any] = {"by_time": by_time, "every": every, "last": last, "steps": steps, "out": out}
        pushed: dict[str, Any] = {**dict.fromkeys(push_of(self.driven(STEP)), tau), **numbers}
        states = of_step(q, v, dt=dt, f_ext=f_ext, **options, **pushed)
        if self._compiler.tree.contacts and not isinstance(states.v, Packed):
            from condyle.calls.rollouts import stop_torn

            longest = np.max(cast(Any, dt), axis=-1) if "dt" in by_time else np.asarray(dt)
            stop_torn(states, longest, last, (q, v, tau, f_ext, *numbers.values()))
        return states

    def rollouts_of(self, name: str | Function, kind: str = "") -> Rollout:
        """Rollouts of any function, by its short name, with the options of each call; kind: "vjp" for theirs."""
        return self._rollouts.rollout_of(function_of(name), kind)

    @property
    def _rollouts(self) -> Rollouts:
        """The rollouts of this object, from their first use on."""
        if self._rolled is None:
            from condyle.calls.rollouts import Rollouts

            self._rolled = Rollouts(self, self._numbers)
        return self._rolled

    def map(
        self,
        function: str | Function,
        source: Source,
        sink: Sink,
        chunk: int = 65536,
        journal: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> int:
        """Compute a function, by its short name, of more states than memory holds; return how many states were
        computed.

        source: a list with an array for each input, (states, ...), or (...) for all states: NumPy arrays, memory maps,
            Zarr arrays or the like; or an iterator of such lists, a chunk each.
        sink: an array for each answer, (states, ...), or a function sink(begin, answers).
        chunk: states that are read, computed and written at a time, 1 or more; the next ones are read meanwhile.
        journal: path of a file that holds how many states are done, with hashes of the last chunk. A job that was
            killed continues there, if robot, options, source and sink are still the same; else UnsupportedError says
            what differs. Chunks that the file does not have yet are computed again.
        progress: show a bar; None: on a terminal, if tqdm is installed.
        Errors: ShapeError, DTypeError, UnsupportedError, and OutOfMemoryError for a memory map that the disk has no
            room for, before anything is computed.
        """
        return mapping.run(self._job(function), source, sink, chunk, journal, progress)

    def _job(self, name: str | Function) -> mapping.Job:
        function = function_of(name)
        inputs, outputs = ({spec.name: spec.dims for spec in specs} for specs in self.binder(function).specs)

        def compute(inputs: Sequence[Array], out: tuple[Array, ...] | None) -> tuple[Array, ...]:
            return self.call(function, inputs, out)

        identity = {part: known for part, known in self.identity_parts.items() if part not in LAST_DIGITS}
        return mapping.Job(function.called, inputs, outputs, self.dtype, compute, function.name, identity)

    def explain(self, n: int = 1, functions: Sequence[str | Function] | None = None) -> str:
        """Return what runs for a batch of n states: target, threads, and the route and operations of each function.

        functions: short names, of derivatives too; None: all functions, and the derivatives that were asked for.
        """
        n = whole("n", n, 0)
        lines = [self._compiler.line(each, self._target, self._dtype, n) for each in self._named(functions)]
        threads = (
            "one thread" if self._target.is_reference else f"at most {self.threads} threads, fewer for little work"
        )
        return "\n".join([f"target {self.target}, {self._dtype}, batch of {n}, {threads}", *lines])

    def memory(self, n: int, functions: Sequence[str | Function] | None = None) -> dict[str, int]:
        """Return the bytes of all inputs and outputs of a batch of n states by function, without external forces.

        functions: as in `explain`.
        """
        n = whole("n", n, 0)
        known, bytes_of = self.sizes, dict[str, int]()
        for function in self._named(functions):
            ports = (*function.inputs, *function.outputs)
            bytes_of[function.name] = n * self.dtype.itemsize * sum(math.prod(port.shape(known)) for port in ports)
        return bytes_of

    def _named(self, functions: Sequence[str | Function] | None) -> list[Function]:
        """Those that were named, else all that can be called and derivatives that were asked for."""
        if functions is None:
            every = [function.taking(*self._numbers) for function in self._functions]
            derived = dict.fromkeys(call.function for call in self._derivatives.values())
            return [*every, *derived, *(self._rolled.functions if self._rolled else ())]
        if isinstance(functions, str):
            raise UnsupportedError(f"functions={functions!r}: give a list of short names, such as ({functions!r},)")
        asked = [taking(function_of(name), *self._numbers) for name in functions]
        for function in asked:
            check_bound(self._compiler.tree, function, self._compiler.frames)
        return asked

    def pack(self, array: ArrayLike, port: str = "", of: str | Function = "") -> Packed:
        """Return a packed copy of an array of many states; calls with packed arrays give packed answers.

        array: (..., nq) or (..., nv), or what port names: "f_ext", "Minv", "M". of: short name of the function whose
        port it is, such as "vjp_m" for "M_bar". Errors: ShapeError, DTypeError, OutOfMemoryError; UnsupportedError for
        a name.
        """
        for name, value, kinds in (("port", port, str), ("of", of, (str, Function))):
            if not isinstance(value, kinds):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UnsupportedError(f"pack: {name} is {type(value).__name__}, expected a name such as 'f_ext'")
        given = as_array("pack", port or "array", array)
        return self.packed(array, self._port(given.shape, port, of))

    def packed(self, array: ArrayLike, chosen: Port) -> Packed:
        """A packed copy of what a port takes."""
        given = as_array("pack", chosen.name, array)
        layout = layout_of(self._compiler.tree, chosen, self._target.lanes(self._dtype))
        batch = given.shape[: given.ndim - len(layout.dims)]
        machine.check("pack", math.prod(batch), packed_bytes(math.prod(batch), layout, self.dtype))
        only = Function("pack", "pack", "", (chosen,), ())
        listed = type(array) in (list, tuple)  # numbers of any precision
        bound = Binder(only, sizes(self._compiler.tree), self.dtype).bind((array,) if listed else (given,))
        return pack_rows(bound.inputs[0], layout, batch)

    def _port(self, shape: tuple[int, ...], name: str, function: str | Function) -> Port:
        if not name:
            return V if shape[-1:] == (self._compiler.tree.nv,) else Q
        ports = function_of(function).by_name if function else quantities()
        if name not in ports:
            raise UnsupportedError(f"pack: there is no port {name!r}; there are {', '.join(ports)}")
        return ports[name]

    def _packed_binder(self, function: Function) -> PackedBinder:
        layouts = self._compiler.layouts(function, self._target, self._dtype)
        return PackedBinder(function.called, [port.name for port in function.inputs], layouts, self.dtype)

    def forget(self, kept: Collection[Function]) -> None:
        """Lets go of rollouts but for some; each is made again when it is called."""
        with self._guard.lock:
            for function in [each for each in self._binders if each.repeat is not None and each not in kept]:
                self._binders.pop(function, None)
                self._fast.pop(function, None)
                self._kernels.pop(function, None)

    def zeros(self, dims: tuple[int, ...]) -> Array:
        """What stands for an input that is zero where it is not given, for all states; always the same array."""
        return self._zeros.setdefault(dims, np.zeros(dims, self.dtype))

    def _own_numbers(self, function: Function) -> dict[str, Array]:
        """The numbers that are inputs of a function."""
        return {name: own for name, own in self._numbers.items() if name in function.numbers}

    def call(
        self, function: str | Function, args: Sequence[ArrayLike], out: Out = None, ranges: bool = True
    ) -> tuple[Array, ...]:
        """The answers of a function in a tuple; ranges: numbers out of range are a StateError."""
        function = function_of(function)
        binder = self.binder(function)
        every = (*args, *(out if isinstance(out, (tuple, list)) else (out,)))
        first = next((x for x in every if isinstance(x, Packed)), None)
        if first is not None:
            if any(isinstance(x, Packed) for x in args):
                args = with_packed_forces(self, function, args, first.batch)
            packed = self._packed_binder(function).bind(args, out)
            rows = [
                x.dense() if spec.quaternions and isinstance(x, Packed) else x
                for spec, x in zip(binder.specs[0], packed.inputs, strict=False)
            ]
            check_ranges(function.called, binder.specs[0], rows)
            return cast("tuple[Array, ...]", packed.run(self.kernel(function), self.threads))
        call = binder.bind(args, cast("Array | Sequence[Array] | None", out), ranges)
        if call.outputs[0].size:  # neither without states nor without joints
            self.kernel(function)(call.n, call.inputs, call.outputs, self.threads)
        return call.finish()

    def _shadow_methods(self) -> None:
        """Puts a native callable in front of each method: it takes plain calls and leaves all others to the method."""
        for function in self._functions:
            numbers = self._own_numbers(function)
            if numbers:
                from condyle.calls.call import Call

                setattr(self, function.method, Call.of_function(self, function, numbers).front)
            elif getattr(type(self), function.method, None) is getattr(Dynamics, function.method, None):
                direct = self.direct(function, getattr(self, function.method))  # no subclass has its own
                if direct is not None:
                    setattr(self, function.method, direct)

    def direct(
        self,
        function: Function,
        slow: Callable[..., object],
        result: type[tuple[Any, ...]] | None = None,
        shares: bool = True,
        positional: int = sys.maxsize,
    ) -> FastPath | None:
        """A native callable in front of `slow`, which calls a function; None where there is none.

        result: the named tuple of the answers, where it is not that of the function. shares, positional: see
        `fast_path`.
        """
        if self._target.is_reference:
            return None
        widest = function.taking(F_EXT) if function.may_take_f_ext else function
        ports = widest is not function, *self.binder(widest).specs
        fast = fast_path(slow, *ports, self.dtype, result or result_of(function), self.threads, shares, positional)
        if fast is not None:
            self._fast.setdefault(function, []).append(fast)
            for each in {function, widest}:
                self._connect(each, self._kernels.get(each))
        return fast

    def _connect(self, function: Function, kernel: Kernel | None) -> None:
        """What is called instead of the method from now on."""
        if not isinstance(kernel, NativeKernel):
            return
        paths = [(False, fast) for fast in self._fast.get(function, [])]
        if function.has_forces and function.without_forces.may_take_f_ext:
            paths += [(True, fast) for fast in self._fast.get(function.without_forces, [])]
        for forces, fast in paths:
            fast.set_entry(forces, kernel.checked(self.binder(function).specs[0]), kernel.single)
            if kernel.packed is not None and function.repeat is None:  # layouts of time axes are long
                before, after = self._compiler.layouts(function, self._target, self._dtype)
                fast.set_packed(forces, kernel.packed, Packed, before + after)

    def binder(self, function: str | Function) -> Binder:
        """What checks the calls of a function; UnsupportedError where there is none."""
        binder = self._binders.get(function) if isinstance(function, Function) else None
        if binder is None:
            function = function_of(function)
            check_bound(self._compiler.tree, function, self._compiler.frames)
            if not self._target.is_reference:
                check_ports(function)
            binder = self._binders[function] = Binder(function, self.sizes, self.dtype, quaternions=self._quaternions)
        return binder

    def kernel(self, function: str | Function) -> Kernel:
        """Return the compiled code of a function, or of its short name, for callers other than Python."""
        kernel = self._kernels.get(function) if isinstance(function, Function) else None
        if kernel is None:
            function = function_of(function)
            self.binder(function)  # or its error
            with self._guard.lock:
                kernel = self._kernels.get(function) or self._build(function)
                self._connect(function, kernel)
                self._kernels[function] = kernel  # last: a child of a fork before this line does all of it again
        return kernel

    def _build(self, function: Function) -> Kernel:
        kept = self._compiler.kept(function, self._target, self._dtype)  # a cache that is refused is an error
        if kept is not None:
            return kept
        self._compiler.check(function, self._target)
        if self._target.on_device:
            return self._compiler.build(function, self._target, self._dtype)  # freed with this object
        try:
            return self._compiler.bodies(function, self._target, self._dtype)
        except BuildError as error:
            if self._target.instead is None:
                raise
            fall_back(error)
            return self._compiler.build(function, self._target.instead, self._dtype)
