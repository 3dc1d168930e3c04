"""Dynamics: the seven functions of one robot, compiled at their first use."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.compiler import Compiler
from condyle.errors import BuildError
from condyle.runtime.arrays import Binder
from condyle.runtime.kernel import Kernel, cores
from condyle.runtime.native import Function as Twin
from condyle.runtime.native import NativeKernel, fast_twin
from condyle.signature import FUNCTIONS
from condyle.trace import sizes

Array = NDArray[np.floating]
Out = Array | Sequence[Array] | None

NEEDS_INVERSE = ("fd", "minv", "dfd")


class InverseDynamicsDerivatives(NamedTuple):
    """d tau / d q and d tau / d v, each (..., nv, nv), row = output."""

    dtau_dq: Array
    dtau_dv: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """d a / d q, d a / d v and d a / d tau = M^-1, each (..., nv, nv), row = output."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array


class DynamicsDerivatives(NamedTuple):
    """d a / d q and d a / d v, each (..., nv, nv), row = output."""

    da_dq: Array
    da_dv: Array


RESULTS: dict[str, type[tuple[object, ...]]] = {
    "did": InverseDynamicsDerivatives,
    "dfd": ForwardDynamicsDerivatives,
    "difd": DynamicsDerivatives,
}


class Dynamics:
    """The seven functions of one robot on one target. Safe to call from many threads; a forked child may call too.

    Every method takes arrays (..., size) with any leading batch dimensions, broadcast against each other, and gives
    fresh arrays or fills `out=`. Shapes: q (..., nq); v, a, tau (..., nv); f_ext (..., n_bodies, 6), [force; torque] on
    each body in its own link frame, fixed in that frame when q varies. Units: SI. Derivatives by q are in the local
    tangent space. ShapeError and DTypeError say what was given, what was expected and what to do.
    """

    def __init__(
        self,
        compiler: Compiler,
        target: str,
        dtype: str,
        threads: int | None,
        check_inverse: Callable[[str], None],
        recipe: tuple[Callable[..., Dynamics], tuple[object, ...]],
    ) -> None:
        self._recipe = recipe
        self._compiler = compiler
        self._target = target
        self._dtype = dtype
        self._threads = threads or cores()
        self._check_inverse = check_inverse
        self._kernels: dict[tuple[str, bool], Kernel] = {}
        self._binders: dict[str, Binder] = {}
        self._lock = threading.RLock()
        self._twins: dict[str, Twin] = {}
        if target != "numpy":
            self._shadow_methods()

    def __reduce__(self) -> tuple[Callable[..., Dynamics], tuple[object, ...]]:
        """A pickle is the robot and the options; the other side compiles or takes it from its own cache."""
        return self._recipe

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The dtype of every array, in and out."""
        return np.dtype(self._dtype)

    @property
    def target(self) -> str:
        """What runs: "cpu", "c" or "numpy". With "cpu", C still compiles the loops of long robots (see `explain`)."""
        return self._target

    @property
    def signature(self) -> dict[str, str]:
        """The gufunc signature of each function, by its short name: {"id": "(nq),(nv),(nv)->(nv)", ...}."""
        return {
            name: ",".join(f"({','.join(port.dims)})" for port in function.inputs)
            + "->"
            + ",".join(f"({','.join(port.dims)})" for port in function.outputs)
            for name, function in FUNCTIONS.items()
        }

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None
    ) -> Array:
        """tau = M(q) a + c(q, v, f_ext), (..., nv) [N m | N]. Featherstone 2008, section 5.3."""
        return self.call("id", (q, v, a), f_ext, out)[0]

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None
    ) -> Array:
        """a = M(q)^-1 (tau - c(q, v, f_ext)), (..., nv) [rad/s^2 | m/s^2]. SingularError where M is always singular."""
        return self.call("fd", (q, v, tau), f_ext, out)[0]

    def mass_matrix(self, q: ArrayLike, out: Out = None) -> Array:
        """M(q), (..., nv, nv), full and symmetric, armature on its diagonal. Featherstone 2008, section 6.2."""
        return self.call("m", (q,), None, out)[0]

    def mass_matrix_inverse(self, q: ArrayLike, out: Out = None) -> Array:
        """M(q)^-1, (..., nv, nv), full and symmetric. SingularError where M is always singular."""
        return self.call("minv", (q,), None, out)[0]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None
    ) -> InverseDynamicsDerivatives:
        """d tau / d q and d tau / d v of inverse_dynamics. Singh, Russell, Wensing 2022."""
        return InverseDynamicsDerivatives(*self.call("did", (q, v, a), f_ext, out))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None
    ) -> ForwardDynamicsDerivatives:
        """d a / d q, d a / d v and d a / d tau of forward_dynamics. Plancher 2021, Algorithm 3."""
        return ForwardDynamicsDerivatives(*self.call("dfd", (q, v, tau), f_ext, out))

    def dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, Minv: ArrayLike, f_ext: ArrayLike | None = None, out: Out = None
    ) -> DynamicsDerivatives:
        """d a / d q and d a / d v when a and Minv (..., nv, nv) are known: -Minv times the derivatives of tau."""
        return DynamicsDerivatives(*self.call("difd", (q, v, a, Minv), f_ext, out))

    def function(self, name: str) -> Callable[..., object]:
        """The method of a function by its short name: "id", "fd", "m", "minv", "did", "dfd", "difd"."""
        return getattr(self, FUNCTIONS[name].method)

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states: the route of each function, its operations, its target and threads."""
        lines = [self._compiler.line(name, self._target) for name in FUNCTIONS]
        threads = "one thread" if self._target == "numpy" else f"at most {self._threads} threads, fewer for little work"
        return "\n".join([f"target {self._target}, {self._dtype}, batch of {n}, {threads}", *lines])

    def memory(self, n: int) -> dict[str, int]:
        """Bytes of all inputs and outputs of a batch of n states, for each function, external forces left out."""
        known = sizes(self._compiler.tree)
        return {
            name: n
            * self.dtype.itemsize
            * sum(int(np.prod(port.shape(known))) for port in (*function.inputs, *function.outputs))
            for name, function in FUNCTIONS.items()
        }

    def call(
        self, name: str, args: Sequence[ArrayLike], f_ext: ArrayLike | None = None, out: Out = None
    ) -> tuple[Array, ...]:
        """A function by its short name; every output in a tuple, also where there is only one."""
        call = self._binder(name).bind(args, f_ext, out)
        if call.n:
            self._kernel(name, f_ext is not None)(call.n, call.inputs, call.outputs, self._threads)
        return call.finish()

    def _shadow_methods(self) -> None:
        """Puts a native callable in front of each method: it takes plain calls and leaves all others to the method."""
        for name, function in FUNCTIONS.items():
            if getattr(type(self), function.method) is not getattr(Dynamics, function.method):
                continue  # a subclass has its own
            inputs, outputs = self._binder(name).places
            method = getattr(self, function.method)
            twin = fast_twin(
                method, function.takes_f_ext, inputs, outputs, self.dtype, RESULTS.get(name), self._threads
            )
            if twin is not None:
                self._twins[name] = twin
                setattr(self, function.method, twin)

    def _binder(self, name: str) -> Binder:
        binder = self._binders.get(name)
        if binder is None:
            binder = self._binders[name] = Binder(FUNCTIONS[name], sizes(self._compiler.tree), self.dtype)
        return binder

    def _kernel(self, name: str, f_ext: bool) -> Kernel:
        kernel = self._kernels.get((name, f_ext))
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get((name, f_ext)) or self._build(name, f_ext)
                self._kernels[name, f_ext] = kernel
                if isinstance(kernel, NativeKernel) and name in self._twins:
                    self._twins[name].set_entry(f_ext, kernel.entry, kernel.single)
        return kernel

    def _build(self, name: str, f_ext: bool) -> Kernel:
        if name in NEEDS_INVERSE:
            self._check_inverse(name)
        try:
            return self._compiler.build(name, f_ext, self._target, self._dtype)
        except BuildError as error:
            if self._target != "cpu":
                raise
            fall_back(error)
            return self._compiler.build(name, f_ext, "numpy", self._dtype)


def fall_back(error: BuildError) -> None:
    """Say once that there is no compiler."""
    warnings.warn(
        f"{error}; NumPy answers instead, much slower. Install a C compiler (Debian: apt install gcc)",
        RuntimeWarning,
        stacklevel=4,
    )
