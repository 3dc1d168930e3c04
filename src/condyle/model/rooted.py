"""A floating robot held by another link: states and answers mapped between the two roots.

Both describe one motion. With v' = T(q) v: tau = T^T tau', M = T^T M' T, M^-1 = T^-1 M'^-1 T^-T, a' = T a + (dT/dt) v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.model.array import bracket, motion_matrix, transpose
from condyle.model.change import check_rotors, pose
from condyle.model.parts import Joint
from condyle.model.placement import IDENTITY, Placement, alignment
from condyle.model.robot import Permutation, Robot

Reals = NDArray[np.float64]


class Motion(NamedTuple):
    """Of the new root's frame at one state: where it stands, its twist as J v, and what a = 0 leaves of (dJ/dt) v."""

    placement: Placement
    jacobian: Reals
    bias: Reals


@dataclass(frozen=True)
class Rooted:
    """robot: as the user has it. turned: the same held by `link`, whose quantities have a prime. States are rows."""

    robot: Robot
    turned: Robot
    link: str

    @classmethod
    def of(cls, robot: Robot, link: str) -> Rooted:
        """UnsupportedError where `check_movable` says so."""
        check_movable(robot, link)
        return cls(robot, robot.reroot(link), link)

    def state(self, q: Reals, v: Reals, a: Reals | None = None) -> tuple[Reals, Reals, Reals]:
        """q', v', a' of q (n, nq), v (n, nv) and a, by default zero."""
        n = len(q)
        there = np.empty((n, self.turned.nq))
        order = self._order()
        for k in range(n):
            placement = self._placed(self._motion(q[k], v[k]).placement)
            there[k] = q[k, order.q]
            there[k, :7] = np.concatenate((placement.translation, _quaternion(placement.rotation)))
        moved, bias = self.transform(q, v)
        a = np.zeros_like(v) if a is None else a
        return there, _times(moved, v), _times(moved, a) + bias

    def transform(self, q: Reals, v: Reals) -> tuple[Reals, Reals]:
        """T (n, nv, nv) and (dT/dt) v (n, nv)."""
        order = self._order().v
        moved, bias = np.zeros((len(q), self.robot.nv, self.robot.nv)), np.zeros_like(v)
        for k in range(len(q)):
            _, jacobian, left = self._motion(q[k], v[k])
            moved[k, np.arange(self.robot.nv), order] = 1.0
            moved[k, :6], bias[k, :6] = jacobian, left
        return moved, bias

    def depths(self) -> NDArray[np.intp]:
        """For each degree of freedom how far its joint stands on the way from the old root to the new one."""
        found = np.zeros(self.robot.nv, np.intp)
        for depth, i in enumerate(self._path()):
            found[self.robot.joints[i].v_slice] = depth
        return found

    def force(self, q: Reals, tau: Reals) -> Reals:
        """tau of tau'."""
        return _times(np.swapaxes(self._transform(q), 1, 2), tau)

    def force_there(self, q: Reals, tau: Reals) -> Reals:
        """tau' of tau."""
        return np.asarray(np.linalg.solve(np.swapaxes(self._transform(q), 1, 2), tau[..., None])[..., 0], np.float64)

    def acceleration(self, q: Reals, v: Reals, a: Reals) -> Reals:
        """a of a'."""
        moved, bias = self.transform(q, v)
        return np.asarray(np.linalg.solve(moved, (a - bias)[..., None])[..., 0], np.float64)

    def mass(self, q: Reals, mass: Reals) -> Reals:
        """M of M' (n, nv, nv)."""
        moved = self._transform(q)
        return np.swapaxes(moved, 1, 2) @ mass @ moved

    def inverse(self, q: Reals, inverse: Reals) -> Reals:
        """M^-1 of M'^-1 (n, nv, nv)."""
        back = np.linalg.inv(self._transform(q))
        return back @ inverse @ np.swapaxes(back, 1, 2)

    def _transform(self, q: Reals) -> Reals:
        return self.transform(q, np.zeros((len(q), self.robot.nv)))[0]

    def _order(self) -> Permutation:
        """Where the turned robot's coordinates stand in the robot's own."""
        return self.turned.permutation(self.robot)

    def _placed(self, placement: Placement) -> Placement:
        """In the frame that the free joint starts from."""
        return self.turned.joints[0].placement.inverse().compose(placement)

    def _motion(self, q: Reals, v: Reals) -> Motion:
        found = Motion(IDENTITY, np.zeros((6, self.robot.nv)), np.zeros(6))
        for i in self._path():
            found = _stepped(found, self.robot.joints[i], q, v)
        return _carried(found, self.robot.frames[self.link].placement)

    def _path(self) -> list[int]:
        """The joints from the old root to the new one."""
        path: list[int] = []
        at = self.robot.frames[self.link].body
        while at >= 0:
            path.append(at)
            at = self.robot.joints[at].parent
        return path[::-1]


