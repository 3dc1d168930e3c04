"""Environments for the trainers of stable-baselines3: `PPO("MlpPolicy", condyle.interop.stable_baselines3.VecEnv(envs))`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.errors import UnsupportedError
from condyle.interop.gymnasium import Limits, boxes
from condyle.jobs.environment.environments import Environments
from condyle.jobs.environment.transition import SAME_STEP

try:
    sb3: Any = import_module("stable_baselines3.common.vec_env")
except ImportError as error:
    raise UnsupportedError(f"{error.name} is not installed: pip install 'condyle[stable-baselines3]'") from error

Base: Any = object if TYPE_CHECKING else sb3.VecEnv


class VecEnv(Base):
    """stable-baselines3's `VecEnv` of `Environments` with mode "same_step"; limits: as of `gymnasium.VectorEnv`.

    An info is empty, but where an episode ended: "terminal_observation", "TimeLimit.truncated". The environments have
    no attributes of their own: `environments.set` sets what differs. Errors: UnsupportedError, ShapeError.
    """

    def __init__(self, environments: Environments, limits: Limits) -> None:
        if environments.mode != SAME_STEP:
            raise UnsupportedError(f"VecEnv: mode {environments.mode!r}; it needs compile(n, mode={SAME_STEP!r})")
        self.environments, self._actions = environments, np.zeros(0)
        super().__init__(environments.n, *boxes(environments, limits))

    def reset(self) -> Any:
        """Return the first observations, of the seed that `seed` set."""
        seeds: Sequence[Any] = self._seeds
        self._reset_seeds()
        self._reset_options()
        return self.environments.reset(None if seeds[0] is None else seeds)

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Return observations, rewards (n), dones (n) and n infos."""
        found = self.environments.step(np.asarray(self._actions, self.environments.dtype))
        observation, reward, terminated, truncated, info = found
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(info["_final_obs"]):
            last = info["final_obs"][k].copy()
            infos[k] = {"terminal_observation": last, "TimeLimit.truncated": bool(truncated[k])}
        return observation, reward, terminated | truncated, infos

    def close(self) -> None: ...

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        value = None if attr_name == "render_mode" else getattr(self.environments, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise UnsupportedError(f"set_attr({attr_name!r}): environments have no attributes; environments.set(...) sets")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **named: Any) -> list[Any]:
        raise UnsupportedError(f"env_method({method_name!r}): call the method of `environments`, for all of them")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))
