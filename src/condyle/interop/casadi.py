"""Functions of a robot, and of a user, as `casadi.Function`s with exact first and second derivatives.

    arm = condyle.interop.casadi.wrap(robot.compile())
    a = arm.forward_dynamics(q, v, tau)         # DM, SX's numbers or MX: in graphs, Opti, nlpsol, map(N)

Vectors are columns, one state a call. Where q has quaternions, its derivatives have nq entries and are those along the
manifold: F divides each quaternion by its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from condyle import specification
from condyle.backends.common.facts import Facts
from condyle.calls.dynamics import Dynamics
from condyle.compile.compiler import Compiler
from condyle.compile.options import bound_of_compiled, numbers_of_compiled, routes_of
from condyle.errors import DTypeError, UnsupportedError
from condyle.exports.externals import source_of, source_of_user
from condyle.functions import function_of
from condyle.interop.gradients import is_plain, layout_of
from condyle.interop.wrapped import by_method
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.runtime import cache, trusted_folders
from condyle.runtime.toolchain import find_compiler, run
from condyle.specification import Bound
from condyle.user.function import CompiledFunction
from condyle.version import __version__

INSTALL = "pip install 'condyle[casadi]'"
FLAGS = ("-O1", "-fPIC", "-shared", "-march=native", "-std=c99")
TIMEOUT = 600.0
"""Seconds that a compiler may take."""


def wrap(x: Dynamics | CompiledFunction, q_gradient: str | None = None) -> Any:
    """Of a `Dynamics` an object with its methods, each a `casadi.Function`; of a user's function that Function.

    Each is compiled at its first use and kept in the cache. q_gradient: "ambient"; "tangent" too where q is a plain
    vector, as both are equal there. UnsupportedError where CasADi is missing, DTypeError for float32.
    """
    casadi = _package()
    dyn: Any = x if isinstance(x, Dynamics) else getattr(x, "_dynamics", None)
    if not isinstance(dyn, Dynamics):
        raise UnsupportedError(
            f"wrap({type(x).__name__}): give what compile() answers, of a robot or of a function of yours"
        )
    if dyn.dtype.itemsize != 8:
        raise DTypeError("CasADi computes in float64 and this is float32: compile(dtype='float64')")
    robot = dyn.__reduce__()[1].robot
    if q_gradient not in (None, "ambient") and not (q_gradient == "tangent" and is_plain(layout_of(robot))):
        raise UnsupportedError(
            f"q_gradient={q_gradient!r}: CasADi's derivatives by q have nq entries: leave it out, or 'ambient'"
        )
    if isinstance(x, Dynamics):
        return Functions(dyn, casadi)
    of: Any = cast(Any, x)._user_function
    bound, compiler, name = of._bound, _compiler(robot, of._bound, {}), _named("user", x.identity)
    return _loaded(casadi, source_of_user(of, robot, compiler, name, bound), f"robot_{name}")


def _package() -> Any:
    try:
        return import_module("casadi")
    except ImportError as error:
        raise UnsupportedError(f"CasADi is not installed: {INSTALL}") from error


class Functions:
    """Methods of `Dynamics` as `casadi.Function`s."""

    def __init__(self, dyn: Dynamics, casadi: Any) -> None:
        given = dyn.__reduce__()[1]
        self._dyn, self._casadi, self._robot = dyn, casadi, cast(Any, given.robot)
        self._bound, self._inputs = bound_of_compiled(given), tuple(numbers_of_compiled(given))
        self._routes = routes_of(given.routes)
        self._built: dict[specification.Function, Any] = {}

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        if method == "rollout":
            return self.function(method)
        known = by_method(self._dyn)
        if method not in known:
            raise AttributeError(f"{method}: there is {', '.join(known)}")
        return self.function(known[method])

    def function(self, name: str | specification.Function) -> Any:
        """The `casadi.Function` of a function by its short name; "fd_f_ext" has external forces as an input."""
        if name == "rollout":
            raise UnsupportedError("rollout: take step.mapaccum(T) of what `wrap` answers")
        function = function_of(name)
        if function not in self._built:
            opened = self._dyn.driven(function).taking(*self._inputs)
            compiler = _compiler(self._robot, self._bound, self._routes)
            own = _named(function.name, self._dyn.identity)
            text = source_of(self._robot, compiler, (opened,), self._bound, own)
            self._built[function] = _loaded(self._casadi, text, f"robot_{own}")
        return self._built[function]


def _named(name: str, identity: str) -> str:
    """The name of a function in a library: CasADi saves it, and finds it in no library of another robot."""
    return f"{name}_{identity[:32]}"


def _compiler(robot: Robot, bound: Bound, routes: Mapping[specification.Function, str]) -> Compiler:
    facts = Facts(robot.nq, robot.nv, robot.fingerprint, __version__)
    return Compiler(tree_of(robot, bound), facts, routes, robot=robot)


def _loaded(casadi: Any, text: str, name: str) -> Any:
    """Compiled through the cache and loaded."""
    compiler = find_compiler()

    def make(target: Path) -> None:
        source = target.parent / "external.c"
        source.write_text(text, encoding="ascii")
        run([[compiler.path, *FLAGS, source.name, "-o", target.name, "-lm"]], target.parent, TIMEOUT, 1)
        source.unlink()

    parts = ["casadi", __version__, compiler.path, compiler.identity, *FLAGS, text]
    data = cache.fetch(parts, f"casadi {name}", make)

    def load(path: str) -> Any:
        try:
            return casadi.external(name, path)
        except RuntimeError as error:
            raise OSError(str(error)) from error

    return trusted_folders.loaded(data, load)
