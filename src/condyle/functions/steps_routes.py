"""How steps are computed: forward dynamics, by any of its routes, and moving in the space of configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from condyle.algorithms.configurations import JointByJoint
from condyle.algorithms.contact_elimination import ByElimination
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.stepping import Moves, Vector, stepped
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.calls import ByCalls, Calls, call
from condyle.functions.contacts_routes import constrained
from condyle.functions.dynamics_routes import ROUTES as DYNAMICS
from condyle.functions.steps import DT
from condyle.functions.steps_rules import StepDerivatives, block
from condyle.integrators import METHODS
from condyle.ports import ACTIVE, F_EXT, RISING
from condyle.scalar import Scalar, number
from condyle.specification import Route


class _Step:
    """A step by one route to forward dynamics."""

    def __init__(self, acceleration: Callable[..., tuple[object, ...]], contacts: type[Constrained]) -> None:
        """contacts: how it is solved for the forces of contacts, where there are flags."""
        self._acceleration, self._contacts = acceleration, contacts

    def __call__(self, at: Unrolled) -> tuple[Vector, Vector]:
        given = at.inputs

        def acceleration(q: Vector, v: Vector) -> Vector:
            here = Unrolled(at.tree, {**given, "q": q, "v": v})
            if ACTIVE.name in given:
                return constrained(here, self._contacts).dynamics()[0]
            return cast(Vector, self._acceleration(here)[0])

        if RISING.name in given:
            given = {
                **given,
                "v": constrained(at, self._contacts, _landing(given)).impact(given["v"], _no_bounce(given))[0],
            }
        return _stepped(at.tree, given, acceleration, JointByJoint(at.tree))

    def record(self, at: Any, given: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """In a recording, where forward dynamics and integrate stay closed."""

        def acceleration(q: Vector, v: Vector) -> Vector:
            held = [given[ACTIVE.name]] if ACTIVE.name in given else []
            return call(at, given, "cfd" if held else "fd", q, v, given["tau"], *held)[0]

        if RISING.name in given:
            landed = call(at, given, "impact", given["q"], given["v"], _landing(given), _no_bounce(given))
            given = {**given, "v": landed[0]}
        return _stepped(at.tree, given, acceleration, ByCalls(at))


def _landing(given: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """The contacts that hold after an impact: all that are on, if some flag rises."""
    left = number(1.0)
    for flag in given[RISING.name]:
        left = left * (1.0 - flag)
    return [flag * (1.0 - left) for flag in given[ACTIVE.name]]


def _no_bounce(given: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    return [number(0.0)] * len(given[ACTIVE.name])


def _stepped(
    tree: Any,
    given: Mapping[str, Sequence[Scalar]],
    acceleration: Callable[[Vector, Vector], Vector],
    moves: Moves,
) -> tuple[Vector, Vector]:
    (h,) = given[DT.name]
    return stepped(tree, METHODS[tree.integrator], acceleration, moves, given["q"], given["v"], h)


class _Derivatives:
    """A, B, and E where there are forces, by the chain rule."""

    def __call__(self, at: Unrolled) -> tuple[Vector, ...]:
        return self.record(Calls(at.tree), at.inputs)

    def record(self, at: Any, given: Mapping[str, Any]) -> tuple[Vector, ...]:
        made, n = StepDerivatives(at, given, [name for name in given if name == F_EXT.name]), at.tree.nv
        rows = [*made.q, *made.v]
        ends = [0, 2 * n, 3 * n, *([3 * n + made.widths[F_EXT.name]] if F_EXT.name in made.widths else [])]
        return tuple(block(rows, range(*columns)) for columns in pairwise(ends))


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "step": {
        name: Route(
            _Step(route.run, ByElimination if route.alone else Constrained),
            False,
            route.alone,
            route.shallow,
            size=route.size,
            parts=("fd", "integrate"),
        )
        for name, route in DYNAMICS["fd"].items()
    },
    **{
        key: {"chain": Route(_Derivatives(), recorded=True, parts=("fd", "dfd", "integrate"))}
        for key in ("dstep", "dstep_f_ext")
    },
}
