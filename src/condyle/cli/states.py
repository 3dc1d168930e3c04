"""Random states in the shape a function takes, and room for its answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from condyle.functions import FUNCTIONS
from condyle.functions.quantities import MINV

if TYPE_CHECKING:
    from condyle import Robot

Array = NDArray[np.floating]


@dataclass(frozen=True)
class States:
    """n states of a robot: every quantity that some function takes."""

    quantities: dict[str, Array]
    sizes: dict[str, int]
    dtype: str

    @property
    def n(self) -> int:
        return len(self.quantities["q"])

    def arguments(self, function: str) -> tuple[Array, ...]:
        """The inputs of a function, in calling order."""
        return tuple(self.quantities[port.name] for port in FUNCTIONS[function].inputs)

    def outputs(self, function: str) -> tuple[Array, ...]:
        """Fresh arrays for its answers."""
        ports = FUNCTIONS[function].outputs
        return tuple(np.zeros((self.n, *port.shape(self.sizes)), dtype=self.dtype) for port in ports)

    def first(self, n: int) -> States:
        """The first n of them."""
        return States({name: array[:n] for name, array in self.quantities.items()}, self.sizes, self.dtype)


def draw(robot: Robot, n: int, dtype: str, functions: Iterable[str] = tuple(FUNCTIONS), rng: int = 0) -> States:
    """n random states; a and tau are of order one, Minv is that of the states, if one of the functions takes it."""
    generator = np.random.default_rng(rng)
    q, v = robot.random_state(n, generator)
    quantities: dict[str, Array] = {
        "q": q,
        "v": v,
        "a": generator.standard_normal((n, robot.nv)),
        "tau": generator.standard_normal((n, robot.nv)),
    }
    if any(MINV in FUNCTIONS[name].inputs for name in functions):
        quantities[MINV.name] = robot.compile(target="numpy").mass_matrix_inverse(q)
    cast = {name: np.ascontiguousarray(array, dtype=dtype) for name, array in quantities.items()}
    return States(cast, {"nq": robot.nq, "nv": robot.nv, "n_bodies": len(robot.bodies)}, dtype)