def check_movable(robot: Robot, link: str) -> None:
    """UnsupportedError for a robot without a floating base, with armature on it, or with mimic joints."""
    if not robot.joints or not robot.joints[0].kind.is_free:
        raise UnsupportedError(f"root={link!r}: only a floating base can be moved (floating_base=True)")
    check_rotors(robot.joints[0])
    if any(joint.mimic is not None for joint in robot.joints):
        raise UnsupportedError(f"root={link!r}: not with mimic joints; lock them, or take mimic='independent'")


def _stepped(parent: Motion, joint: Joint, q: Reals, v: Reals) -> Motion:
    """The motion of a joint's body from that of its parent."""
    carried = _carried(parent, pose(joint, q[joint.q_slice]))
    pairs = joint.kind.subspace(joint.pitch or 0.0)
    columns: Reals = np.array([(*linear, *angular) for linear, angular in pairs], dtype=np.float64)
    own: Reals = _twist(joint.after) @ np.kron(np.eye(2), alignment(joint.axis)) @ transpose(columns)
    jacobian: Reals = np.array(carried.jacobian, dtype=np.float64)
    jacobian[:, joint.v_slice] += own
    return Motion(carried.placement, jacobian, carried.bias + bracket(jacobian @ v, own @ v[joint.v_slice]))


def _carried(parent: Motion, placement: Placement) -> Motion:
    """The motion of a frame fixed to a body."""
    there = _twist(placement)
    return Motion(parent.placement.compose(placement), there @ parent.jacobian, there @ parent.bias)


def _twist(placement: Placement) -> Reals:
    """Takes [linear; angular] of a frame to that of a frame that stands so in it."""
    return motion_matrix(transpose(placement.rotation), placement.translation)


