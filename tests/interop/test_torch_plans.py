"""Plans on tensors: answers as of arrays, gradients, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from tests.interop.plan_cases import solver, state
from tests.interop.torch_cases import torch, wrap


def test_plans_and_their_gradients_are_those_of_the_solver() -> None:
    job, values = solver(), state()
    plan = job.solve(**values, tolerance=1e-9)
    tensors = {name: torch.tensor(x, requires_grad=True) for name, x in values.items()}
    answers = wrap(job).solve(**tensors, tolerance=1e-9)
    for name in ("q", "v", "u", "cost"):
        assert np.array_equal(getattr(answers, name).detach(), getattr(plan, name)), name
    assert not answers.solved.requires_grad and answers.solved.tolist() == [1.0, 1.0]
    ((answers.q**2).sum() + answers.v.sum() + (answers.u**3).sum() + answers.cost.sum()).backward()
    bars = {"q_bar": 2.0 * plan.q, "v_bar": np.ones(plan.v.shape), "u_bar": 3.0 * plan.u**2, "cost_bar": np.ones(2)}
    want = job.vjp(plan, **bars)
    for name, x in tensors.items():
        assert np.allclose(x.grad, getattr(want, name), rtol=1e-10, atol=1e-12), name


def test_gradients_by_quaternions_agree_with_differences() -> None:
    far, values = wrap(solver(False)), {name: torch.tensor(x) for name, x in state(False).items()}

    def cost(raw: Any) -> Any:
        q = torch.cat([raw[..., k : k + 4] / raw[..., k : k + 4].norm(dim=-1, keepdim=True) for k in (0, 4)], dim=-1)
        return far.solve(**{**values, "q": q}, tolerance=1e-10).cost

    raw = values["q"].clone().requires_grad_()
    assert torch.autograd.gradcheck(cost, (raw,), eps=1e-5, atol=1e-5)


def test_what_does_not_fit_is_refused() -> None:
    far, values = wrap(solver()), {name: torch.tensor(x, requires_grad=True) for name, x in state().items()}
    with pytest.raises(TypeError, match="weight"):
        far.solve(values["q"], values["v"], goal=values["goal"])
    with pytest.raises(UnsupportedError, match="a solver that compile"):
        wrap(solver().problem)
    (slope,) = torch.autograd.grad((far.solve(**values).cost ** 2).sum(), values["q"], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()
