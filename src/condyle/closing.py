"""States that close loops: q by damped Gauss-Newton steps on the errors of contacts, v by projection.

With e(q) the errors and J the Jacobian of all contacts, J^T e is the gradient of e^T e / 2, and a step is

    dq = -J^T (J J^T + mu |e| I)^-1 e,

the least change of q that closes the loops to first order; mu falls where a step makes |e| smaller and grows where it
does not, state by state. Contacts that depend on each other, as those of a plane linkage do, need nothing more.
Levenberg 1944; Fan, Yuan 2005 (quadratic convergence with the damping mu |e|, J of any rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.dynamics import Dynamics
from condyle.errors import ModelError, StateError, UnsupportedError
from condyle.model.change import suggest
from condyle.model.contact import Contact
from condyle.model.robot import Robot
from condyle.model.state import configurations, velocities
from condyle.text import few

Reals = NDArray[np.float64]

FIRST, LESS, MORE, LARGEST = 1.0, 0.1, 8.0, 1e12
"""Damping: at the start, after a step that was good and after one that was not, and where a state is given up."""
ROUNDING = 1e-13
RANK = 1e-10
"""Directions that J moves by less, of the largest, are taken as held."""
_SHOWN = 3


def check_held(called: str, contacts: Sequence[Contact]) -> None:
    """UnsupportedError where there is no contact, and for one that does not say where it is held."""
    if not contacts:
        raise UnsupportedError(f"{called}: this robot has no loops: its `contacts` are empty; name some with contacts=")
    for one in contacts:
        if one.other is None and one.anchor is None:
            raise UnsupportedError(f"close: {one.title} is held nowhere: give it an anchor, a Placement in the world")


@dataclass(frozen=True)
class Loops:
    """The loops of a robot. dyn: its functions, of float64 and with these contacts."""

    robot: Robot
    contacts: tuple[Contact, ...]
    dyn: Dynamics

    def close(self, q: ArrayLike, fixed: Sequence[str], tolerance: float, iterations: int) -> NDArray[np.floating]:
        """See `condyle.Robot.close`."""
        start, kind = configurations(self.robot, q)
        self.robot.check_state(np.asarray(q))
        moves = self._moving(fixed)
        if not (np.isfinite(tolerance) and tolerance > 0.0):
            raise UnsupportedError(f"close: tolerance={tolerance!r}, expected a number above zero [m, rad]")
        found = np.array(np.reshape(self.robot.normalize(start), (-1, self.robot.nq)), np.float64)
        errors = self._descend(found, moves, tolerance, iterations)
        self._check_closed(errors, tolerance, fixed)
        return np.reshape(found, start.shape).astype(kind, copy=False)

    def _descend(self, q: Reals, moves: Reals, tolerance: float, iterations: int) -> Reals:
        """Moves q (n, nq) in place; what is left of the errors, (n, rows)."""
        errors = self._errors(q)
        damping = np.full(len(q), FIRST)
        best = 1e-3 * tolerance  # a step more than needed costs little and gains many digits
        for _ in range(iterations):
            todo = np.flatnonzero((np.abs(errors).max(axis=1) > best) & (damping < LARGEST))
            if not todo.size:
                break
            e = errors[todo]
            size = np.linalg.norm(e, axis=1)
            J = self._jacobian(q[todo]) * moves
            back = np.swapaxes(J, 1, 2)
            square = J @ back
            least = ROUNDING * np.trace(square, axis1=1, axis2=2)  # of rows that depend on each other
            damped = square + (damping[todo] * size + least)[:, None, None] * np.eye(e.shape[1])
            pull = np.asarray(np.linalg.solve(damped, e[..., None])[..., 0], np.float64)
            steps = _times(back, -pull)
            tried = np.asarray(self.robot.integrate(q[todo], steps), np.float64)
            left = self._errors(tried)
            good = np.linalg.norm(left, axis=1) < size
            q[todo[good]], errors[todo[good]] = tried[good], left[good]
            damping[todo] *= np.where(good, LESS, MORE)
        return errors

    def project(self, q: ArrayLike, v: ArrayLike, fixed: Sequence[str]) -> NDArray[np.floating]:
        """See `condyle.Robot.close_velocity`."""
        q64, _ = configurations(self.robot, q)
        v64, kind = velocities(self.robot, v)
        self.robot.check_state(q, v)
        moves = self._moving(fixed)
        J = self._jacobian(q64)
        back = np.asarray(np.linalg.pinv(J * moves, rcond=RANK), np.float64)
        found = v64 - _times(back, _times(J, v64))
        left: Reals = np.reshape(_times(J, found), (-1, J.shape[-2]))
        self._check_closed(left, 1e-9 * (1.0 + float(np.abs(v64).max(initial=0.0))), fixed, "m/s, rad/s")
        return found.astype(kind, copy=False)

    def _errors(self, q: Reals) -> Reals:
        return np.array(self.dyn.call("cerr", (q,))[0], np.float64)

    def _jacobian(self, q: Reals) -> Reals:
        return np.array(self.dyn.call("cjac", (q,))[0], np.float64)

    def _moving(self, fixed: Sequence[str]) -> Reals:
        """1 for the entries of v that may change, 0 for those of joints that may not."""
        if isinstance(fixed, str):
            raise ModelError(f"close: fixed={fixed!r}: give a list of names of joints, such as ({fixed!r},)")
        if not isinstance(fixed, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"close: fixed={fixed!r}: give a list of names of joints, () where all may move")
        moves = np.ones(self.robot.nv)
        for name in fixed:
            if name not in self.robot.joint_names:
                raise ModelError(f"close: there is no joint {name!r}{suggest(str(name), self.robot.joint_names)}")
            joint = self.robot.joint(name)
            if joint.mimic is not None:
                master = self.robot.joints[joint.mimic.joint].name
                raise ModelError(f"close: joint {name!r} mimics {master!r}: name {master!r} instead")
            moves[joint.v_slice] = 0.0
        return moves

    def _check_closed(self, errors: Reals, tolerance: float, fixed: Sequence[str], unit: str = "m, rad") -> None:
        """StateError that names the contacts which stay open, by how much and in which states."""
        bad = ~(np.abs(errors).max(axis=1, initial=0.0) <= tolerance)
        if not bad.any():
            return
        lines: list[str] = []
        at = 0
        for one in self.contacts:
            own = np.abs(errors[:, at : at + len(one.rows)]).max(axis=1)
            at += len(one.rows)
            rows = np.flatnonzero(~(own <= tolerance))
            if rows.size:
                named = few([str(row) for row in rows], _SHOWN)
                lines.append(
                    f"{one.title} ({one.kind}) stays open by {own[rows].max():.3g} ({unit}), in states {named}"
                )
        hint = f", or fix fewer joints than {', '.join(map(repr, fixed))}" if fixed else ""
        head = f"loops that cannot be closed from here; start from another q{hint}"
        raise StateError("\n".join([head, *lines]), tuple(np.flatnonzero(bad).tolist()))


def _times(matrix: Reals, vector: Reals) -> Reals:
    return (matrix @ vector[..., None])[..., 0]
