"""Functions of a robot, and functions of users, on PyTorch tensors, with gradients.

    far = condyle.interop.torch.wrap(dyn)
    a = far.forward_dynamics(q, v, tau)         # tensors; a.sum().backward() works

The methods are those of `Dynamics`, and work under autograd, double backward, `torch.func` and `torch.compile`.
Gradients are made by the vjp of the function. Tensors on the processor are read where they lie, and answers are not
copied. With target "cuda" tensors of the GPU are taken, in PyTorch's current stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

OLDEST = (2, 6)
CHOICES = ("tangent", "ambient")
JOBS = {"Solver": ("jobs", "TorchSolver"), "Environments": ("jobs", "TorchEnvironments")}


def wrap(x: Dynamics | CompiledFunction | Solver | Environments, q_gradient: str | None = None) -> Any:
    """An object with the methods of `x` on tensors.

    q_gradient: what gradients by a configuration are, in its nq entries. "ambient": the gradient by these entries along
    the manifold, as PyTorch has gradients; the default. "tangent": the one by the tangent space, nv entries in front
    and zeros behind; the default where q is a plain vector, where both are equal. With "tangent" configurations that
    are answers may go into other methods of this object only, not into other operations whose gradients are wanted.
    Of a solver of optimal control it has `solve`: plans whose derivatives are those of `Solver.vjp`. Of environments it
    has `reset`, `step` and `rollout`, without gradients: see `condyle.interop.torch.jobs.TorchEnvironments`.
    UnsupportedError where PyTorch is not installed or too old.
    """
    if q_gradient is not None:
        check_choice("q_gradient", q_gradient, CHOICES)
    if not isinstance(x, Dynamics | CompiledFunction):
        part, name = JOBS[job_of(x)]
        _check_installed()
        return getattr(import_module(f"condyle.interop.torch.{part}"), name)(x, q_gradient == "tangent")
    _check_installed()
    methods = import_module("condyle.interop.torch.methods")
    made: Callable[..., Any] = methods.functions if isinstance(x, Dynamics) else methods.function
    return made(x, q_gradient == "tangent")


def _check_installed() -> None:
    try:
        said: str = import_module("torch").__version__
    except ImportError as error:
        raise UnsupportedError("PyTorch is not installed: pip install 'condyle[torch]'") from error
    found: Sequence[int] = [int(part) for part in said.split("+")[0].split(".")[:2]]
    if tuple(found) < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise UnsupportedError(f"PyTorch {said} is too old, {least} is needed: pip install 'torch>={least}'")
