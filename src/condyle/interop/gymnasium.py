"""Environments as those of gymnasium: many that step in one call, for its trainers and wrappers, and one alone.

envs = condyle.interop.gymnasium.VectorEnv(env.compile(4096))
observations, rewards, terminations, truncations, infos = envs.step(actions)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.environment import Environments
from condyle.jobs.environment.transition import DISABLED

try:
    gymnasium: Any = import_module("gymnasium")
    vector: Any = import_module("gymnasium.vector")
    AutoresetMode: Any = vector.AutoresetMode
except (ImportError, AttributeError) as error:
    raise UnsupportedError("gymnasium from 1.1 on is not installed: pip install 'condyle[gymnasium]'") from error

if TYPE_CHECKING:  # it need not be there where types are checked

    class Base:
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any: ...

    BaseOfMany = Base
else:
    Base, BaseOfMany = gymnasium.Env, vector.VectorEnv

Limits = tuple[ArrayLike, ArrayLike]


class VectorEnv(BaseOfMany):
    """`gymnasium.vector.VectorEnv` of `environments`, whose mode is `metadata["autoreset_mode"]`.

    infos: "failed" (n), "residual" (n) as of `Environments.step`; with SAME_STEP, in steps that end episodes,
    "final_obs", an array (n) of observations, and "final_info", each with its mask, as gymnasium's own have them.
    Arrays are new ones, but for those of `compile(copy=False)`.
    """

    def __init__(self, environments: Environments, limits: Limits | None = None) -> None:
        """limits: the lowest and the highest action, each a number or (action_size,); none by default. Actions are not
        clipped. Spaces are boxes of the number type. Errors: UnsupportedError, ShapeError.
        """
        self.single_observation_space, self.single_action_space = spaces = _boxes(environments, limits)
        self.environments, self.num_envs = environments, environments.n
        self.observation_space, self.action_space = (vector.utils.batch_space(x, self.num_envs) for x in spaces)
        self.metadata: dict[str, Any] = {"autoreset_mode": getattr(AutoresetMode, environments.mode.upper())}

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, as `Environments.reset`; options: {"reset_mask": (n) bool} for some only."""
        super().reset(seed=seed if seed is None or isinstance(seed, int) else int(np.ravel(seed)[0]))
        return self.environments.reset(seed, (options or {}).get("reset_mask")), {}

    def step(self, actions: ArrayLike) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return observations, rewards, terminations, truncations, infos of one step. actions (n, action_size)."""
        answers = self.environments.step(np.asarray(actions, self.environments.dtype))
        observations, rewards, terminations, truncations, info = answers
        infos = {name: info[name] for name in ("failed", "residual") if name in info}
        more: dict[str, Any] = {f"_{name}": np.ones(self.num_envs, bool) for name in infos}
        ended = info.get("_final_obs")
        if ended is not None and ended.any():
            final = np.full(self.num_envs, None, object)
            for k in np.flatnonzero(ended):
                final[k] = info["final_obs"][k].copy()
            last = infos | {f"_{name}": ended for name in infos}
            more |= {"final_obs": final, "_final_obs": ended, "final_info": last, "_final_info": ended}
        return observations, rewards, terminations, truncations, infos | more


class Env(Base):
    """`gymnasium.Env` of one environment: of `compile(1, mode="disabled")`. limits: as of `VectorEnv`."""

    metadata: Mapping[str, Any] = {"render_modes": ()}

    def __init__(self, environments: Environments, limits: Limits | None = None) -> None:
        self.observation_space, self.action_space = _boxes(environments, limits)
        if environments.n != 1 or environments.mode != DISABLED:
            has = f"{environments.n} environments in mode {environments.mode!r}"
            raise UnsupportedError(f'Env: {has}; give one that its user resets: compile(1, mode="disabled")')
        self.environments = environments

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; return its observation and an empty info."""
        super().reset(seed=seed)
        return self.environments.reset(seed)[0].copy(), {}

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated, info of one step. action (action_size)."""
        actions = np.asarray(action, self.environments.dtype)[None]
        observation, *answers, info = self.environments.step(actions)
        reward, terminated, truncated = (x[0].item() for x in answers)
        return observation[0].copy(), reward, terminated, truncated, {name: x[0].item() for name, x in info.items()}


def _boxes(environments: Environments, limits: Limits | None) -> tuple[Any, Any]:
    """The spaces of one observation and of one action."""
    if not isinstance(environments, Environments):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"{type(environments).__name__}: give what condyle.Environment(...).compile(n) returned")
    size, dtype, box = environments.action_size, environments.dtype, gymnasium.spaces.Box
    ends = [np.asarray(x, dtype) for x in limits or (-np.inf, np.inf)]
    if len(ends) != 2 or any(x.shape not in ((), (size,)) for x in ends):
        raise ShapeError(f"limits={limits!r}: expected the lowest and the highest action, numbers or {(size,)} each")
    low, high = (np.broadcast_to(x, (size,)) for x in ends)
    if not np.all(low <= high):
        raise UnsupportedError(f"limits={limits!r}: expected the lowest before the highest action")
    return box(-np.inf, np.inf, (environments.observation_size,), dtype), box(low, high, (size,), dtype)
