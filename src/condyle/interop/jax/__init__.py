"""Functions of a robot, and functions of users, on JAX arrays, with derivatives.

    far = condyle.interop.jax.wrap(dyn)
    a = jax.jit(far.forward_dynamics)(q, v, tau)

The methods are those of `Dynamics`; they work under `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev`, `hessian`,
`scan` and `shard_map`. XLA calls the compiled code in its own thread, without Python and without a copy; with target
"cuda" it puts the kernels in its own stream. Derivatives are made by the jvp and vjp of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from condyle.calls.dynamics import Dynamics
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.interop.wrapped import job_of
from condyle.user.function import CompiledFunction

if TYPE_CHECKING:
    from condyle.jobs.environment import Environments
    from condyle.jobs.optimal_control.solver import Solver

OLDEST = (0, 8)
CHOICES = ("tangent", "ambient")
JOBS = {"Solver": ("jobs", "JaxSolver"), "Environments": ("jobs", "JaxEnvironments")}


def wrap(x: Dynamics | CompiledFunction | Solver | Environments, q_gradient: str | None = None) -> Any:
    """An object with the methods of `x` on JAX arrays, without `out=`.

    q_gradient: what tangents and cotangents of a configuration are, in its nq entries. "ambient": by these entries,
    along the manifold, as JAX has gradients; the default. "tangent": the tangent space's nv entries in front and zeros
    behind; the default where q is a plain vector, where both are equal. With "tangent" configurations that are answers
    may go into other methods of this object only, not into other operations whose gradients are wanted.
    Of a solver of optimal control it has `solve`: plans whose derivatives are those of `Solver.vjp`. Of environments it
    has `reset` and `step`, pure functions of their state: see `condyle.interop.jax.jobs.JaxEnvironments`.
    UnsupportedError where JAX is not installed or too old.
    """
    if q_gradient is not None:
        check_choice("q_gradient", q_gradient, CHOICES)
    if not isinstance(x, Dynamics | CompiledFunction):
        part, name = JOBS[job_of(x)]
        _check_installed()
        return getattr(import_module(f"condyle.interop.jax.{part}"), name)(x, q_gradient == "tangent")
    _check_installed()
    methods = import_module("condyle.interop.jax.methods")
    made: Callable[..., Any] = methods.functions if isinstance(x, Dynamics) else methods.function
    return made(x, q_gradient == "tangent")


def _check_installed() -> None:
    try:
        said: str = import_module("jax").__version__
    except ImportError as error:
        raise UnsupportedError("JAX is not installed: pip install 'condyle[jax]'") from error
    if tuple(int(part) for part in said.split(".")[:2]) < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise UnsupportedError(f"JAX {said} is too old, {least} is needed: pip install 'jax>={least}'")
