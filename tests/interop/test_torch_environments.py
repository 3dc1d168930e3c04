"""Environments on tensors: the bits of the steps, in the memory of the arrays; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from tests.interop.torch_cases import torch, wrap
from tests.jobs.environment_cases import actions, environment, sliding


def test_tensors_have_the_bits_of_arrays() -> None:
    envs, far = environment().compile(5), wrap(environment().compile(5))
    assert torch.equal(far.reset(seed=0), torch.from_numpy(envs.reset(seed=0)))
    for action in actions(5, 40):
        *expected, info = envs.step(action)
        *answers, more = far.step(torch.from_numpy(action))
        assert all(np.array_equal(x, y) for x, y in zip(answers, expected, strict=True))
        assert all(np.array_equal(more[name], info[name]) for name in info)
    assert answers[0].dtype == torch.float32 and answers[2].dtype == torch.bool
    mask = torch.tensor([True, False, False, False, True])
    assert np.array_equal(far.reset(mask=mask), envs.reset(mask=mask.numpy()))


def test_tensors_share_the_memory_of_arrays() -> None:
    far = wrap(sliding().compile(2, copy=False))
    far.reset(seed=0)
    action = torch.zeros(2, 1)
    first, *_ = far.step(action)
    before = first.clone()
    _, third = far.step(action), far.step(action)[0]
    assert first.data_ptr() == third.data_ptr() and not torch.equal(first, before)


def test_a_rollout_takes_the_weights_of_a_network() -> None:
    def policy(observation: Any, weight: Any, bias: Any) -> Any:
        return weight @ observation + bias

    envs, far, layer = sliding().compile(3), wrap(sliding().compile(3)), torch.nn.Linear(7, 1)
    envs.reset(seed=0)
    far.reset(seed=0)
    weights = dict(layer.named_parameters())
    path = far.rollout(policy, weights, steps=4)
    expected = envs.rollout(policy, {name: x.detach().numpy() for name, x in weights.items()}, steps=4)
    assert path._fields == expected._fields
    assert all(np.array_equal(x, y) for x, y in zip(path, expected, strict=True))
    assert torch.allclose(path.action, layer(path.observation[:, :-1]).detach(), rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_refused() -> None:
    far = wrap(sliding().compile(2))
    far.reset(seed=0)
    with pytest.raises(UnsupportedError, match=r"action requires a gradient.*\.detach\(\), or take .*step_function"):
        far.step(torch.zeros(2, 1, requires_grad=True))
