"""What computes a derivative: a Program by a closed rule of the function's specification, or differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, cast

from condyle.derivatives.code import code, program
from condyle.derivatives.differentiate import DIFFERENTIATE, Recorded
from condyle.derivatives.recording import Derive, Recording, is_composed, replayed
from condyle.ir.expr import Value
from condyle.ir.program import Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.specification import Derivative, Function, Route


def ways(function: Function, derive: Derive) -> Mapping[str, Route]:
    """The route to a derivative. derive: makes derivatives of what is called."""
    of = origin_of(function).function
    is_large = any(route.whole for route in of.routes.values()) or is_composed(of)
    route = Route(_Run(function, derive), whole=partial(_whole, function, derive) if is_large else None)
    return {"closed rule" if _has_rule(function) else "differentiated": route}


def origin_of(function: Function) -> Derivative:
    """What a derivative is of."""
    assert isinstance(function.origin, Derivative), function
    return function.origin


def _has_rule(function: Function) -> bool:
    origin = origin_of(function)
    return origin.kind in origin.function.closed


def _whole(function: Function, derive: Derive, tree: Tree) -> object:
    """A derivative with its large products."""
    return code(tree, function, partial(_answers, function=function), derive)


class _Run:
    """A derivative on the scalars that a sweep has."""

    def __init__(self, function: Function, derive: Derive) -> None:
        self.function, self.derive = function, derive

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        recorded = program_of(sweeps.tree, self.function, self.derive)
        inputs = [cast("Sequence[Scalar]", sweeps.inputs[array.name]) for array in recorded.inputs]
        return tuple(replayed(recorded, inputs))

    @property
    def record(self) -> Callable[..., Sequence[Sequence[Value]]] | None:
        """What a closed rule calls is known when it is differentiated again."""
        keeps = _has_rule(self.function) or is_composed(origin_of(self.function).function)
        return partial(_answers, function=self.function) if keeps else None


@lru_cache(maxsize=256)
def program_of(tree: Tree, function: Function, derive: Derive) -> Program:
    """A derived function as one Program."""
    return program(tree, function, partial(_answers, function=function), derive)


def _answers(
    recording: Recording, inputs: Mapping[str, Sequence[Value]], function: Function
) -> Sequence[Sequence[Value]]:
    """By the closed rule of the function's specification, else, and what it leaves out, by differentiation."""
    origin = origin_of(function)
    rule = origin.function.closed.get(origin.kind)
    answers = {} if rule is None else dict(rule(recording, inputs))
    every = {port.name for port in recording.derive(origin.kind, origin.function).outputs}
    assert answers.keys() <= every, f"{function}: a rule says {sorted(answers)}"
    left = _left(recording, function, [port.name not in answers for port in function.outputs])
    if left is not None:
        more = [port.name for port in function.inputs[len(origin.function.inputs) :]]
        differentiated = DIFFERENTIATE[origin.kind](Recorded(recording, origin_of(left), inputs), inputs, more)
        answers.update(zip((port.name for port in left.outputs), differentiated, strict=True))
    return [answers[port.name] for port in function.outputs]


def _left(recording: Recording, function: Function, missing: Sequence[bool]) -> Function | None:
    """What a closed rule leaves out: of a Jacobian some columns, else all."""
    if not any(missing):
        return None
    origin = origin_of(function)
    n = len(origin.by)
    some = tuple(name for k, name in enumerate(origin.by) if any(missing[k::n]))
    return recording.derive("jacobian", origin.function, some) if origin.kind == "jacobian" else function
