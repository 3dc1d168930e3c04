"""Rollouts on arrays of another framework: one call forward, one back; and how arguments are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.calls.methods import result_type
from condyle.calls.rollouts import Options, RolloutCall, length
from condyle.errors import UnsupportedError
from condyle.specification import F_EXT, Function


def bound(
    method: str, taken: Sequence[str], order: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name; TypeError as of any call."""
    if len(args) > len(order):
        raise TypeError(f"{method}({', '.join(order)}): {len(args)} arguments given")
    given = dict(zip(order, args, strict=False))
    for name, value in named.items():
        if name == "out":
            raise UnsupportedError(f"{method}: answers are always fresh arrays here: leave out= out")
        if name not in order or name in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is none of these, or given twice")
        given[name] = value
    for name in taken:
        if name not in given:
            raise TypeError(f"{method}({', '.join(order)}): {name!r} is missing")
    return given


class Rollout(RolloutCall):
    """A function repeated: see `Dynamics.rollout` and `CompiledFunction.rollout`, without `out=`."""

    def __init__(self, maker: Any, function: Function, by_time: tuple[str, ...]) -> None:
        """by_time: inputs that have a time axis, unless `steps` holds them."""
        super().__init__(by_time)
        self._maker, self._numbers = maker, maker.numbers_of(function)
        plain, forced = function.taking(*self._numbers), function.taking(F_EXT, *self._numbers)
        self._plain, self._forced = self._form(plain), self._form(forced) if function.takes_f_ext else None
        self._taken = [port.name for port in function.inputs]
        self._order = [*self._taken, *([F_EXT.name] if function.takes_f_ext else []), *self._numbers]
        self._every_input = forced

    def _form(self, function: Function) -> Any:
        """How the rollout of a function is called."""
        parts = tuple(port.name for port in function.outputs)
        result = result_type(f"{function.method}_rollout", parts) if len(parts) > 1 else None
        return self._maker.form(function)._replace(result=result)

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        given = bound("rollout", self._taken, self._order, args, named)
        for name in self._numbers:
            if given.get(name) is None:
                given[name] = self._maker.number(name, given[self._taken[0]])
        return given

    def run(self, arguments: Mapping[str, Any], options: Options) -> Any:
        has_forces = arguments.get(F_EXT.name) is not None
        form = self._forced if has_forces and self._forced is not None else self._plain
        steps = length(self._every_input, arguments, options)
        inputs = [arguments[port] for port, _ in form.takes]
        return self._maker.call(self._maker.repeated(form.what, steps, *options[:-1]), form, inputs, "rollout")

    def warn(self, message: str) -> None:
        self._maker.warn(message)
