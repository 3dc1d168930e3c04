"""The cost of one node at one state: crocoddyl's sum, or half the square of a residual of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.functions.kinematics import INTEGRATE
from condyle.interop.crocoddyl.drives import Drive, Motion, Residual

Array = NDArray[np.floating]
OF_STATES = (
    "ResidualModelState",
    "ResidualModelControl",
    "ResidualModelContactForce",
    "ResidualModelContactFrictionCone",
    "ResidualModelContactWrenchCone",
    "ResidualModelContactCoPPosition",
)
"""Residuals that need no kinematics."""


class ModelCosts:
    """A CostModelSum, with the kinematics that its residuals read. actuation: crocoddyl's model."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, actuation: Any) -> None:
        self._croc, self._pin = packages
        self._model, self._costs = state.pinocchio, costs
        self._actuation, self._ndx, nu = actuation, int(state.ndx), int(costs.nu)
        self._size = self._ndx + nu
        found = (item.cost.residual for item in costs.costs.todict().values())
        self._has_kinematics = any(type(residual).__name__ not in OF_STATES for residual in found)

    def data(self) -> Any:
        """What a place in a problem keeps."""
        found = SimpleNamespace(kinematics=self._model.createData(), actuation=None, pushed=None)
        found.shared = self._collected(found)
        found.costs = self._costs.createData(found.shared)
        found.slope, found.curvature = np.zeros(self._size), np.zeros((self._size, self._size))
        return found

    def value(self, data: Any, x: Array, u: Array | None, *pushed: Array) -> float:
        """l. pushed: forces of contacts, where there are some."""
        if self._has_kinematics:
            self._place(data, x, u)
        self._push(data, *pushed)
        self._costs.calc(data.costs, x, *(() if u is None else (u,)))
        return float(data.costs.cost)

    def slopes(self, data: Any, x: Array, u: Array | None, *pushed: Array) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u), those by x alone where u is none; behind `value` at the same place.

        pushed: derivatives (rows, n) of the forces. The arrays that come back are the data's, and used again.
        """
        ndx = self._ndx
        if self._has_kinematics:
            q, v = x[: self._model.nq], x[self._model.nq :]
            self._pin.computeForwardKinematicsDerivatives(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
            self._pin.jacobianCenterOfMass(self._model, data.kinematics, q)
            self._pin.updateFramePlacements(self._model, data.kinematics)
        costs, slope, curvature = data.costs, data.slope, data.curvature
        self._push_slopes(data, *pushed)
        if u is None:
            self._costs.calcDiff(costs, x)
            slope[:ndx], curvature[:ndx, :ndx] = costs.Lx, costs.Lxx
            return slope, curvature
        self._costs.calcDiff(costs, x, u)
        slope[:ndx], slope[ndx:] = costs.Lx, costs.Lu
        curvature[:ndx, :ndx], curvature[ndx:, ndx:], curvature[:ndx, ndx:] = costs.Lxx, costs.Luu, costs.Lxu
        curvature[ndx:, :ndx] = curvature[:ndx, ndx:].T
        return slope, curvature

    def _collected(self, data: Any) -> Any:
        data.actuation = self._actuation.createData()
        return self._croc.DataCollectorActMultibody(data.kinematics, data.actuation)

    def _push(self, data: Any, *pushed: Array) -> None:
        """There are no contacts."""

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        """There are no contacts."""

    def _place(self, data: Any, x: Array, u: Array | None) -> None:
        q, v = x[: self._model.nq], x[self._model.nq :]
        self._pin.forwardKinematics(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
        self._pin.updateFramePlacements(self._model, data.kinematics)
        self._pin.centerOfMass(self._model, data.kinematics, q, v)
        if u is not None and data.actuation is not None:
            self._actuation.calc(data.actuation, x, u)


class ContactCosts(ModelCosts):
    """The same where residuals may read forces of contacts. contacts: crocoddyl's ContactModelMultiple."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, actuation: Any, contacts: Any) -> None:
        super().__init__(packages, state, costs, actuation)
        self._contacts = contacts

    def _collected(self, data: Any) -> Any:
        data.actuation, data.pushed = self._actuation.createData(), self._contacts.createData(data.kinematics)
        return self._croc.DataCollectorActMultibodyInContact(data.kinematics, data.actuation, data.pushed)

    def _push(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._contacts.updateForce(data.pushed, pushed[0])

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._contacts.updateForceDiff(data.pushed, pushed[0][:, : self._ndx], pushed[0][:, self._ndx :])


class ImpulseCosts(ModelCosts):
    """The same of an impact: residuals may read v behind it, and the impulses. impulses: an ImpulseModelMultiple."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, impulses: Any) -> None:
        super().__init__(packages, state, costs, None)
        self._impulses = impulses

    def _collected(self, data: Any) -> Any:
        data.pushed = self._impulses.createData(data.kinematics)
        return self._croc.DataCollectorMultibodyInImpulse(data.kinematics, data.pushed)

    def _push(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._impulses.updateForce(data.pushed, pushed[0])
            self._impulses.updateVelocity(data.pushed, pushed[1])

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._impulses.updateForceDiff(data.pushed, pushed[0])
            self._impulses.updateVelocityDiff(data.pushed, pushed[1])


class ResidualCosts:
    """r·r / 2 of a residual, with Gauss-Newton's curvature; where a node has no u, it and the forces are zero.

    numbers: of the node, as `Drive.numbers` names them.
    """

    def __init__(self, drive: Drive, residual: Residual, numbers: Sequence[Array]) -> None:
        self._drive, self._residual, self._numbers = drive, residual, numbers
        self._none = np.zeros(drive.nu)

    @cached_property
    def _moving(self) -> Any:
        """r at a state under u, with the forces that act."""

        def miss(state: Any, u: Any, numbers: Sequence[Any]) -> dict[str, Any]:
            _, force = self._drive.acceleration(state, u, numbers)
            return {"r": self._drive.rest(self._residual, state, u, force, numbers)}

        return self._with_slopes(miss) if self._drive.contacts else self._resting

    @cached_property
    def _resting(self) -> Any:
        """r at a state under u, without forces."""
        none = np.zeros(self._drive.n_rows) if self._drive.contacts else None

        def miss(state: Any, u: Any, numbers: Sequence[Any]) -> dict[str, Any]:
            return {"r": self._drive.rest(self._residual, state, u, none, numbers)}

        return self._with_slopes(miss)

    def _with_slopes(self, miss: Any) -> tuple[Any, Any]:
        found = self._drive.compiled(miss)
        return found, self._drive.differentiated(found)

    def data(self) -> None:
        """It keeps nothing."""

    def value(self, data: None, x: Array, u: Array | None, *pushed: Array) -> float:
        """l."""
        (value, _), y = self._function_and_input(x, u)
        (r,) = self._drive.call(value, y, *self._numbers)
        return 0.5 * float(r @ r)

    def slopes(self, data: None, x: Array, u: Array | None, *pushed: Array) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u)."""
        (value, slopes), y = self._function_and_input(x, u)
        (r,) = self._drive.call(value, y, *self._numbers)
        J = self._drive.by_y(self._drive.call(slopes, y, *self._numbers), 0)
        return r @ J, np.transpose(J) @ J

    def _function_and_input(self, x: Array, u: Array | None) -> tuple[Any, Array]:
        y = np.empty(self._drive.size)
        self._drive.put(y, x, self._none if u is None else u)
        return self._resting if u is None else self._moving, y


# The nodes of a problem that move alike: stepped one by one or together, differentiated together.


class Batch:
    """Some nodes. What is known of each is kept; derivatives are computed for all that lack them.

    n, nx, nu: of them. y (n, size): state and torques of each. more: what else each has, (n, ...) each.
    """

    def __init__(self, n: int, nx: int, nu: int, size: int, more: Sequence[Array]) -> None:
        self.y, self.more = np.zeros((n, size)), tuple(more)
        self._lacks = np.zeros(n, bool)
        self._x, self._u = np.full((n, nx), np.nan), np.full((n, nu), np.nan)
        """Where each was stepped last."""

    def put(self, y: Array, x: Array, u: Array) -> None:
        """y of x and u."""
        raise NotImplementedError

    def valued(self, y: Array, more: Sequence[Array]) -> Sequence[Array]:
        """What is known before derivatives."""
        raise NotImplementedError

    def fill(self, which: Any, y: Array, more: Sequence[Array]) -> None:
        """Compute the derivatives of these nodes."""
        raise NotImplementedError

    def step(self, k: int, x: Array, u: Array) -> Sequence[Array]:
        """What the motion says of one node."""
        y = self.y[k]
        self.put(y, x, u)
        self._lacks[k], self._x[k], self._u[k] = True, x, u
        return self.valued(y, [each[k] for each in self.more])

    def steps(self, x: Array, u: Array) -> Sequence[Array]:
        """What the motion says of all nodes: x (n, nx), u (n, nu)."""
        self.put(self.y, x, u)
        self._lacks[:], self._x[:], self._u[:] = True, x, u
        return self.valued(self.y, self.more)

    def touch(self) -> None:
        """All nodes lack their derivatives, where they stand."""
        self._lacks[:] = True

    def stands_at(self, k: int, x: Array, u: Array) -> bool:
        """Whether the node was last stepped from here."""
        return self._x[k].tobytes() == x.tobytes() and self._u[k].tobytes() == u.tobytes()

    def differentiate(self, k: int) -> None:
        """Derivatives of node k are there; one call computes those of all nodes that were stepped since."""
        if not self._lacks[k]:
            return
        some = np.flatnonzero(self._lacks)
        which: Any = slice(None) if len(some) == len(self._lacks) else some
        self.fill(which, self.y[which], [each[which] for each in self.more])
        self._lacks[which] = False


class Nodes(Batch):
    """Nodes of one `Motion`.

    dt: (n,). numbers: (n, ...) each, of the contacts. by_x (n, 2 nv, 2 nv), by_u (n, 2 nv, nu): derivatives of the
    state behind the step. Under crocoddyl's costs by_stage (n, stages, m, m), m = 2 nv + nu: of (q, v, u) at each stage
    by (q, v, u); weighed: the same times dt b; and by_force (n, rows, m) of the contacts. With a residual slopes (n, m)
    and curvatures (n, m, m) of the cost, without the second derivatives of the residual, and blocks: of each node Fx,
    Fu, Lx, Lu, Lxx, Lxu, Luu, which are views.
    """

    def __init__(self, motion: Motion, dt: Sequence[float], numbers: Sequence[Array] = ()) -> None:
        drive, n = motion.drive, len(dt)
        nv, nu = motion.coordinates.nv, drive.nu
        m, self._has_residual = 2 * nv + nu, motion.residual is not None
        super().__init__(n, motion.coordinates.nx, nu, drive.size, [*numbers, np.array(dt, float)])
        self.motion, self.drive, self.dt = motion, drive, self.more[-1]
        self._end = np.empty((n, 2 * nv, m))
        self.by_x, self.by_u = self._end[..., : 2 * nv], self._end[..., 2 * nv :]
        if self._has_residual:
            self.slopes, self.curvatures = np.empty((n, m)), np.empty((n, m, m))
            self._square = np.empty_like(self.curvatures)
            x, u = slice(2 * nv), slice(2 * nv, None)
            by_node = zip(self.by_x, self.by_u, self.slopes, self.curvatures, strict=True)
            self.blocks = [(A, B, L[x], L[u], LL[x, x], LL[x, u], LL[u, u]) for A, B, L, LL in by_node]
        else:
            self.by_stage = np.zeros((n, len(motion.weights), m, m))
            self.by_stage[:, 0] = np.eye(m)
            self.by_stage[:, :, 2 * nv :, 2 * nv :] = np.eye(nu)
            self.weighed = self.by_stage * (self.dt[:, None] * motion.weights)[..., None, None]
            self.by_force = np.empty((n, drive.n_rows, m))

    def put(self, y: Array, x: Array, u: Array) -> None:
        self.drive.put(y, x, u)

    def valued(self, y: Array, more: Sequence[Array]) -> Sequence[Array]:
        return self.drive.call(self.motion.value, y, *more)

    def fill(self, which: Any, y: Array, more: Sequence[Array]) -> None:
        motion, drive, dt = self.motion, self.drive, more[-1]
        by = drive.call(motion.slopes, y, *more)
        has_moves = self._has_residual or not motion.coordinates.plain
        moved = drive.call(motion.moves, y, *more) if has_moves else list[Array]()
        self._put_in(self._end, which, lambda out: self._landed(0, by, moved, y, out))
        if self._has_residual:
            J, square = drive.by_y(by, 1), self._square[: len(y)]
            self.slopes[which] = dt[:, None] * (moved[1][:, None] @ J)[:, 0]
            np.matmul(np.swapaxes(J, 1, 2), J, out=square)
            np.multiply(square, dt[:, None, None], out=square)
            self.curvatures[which] = square
            return
        for i in range(1, len(motion.weights)):
            stage = self._landed(i, by, moved, y, None)
            self.by_stage[which, i, : len(stage[0])] = stage
            self.weighed[which, i] = self.by_stage[which, i] * (dt * motion.weights[i])[:, None, None]
        if drive.contacts:
            self._put_in(self.by_force, which, lambda out: drive.by_y(by, len(motion.weights), out))

    def _put_in(self, kept: Array, which: Any, compute: Callable[[Array | None], Array]) -> None:
        """Some rows of what is kept; without a copy where it is all."""
        if isinstance(which, slice):
            compute(kept)
        else:
            kept[which] = compute(None)

    def _landed(self, k: int, by: Sequence[Array], moved: Sequence[Array], y: Array, out: Array | None) -> Array:
        """(n, 2 nv, m): derivatives in the tangent space of where q moved to, from those of how far it moved."""
        at = self.motion.coordinates
        found, nq, nv = self.drive.by_y(by, k, out), at.nq, at.nv
        if at.plain:
            found[:, np.arange(nv), np.arange(nv)] += 1.0
            return found
        by_q, by_move = self.motion.dyn.jacobian(INTEGRATE)(y[:, :nq], moved[k][:, :nv])
        for part in at.curved:
            found[:, part] = by_move[:, part, part] @ found[:, part]
        found[:, :nv, :nv] += by_q
        return found
