"""Hard grounds under contacts of a robot, which push, stick and slip: planes and height fields, steps on them.

With N_k the unit normal of the ground at contact k and gap_k its distance, negative inside the ground,

    v_next by `contact_solve` with N and the gaps,

and q and v move by semi-implicit Euler with v_next in place of v + dt a.

A point may come down to the ground within a step and no further (Stewart, Trinkle 1996; Anitescu, Potra 1997). Where it
is in the ground already it leaves it with `recovery` times the depth, not faster than in one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from condyle.compile.options import check_robot
from condyle.errors import ShapeError, UnsupportedError
from condyle.ground.feet import Array, Distance, Touch, check_inputs, is_number, numbers, touches
from condyle.ground.surface import Grid
from condyle.model.array import LARGEST, moderate, reals
from condyle.symbolic import Symbols
from condyle.symbolic.elementwise import numpy as np
from condyle.user.state import State

if TYPE_CHECKING:
    from condyle.api import Robot
    from condyle.model.contact import Contact
    from condyle.user import UserFunction


class Hard:
    """A hard ground of any form; a class of it has `recovery` [1/s], and says how far a point is from it."""

    recovery: Any

    @property
    def is_level(self) -> bool:
        """Whether its normals are known to be those that `contact_solve` takes where none are given."""
        return False

    @property
    def numbers(self) -> Mapping[str, tuple[int, ...]]:
        """What may be an input of a step, with its shape."""
        raise NotImplementedError

    @property
    def distance(self) -> Distance:
        """From a point (3,) [m] in world axes to its distance [m], negative inside, and the unit normal (3,) there."""
        raise NotImplementedError

    def gaps(self, at: State) -> Array:
        """Return the distance of each contact from the ground (C,) [m]; negative: penetration. UnsupportedError without
        contacts.
        """
        return np.stack([touch.gap for touch in self._touches(at)])

    def contact_solve(self, at: State, tau: Any, dt: Any, friction: Any, **more: Any) -> Any:
        """Return v after dt, impulses (C, 3) [N s] in world axes, and the residual [m/s]; all contacts can touch the
        ground.

        friction: one number, or one for each contact (C,). more: other arguments of `contact_solve`, such as
        `impulse0`.
        """
        count, touching = len(at.contacts), self._touches(at, True)
        gaps = np.stack([touch.gap for touch in touching])
        kept = np.where(gaps >= 0.0, gaps, np.minimum(self.recovery * dt, 1.0) * gaps)
        ones = np.ones(count)
        if not self.is_level:
            more["normals"] = np.stack([touch.normal for touch in touching])
        if any(touch.arm is not None for touch in touching):
            more["arms"] = np.stack([np.zeros(3) if touch.arm is None else touch.arm for touch in touching])
            kept = kept + 0.5 * dt * dt * np.stack([touch.bend for touch in touching])
        return at.contact_solve(tau, ones, dt, friction * ones, gaps=kept, **more)

    def step(self, robot: Robot, contacts: Sequence[Contact], inputs: Sequence[str] = ()) -> UserFunction:
        """Return a time step as a `UserFunction`: q, v, tau, dt, friction -> q, v, impulse, residual.

        contacts: points, or those of `Robot.shape_contacts`. friction (): of all of them. Each name of inputs, of
        "recovery" and of "normal" (3) and "offset" of a `Plane`, "heights" (nx, ny) of a `Terrain`, is one more input.
        Semi-implicit: q moves with the v after the step.
        """
        check_robot(f"{type(self).__name__}.step", robot)
        check_inputs(inputs, self.numbers)
        sizes: dict[str, Any] = {"q": "nq", "v": "nv", "tau": "nv", "dt": (), "friction": ()}
        return robot.function(HardStep(self), sizes | {name: self.numbers[name] for name in inputs}, contacts=contacts)

    def _touches(self, state: State, moves: bool = False) -> list[Touch]:
        name = type(self).__name__
        if not state.contacts:
            raise UnsupportedError(
                f"{name}: the function has no contacts; give contacts= to robot.function, or to step"
            )
        return touches(state, self.distance, moves)

    def _check_recovery(self) -> None:
        rate = self.recovery
        if not isinstance(rate, Symbols) and not (is_number(rate) and rate >= 0.0):
            raise UnsupportedError(f"{type(self).__name__}: recovery={rate!r}; give zero or a positive number, 1/s")


@dataclass(frozen=True)
class Plane(Hard):
    """A hard plane, on which contacts stick and slip. Functions of one's own that have contacts call its methods.

    normal (3,): from the ground to the robot, in world axes, any length but zero. offset [m]: distance of the plane
    from the origin of the world along the normal. recovery [1/s]: the part of a penetration that is taken back per
    second. All can be symbols, which are inputs of a function. Errors: UnsupportedError.
    """

    normal: Any = (0.0, 0.0, 1.0)
    offset: Any = 0.0
    recovery: Any = 20.0

    def __post_init__(self) -> None:
        if not isinstance(self.normal, Symbols):
            normal = numbers(self.normal, 3)
            if normal is None or not any(normal):
                raise UnsupportedError(f"Plane: normal={self.normal!r}; give three numbers, not all zero: (0, 0, 1)")
            object.__setattr__(self, "normal", normal)
        if not isinstance(self.offset, Symbols) and not is_number(self.offset):
            raise UnsupportedError(f"Plane: offset={self.offset!r}; give a number of metres")
        self._check_recovery()

    @property
    def numbers(self) -> Mapping[str, tuple[int, ...]]:
        """What may be an input of a step, with its shape."""
        return {"normal": (3,), "offset": (), "recovery": ()}

    @property
    def distance(self) -> Distance:
        """From a point (3,) [m] to its distance [m] from the plane and the unit normal (3,)."""
        normal = np.asarray(self.normal) if not isinstance(self.normal, Symbols) else self.normal
        normal = normal / np.sqrt(normal @ normal)
        return lambda point: (normal @ point - self.offset, normal)

    @property
    def is_level(self) -> bool:
        """Whether it is known to be horizontal."""
        return not isinstance(self.normal, Symbols) and self.normal[:2] == (0.0, 0.0) and self.normal[2] > 0.0


@dataclass(frozen=True, eq=False)
class Terrain(Hard):
    """A hard ground of heights, on which contacts stick and slip; it is used as a `Plane` is.

    grid: a `Grid`. heights (nx, ny) [m]: its control values; None where they are an input of a step. A point at x, y, z
    is (z - h) / sqrt(1 + h_x^2 + h_y^2) away from it, which is exact to first order in the distance, with h and its
    slopes at x, y. recovery [1/s]: as of a plane. Heights and recovery can be symbols. Errors: ShapeError for heights
    of another shape, or missing; UnsupportedError.
    """

    grid: Grid
    heights: Any = None
    recovery: Any = 20.0

    def __post_init__(self) -> None:
        if not isinstance(self.grid, Grid):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"Terrain: grid={self.grid!r}; give a Grid of condyle.ground")
        if self.heights is not None and not isinstance(self.heights, Symbols):
            heights = reals("Terrain: heights", self.heights).astype(np.float64)
            if heights.shape != self.grid.shape:
                raise ShapeError(f"Terrain: heights have shape {heights.shape}, expected {self.grid.shape} of the grid")
            if not moderate(heights):
                raise UnsupportedError(f"Terrain: a height is not finite, or beyond {LARGEST:.0e} m")
            object.__setattr__(self, "heights", heights)
        self._check_recovery()

    @property
    def numbers(self) -> Mapping[str, tuple[int, ...]]:
        """What may be an input of a step, with its shape."""
        return {"heights": self.grid.shape, "recovery": ()}

    @property
    def distance(self) -> Distance:
        """From a point (3,) [m] to its distance [m] to first order, and the unit normal (3,) at its x and y."""
        if self.heights is None:
            raise ShapeError(
                f"Terrain: heights are missing; give an array {self.grid.shape} [m], or inputs=('heights',) to step"
            )
        return self._distance

    def _distance(self, point: Array) -> tuple[Any, Array]:
        height, by_x, by_y = self.grid.height(self.heights, point[0], point[1])
        normal = np.stack([-by_x, -by_y, 1.0])
        scale = 1.0 / np.sqrt(normal @ normal)
        return (point[2] - height) * scale, normal * scale


@dataclass(frozen=True)
class HardStep:
    """The step of a hard ground as a user's function."""

    ground: Any

    @property
    def __name__(self) -> str:
        return f"{type(self.ground).__name__.lower()}_step"

    def __call__(self, state: State, tau: Any, dt: Any, friction: Any, **values: Any) -> dict[str, Any]:
        solved = replace(self.ground, **values).contact_solve(state, tau, dt, friction)
        after = state.stepped(solved.v, dt)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse, "residual": solved.residual}
