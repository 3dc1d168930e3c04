"""The methods of `Dynamics`, and of users' functions, by blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.calls.rollouts import names
from condyle.functions import function_of
from condyle.functions.quantities import TAU
from condyle.functions.steps import STEP
from condyle.interop.blocks import Method, Rollout, Runner, Task
from condyle.interop.wrapped import by_method
from condyle.user.function import CompiledFunction


class Functions:
    """The methods of `Dynamics`, without `out=`. An input is per state, (states, ...), or one for all states."""

    def __init__(self, dyn: Dynamics, runner: Runner) -> None:
        self._dyn, self._runner = dyn, runner

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):  # copy and pickle ask before there is a Dynamics
            raise AttributeError(method)
        known = by_method(self._dyn)
        if method not in known:
            raise AttributeError(f"{method}: there are {', '.join(known)}, rollout, jvp, vjp, jacobian, hessian")
        return Method(self._dyn, self._runner, Task("", known[method]))

    @property
    def rollout(self) -> Rollout:
        """See `Dynamics.rollout`; by blocks of rollouts."""
        return Rollout(self._dyn, self._runner, "", STEP, (TAU.name,))

    def jvp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.jvp`."""
        return self._derivative("jvp", name)

    def vjp(self, name: str | specification.Function) -> Method:
        """See `Dynamics.vjp`: cotangents of inputs that are one for all states are sums over them."""
        if name == "rollout":
            return Rollout(self._dyn, self._runner, "vjp", STEP, (TAU.name,))
        return self._derivative("vjp", name)

    def jacobian(self, name: str | specification.Function, by: Sequence[str] | str | None = None) -> Method:
        """See `Dynamics.jacobian`."""
        return self._derivative("jacobian", name, by)

    def hessian(self, name: str | specification.Function) -> Method:
        """See `Dynamics.hessian`."""
        return self._derivative("hessian", name)

    def _derivative(
        self, kind: str, base: str | specification.Function, by: Sequence[str] | str | None = None
    ) -> Method:
        task = Task(kind, function_of(base), by=None if by is None else names(by))
        return Method(self._dyn, self._runner, task)


class Function:
    """A user's function and the methods of `CompiledFunction`, without `out=`, for arrays as in `Functions`."""

    def __init__(self, compiled: CompiledFunction, runner: Runner) -> None:
        self._compiled, self._runner = compiled, runner

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The answers."""
        return Method(self._compiled, self._runner, Task("", None))(*args, **named)

    def rollout(self, *args: Any, **named: Any) -> Any:
        """See `CompiledFunction.rollout`; by blocks of rollouts."""
        return Rollout(self._compiled, self._runner, "", None)(*args, **named)

    def jvp(self) -> Method:
        """See `CompiledFunction.jvp`."""
        return Method(self._compiled, self._runner, Task("jvp", None))

    def vjp(self, of: str = "") -> Method:
        """See `CompiledFunction.vjp`."""
        if of == "rollout":
            return Rollout(self._compiled, self._runner, "vjp", None)
        return Method(self._compiled, self._runner, Task("vjp", None))

    def jacobian(self, by: Sequence[str] | str | None = None) -> Method:
        """See `CompiledFunction.jacobian`."""
        return Method(self._compiled, self._runner, Task("jacobian", None, by=None if by is None else names(by)))

    def hessian(self, of: str | None = None) -> Method:
        """See `CompiledFunction.hessian`."""
        function = self._compiled.only(of)
        # a number has one factor, which is 1
        filled = {} if function.outputs[0].dims else {"lam": np.ones((), self._compiled.dtype)}
        return Method(self._compiled, self._runner, Task("hessian", None, function.outputs[0].name), filled)
