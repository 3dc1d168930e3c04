"""Environments for the trainers of rsl_rl: `OnPolicyRunner(condyle.interop.rsl_rl.VecEnv(envs), config)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.errors import UnsupportedError
from condyle.interop.torch.jobs import TorchEnvironments
from condyle.jobs.environment import MOST, Environments
from condyle.jobs.environment.transition import SAME_STEP

try:
    torch: Any = import_module("torch")
    tensordict: Any = import_module("tensordict")
    rsl_rl: Any = import_module("rsl_rl.env")
except ImportError as error:
    raise UnsupportedError(f"{error.name} is not installed: pip install 'condyle[rsl-rl]'") from error

Base: Any = object if TYPE_CHECKING else rsl_rl.VecEnv


class VecEnv(Base):
    """`rsl_rl.env.VecEnv` of `Environments` with mode "same_step"; the group of observations is called "policy".

    cfg: kept for its logs. Ends by the horizon are extras["time_outs"]; extras["residual"] (n) [m/s] is that of the
    contacts' solver. Errors: UnsupportedError.
    """

    def __init__(self, environments: Environments, seed: int = 0, cfg: Any = None) -> None:
        if environments.mode != SAME_STEP:
            raise UnsupportedError(f"VecEnv: mode {environments.mode!r}; rsl_rl needs compile(n, mode={SAME_STEP!r})")
        self.environments, self._tensors = environments, TorchEnvironments(environments)
        self.num_envs, self.num_actions = environments.n, environments.action_size
        self.max_episode_length = environments.horizon or MOST
        self.device: str = "cpu"
        self.cfg: Any = cfg or {}
        self._observation = self._tensors.reset(seed)

    @property
    def episode_length_buf(self) -> Any:
        """Steps of the episodes that run (n); those that are set count for the horizon."""
        return torch.from_numpy(self.environments.state()["step"].astype(np.int64))

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Any) -> None:
        self.environments.set(step=steps.cpu().numpy())

    def get_observations(self) -> Any:
        """Return the observations that are acted on next."""
        return tensordict.TensorDict({"policy": self._observation}, batch_size=[self.num_envs])

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Return observations, rewards (n), dones (n), extras."""
        self._observation, reward, terminated, truncated, info = self._tensors.step(actions.detach())
        extras = {"time_outs": truncated, "log": {"/failed": info["failed"].float().mean()}}
        extras |= {"residual": info["residual"]} if "residual" in info else {}
        return self.get_observations(), reward, (terminated | truncated).long(), extras
