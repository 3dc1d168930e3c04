"""How steps are computed: forward dynamics, by any of its routes, and moving in the space of configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from condyle.algorithms import configurations
from condyle.algorithms.stepping import Vector, stepped
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.dynamics_routes import ROUTES as DYNAMICS
from condyle.functions.steps import DT
from condyle.integrators import METHODS
from condyle.scalar import Scalar
from condyle.specification import F_EXT, Route


class _Step:
    """A step by one route to forward dynamics."""

    def __init__(self, acceleration: Callable[..., tuple[object, ...]]) -> None:
        self._acceleration = acceleration

    def __call__(self, at: Unrolled) -> tuple[Vector, Vector]:
        given = at.inputs

        def acceleration(q: Vector, v: Vector) -> Vector:
            here = Unrolled(at.tree, {**given, "q": q, "v": v})
            return cast(Vector, self._acceleration(here)[0])

        def move(q: Vector, u: Vector) -> Vector:
            return configurations.integrate(at.tree, {"q": q, "dv": u})

        return _stepped(at.tree, given, acceleration, move)

    def record(self, at: Any, given: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """In a recording, where forward dynamics and integrate stay closed."""
        forces = (given[F_EXT.name],) if F_EXT.name in given else ()
        fd = f"fd_{F_EXT.name}" if forces else "fd"

        def acceleration(q: Vector, v: Vector) -> Vector:
            return at.call(fd, q, v, given["tau"], *forces)[0]

        return _stepped(at.tree, given, acceleration, lambda q, u: at.call("integrate", q, u)[0])


def _stepped(
    tree: Any,
    given: Mapping[str, Sequence[Scalar]],
    acceleration: Callable[[Vector, Vector], Vector],
    move: Callable[[Vector, Vector], Vector],
) -> tuple[Vector, Vector]:
    (h,) = given[DT.name]
    return stepped(tree, METHODS[tree.integrator], acceleration, move, given["q"], given["v"], h)


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "step": {
        name: Route(_Step(route.run), alone=route.alone, shallow=route.shallow, size=route.size)
        for name, route in DYNAMICS["fd"].items()
    },
}
