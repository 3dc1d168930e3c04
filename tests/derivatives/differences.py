"""Derivatives of any function by differences of its reference, in long double numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from condyle.functions import FUNCTIONS, function_of
from condyle.model.physical import contact_numbers
from condyle.model.robot import Robot
from condyle.model.tree import Tree, tree_of
from condyle.specification import Bound, Port
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes
from tests.driven import driven, needs_drives, smooth_drives
from tests.held import held

Array: TypeAlias = np.ndarray
L = np.longdouble
FOURTH = np.array([-2, -1, 1, 2], L), np.array([1, -8, 8, -1], L) / 12
SECOND = np.array([-2, -1, 0, 1, 2], L), np.array([-1, 16, -30, 16, -1], L) / 12
DIFFERENCES = 1e-10
"""What differences of fourth order lose, in long double numbers and with these steps."""


PUSHED = ("fd_u", "step_u")
"""Joint forces and actuators in the equation of motion, and in an implicit step."""


def every_function() -> list[str]:
    """The library's own, those with external forces too where the answers are the same; and `PUSHED`."""
    forces = [f"{name}_f_ext" for name, function in FUNCTIONS.items() if function.may_take_f_ext]
    return [*FUNCTIONS, *forces, *PUSHED]


@dataclass(frozen=True)
class State:
    """A robot with frames, and inputs of one of its functions: a point, and directions at it."""

    robot: Robot
    function: str
    reference_frame: str = "local"
    seed: int = 0
    integrator: str = "semi_implicit_euler"

    @cached_property
    def tree(self) -> Tree:
        frames = [name for name, frame in self.robot.frames.items() if frame.body >= 0]
        contacts = held(self.robot, self.function)
        bound = Bound((frames[-1], frames[0]), self.reference_frame, integrator=self.integrator, contacts=contacts)
        if not needs_drives(function_of(self.function)):
            return tree_of(self.robot, bound)
        moved = driven(self.robot)
        return tree_of(moved, bound._replace(drives=smooth_drives(moved)))

    @cached_property
    def point(self) -> list[Array]:
        rng = np.random.default_rng(self.seed)
        return [self._drawn(port, rng) for port in function_of(self.function).inputs]

    @cached_property
    def tangent(self) -> list[Array]:
        return self.small(function_of(self.function).inputs, 1)

    @cached_property
    def cotangent(self) -> list[Array]:
        return self.small(function_of(self.function).outputs, 2)

    def _drawn(self, port: Port, rng: np.random.Generator) -> Array:
        if port.is_configuration:
            return self.robot.random_state(1, rng).q
        flags = contact_numbers(len(self.tree.contacts), 1, rng)
        if port.name in flags:
            return np.reshape(flags[port.name], (1, -1))
        return rng.uniform(-1.0, 1.0, (1, int(np.prod(port.shape(sizes(self.tree))))))

    def small(self, ports: Sequence[Port], more: int) -> list[Array]:
        """A small change of each, or a cotangent."""
        rng = np.random.default_rng(self.seed + more)
        widths = [
            self.robot.nv if port.is_configuration else int(np.prod(port.shape(sizes(self.tree)))) for port in ports
        ]
        return [rng.uniform(-1.0, 1.0, (1, width)) for width in widths]

    def call(self, name: str, given: Sequence[Array]) -> list[Array]:
        """The reference of a function, flat."""
        function = function_of(name)
        route = function.route_names(self.tree.has_shared_coordinates)[0]
        return evaluate(self.tree, function, route, dict(zip((p.name for p in function.inputs), given, strict=True)))

    def derived(self, kind: str, *more: Sequence[Array]) -> list[Array]:
        return self.call(f"{kind}_{self.function}", [*self.point, *(x for part in more for x in part)])

    def along(
        self, steps: Array, name: str = "", point: Sequence[Array] = (), tangent: Sequence[Array] = ()
    ) -> list[Array]:
        """A function where its inputs are moved by so many tangents, answers seen from that at the point itself."""
        name, point, tangent = name or self.function, point or self.point, tangent or self.tangent
        function, moved = function_of(name), list[Array]()
        for port, x, dx in zip(function.inputs, point, tangent, strict=True):
            change, base = steps[:, None] * dx.astype(L), np.repeat(x.astype(L), len(steps), 0)
            moved.append(self.call("integrate", [base, change])[0] if port.is_configuration else base + change)
        answers = self.call(name, moved)
        if not any(port.is_configuration for port in function.outputs):
            return answers
        own = self.call(name, [x.astype(L) for x in point])
        return [
            self.call("difference", [np.repeat(y, len(steps), 0), x])[0] if port.is_configuration else x
            for port, x, y in zip(function.outputs, answers, own, strict=True)
        ]


def first(answers: Sequence[Array], h: float) -> list[Array]:
    """By answers at `FOURTH` steps."""
    return [np.asarray(FOURTH[1] @ x / L(h), np.float64)[None] for x in answers]


def error(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest, relative to the largest entry of each answer, or to one."""
    return max(
        (
            float(np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(y))))
            for x, y in zip(found, expected, strict=True)
            if x.size
        ),
        default=0.0,
    )
