"""The nodes of a problem that move alike: stepped one by one or together, differentiated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.functions.kinematics import INTEGRATE
from condyle.interop.crocoddyl.motions import Motion

Array = NDArray[np.floating]


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
