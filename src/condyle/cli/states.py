"""Random states in the shape a function takes, and room for its answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from condyle.functions import FUNCTIONS
from condyle.model.contact import Contact
from condyle.model.physical import contact_numbers, varied
from condyle.specification import Function, Port
from condyle.specification.ports import NUMBERS

if TYPE_CHECKING:
    from condyle import Robot

Array = NDArray[np.floating]
DT = 1e-3
"""Seconds of a step."""


@dataclass(frozen=True)
class States:
    """n states of a robot: every quantity that some function takes, by its name.

    Where a function has another quantity of a name that is taken, as factors of other answers, it is by `_full_name`.
    """

    quantities: dict[str, Array]
    sizes: dict[str, int]
    dtype: str

    @property
    def n(self) -> int:
        return len(self.quantities["q"])

    def arguments(self, function: Function) -> tuple[Array, ...]:
        """The inputs of a function, in calling order."""
        known = self.quantities
        return tuple(known.get(_full_name(function, port), known[port.name]) for port in function.inputs)

    def outputs(self, function: Function) -> tuple[Array, ...]:
        """Fresh arrays for its answers."""
        return tuple(np.zeros((self.n, *port.shape(self.sizes)), dtype=self.dtype) for port in function.outputs)

    def first(self, n: int) -> States:
        """The first n of them."""
        return States({name: array[:n] for name, array in self.quantities.items()}, self.sizes, self.dtype)


def draw(
    robot: Robot,
    n: int,
    dtype: str,
    functions: Collection[Function] = (),
    rng: int = 0,
    frames: int = 0,
    contacts: Sequence[Contact] = (),
) -> States:
    """n random states; joint-space vectors are of order one, matrices are those of the states.

    functions: those whose inputs are needed, by default all. frames: how many the robot is compiled for, contacts:
    which.
    """
    generator = np.random.default_rng(rng)
    q, v = robot.random_state(n, generator)
    sizes = {"nq": robot.nq, "nv": robot.nv, "n_bodies": len(robot.bodies), "n_frames": frames}
    sizes |= {"n_contacts": len(contacts), "n_rows": sum(len(one.rows) for one in contacts), "n_regressor": 0}
    sizes |= {"nu": len(robot.actuators)}
    flags = contact_numbers(len(contacts), n, np.random.default_rng(rng))
    quantities: dict[str, Array] = {"q": q, "v": v}
    for name in ("a", "tau"):
        quantities[name] = generator.standard_normal((n, robot.nv))
    quantities["dt"] = np.full(n, DT)
    for function, port in ((one, port) for one in functions or FUNCTIONS.values() for port in one.inputs):
        shape = (n, *port.shape(sizes))
        if port.name not in quantities:
            drawn = generator.standard_normal(shape)
            quantities[port.name] = robot.random_state(n, generator).q if port.is_configuration else drawn
            if port.name in flags:
                quantities[port.name] = flags[port.name]
            if NUMBERS.get(port.name) == port:
                quantities[port.name] = varied(robot, n, generator)[port.name]
            if port.given_by:
                giver = FUNCTIONS[port.given_by]
                given = [quantities[taken.name] for taken in giver.inputs]
                (quantities[port.name],) = robot.compile(target="numpy").call(giver, given)
        elif quantities[port.name].shape != shape:
            quantities[_full_name(function, port)] = generator.standard_normal(shape)
    cast = {name: np.ascontiguousarray(array, dtype=dtype) for name, array in quantities.items()}
    return States(cast, sizes, dtype)


def _full_name(function: Function, port: Port) -> str:
    return f"{function} {port.name}"
