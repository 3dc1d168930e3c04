"""Plans of optimal control on tensors: a function of autograd with a vjp of its own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from condyle.interop.plans import Answers, Plans
from condyle.jobs.optimal_control.solver import Solver

torch: Any = import_module("torch")


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
