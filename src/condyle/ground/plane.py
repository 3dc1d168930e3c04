"""A hard plane under contact points of a robot, which push, stick and slip: steps by `contact_solve`.

With N the unit normal, x_k the contact points and d the plane's offset,

    gap_k = N.x_k - d,    v_next by `contact_solve` with N and the gaps,

and q and v move by semi-implicit Euler with v_next in place of v + dt a.

A point may come down to the plane within a step and no further (Stewart, Trinkle 1996; Anitescu, Potra 1997). Where it
is in the plane already it leaves it with `recovery` times the depth, not faster than in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from condyle.compile.options import check_robot
from condyle.errors import UnsupportedError
from condyle.ground.checks import check_inputs, is_number, numbers
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
