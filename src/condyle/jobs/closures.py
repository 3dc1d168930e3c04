"""States that close loops: q by damped Gauss-Newton steps on the errors of contacts, v by projection.

With e(q) the errors and J the Jacobian of all contacts, J^T e is the gradient of e^T e / 2, and a step is

    dq = -J^T (J J^T + mu |e| I)^-1 e,

the least change of q that closes the loops to first order; mu falls where a step makes |e| smaller and grows where it
does not, state by state. Contacts that depend on each other, as those of a plane linkage do, need nothing more.
Levenberg 1944; Fan, Yuan 2005 (quadratic convergence with the damping mu |e|, J of any rank).

Directions of e count as held as in the dynamics: with S the scales of the rows (`contacts.scales`), those along which
S^-1/2 J M^-1/2 has a singular value above `HELD`. The others are rounding of the model's digits: no step is taken for
them alone, and velocities may have them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.algorithms.contact_forces import MU, SHARE
from condyle.algorithms.contacts import LINEAR, scales
from condyle.calls.dynamics import Dynamics
from condyle.errors import ModelError, StateError, UnsupportedError
from condyle.functions.constraints import CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN
from condyle.functions.dynamics import MASS_MATRIX
from condyle.model.contact import Contact
from condyle.model.named import suggest
from condyle.model.robot import Robot
from condyle.model.state import configurations, velocities
from condyle.model.tree import Tree, tree_of
from condyle.specification import UNBOUND
from condyle.text import few

Reals = NDArray[np.float64]

FIRST, LESS, MORE, LARGEST = 1.0, 0.1, 8.0, 1e12
"""Damping: at the start, after a step that was good and after one that was not, and where a state is given up."""
ROUNDING = 1e-13
HELD = math.sqrt(SHARE * MU)
"""As for the dynamics, where the damping of a row that is only rounding is `SHARE` `MU` times its scale."""
RANK, TINY = 1e-10, 1e-300
"""Singular values below, of the largest, are zero."""
SLOW, LEAST = 0.9, 1e-3
"""A step that leaves more of |e| is slow; e is least where no more of it is in directions that are held."""
_SHOWN = 3


def check_held(called: str, contacts: Sequence[Contact]) -> None:
    """UnsupportedError where there is no contact, and for one that does not say where it is held."""
    if not contacts:
        raise UnsupportedError(f"{called}: this robot has no loops: its `contacts` are empty; name some with contacts=")
    for one in contacts:
        if one.other is None and one.anchor is None:
            raise UnsupportedError(f"close: {one.title} is held nowhere: give it an anchor, a Placement in the world")


class _Held(NamedTuple):
    """M; S^-1/2 as a factor of each row; the unit vectors of rows that are held, as columns, zero where not."""

    M: Reals
    scaled: Reals
    axes: Reals


@dataclass(frozen=True)
class ClosedLoops:
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
        self._check_closed(found, errors, moves, tolerance, iterations, fixed)
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
            after = np.linalg.norm(left, axis=1)
            good = after < size
            q[todo[good]], errors[todo[good]] = tried[good], left[good]
            damping[todo] *= np.where(good, LESS, MORE)
            slow_or_closed = (after > SLOW * size) | (np.abs(errors[todo]).max(axis=1) <= tolerance)
            near = todo[slow_or_closed]
            damping[near[self._is_rounding(q[near], errors[near], moves)]] = LARGEST
        return errors

    def _is_rounding(self, q: Reals, errors: Reals, moves: Reals) -> NDArray[np.bool_]:
        """Whether errors are least, (n,), and no larger than what cut digits of the model leave open."""
        reach = [
            one.reach if row < LINEAR and one.reach < math.inf else 1.0
            for one in self._tree.contacts
            for row in one.rows
        ]
        return (np.abs(errors) <= HELD * np.array(reach)).all(axis=1) & self._is_least(q, errors, moves)

    def _is_least(self, q: Reals, errors: Reals, moves: Reals) -> NDArray[np.bool_]:
        """Whether no direction that is held makes the errors much smaller, (n,)."""
        held = self._held(q, moves)
        e = held.scaled * errors
        return np.linalg.norm(_times(_turned(held.axes), e), axis=1) <= LEAST * np.linalg.norm(e, axis=1)

    def _held(self, q: Reals, moves: Reals) -> _Held:
        J, M = self._jacobian(q) * moves, np.array(self.dyn.call(MASS_MATRIX, (q,))[0], np.float64)
        sizes, axes = np.linalg.eigh(M)
        sizes = np.maximum(sizes, RANK * sizes.max(axis=-1, keepdims=True, initial=0.0) + TINY)  # bodies without mass
        A = (J @ axes) / np.sqrt(sizes)[..., None, :]
        largest = np.square(A).sum(axis=-1).max(axis=-1, keepdims=True, initial=0.0) + TINY
        constant = np.array(scales(self._tree))
        scaled = 1.0 / np.sqrt(np.where(constant > 0.0, constant, largest))
        rows, moved, _ = np.linalg.svd(scaled[..., None] * A, full_matrices=False)
        return _Held(M, scaled, rows * (moved > HELD)[..., None, :])

    @cached_property
    def _tree(self) -> Tree:
        return tree_of(self.robot, UNBOUND._replace(contacts=self.contacts))

    def project(self, q: ArrayLike, v: ArrayLike, fixed: Sequence[str]) -> NDArray[np.floating]:
        """See `condyle.Robot.close_velocity`."""
        q64, _ = configurations(self.robot, q)
        v64, kind = velocities(self.robot, v)
        self.robot.check_state(q, v)
        moves, J = self._moving(fixed), self._jacobian(q64)
        held = self._held(q64, moves)
        kept = _turned(held.axes) @ (held.scaled[..., None] * J)
        back = np.asarray(np.linalg.pinv(kept * moves, rcond=RANK), np.float64)
        found = v64 - _times(back, _times(kept, v64))
        energy = (found * _times(held.M, found)).sum(axis=-1, keepdims=True)
        allowed = 1e-9 * (1.0 + float(np.abs(v64).max(initial=0.0))) + 2.0 * HELD * np.sqrt(energy) / held.scaled
        left, allowed = (np.reshape(x, (-1, J.shape[-2])) for x in (_times(J, found), allowed))
        open_ = ~(np.abs(left) <= allowed)
        if open_.any():
            head = f"velocities that open loops; give another v{_fewer(fixed)}"
            raise StateError("\n".join([head, *self._lines(left, open_, "m/s, rad/s")]), _numbers(open_))
        return found.astype(kind, copy=False)

    def _errors(self, q: Reals) -> Reals:
        return np.array(self.dyn.call(CONSTRAINT_ERRORS, (q,))[0], np.float64)

    def _jacobian(self, q: Reals) -> Reals:
        return np.array(self.dyn.call(CONSTRAINT_JACOBIAN, (q,))[0], np.float64)

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

    def _check_closed(
        self, q: Reals, errors: Reals, moves: Reals, tolerance: float, iterations: int, fixed: Sequence[str]
    ) -> None:
        """StateError that names the contacts which stay open, by how much, in which states, and why."""
        still_open = ~(np.abs(errors) <= tolerance)
        bad = np.flatnonzero(still_open.any(axis=1))
        if not bad.size:
            return
        least = np.zeros(len(q), np.bool_)
        least[bad] = self._is_least(q[bad], errors[bad], moves)
        most = 2.0 * float(np.abs(errors[least]).max(initial=0.0))
        small = f"if they are small enough, as where a file's digits are cut off, give tolerance={most:.0e}"
        heads = (
            f"loops that no q near this one closes: their errors are least there; {small}; else correct the lengths",
            f"loops not closed to tolerance={tolerance:g} [m, rad] by iterations={iterations} steps; give more",
        )
        lines: list[str] = []
        for which, head in zip((least, ~least), heads, strict=True):
            mine = still_open & which[:, None]
            if mine.any():
                lines.append(f"{head}, or start from another q{_fewer(fixed)}")
                lines += self._lines(errors, mine, "m, rad")
        raise StateError("\n".join(lines), _numbers(still_open))

    def _lines(self, errors: Reals, open_: NDArray[np.bool_], unit: str) -> list[str]:
        """A line for each contact that is open: by how much, in which states."""
        lines: list[str] = []
        at = 0
        for one in self.contacts:
            rows = slice(at, at + len(one.rows))
            at += len(one.rows)
            states = _numbers(open_[:, rows])
            if states:
                by = float(np.abs(errors[list(states), rows]).max())
                named = few([str(state) for state in states], _SHOWN)
                lines.append(f"{one.title} ({one.kind}) stays open by {by:.3g} ({unit}), in states {named}")
        return lines


def _numbers(open_: NDArray[np.bool_]) -> tuple[int, ...]:
    """The states with an open row."""
    return tuple(np.flatnonzero(open_.any(axis=1)).tolist())


def _fewer(fixed: Sequence[str]) -> str:
    return f", or fix fewer joints than {', '.join(map(repr, fixed))}" if fixed else ""


def _turned(matrix: Reals) -> Reals:
    return np.swapaxes(matrix, -1, -2)


def _times(matrix: Reals, vector: Reals) -> Reals:
    return (matrix @ vector[..., None])[..., 0]
