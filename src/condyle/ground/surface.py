"""Heights of the ground from a grid of numbers: a bicubic B-spline surface.

Kernels cannot take an entry by an index that differs from state to state, so every node of the grid has its weight in
every state, zero for most: weights of x and y apart, and products with the grid for each foot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from condyle.compile.options import check_robot
from condyle.errors import ShapeError, UnsupportedError
from condyle.ground.feet import Array, check_inputs, is_number, numbers
from condyle.symbolic import Symbols
from condyle.symbolic.comparisons import numpy as np
from condyle.user.state import State

if TYPE_CHECKING:
    from condyle.api import Robot
    from condyle.model.contact import Contact
    from condyle.user import UserFunction


MOST = 64
"""Nodes along one axis: above this the weights alone are longer than a robot's dynamics."""


@dataclass(frozen=True)
class Grid:
    """The nodes of a height field; the heights themselves are given with each state.

    shape: numbers of nodes along x and y, 2 to 64 each. spacing [m]: between neighbours along x and y, or one number
    for both. origin [m]: x and y of node (0, 0). Heights (nx, ny) [m] are the control values of a uniform bicubic
    B-spline: slopes and curvatures are continuous; a plane is exact from one node inside the border on; a bump of one
    node has 4/9 of its height. Outside the grid the ground continues at the heights of its border. Errors: ShapeError,
    UnsupportedError.
    """

    shape: tuple[int, int]
    spacing: float | tuple[float, float] = 1.0
    origin: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        shape, origin = numbers(self.shape, 2), numbers(self.origin, 2)
        if shape is None or not all(n == int(n) and 2 <= n <= MOST for n in shape):
            raise ShapeError(f"Grid: shape={self.shape!r}; give the nodes along x and y, 2 to {MOST} each: (8, 8)")
        spacing = numbers((self.spacing, self.spacing) if is_number(self.spacing) else self.spacing, 2)
        if spacing is None or min(spacing) <= 0.0:
            raise UnsupportedError(f"Grid: spacing={self.spacing!r}; give a positive number of metres, or two")
        if origin is None:
            raise UnsupportedError(f"Grid: origin={self.origin!r}; give x and y of node (0, 0) in metres")
        object.__setattr__(self, "shape", (int(shape[0]), int(shape[1])))
        object.__setattr__(self, "spacing", spacing)
        object.__setattr__(self, "origin", origin)

    @property
    def spacings(self) -> tuple[float, float]:
        """Along x and along y [m]."""
        assert isinstance(self.spacing, tuple)  # made so at the beginning
        return self.spacing

    @property
    def nodes(self) -> tuple[Any, Any]:
        """x (nx,) and y (ny,) of the nodes [m]."""
        x, y = (o + d * np.arange(n) for o, d, n in zip(self.origin, self.spacings, self.shape, strict=True))
        return x, y

    def height(self, heights: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return the height [m] at x, y [m] and its derivatives by x and y; heights (nx, ny) [m]. ShapeError."""
        heights = heights if isinstance(heights, Symbols) else np.asarray(heights, np.float64)
        if heights.shape != self.shape:
            raise ShapeError(f"heights have shape {heights.shape}, expected {self.shape}, that of the grid")
        dx, dy = self.spacings
        along, slope = weights((x - self.origin[0]) / dx, self.shape[0])
        across, tilt = weights((y - self.origin[1]) / dy, self.shape[1])
        rows = heights @ across
        return along @ rows, (slope @ rows) / dx, (along @ (heights @ tilt)) / dy


def weights(place: Any, n: int) -> tuple[Any, Any]:
    """The weight (n,) of each node at a place in units of their spacing, and its derivative by the place.

    The row of nodes goes on beyond both ends, at the heights of the ends; two such nodes suffice where places are
    clipped, and there all derivatives are zero already.
    """
    place = np.clip(place, -1.0, float(n))
    values, slopes = zip(*(_basis(place - float(k)) for k in range(-2, n + 2)), strict=True)
    return _folded(values), _folded(slopes)


def _folded(entries: tuple[Any, ...]) -> Any:
    """What belongs to nodes beyond the ends is the ends'."""
    return np.stack([entries[0] + entries[1] + entries[2], *entries[3:-3], entries[-3] + entries[-2] + entries[-1]])


def _basis(t: Any) -> tuple[Any, Any]:
    """The cubic B-spline of unit spacing around 0, ((2 - |t|)^3 - 4 (1 - |t|)^3) / 6, and its derivative.

    A bracket counts where it is positive.
    """
    c, e = np.clip(t, -2.0, 2.0), np.clip(t, -1.0, 1.0)
    far, near = np.abs(c), np.abs(e)
    value = ((2.0 - far) ** 3 - 4.0 * (1.0 - near) ** 3) / 6.0
    return value, e * (2.0 * near - 4.0) + c * (2.0 - 0.5 * far)


# A hard plane under contact points of a robot, which push, stick and slip: steps by `contact_solve`.
#
# With N the unit normal, x_k the contact points and d the plane's offset,
#
#     gap_k = N.x_k - d,    v_next by `contact_solve` with N and the gaps,
#
# and q and v move by semi-implicit Euler with v_next in place of v + dt a.
#
# A point may come down to the plane within a step and no further (Stewart, Trinkle 1996; Anitescu, Potra 1997). Where
# it is in the plane already it leaves it with `recovery` times the depth, not faster than in one step.


VALUES = {"normal": (3,), "offset": (), "recovery": ()}


@dataclass(frozen=True)
class Plane:
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
        rate = self.recovery
        if not isinstance(rate, Symbols) and not (is_number(rate) and rate >= 0.0):
            raise UnsupportedError(f"Plane: recovery={rate!r}; give zero or a positive number, 1/s")

    def gaps(self, at: State) -> Array:
        """Return the distance of each contact from the plane (C,) [m]; negative: penetration. UnsupportedError without
        contacts.
        """
        if not at.contacts:
            raise UnsupportedError("Plane: the function has no contacts; give contacts= to robot.function, or to step")
        normal = self._normal
        return np.stack([normal @ _point(at, one) - self.offset for one in at.contacts])

    def contact_solve(self, at: State, tau: Any, dt: Any, friction: Any, **more: Any) -> Any:
        """Return v after dt, impulses (C, 3) [N s] in world axes, and the residual [m/s]; all contacts can touch the
        plane.

        friction: one number, or one for each contact (C,). more: other arguments of `contact_solve`, such as
        `impulse0`.
        """
        count, gaps = len(at.contacts), self.gaps(at)
        kept = np.where(gaps >= 0.0, gaps, np.minimum(self.recovery * dt, 1.0) * gaps)
        ones = np.ones(count)
        normals = {} if self._is_level else {"normals": np.stack([self._normal] * count)}
        return at.contact_solve(tau, ones, dt, friction * ones, gaps=kept, **normals, **more)

    def step(self, robot: Robot, contacts: Sequence[Contact], inputs: Sequence[str] = ()) -> UserFunction:
        """Return a time step as a `UserFunction`: q, v, tau, dt, friction -> q, v, impulse, residual.

        contacts: points. friction (): of all of them. Each name of inputs, of "normal" (3), "offset" and "recovery", is
        one more input. Semi-implicit: q moves with the v after the step.
        """
        check_robot("Plane.step", robot)
        check_inputs(inputs, VALUES)
        sizes: dict[str, Any] = {"q": "nq", "v": "nv", "tau": "nv", "dt": (), "friction": ()}
        return robot.function(PlaneStep(self), sizes | {name: VALUES[name] for name in inputs}, contacts=contacts)

    @property
    def _is_level(self) -> bool:
        """Whether it is known to be what `contact_solve` takes where no normals are given."""
        return not isinstance(self.normal, Symbols) and self.normal[:2] == (0.0, 0.0) and self.normal[2] > 0.0

    @property
    def _normal(self) -> Array:
        """Of length 1."""
        normal = np.asarray(self.normal) if not isinstance(self.normal, Symbols) else self.normal
        return normal / np.sqrt(normal @ normal)


def _point(state: State, contact: Contact) -> Array:
    """Where a contact is in the world (3,)."""
    frame = state.frame(contact.frame)
    return frame.translation + frame.rotation @ contact.placed.translation


@dataclass(frozen=True)
class PlaneStep:
    """The step of a plane as a user's function."""

    plane: Plane
    __name__ = "plane_step"

    def __call__(self, state: State, tau: Any, dt: Any, friction: Any, **values: Any) -> dict[str, Any]:
        solved = replace(self.plane, **values).contact_solve(state, tau, dt, friction)
        after = state.stepped(solved.v, dt)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse, "residual": solved.residual}


# What is zero on one side and grows like x on the other, smoothly.


def ramp(x: Any, width: Any) -> Any:
    """0 for x <= 0, x - width / 2 for x >= width; between them its slope is s^2 (3 - 2 s), s = x / width.

    First and second derivatives are continuous; it never falls.
    """
    s = np.clip(x / width, 0.0, 1.0)
    return width * s**3 * (1.0 - 0.5 * s) + np.maximum(x - width, 0.0)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from 0 to x."""
    s, rest = np.clip(x / width, 0.0, 1.0), np.maximum(x - width, 0.0)
    return width**2 * s**4 * (0.25 - 0.1 * s) + 0.5 * rest * (width + rest)
