"""Rollouts on arrays of another framework: one call forward, one back; and how arguments are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, variant
from condyle.methods import result_type
from condyle.specification import F_EXT
from condyle.time_axes import names, steps_of, timed_names


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


class Rollout:
    """A function repeated: see `Dynamics.rollout` and `CompiledFunction.rollout`, without `out=`."""

    def __init__(self, maker: Any, of: str, by_time: tuple[str, ...]) -> None:
        """by_time: inputs that have a time axis, unless `steps` holds them."""
        base, own = FUNCTIONS[of], maker.own(of)
        self._maker, self._by_time, self._taken = maker, by_time, [port.name for port in base.inputs]
        self._plain, self._numbers = variant(of, own), own
        self._forced = variant(of, (F_EXT.name, *own)) if base.takes_f_ext else None
        self._order = [*self._taken, *([F_EXT.name] if self._forced else []), *own]
        ports = FUNCTIONS[self._forced or self._plain].inputs
        self._dims = {port.name: len(port.dims) for port in ports}
        self._carried = {port.name for port in base.outputs}
        self._forms = {name: self._form(name) for name in (self._plain, self._forced) if name is not None}

    def _form(self, name: str) -> Any:
        """How the rollout of a function is called."""
        function = FUNCTIONS[name]
        parts = tuple(port.name for port in function.outputs)
        result = result_type(f"{function.method}_rollout", parts) if len(parts) > 1 else None
        return self._maker.form(name)._replace(result=result)

    def __call__(
        self,
        *args: Any,
        by_time: Sequence[str] | str = (),
        every: int = 1,
        last: bool = False,
        sum: Sequence[str] | str = (),
        steps: int | None = None,
        **named: Any,
    ) -> Any:
        """The answers of each step."""
        given = bound("rollout", self._taken, self._order, args, named)
        for name in self._numbers:
            if given.get(name) is None:
                given[name] = self._maker.number(name, given[self._taken[0]])
        has_forces = given.get(F_EXT.name) is not None
        of = self._forced if has_forces and self._forced is not None else self._plain
        timed = timed_names(self._by_time, by_time, steps, given, self._maker.warn)
        there = [name for name in timed if name in given and name not in self._carried]
        length = steps_of(((name, given[name], self._dims[name]) for name in there), steps)
        name = self._maker.rollout(of, length, timed, every, last, names(sum))
        form = self._forms[of]
        inputs = [given[port] for port, _ in form.takes]
        return self._maker.call(self._maker.what(name), form, inputs, "rollout")
