"""A hard plane under contact points of a robot, which push, stick and slip: steps by `contact_solve`.

With N the unit normal, x_k the contact points and d the plane's offset,

    gap_k = N.x_k - d,    v_next by `contact_solve` with N and the gaps,    q_next = q (+) dt v_next.

A point may come down to the plane within a step and no further (Stewart, Trinkle 1996; Anitescu, Potra 1997). Where it
is in the plane already it leaves it with `recovery` times the depth, not faster than in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from condyle.errors import UnsupportedError
from condyle.ground.checks import is_number, numbers
from condyle.ground.feet import Array
from condyle.symbolic import Symbols
from condyle.symbolic.entries import numpy as np
from condyle.user.state import State

if TYPE_CHECKING:
    from condyle.api import Robot
    from condyle.model.contact import Contact
    from condyle.user import UserFunction

VALUES = {"normal": (3,), "offset": (), "recovery": ()}


@dataclass(frozen=True)
class Plane:
    """A plane; its methods are called inside of functions of one's own that have contacts.

    normal (3,): from the ground to the robot, in the world's axes, of any length but zero. offset [m]: the distance of
    the plane from the world's origin along the normal. recovery [1/s]: how fast a depth is given back, as a part of it.
    All may be symbols, inputs of a function. UnsupportedError for what they cannot be.
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
        """How far contacts are above the plane (C,) [m]; negative: in it. UnsupportedError where it has none."""
        if not at.contacts:
            raise UnsupportedError("Plane: the function has no contacts; give contacts= to robot.function, or to step")
        normal = self._normal
        return np.stack([normal @ _point(at, one) - self.offset for one in at.contacts])

    def contact_solve(self, at: State, tau: Any, dt: Any, friction: Any, **more: Any) -> Any:
        """v after dt, impulses (C, 3) [N s] in the world's axes, residual [m/s]: contacts are on where they meet it.

        friction: one number, or one a contact (C,). more: what `contact_solve` takes besides, such as `impulse0`.
        """
        count, gaps = len(at.contacts), self.gaps(at)
        kept = np.where(gaps >= 0.0, gaps, np.minimum(self.recovery * dt, 1.0) * gaps)
        ones = np.ones(count)
        normals = {} if self._is_level else {"normals": np.stack([self._normal] * count)}
        return at.contact_solve(tau, ones, dt, friction * ones, gaps=kept, **normals, **more)

    def step(self, robot: Robot, contacts: Sequence[Contact], inputs: Sequence[str] = ()) -> UserFunction:
        """A step of time, a function of the user's kind: q, v, tau, dt, friction -> q, v, impulse, residual.

        friction (): of all contacts, which are points. Behind it comes each name of `inputs`, of "normal" (3),
        "offset", "recovery". Semi-implicit: q moves with the v after the step.
        """
        if unknown := [name for name in inputs if name not in VALUES]:
            raise UnsupportedError(f"inputs: {unknown[0]!r}; allowed is {', '.join(map(repr, VALUES))}")
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


def _point(at: State, contact: Contact) -> Array:
    """Where a contact is in the world (3,)."""
    frame = at.frame(contact.frame)
    return frame.translation + frame.rotation @ contact.placed.translation


@dataclass(frozen=True)
class PlaneStep:
    """The step of a plane as a user's function."""

    plane: Plane
    __name__ = "plane_step"

    def __call__(self, at: State, tau: Any, dt: Any, friction: Any, **values: Any) -> dict[str, Any]:
        solved = replace(self.plane, **values).contact_solve(at, tau, dt, friction)
        moved = at.moved_to(at.q, solved.v).integrate(dt * solved.v)
        return {"q": moved, "v": solved.v, "impulse": solved.impulse, "residual": solved.residual}
