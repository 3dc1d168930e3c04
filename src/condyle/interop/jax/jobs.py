"""Jobs on JAX arrays: environments, which are pure functions of their state, and plans of optimal control."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.interop.jax.methods import function
from condyle.interop.plans import Answers, Plans
from condyle.interop.wrapped import Function
from condyle.jobs.environment import MOST, Environments
from condyle.jobs.optimal_control.solver import Solver, checked

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")

State = dict[str, Any]


class JaxEnvironments:
    """`reset` and `step` of `Environments`: to the bit what they answer, with the state as an argument.

    A state is a dict of arrays (n, ...), as `Environments.state` has it; state["observation"] is what a policy acts on,
    and entries may be replaced. Derivatives are those of `step_function`: an episode's first state has none by the
    state before. environments: what it is of; its own state is not used after this.
    """

    def __init__(self, environments: Environments, is_tangent: bool) -> None:
        self.environments, self.n = environments, environments.n
        self._step = function(environments.step_function, is_tangent)
        self._reset = function(environments.reset_function, is_tangent)
        self._blank = environments.state() | {"episode": np.full(self.n, -1.0, environments.dtype)}
        self._inputs = environments.inputs

    def reset(self, seed: Any = None, state: Mapping[str, Any] | None = None, mask: Any = None) -> State:
        """Return the state in which episodes begin.

        seed: a whole number, one for each environment, or a key of `jax.random`, also a traced one; None goes on with
        the numbers of the next episode, and needs a state. state, mask (n): only where mask holds episodes begin, the
        others are as in state. Errors: UnsupportedError, ShapeError.
        """
        dtype = self.environments.dtype
        before = {name: jnp.asarray(x) for name, x in (self._blank if state is None else state).items()}
        begins = jnp.ones(self.n, bool) if mask is None else jnp.asarray(mask) > 0.5
        if begins.shape != (self.n,):
            raise ShapeError(f"reset: mask has shape {begins.shape}, expected {(self.n,)}")
        if state is None and (seed is None or mask is not None):
            raise UnsupportedError("reset: without state= it needs a seed, and no mask; give reset(seed), or a state")
        values = dict(before)
        if seed is not None:
            words = jnp.broadcast_to(jnp.asarray(self._words(seed), dtype), (self.n, 2))
            values["seed"] = jnp.where(begins[:, None], words, before["seed"])
            values["episode"] = jnp.where(begins, -1.0, before["episode"])
        return values | _called(self._reset, values | {"mask": begins.astype(dtype)})

    def step(self, state: State, action: Any, **inputs: Any) -> tuple[State, Any, Any, Any, Any, dict[str, Any]]:
        """Return state, observation (n, observation_size), reward (n), terminated (n), truncated (n), info.

        action (n, action_size); inputs, and info: as of `Environments.step`.
        """
        if wrong := [name for name in inputs if name not in self._inputs]:
            words = ", ".join(self._inputs) or "none"
            raise UnsupportedError(f"step: there is no input {wrong[0]!r}; inputs of the environment are: {words}")
        values = dict(state)
        for name, x in inputs.items():
            values[name] = jnp.broadcast_to(jnp.asarray(x, self.environments.dtype), state[name].shape)
        answers = _called(self._step, values | {"action": action})
        values |= {name: x for name, x in answers.items() if name in values}
        terminated, truncated = answers["terminated"] > 0.5, answers["truncated"] > 0.5
        info: dict[str, Any] = {"failed": answers["failed"] > 0.5}
        if "residual" in answers:
            info["residual"] = answers["residual"]
        if "final_observation" in answers:
            info |= {"final_obs": answers["final_observation"], "_final_obs": terminated | truncated}
        return values, values["observation"], answers["reward"], terminated, truncated, info

    def _words(self, seed: Any) -> Any:
        """(2,), or (n, 2)."""
        if not isinstance(seed, jax.Array):
            return self.environments.seeds(seed)
        is_key = jnp.issubdtype(seed.dtype, jax.dtypes.prng_key)
        data = jax.random.key_data(seed) if is_key else seed
        if data.dtype != jnp.uint32 or data.ndim != 1 or data.shape[0] < 2:
            what = f"an array {data.shape} of {data.dtype}"
            raise UnsupportedError(f"reset: seed is {what}; give a whole number, n of them, or a key of jax.random")
        return data[-2:] % MOST


def _called(f: Function, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answers by name."""
    return f(**{port.name: values[port.name] for port in f.specification.inputs})._asdict()


# Plans of optimal control on JAX arrays: a callback with a vjp of its own.


class JaxSolver:
    """`solve` on JAX arrays, under `jit`, `vmap` and `grad`.

    XLA calls Python for it: about 1 ms a call more, and arrays are copied. There is no second derivative.
    """

    def __init__(self, solver: Solver, is_tangent: bool) -> None:
        self._plans = Plans(solver, is_tangent)
        self._call = lru_cache(maxsize=16)(self._traced)

    def solve(self, q: Any, v: Any, *, most: int = 100, tolerance: float = 1e-6, **inputs: Any) -> Answers:
        """As `Solver.solve`: a named tuple q, v, u, cost, solved. Derivatives are those of `Solver.vjp`."""
        most, dtype = checked(most, tolerance), self._plans.solver.dtype  # not in the callback, whose errors JAX hides
        if dtype == "float64" and not jax.config.jax_enable_x64:
            raise DTypeError(
                "solve: JAX is in single precision, and this solver is float64: "
                'jax.config.update("jax_enable_x64", True) at the start, or compile(dtype="float32")'
            )
        arrays = [jnp.asarray(x, dtype) for x in self._plans.arguments(q, v, inputs)]
        batch = self._plans.batch([x.shape for x in arrays])
        whole = [jnp.broadcast_to(x, (*batch, *d)) for x, d in zip(arrays, self._plans.takes.values(), strict=True)]
        return Answers(*self._call(most, tolerance)(*whole))

    def _traced(self, most: int, tolerance: float) -> Any:
        plans = self._plans

        def called(f: Any, dims: Any, *arrays: Any) -> Any:
            batch = arrays[0].shape[:-1]
            shapes = [jax.ShapeDtypeStruct((*batch, *each), plans.solver.dtype) for each in dims]
            return jax.pure_callback(f, shapes, *arrays, vmap_method="broadcast_all")

        def forward(*arrays: Any) -> Any:
            f = partial(plans.forward, {"most": most, "tolerance": tolerance})
            found, n = called(f, [*plans.gives, *plans.kept.values()], *arrays), len(plans.gives)
            return tuple(found[:n]), (arrays, tuple(found[n:]))

        def backward(kept: Any, bars: Any) -> Any:
            return tuple(called(plans.backward, plans.takes.values(), *kept[0], *kept[1], *bars[:4]))

        def answers(*arrays: Any) -> Any:
            return forward(*arrays)[0]

        solve = jax.custom_vjp(answers)
        solve.defvjp(forward, backward)
        return solve
