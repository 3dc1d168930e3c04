"""Environments for rsl_rl: what its runner reads and sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from tests.jobs.environment_cases import actions, environment, sliding

for _package in ("torch", "rsl_rl"):
    pytest.importorskip(_package, reason="pip install 'condyle[rsl-rl]'")
import torch  # noqa: E402

from condyle.interop.rsl_rl import VecEnv  # noqa: E402


def test_steps_are_those_of_the_environments() -> None:
    envs, far = environment().compile(4), VecEnv(environment().compile(4), seed=2)
    assert np.array_equal(far.get_observations()["policy"], envs.reset(seed=2))
    assert (far.num_envs, far.num_actions, far.max_episode_length, far.cfg) == (4, 1, 30, {})
    ends = 0
    for action in actions(4, 40):
        observation, reward, terminated, truncated, _ = envs.step(action)
        seen, rewards, dones, extras = far.step(torch.from_numpy(action))
        assert seen.batch_size == (4,) and np.array_equal(seen["policy"], observation)
        assert np.array_equal(rewards, reward) and np.array_equal(dones, terminated | truncated)
        assert np.array_equal(extras["time_outs"], truncated)
        ends += int(dones.sum())
    assert ends > 3
    assert np.array_equal(far.episode_length_buf, envs.state()["step"])


def test_lengths_that_are_set_count_for_the_horizon() -> None:
    far: Any = VecEnv(sliding().compile(3))
    far.episode_length_buf = torch.tensor([0, 6, 5])
    *_, dones, extras = far.step(torch.full((3, 1), 2.0 * 9.81))
    assert dones.tolist() == [0, 1, 0] and extras["time_outs"].tolist() == [False, True, False]
    with pytest.raises(UnsupportedError, match="mode 'disabled'; rsl_rl needs"):
        VecEnv(sliding().compile(3, mode="disabled"))
