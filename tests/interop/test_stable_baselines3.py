"""Environments for stable-baselines3: its interface, and its trainer takes them."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from tests.jobs.environment_cases import actions, environment, sliding

sb3 = pytest.importorskip("stable_baselines3", reason="pip install 'condyle[stable-baselines3]'")

from condyle.interop.stable_baselines3 import VecEnv  # noqa: E402


def test_steps_are_those_of_the_environments() -> None:
    envs, far = environment().compile(4), VecEnv(environment().compile(4), (-1.0, 1.0))
    far.seed(3)
    assert np.array_equal(far.reset(), envs.reset(seed=[3, 4, 5, 6]))
    ends = 0
    for action in actions(4, 60):
        observation, reward, terminated, truncated, info = envs.step(action)
        seen, rewards, dones, infos = far.step(action)
        assert np.array_equal(seen, observation) and np.array_equal(rewards, reward)
        assert np.array_equal(dones, terminated | truncated)
        for k in np.flatnonzero(dones):
            assert np.array_equal(infos[k]["terminal_observation"], info["final_obs"][k])
            assert infos[k]["TimeLimit.truncated"] == truncated[k]
        assert all(not infos[k] for k in np.flatnonzero(~dones))
        ends += dones.sum()
    assert ends > 3


def test_the_attributes_are_those_of_all() -> None:
    far = VecEnv(sliding().compile(3), (-40.0, 40.0))
    assert far.get_attr("horizon", indices=[0, 2]) == [7, 7] and far.env_is_wrapped(object) == [False] * 3
    with pytest.raises(UnsupportedError, match=r"environments.set\(...\) sets"):
        far.set_attr("q", 1.0)
    with pytest.raises(UnsupportedError, match="mode 'disabled'"):
        VecEnv(sliding().compile(3, mode="disabled"), (-1.0, 1.0))


def test_its_trainer_takes_them() -> None:
    far = VecEnv(sliding().compile(8), (-40.0, 40.0))
    trainer = sb3.PPO("MlpPolicy", far, n_steps=16, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(256)
    assert trainer.num_timesteps == 256 and len(trainer.ep_info_buffer) == 0
