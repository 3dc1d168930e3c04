"""A smooth ground: a spring, a damper and a friction for each foot, all functions of the state.

depth = h(x, y) - z of the foot, N = (-dh/dx, -dh/dy, 1), which is normal to the ground, v the foot's velocity:

    p = k r(depth, w) r(3/2 - c N.v, 1)            push, N; r: `condyle.ground.surface`
    t = v - N (N.v) / (N.N)                        velocity along the ground
    f = p N - mu p |N| t / sqrt(t.t + eps^2)       force on the foot, in the world's axes

k r(depth, w) N is the gradient of a potential (`energy`); the second factor of p is 1 where N.v = 0, more where the
foot goes in and less where it comes out, never negative: so the ground never pulls, and the power of f is at most that
of the potential. After Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from condyle.compile.options import check_robot
from condyle.errors import ShapeError, UnsupportedError
from condyle.ground.feet import Array, Foot, Placed, check_inputs, check_values, feet_of, on_bodies, placed
from condyle.ground.surface import Grid, ramp, ramp_integral
from condyle.model.change import carrier
from condyle.model.parts import without_notes
from condyle.symbolic import Symbols
from condyle.symbolic.elementwise import numpy as np
from condyle.user.state import State

if TYPE_CHECKING:
    from condyle.api import Robot
    from condyle.user import UserFunction


# How long a step of semi-implicit Euler may be on a spring-damper ground.
#
# Small motions x of M x'' + B x' + K x = 0, K and B symmetric and not negative, step by step v' = v - h M^-1 (K x + B
# v), x' = x + h v'. Along any mode with masses m, b, k the step is stable where h^2 k + 2 h b < 4 m (Jury's conditions
# of z^2 - (2 - h^2 k/m - h b/m) z + 1 - h b/m), so it is where all eigenvalues of L (h^2 K + 2 h B) are below 4, with L
# = J M^-1 J^T, what forces at the feet accelerate.


NEVER = 1e6
"""Seconds: a step that is this long has no limit."""


def longest_step(
    robot: Robot, feet: Sequence[Foot], q: ArrayLike, stiffness: float, damping: tuple[float, float, float]
) -> float:
    """The largest h [s]; stiffness [N/m] upwards, damping [N s/m] along the world's axes, of each foot.

    Infinite where the ground cannot move the robot: no foot goes up and down, and none is damped.
    """
    if np.shape(q) != (robot.nq,):
        raise ShapeError(f"longest_step: q has shape {np.shape(q)}, expected {(robot.nq,)}: one state")
    for foot in feet:
        carrier(robot, foot.frame, "no ground can push it; name a frame of a moving body")
    names = tuple(dict.fromkeys(foot.frame for foot in feet))
    dynamics = without_notes(robot).compile("numpy", frames=names, reference_frame="local_world_aligned")
    jacobians: Any = dynamics.frame_jacobians(q)
    turns = dynamics.frame_placements(q).rotation
    rows: list[Any] = []
    for foot in feet:
        k = names.index(foot.frame)
        arm = turns[k] @ np.asarray(foot.point)
        rows.append(jacobians[k, :3] + np.cross(jacobians[k, 3:].T, arm).T)
    J: Any = np.concatenate(rows)
    L = J @ dynamics.mass_matrix_inverse(q) @ J.T
    b = np.tile(np.asarray(damping, np.float64), len(feet))
    k = np.tile((0.0, 0.0, float(stiffness)), len(feet))
    low, high = 0.0, 1.0
    while _largest(L, k, b, high) < 4.0:
        low, high = high, 2.0 * high
        if high > NEVER:
            return float("inf")
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _largest(L, k, b, middle) < 4.0 else (low, middle)
    return low


def _largest(L: Any, k: Any, b: Any, h: float) -> float:
    """The largest eigenvalue of L D, D diagonal, as that of a symmetric matrix."""
    root = np.sqrt(h * h * k + 2.0 * h * b)
    return float(np.linalg.eigvalsh(root[:, None] * L * root)[-1])


@dataclass(frozen=True)
class Ground:
    """A smooth ground under feet of a robot: a spring, a damper and a regularised friction at each foot.

    Functions of one's own call its methods. The equations are those of this module.
    feet: names of frames whose origins touch the ground, or `Foot(frame, point)`.
    stiffness k [N/m]: of the spring at each foot, upwards.
    damping c [s/m]: relative increase of the push on a foot that sinks at 1 m/s.
    friction mu [1]: largest ratio of the force along the ground to the push.
    slip eps [m/s]: at this velocity the force along the ground is 0.71 of its largest.
    blend w [m]: depth from which on the stiffness is k.
    height: a `Grid`; None is the plane z = 0.
    The five numbers can be symbols, which are inputs of a function. Errors: UnsupportedError, ShapeError.
    """

    feet: Sequence[str | Foot]
    stiffness: Any = 5e4
    damping: Any = 0.5
    friction: Any = 0.8
    slip: Any = 0.1
    blend: Any = 1e-3
    height: Grid | None = None

    NUMBERS: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "friction", "slip", "blend")
    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("damping", "friction")

    def __post_init__(self) -> None:
        object.__setattr__(self, "feet", feet_of(self.feet))
        check_values({name: getattr(self, name) for name in self.NUMBERS}, self.MAY_BE_ZERO)
        if not isinstance(self.height, Grid | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"Ground: height={self.height!r}; give a Grid, or None for the plane z = 0")

    def forces(self, at: State, heights: Any = None) -> Array:
        """Return the force on each foot (K, 3) [N], in world axes. heights (nx, ny) [m]: needed if there is a grid.

        ModelError for a foot that is no frame of the robot, or is fixed to the world.
        """
        return np.stack([self._force(foot, heights) for foot in self._placed(at)])

    def f_ext(self, at: State, heights: Any = None) -> Array:
        """Return the same forces as external forces (n_bodies, 6): `at.step(tau, dt, f_ext=ground.f_ext(at))`."""
        feet = self._placed(at)
        return on_bodies(at, feet, [self._force(foot, heights) for foot in feet])

    def energy(self, at: State, heights: Any = None) -> Array:
        """Return the energy in the springs of all feet () [J]."""
        depths = [self._surface(foot, heights)[0] for foot in self._placed(at)]
        return self.stiffness * np.sum(np.stack([ramp_integral(depth, self.blend) for depth in depths]))

    def step(self, robot: Robot, inputs: Sequence[str] = (), integrator: str = "semi_implicit_euler") -> UserFunction:
        """Return a time step of a robot on this ground, as a `UserFunction`: q, v, tau, dt -> q, v.

        If there is a grid, its heights (nx, ny) are the input `heights` after dt. Each name of inputs, of "stiffness",
        "damping", "friction", "slip" and "blend", is one more input, a number. Forces are those at the beginning of the
        step.
        """
        check_robot("Ground.step", robot)
        check_inputs(inputs, self.NUMBERS)
        return Step(self, tuple(inputs)).on(robot, integrator)

    def longest_step(self, robot: Robot, q: ArrayLike, load: float | None = None) -> float:
        """Return the longest dt [s] at which small motions on flat ground do not grow with "semi_implicit_euler".

        q (nq,). load [N]: on each foot; None is an equal share of the robot's weight. Infinite if no foot can move up
        and down, and none is damped. See docs/how-to/ground.md. Errors: ShapeError for several states; ModelError for a
        foot that is no frame; UnsupportedError for a ground whose numbers are symbols.
        """
        if open_numbers := [name for name in self.NUMBERS if isinstance(getattr(self, name), Symbols)]:
            raise UnsupportedError(f"longest_step: {open_numbers[0]} is a symbol; ask a ground with numbers")
        feet = tuple(foot for foot in self.feet if isinstance(foot, Foot))
        load = robot.mass * float(np.linalg.norm(robot.gravity)) / len(feet) if load is None else load
        check_values({"load": load}, ("load",))
        along = float(self.grip(load, np.zeros(3)))
        return longest_step(robot, feet, q, self.stiffness, (along, along, self.damping * load))

    def grip(self, push: Any, along: Any) -> Any:
        """Return the friction per velocity () [N s/m] of a foot under a push [N] normal to the ground.

        along (3,) [m/s]: the foot's velocity along the ground.
        """
        return self.friction * push / np.sqrt(along @ along + self.slip**2)

    def _placed(self, state: State) -> list[Placed]:
        return [placed(state, foot) for foot in self.feet if isinstance(foot, Foot)]

    def _surface(self, foot: Placed, heights: Any) -> tuple[Array, Array]:
        """The depth of a foot and N."""
        x, y, z = (foot.translation[k] for k in range(3))
        if self.height is None:
            if heights is not None:
                raise UnsupportedError("heights: this ground is the plane z = 0; say Ground(..., height=Grid(...))")
            return -z, np.array([0.0, 0.0, 1.0])
        if heights is None:
            raise ShapeError(f"heights are missing; give an array {self.height.shape} [m], the shape of the grid")
        height, by_x, by_y = self.height.height(heights, x, y)
        return height - z, np.stack([-by_x, -by_y, 1.0])

    def _force(self, foot: Placed, heights: Any) -> Array:
        depth, normal = self._surface(foot, heights)
        length2, rate = normal @ normal, normal @ foot.velocity
        push = self.stiffness * ramp(depth, self.blend) * ramp(1.5 - self.damping * rate, 1.0)
        along = foot.velocity - normal * (rate / length2)
        return push * normal - self.grip(push * np.sqrt(length2), along) * along


@dataclass(frozen=True)
class Step:
    """The step of a ground as a user's function; inputs: which of its numbers come with each state."""

    ground: Ground
    inputs: tuple[str, ...]
    __name__ = "ground_step"

    def __call__(self, state: State, tau: Any, dt: Any, heights: Any = None, **numbers: Any) -> dict[str, Any]:
        after = state.step(tau, dt, f_ext=replace(self.ground, **numbers).f_ext(state, heights))
        return {"q": after.q, "v": after.v}

    def on(self, robot: Robot, integrator: str) -> UserFunction:
        """Traced."""
        grid = self.ground.height
        sizes: dict[str, Any] = {"q": "nq", "v": "nv", "tau": "nv", "dt": ()}
        sizes |= {} if grid is None else {"heights": grid.shape}
        return robot.function(self, sizes | dict.fromkeys(self.inputs, ()), integrator=integrator)