def _quaternion(r: Reals) -> Reals:
    """x y z w of a rotation matrix: the leading eigenvector of Bar-Itzhack's matrix."""
    k = np.zeros((4, 4))
    k[:3, :3] = r + transpose(r) - np.trace(r) * np.eye(3)
    k[3, :3] = k[:3, 3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[3, 3] = np.trace(r)
    found: Reals = np.linalg.eigh(k)[1][:, 3]
    return found if found[3] >= 0 else -found


def _times(matrix: Reals, x: Reals) -> Reals:
    return (matrix @ x[..., None])[..., 0]


# Derivatives of dynamics mapped between the roots of a floating robot.
#
# Both describe one motion (`rooted`): v' = T v, a' = T a + b, tau = Tᵀ tau'. The rows of T that differ from a
# permutation are the Jacobian J of the new root's frame. In that frame's axes a joint k of the path turns the column of
# each joint j before it:
#
#     dJ_j/dq_k = [J_j, J_k],  B(x) = d(J x)/dq: column k is [sum over j before k of J_j x_j, J_k],  b = B(v) v
#
# with the bracket of twists; by Jacobi's identity db/dq follows the same way. q is differentiated along the local
# motion that v is. With F column by column (dTᵀ/dq_k) tau', everything with the new root primed:
#
#     dtau/dq = F + Tᵀ (dtau'/dq' T + dtau'/dv' B(v) + M' (B(a) + db/dq))     dtau/dv = Tᵀ (dtau'/dv' T + M' db/dv)
#     T da/dq = da'/dq' T + da'/dv' B(v) - M'⁻¹ T⁻ᵀ F - B(a) - db/dq          T da/dv = da'/dv' T - db/dv


class Gradient(NamedTuple):
    """By q and by v, (n, nv, nv) each."""

    by_q: Reals
    by_v: Reals


def force_gradient(both: Rooted, q: Reals, v: Reals, a: Reals, tau: Reals, mass: Reals, there: Gradient) -> Gradient:
    """dtau/dq and dtau/dv of those at the new root, `there`; tau' (n, nv) and M' (n, nv, nv) are the new root's too."""
    t = _Map(both, q, v)
    back = np.swapaxes(t.moved, 1, 2)
    by_q = there.by_q @ t.moved + there.by_v[..., :6] @ t.B(v) + mass[..., :6] @ (t.B(a) + t.bias_by_q)
    return Gradient(t.F(tau) + back @ by_q, back @ (there.by_v @ t.moved + mass[..., :6] @ t.bias_by_v))


def acceleration_gradient(
    both: Rooted, q: Reals, v: Reals, a: Reals, tau: Reals, inverse: Reals, there: Gradient
) -> Gradient:
    """da/dq and da/dv of those at the new root, `there`, of dfd or difd; tau' and M'⁻¹ are the new root's too."""
    t = _Map(both, q, v)
    forces = _solved(np.swapaxes(t.moved, 1, 2), t.F(tau))
    by_q = there.by_q @ t.moved + there.by_v[..., :6] @ t.B(v) - inverse @ forces
    by_q[:, :6] -= t.B(a) + t.bias_by_q
    by_v = there.by_v @ t.moved
    by_v[:, :6] -= t.bias_by_v
    return Gradient(_solved(t.moved, by_q), _solved(t.moved, by_v))


class _Map:
    """T at some states and what it is differentiated to; (n, 6, nv) where only the root's rows differ from zero."""

    def __init__(self, both: Rooted, q: Reals, v: Reals) -> None:
        self.moved, _ = both.transform(q, v)
        self.J = self.moved[:, :6]
        depth = both.depths()
        self.earlier: Reals = (depth[:, None] < depth[None, :]).astype(np.float64)
        column = self.B(v)
        before, later = self._sum(v, self.earlier), self._sum(v, transpose(self.earlier))
        own = self._sum(v, 1.0 - self.earlier)  # the joint's own part, and that of those behind it
        bias = (column * v[:, None, :]) @ self.earlier
        self.bias_by_v = column + _bracket(self.J, later)
        self.bias_by_q = _bracket(bias, self.J) + _bracket(_bracket(before, self.J), own)

    def _sum(self, x: Reals, chosen: Reals) -> Reals:
        """For each column the sum of J_j x_j over the chosen j."""
        return (self.J * x[:, None, :]) @ chosen

    def B(self, x: Reals) -> Reals:
        return _bracket(self._sum(x, self.earlier), self.J)

    def F(self, tau: Reals) -> Reals:
        """Entry (j, k) is the root's force along [J_j, J_k], of joints j before k."""
        pairs = _bracket(self.J[..., :, None], self.J[..., None, :])
        return np.einsum("nx,nxjk->njk", tau[:, :6], pairs) * self.earlier


def _solved(matrix: Reals, right: Reals) -> Reals:
    return np.asarray(np.linalg.solve(matrix, right), np.float64)


def _bracket(x: Reals, y: Reals) -> Reals:
    """[x, y] of twists along the second axis."""
    return bracket(x, y, 1)
