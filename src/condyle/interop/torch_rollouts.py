"""Rollouts on tensors: one call forward, one back."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS, variant
from condyle.functions.rollouts import name_of
from condyle.methods import result_type
from condyle.rollouts import names
from condyle.specification import F_EXT

torch: Any = import_module("torch")


@torch.compiler.assume_constant_result
def _name(*said: Any) -> str:
    """The name of a rollout, which a compiled graph has as a constant."""
    return name_of(*said)


class Rollout:
    """A function repeated: see `Dynamics.rollout` and `CompiledFunction.rollout`, without `out=`."""

    def __init__(self, maker: Any, of: str, by_time: tuple[str, ...]) -> None:
        """by_time: inputs that always have a time axis."""
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
        from condyle.interop.torch_methods import bound

        given = bound("rollout", self._taken, self._order, args, named)
        for name in self._numbers:
            if given.get(name) is None:
                given[name] = self._maker.number(name, given[self._taken[0]])
        has_forces = given.get(F_EXT.name) is not None
        of = self._forced if has_forces and self._forced is not None else self._plain
        timed = (*self._by_time, *(name for name in names(by_time) if name not in self._by_time))
        length = self._steps(given, timed, steps)
        name = _name(of, length, timed, every, last, names(sum))
        form = self._forms[of]
        what = f"|{self._maker.engine.key}|{name}"
        inputs = [given[port] for port, _ in form.takes]
        return self._maker.call(what, form, inputs, "rollout")

    def _steps(self, given: dict[str, Any], timed: Sequence[str], steps: int | None) -> int:
        """As the time axes say, else as it is said."""
        found: set[int] = set() if steps is None else {steps}
        for name in timed:
            if name not in given or name in self._carried:
                continue
            shape, dims = tuple(given[name].shape), self._dims[name]
            if len(shape) <= dims or shape[len(shape) - dims - 1] < 1:
                raise ShapeError(
                    f"rollout: {name} has shape {shape}, expected a time axis before its own, one step at least"
                )
            found.add(int(shape[len(shape) - dims - 1]))
        if len(found) > 1:
            raise ShapeError(f"rollout: the time axes disagree: {sorted(found)} steps; give each the same")
        if not found:
            raise UnsupportedError("rollout: no input has a time axis: name some in by_time=, or say steps=")
        return found.pop()
