"""Environments as those of gymnasium: many that step in one call, for its trainers and wrappers, and one alone.

envs = condyle.interop.gymnasium.VectorEnv(env.compile(4096))
observations, infos = envs.reset(seed=0)
observations, rewards, terminations, truncations, infos = envs.step(actions)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.environment.environments import Environments
from condyle.jobs.environment.transition import DISABLED

try:
    gymnasium: Any = import_module("gymnasium")
    vector: Any = import_module("gymnasium.vector")
except ImportError as error:
    raise UnsupportedError("gymnasium is not installed: pip install 'condyle[gymnasium]'") from error
if not hasattr(vector, "AutoresetMode"):
    raise UnsupportedError(f"gymnasium {gymnasium.__version__} is too old, 1.1 is needed: pip install 'gymnasium>=1.1'")

if TYPE_CHECKING:  # it need not be there where types are checked

    class Base:
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any: ...

    BaseOfMany = Base
else:
    Base, BaseOfMany = gymnasium.Env, vector.VectorEnv

Limits = tuple[ArrayLike, ArrayLike]


class VectorEnv(BaseOfMany):
    """`gymnasium.vector.VectorEnv` of `condyle.Environments`.

    environments: what it is of, whose mode is `metadata["autoreset_mode"]`. Spaces are boxes of their number type.
    infos: "failed" (n), "residual" (n) as of `Environments.step`; with SAME_STEP, in steps that end episodes,
    "final_obs", an array (n) of observations, and "final_info", each with its mask, as gymnasium's own have them.
    Truncation is by the environment's `horizon`. Arrays are new ones, but for those of `compile(copy=False)`.
    """

    render_mode = None
    spec = None

    def __init__(self, environments: Environments, limits: Limits | None = None) -> None:
        """limits: the lowest and the highest action, each a number or (action_size,); none by default.

        Actions are not clipped. Errors: UnsupportedError, ShapeError.
        """
        self.single_observation_space, self.single_action_space = spaces = boxes(environments, limits)
        self.environments, self.num_envs = environments, environments.n
        self.observation_space, self.action_space = (vector.utils.batch_space(x, self.num_envs) for x in spaces)
        self.metadata = {"autoreset_mode": getattr(vector.AutoresetMode, environments.mode.upper()), "render_modes": []}

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes; return observations and infos.

        seed: one, of which each environment has its own random numbers, or one for each. options: {"reset_mask": (n)
        bool} for some only.
        """
        super().reset(seed=seed if seed is None or isinstance(seed, int) else int(np.ravel(seed)[0]))
        mask = None if options is None else options.get("reset_mask")
        return self.environments.reset(seed, mask), {}

    def step(self, actions: ArrayLike) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return observations, rewards, terminations, truncations, infos of one step. actions (n, action_size)."""
        environments = self.environments
        found = environments.step(np.asarray(actions, environments.dtype))
        observations, rewards, terminations, truncations, info = found
        infos = {name: info[name] for name in ("failed", "residual") if name in info}
        ended = info.get("_final_obs")
        more: dict[str, Any] = {}
        if ended is not None and ended.any():
            final = np.full(self.num_envs, None, object)
            for k in np.flatnonzero(ended):
                final[k] = info["final_obs"][k].copy()
            last = infos | {f"_{name}": ended.copy() for name in infos}
            more = {"final_obs": final, "_final_obs": ended, "final_info": last, "_final_info": ended.copy()}
        masks = {f"_{name}": np.ones(self.num_envs, bool) for name in infos}
        return observations, rewards, terminations, truncations, infos | masks | more


class Env(Base):
    """`gymnasium.Env` of one environment: of `compile(1, mode="disabled")`."""

    metadata: Mapping[str, Any] = {"render_modes": []}
    render_mode = None

    def __init__(self, environments: Environments, limits: Limits | None = None) -> None:
        """limits: as of `VectorEnv`. Errors: UnsupportedError, ShapeError."""
        if environments.n != 1 or environments.mode != DISABLED:
            has = f"{environments.n} environments in mode {environments.mode!r}"
            raise UnsupportedError(f'Env: {has}; give one that its user resets: compile(1, mode="disabled")')
        self.environments = environments
        self.observation_space, self.action_space = boxes(environments, limits)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; return its observation and an empty info."""
        super().reset(seed=seed)
        return self.environments.reset(seed)[0].copy(), {}

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated, info of one step. action (action_size)."""
        environments = self.environments
        action = np.asarray(action, environments.dtype)
        observation, reward, terminated, truncated, info = environments.step(action[None])
        more = {name: x[0].item() for name, x in info.items()}
        return observation[0].copy(), float(reward[0]), bool(terminated[0]), bool(truncated[0]), more


def boxes(environments: Environments, limits: Limits | None) -> tuple[Any, Any]:
    """The boxes of one observation and of one action."""
    if not isinstance(environments, Environments):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"{type(environments).__name__}: give what condyle.Environment(...).compile(n) returned")
    size, dtype = environments.action_size, environments.dtype
    low, high = (-np.inf, np.inf) if limits is None else limits
    ends = [np.asarray(x, dtype) for x in (low, high)]
    for x in ends:
        if x.shape not in ((), (size,)):
            raise ShapeError(f"limits: shape {x.shape}, expected a number or {(size,)}, for the lowest and the highest")
    if not np.all(ends[0] <= ends[1]):
        raise UnsupportedError(f"limits={limits!r}: expected the lowest and the highest action, in this order")
    box = gymnasium.spaces.Box
    lowest, highest = (np.broadcast_to(x, (size,)) for x in ends)
    return box(-np.inf, np.inf, (environments.observation_size,), dtype), box(lowest, highest, (size,), dtype)
