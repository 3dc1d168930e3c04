"""How rules and recorded routes call other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from condyle import algorithms

if TYPE_CHECKING:
    from condyle.model.tree import Tree
    from condyle.scalar import Scalar

Values: TypeAlias = "Sequence[Any]"
"""A quantity, flat."""
ByName: TypeAlias = "Mapping[str, Values]"
"""What a function takes, or answers."""


def call(
    at: Any,
    given: Mapping[str, Sequence[Any]],
    function: str,
    *inputs: Sequence[Any],
    kind: str = "",
    by: str = "",
    more: Sequence[Sequence[Any]] = (),
) -> tuple[list[Any], ...]:
    """A function with what is given behind its own inputs (forces, numbers of the robot), as far as it depends on it.

    kind, by: of a derivative, such as "jacobian_" and "_by_f_ext". more: what it takes behind all inputs.
    """
    from condyle.functions import takes, variant  # the registry

    extra = [name for name in takes(function) if name in given]
    return at.call(kind + variant(function, extra) + by, *inputs, *(given[name] for name in extra), *more)


@dataclass(frozen=True)
class ByCalls:
    """How a step moves configurations where `integrate` stays a call: `condyle.algorithms.stepping.Moves`.

    A velocity turns like a small change of q, of which `integrate` has the derivative.
    """

    at: Any

    def along(self, q: Sequence[Any], u: Sequence[Any]) -> Sequence[Any]:
        return self.at.call("integrate", q, u)[0]

    def shift_and_turn(
        self, q: Sequence[Any], shift: Sequence[Any], turn: Sequence[Any], fixed: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        shifted, after = self.along(q, shift), list(fixed)
        linear = [k for _, _, entries in algorithms.stepping.turning_joints(self.at.tree) for k in entries]
        velocity = [x if k in linear else 0.0 for k, x in enumerate(fixed)]
        (turned,) = self.at.call("jvp_integrate", shifted, turn, velocity, [0.0] * len(fixed))
        for k in linear:
            after[k] = turned[k]
        return self.along(shifted, turn), after


class Calls:
    """What rules call: other functions on the scalars that a sweep has."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def call(self, function: str, *given: Sequence[Scalar]) -> list[list[Scalar]]:
        from condyle.functions import FUNCTIONS  # the registry

        of = FUNCTIONS[function]
        route = of.routes[of.route_names(self.tree.has_shared_coordinates)[0]]
        inputs = {port.name: x for port, x in zip(of.inputs, given, strict=True)}
        answers = route.run(algorithms.unrolled.Unrolled(self.tree, inputs))
        return [algorithms.matrix.dense(cast(Any, x)) for x in answers]
