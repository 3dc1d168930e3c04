"""Dynamics: the functions of one robot, compiled at their first use."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.compile.checks import check_bound
from condyle.compile.serial import Compiler
from condyle.derivatives import name_of
from condyle.errors import BuildError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS, found, quantities
from condyle.functions.quantities import Q, V
from condyle.methods import Methods, result_of
from condyle.runtime import memory
from condyle.runtime.arrays import Binder, as_array
from condyle.runtime.forks import Guard
from condyle.runtime.kernel import Kernel, cores
from condyle.runtime.native import Function as FastPath
from condyle.runtime.native import NativeKernel, fast_path
from condyle.runtime.packed import Packed, PackedBinder, pack_rows, packed_bytes
from condyle.runtime.rows import broadcast
from condyle.specification import F_EXT, Function, Port
from condyle.trace.structure import layout_of, sizes

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None


class Dynamics(Methods):
    """The functions of one robot on one target. Safe to call from many threads; a forked child may call too.

    Every method takes arrays (..., size) with any leading batch dimensions, broadcast against each other, and gives
    fresh arrays or fills `out=`. Where every argument is `Packed`, so are the results and `out=`.
    Shapes: q (..., nq); v, a, tau (..., nv); f_ext (..., n_bodies, 6), [force; torque] on each body in its own
    link frame, fixed in that frame when q varies, or as `force_frame` says. Units: SI. Derivatives by q are in the
    local tangent space. ShapeError and DTypeError say what was given, what was expected and what to do.
    """

    def __init__(
        self,
        compiler: Compiler,
        target: str,
        dtype: str,
        threads: int | None,
        recipe: tuple[Callable[..., Dynamics], tuple[object, ...]],
    ) -> None:
        self._recipe = recipe
        self._compiler = compiler
        self._target = target
        self._dtype = dtype
        self._threads = threads or cores()
        self._kernels: dict[tuple[str, bool], Kernel] = {}
        self._binders: dict[str, Binder] = {}
        self._guard = Guard(threading.RLock)
        self._fast: dict[str, FastPath] = {}
        if target != "numpy":
            self._shadow_methods()

    def __reduce__(self) -> tuple[Callable[..., Dynamics], tuple[object, ...]]:
        """A pickle is the robot and the options; the other side compiles or takes it from its own cache."""
        return self._recipe

    def __repr__(self) -> str:
        """One line: the robot, and what runs."""
        return f"<{type(self).__name__} of {self._recipe[1][0]!r}: target {self._target}, {self._dtype}>"

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The dtype of every array, in and out."""
        return np.dtype(self._dtype)

    @property
    def target(self) -> str:
        """What runs: "cpu", "c", "numpy" or "cuda". "cpu" leaves to C what this machine cannot do (see `explain`)."""
        return self._target

    @property
    def n_frames(self) -> int:
        """How many frames `frame_placements` and its kin answer for."""
        return len(self._compiler.tree.frames)

    @property
    def signature(self) -> dict[str, str]:
        """The gufunc signature of each function, by its short name: {"id": "(nq),(nv),(nv)->(nv)", ...}."""
        return {
            name: ",".join(f"({','.join(port.dims)})" for port in function.inputs)
            + "->"
            + ",".join(f"({','.join(port.dims)})" for port in function.outputs)
            for name, function in self._served()
        }

    def function(self, name: str) -> Callable[..., object]:
        """The method of a function by its short name, such as "fd"."""
        return getattr(self, _known(name).method)

    def jvp(self, name: str) -> Derived:
        """The derivative of a function, by its short name, along a tangent: `jvp("fd")(q, v, tau, dq, dv, dtau)`."""
        return Derived(self, "jvp", name)

    def vjp(self, name: str) -> Derived:
        """The derivative of a cotangent times a function by every input: `vjp("fd")(q, v, tau, a_bar)`."""
        return Derived(self, "vjp", name)

    def jacobian(self, name: str, by: Sequence[str] | None = None) -> Derived:
        """The derivatives of a function by some inputs, by default by all: `jacobian("fd", by=("q",))(q, v, tau)`."""
        return Derived(self, "jacobian", name, by)

    def hessian(self, name: str) -> Derived:
        """The second derivative of lam^T f by all inputs: `hessian("fd")(q, v, tau, lam)`."""
        return Derived(self, "hessian", name)

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states: the route of each function, its operations, its target and threads."""
        return self.explained(*(name for name, _ in self._served()), n=n)

    def explained(self, *functions: str, n: int = 1) -> str:
        """The same of some functions."""
        lines = [self._compiler.line(name, self._target, self._dtype, n) for name in functions]
        threads = "one thread" if self._target == "numpy" else f"at most {self._threads} threads, fewer for little work"
        return "\n".join([f"target {self._target}, {self._dtype}, batch of {n}, {threads}", *lines])

    def memory(self, n: int) -> dict[str, int]:
        """Bytes of all inputs and outputs of a batch of n states, for each function, external forces left out."""
        known = sizes(self._compiler.tree)
        return {
            name: n
            * self.dtype.itemsize
            * sum(int(np.prod(port.shape(known))) for port in (*function.inputs, *function.outputs))
            for name, function in self._served()
        }

    def pack(self, array: ArrayLike, port: str = "") -> Packed:
        """A packed copy of an array of many states, for calls that take and give packed arrays.

        Without a port it is vectors, (..., nq) or (..., nv); port names what else can be packed: "f_ext", "Minv", "M".
        ShapeError, DTypeError and OutOfMemoryError as in calls.
        """
        given = as_array("pack", port or "array", array)
        return self.packed(array, self._port(given.shape, port))

    def packed(self, array: ArrayLike, chosen: Port) -> Packed:
        """A packed copy of what a port takes."""
        given = as_array("pack", chosen.name, array)
        layout = layout_of(self._compiler.tree, chosen, self._compiler.lanes(self._target, self._dtype))
        batch = given.shape[: given.ndim - len(layout.dims)]
        memory.check("pack", math.prod(batch), packed_bytes(math.prod(batch), layout, self.dtype))
        only = Function("pack", "pack", "", (chosen,), (), takes_f_ext=False)
        listed = type(array) in (list, tuple)  # numbers of any precision
        bound = Binder(only, sizes(self._compiler.tree), self.dtype).bind((array,) if listed else (given,))
        return pack_rows(bound.inputs[0], layout, batch)

    def _packed_forces(self, f_ext: ArrayLike, batch: tuple[int, ...]) -> Packed:
        """External forces as packed calls take them: packed, one for each state."""
        packed = self.pack(f_ext, F_EXT.name)
        if packed.batch == batch:
            return packed
        if broadcast((packed.batch, batch)) != batch:
            others = f"{batch}, the batch of the other arguments"
            raise ShapeError(f"f_ext has the batch {packed.batch}, which does not broadcast to {others}")
        return self.pack(np.broadcast_to(packed.dense(), batch + packed.layout.dims), F_EXT.name)

    def _port(self, shape: tuple[int, ...], name: str) -> Port:
        if not name:
            return V if shape[-1:] == (self._compiler.tree.nv,) else Q
        ports = quantities()
        if name not in ports:
            raise UnsupportedError(f"pack: there is no port {name!r}; there are {', '.join(ports)}")
        return ports[name]

    def call(
        self, name: str, args: Sequence[ArrayLike], f_ext: ArrayLike | None = None, out: Out = None
    ) -> tuple[Array, ...]:
        """A function by its short name; every output in a tuple, also where there is only one."""
        check_bound(self._compiler.tree, _known(name), self._compiler.frames)
        given = args if f_ext is None else (*args, f_ext)
        every = (*given, *(out if isinstance(out, (tuple, list)) else (out,)))
        first = next((x for x in every if isinstance(x, Packed)), None)
        if first is not None:
            if f_ext is not None and isinstance(args[0], Packed) and not isinstance(f_ext, Packed):
                given = (*args, self._packed_forces(f_ext, first.batch))
            packed = self._packed_binder(name, f_ext is not None).bind(given, out)
            return cast("tuple[Array, ...]", packed.run(self._kernel(name, f_ext is not None), self._threads))
        call = self._binder(name).bind(args, f_ext, cast("Array | Sequence[Array] | None", out))
        if call.outputs[0].size:  # neither without states nor without joints
            self._kernel(name, f_ext is not None)(call.n, call.inputs, call.outputs, self._threads)
        return call.finish()

    def _served(self) -> list[tuple[str, Function]]:
        """The functions that can be called: without frames none of frames."""
        return [(name, FUNCTIONS[name]) for name in self._compiler.functions]

    def _shadow_methods(self) -> None:
        """Puts a native callable in front of each method: it takes plain calls and leaves all others to the method."""
        for name, function in self._served():
            if getattr(type(self), function.method, None) is not getattr(Dynamics, function.method, None):
                continue  # a subclass has its own
            fast = self.direct(name, getattr(self, function.method))
            if name in self._fast:
                setattr(self, function.method, fast)

    def direct(self, name: str, slow: Callable[..., Any]) -> Callable[..., Any]:
        """What a function by its short name is called through: native for plain calls, others go to `slow`."""
        if name not in self._fast and self._target != "numpy":
            function, (inputs, outputs) = FUNCTIONS[name], self._binder(name).specs
            result, takes = result_of(function), function.takes_f_ext
            fast = fast_path(slow, takes, inputs, outputs, self.dtype, result, self._threads)
            if fast is None:
                return slow
            self._fast[name] = fast
            for (known, f_ext), kernel in list(self._kernels.items()):
                if known == name:
                    self._connect(name, f_ext, kernel)
        return self._fast.get(name, slow)

    def _connect(self, name: str, f_ext: bool, kernel: Kernel) -> None:
        """Lets plain calls go to a kernel at once."""
        if isinstance(kernel, NativeKernel) and name in self._fast:
            self._fast[name].set_entry(f_ext, kernel.entry, kernel.single)
            if kernel.packed is not None:
                before, after = self._compiler.layouts(name, f_ext, self._target, self._dtype)
                self._fast[name].set_packed(f_ext, kernel.packed, Packed, before + after)

    def _binder(self, name: str) -> Binder:
        binder = self._binders.get(name)
        if binder is None:
            binder = self._binders[name] = Binder(FUNCTIONS[name], sizes(self._compiler.tree), self.dtype)
        return binder

    def _packed_binder(self, name: str, f_ext: bool) -> PackedBinder:
        function = FUNCTIONS[name]
        layouts = self._compiler.layouts(name, f_ext, self._target, self._dtype)
        return PackedBinder(function.method, [port.name for port in function.ports(f_ext)], layouts, self.dtype)

    def _kernel(self, name: str, f_ext: bool) -> Kernel:
        kernel = self._kernels.get((name, f_ext))
        if kernel is None:
            with self._guard.lock:
                kernel = self._kernels.get((name, f_ext)) or self._build(name, f_ext)
                self._connect(name, f_ext, kernel)
                self._kernels[name, f_ext] = kernel  # last: a child of a fork before this line does all of it again
        return kernel

    def _build(self, name: str, f_ext: bool) -> Kernel:
        kept = self._compiler.kept(name, f_ext, self._target, self._dtype)
        if kept is not None:
            return kept
        self._compiler.check(name, self._target)
        try:
            return self._compiler.build(name, f_ext, self._target, self._dtype)
        except BuildError as error:
            if self._target != "cpu":
                raise
            fall_back(error)
            return self._compiler.build(name, f_ext, "numpy", self._dtype)


class Derived:
    """A derivative of a function of one robot, called as the function is."""

    def __init__(self, dynamics: Dynamics, kind: str, of: str, by: Sequence[str] | None = None) -> None:
        _known(of)
        self._dynamics, self._function = dynamics, FUNCTIONS[str(name_of(kind, of, by))]

        self._direct = dynamics.direct(self._function.name, self._call)

    def __call__(self, *args: ArrayLike, **out: Out) -> Any:
        return self._direct(*args, **out)

    def _call(self, *args: ArrayLike, out: Out = None) -> Any:
        answers = self._dynamics.call(self._function.name, args, None, out)
        result = result_of(self._function)
        return answers[0] if result is None else result(*answers)


def _known(name: str) -> Function:
    function = found(name)
    if function is None:
        raise UnsupportedError(f"there is no function {name!r}; there are {', '.join(FUNCTIONS)}")
    return function


def fall_back(error: BuildError) -> None:
    """Say once that there is no compiler."""
    warnings.warn(
        f"{error}; NumPy answers instead, much slower. Install a C compiler (Debian: apt install gcc)",
        RuntimeWarning,
        stacklevel=4,
    )
