"""Environments on PyTorch tensors: they share the memory of the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from condyle.errors import UnsupportedError
from condyle.jobs.environment.environments import Environments

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
