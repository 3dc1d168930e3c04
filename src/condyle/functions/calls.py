"""How rules and recorded routes call other functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from condyle import algorithms
from condyle.specification import Function

if TYPE_CHECKING:
    from condyle.model.tree import Tree
    from condyle.scalar import Scalar

Values: TypeAlias = "Sequence[Any]"
"""A quantity, flat."""
ByName: TypeAlias = "Mapping[str, Values]"
"""What a function takes, or answers."""


def call(
    calls: Any,
    inputs: Mapping[str, Sequence[Any]],
    function: Function,
    *arguments: Sequence[Any],
    derived: Callable[[Function], Function] = lambda function: function,
    more: Sequence[Sequence[Any]] = (),
) -> tuple[list[Any], ...]:
    """A function with those of the inputs behind its own (forces, numbers of the robot) that it depends on.

    derived: what is called of that, such as its `jvp`. more: what it takes behind all inputs.
    """
    extra = [name for name in function.takes if name in inputs]
    return calls.call(derived(function.taking(*extra)), *arguments, *(inputs[name] for name in extra), *more)


class Calls:
    """What rules call: other functions on the scalars that a sweep has."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def call(self, function: Function, *arguments: Sequence[Scalar]) -> list[list[Scalar]]:
        route = function.routes[function.route_names(self.tree.has_shared_coordinates)[0]]
        inputs = {port.name: x for port, x in zip(function.inputs, arguments, strict=True)}
        answers = route.run(algorithms.unrolled.Unrolled(self.tree, inputs))
        return [algorithms.matrix.dense(cast(Any, x)) for x in answers]
