"""Jobs on PyTorch tensors: environments, which share the memory of the arrays, and plans of optimal control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from condyle.errors import UnsupportedError
from condyle.interop.plans import Answers, Plans
from condyle.jobs.environment import Environments
from condyle.jobs.optimal_control.solver import Solver

torch: Any = import_module("torch")


class TorchEnvironments:
    """`Environments` whose arrays are tensors of the processor, without copies; those of a device are copied there.

    environments: what it is of. A step has no gradient here: `wrap(environments.step_function)` has it, as a function
    of the state and the action.
    """

    def __init__(self, environments: Environments, is_tangent: bool = False) -> None:
        self.environments = environments
        self._dtype: Any = getattr(torch, str(environments.dtype))

    def reset(self, seed: int | Sequence[int] | None = None, mask: Any = None) -> Any:
        """As `Environments.reset`: observations (n, observation_size)."""
        return torch.from_numpy(self.environments.reset(seed, None if mask is None else self._array("mask", mask)))

    def step(self, action: Any, **inputs: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `Environments.step`: observation, reward, terminated, truncated, info. action (n, action_size)."""
        arrays = {name: self._array(name, x) for name, x in inputs.items()}
        *answers, info = self.environments.step(self._array("action", action), **arrays)
        observation, reward, terminated, truncated = map(torch.from_numpy, answers)
        return observation, reward, terminated, truncated, _tensors(info)

    def rollout(self, policy: Callable[..., Any], weights: Mapping[str, Any], steps: int, noise: int = 0) -> Any:
        """As `Environments.rollout`: a path of tensors. policy: a user's function, in NumPy. weights: tensors."""
        arrays = {name: self._array(name, x.detach() if hasattr(x, "detach") else x) for name, x in weights.items()}
        path = self.environments.rollout(policy, arrays, steps, noise)
        return type(path)(**_tensors(path._asdict()))

    def _array(self, name: str, x: Any) -> Any:
        """The memory of a tensor. UnsupportedError for one that requires a gradient."""
        tensor = torch.as_tensor(x)
        if tensor.requires_grad:
            cure = "pass it by .detach(), or take condyle.interop.torch.wrap(environments.step_function)"
            raise UnsupportedError(f"{name} requires a gradient, which environments do not have: {cure}")
        return tensor.to("cpu", self._dtype).numpy()


def _tensors(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(x) for name, x in arrays.items()}


# Plans of optimal control on tensors: a function of autograd with a vjp of its own.


class _Solve(torch.autograd.Function):
    """The answers; gradients by one linear solve."""

    @staticmethod
    def forward(ctx: Any, plans: Plans, options: Mapping[str, Any], *arrays: Any) -> Any:
        found = plans.forward(options, *[x.detach().cpu().numpy() for x in arrays])
        tensors, n = [torch.from_numpy(x).to(arrays[0].device) for x in found], len(plans.gives)
        ctx.plans = plans
        ctx.save_for_backward(*arrays, *tensors[n:])
        ctx.mark_non_differentiable(tensors[n - 1])
        return tuple(tensors[:n])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *bars: Any) -> Any:
        arrays = [x.detach().cpu().numpy() for x in (*ctx.saved_tensors, *bars[:4])]
        return None, None, *(torch.from_numpy(x).to(bars[0].device) for x in ctx.plans.backward(*arrays))


class TorchSolver:
    """`solve` on tensors of the processor; those of another device are copied there and back."""

    def __init__(self, solver: Solver, is_tangent: bool) -> None:
        self._plans = Plans(solver, is_tangent)

    def solve(self, q: Any, v: Any, *, most: int = 100, tolerance: float = 1e-6, **inputs: Any) -> Answers:
        """As `Solver.solve`: a named tuple q, v, u, cost, solved. Gradients are those of `Solver.vjp`, once."""
        plans, dtype = self._plans, getattr(torch, str(self._plans.solver.dtype))
        arrays = [torch.as_tensor(x, dtype=dtype) for x in plans.arguments(q, v, inputs)]
        batch = plans.batch([tuple(x.shape) for x in arrays])
        whole = [x.expand(*batch, *dims) for x, dims in zip(arrays, plans.takes.values(), strict=True)]
        return Answers(*_Solve.apply(plans, {"most": most, "tolerance": tolerance}, *whole))
