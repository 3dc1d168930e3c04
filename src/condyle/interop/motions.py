"""A step of one node and its cost as functions of one state, and the nodes of a problem that share them.

Stages y_i of an explicit method, with weights b_i and parts c_i, k_i = (v_i, fd(q_i, v_i, u)), ⊕ in the tangent space:

    y_1 = x,  y_(i+1) = x ⊕ h c_i k_i,  x' = x ⊕ h sum b_i k_i,  cost = h sum b_i l(y_i, u),  l = r·r / 2

Semi-implicit Euler moves q by the new velocity: q' = q ⊕ h v'. These are crocoddyl's integrators: on a floating base
its stages lack the brackets by which `condyle.integrators` keeps the fourth order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from condyle.dynamics import Dynamics
from condyle.interop.coordinates import Coordinates

Array = NDArray[np.floating]
Residual = Callable[[Any, Any], Any]
"""r (m) at a state under torques: f(at, u), as in `Robot.function`."""

METHODS = {
    "semi_implicit_euler": ((0.0, 1.0),),
    "rk4": ((0.0, 1 / 6), (1 / 2, 1 / 3), (1 / 2, 1 / 3), (1.0, 1 / 6)),
}
"""Of each stage c, the part of the step in front of it, and b."""


class Motion:
    """A step, with the cost of a residual if there is one: compiled at its first use.

    weights: b of the stages. m: entries of all stages' residuals together.
    """

    def __init__(self, robot: Any, dyn: Dynamics, at: Coordinates, method: str, residual: Residual | None) -> None:
        options = {"target": dyn.target, "threads": dyn.__reduce__()[1].threads}
        self._robot, self._options, self._residual = robot, options, residual
        self._stages, self._last, self.dyn = METHODS[method], method == "semi_implicit_euler", dyn
        self.coordinates, self.weights = at, np.array([b for _, b in self._stages])

    @cached_property
    def value(self) -> Callable[..., Any]:
        """(y, dt) -> x: the state behind the step in crocoddyl's coordinates; and x1, ...: the stages behind the
        first, or rate: the sum of b l."""
        theirs, residual = self.coordinates.theirs, self._residual

        def node(at: Any, u: Any, dt: Any) -> dict[str, Any]:
            states, (dq, dv), rests = self._travelled(at, u, dt)
            found = {"x": theirs(at.integrate(dq), at.v + dv)}
            if residual is None:
                return found | {f"x{k}": theirs(here.q, here.v) for k, (here, *_) in enumerate(states) if k}
            return found | {"rate": 0.5 * (rests @ rests)}

        return self._compiled(node)

    @cached_property
    def moves(self) -> Any:
        """(y, dt) -> z: how far q moves in the step, and v behind it; and z1, ...: of the stages behind the
        first, or r: sqrt(b) times the residual of all stages."""

        def node(at: Any, u: Any, dt: Any) -> dict[str, Any]:
            states, (dq, dv), rests = self._travelled(at, u, dt)
            found = {"z": np.concatenate([dq, at.v + dv])}
            if self._residual is None:
                return found | {f"z{k}": np.concatenate([dq, here.v]) for k, (here, dq, _) in enumerate(states) if k}
            return found | {"r": rests}

        return self._compiled(node)

    @cached_property
    def slopes(self) -> Callable[..., Any]:
        """Derivatives of `moves` by y = (q, v, u), or by q, v and u."""
        return self.moves.jacobian(by=("y",) if self.coordinates.plain else ("q", "v", "u"))

    def at(self, function: Callable[..., Any], y: Array, dt: Any) -> Sequence[Array]:
        """The answers of one of these functions: y (..., nq + 2 nv) is (q, v, u), dt (...)."""
        nq, nv = self.coordinates.nq, self.coordinates.nv
        parts = (y,) if self.coordinates.plain else (y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :])
        found = function(*parts, dt)
        return cast("Sequence[Array]", found) if isinstance(found, tuple) else [found]

    def _compiled(self, node: Callable[..., Any]) -> Any:
        """Where q is a plain vector, q, v and u are one input: derivatives by them then come in one array."""
        nv = self.coordinates.nv

        def plain(at: Any, y: Any, dt: Any) -> Any:
            return node(at.moved_to(y[:nv], y[nv : 2 * nv]), y[2 * nv :], dt)

        if self.coordinates.plain:
            return self._robot.function(plain, {"y": 3 * nv, "dt": ()}).compile(**self._options)
        return self._robot.function(node, {"q": "nq", "v": "nv", "u": "nv", "dt": ()}).compile(**self._options)

    def _travelled(self, at: Any, u: Any, dt: Any) -> tuple[list[Any], tuple[Any, Any], Any]:
        """Stages as (state, how far q has moved, acceleration), how far q and v move in all, and sqrt(b) r."""
        states: list[Any] = []
        for part, _ in self._stages:
            if not states:
                states.append((at, None, at.forward_dynamics(u)))
                continue
            before, _, a = states[-1]
            dq = part * dt * before.v
            here = at.moved_to(at.integrate(dq), at.v + part * dt * a)
            states.append((here, dq, here.forward_dynamics(u)))
        weighed = list(zip(self.weights.tolist(), states, strict=True))
        dv = dt * sum(b * a for b, (_, _, a) in weighed)
        dq = dt * ((at.v + dv) if self._last else sum(b * here.v for b, (here, *_) in weighed))
        residual = self._residual
        rests = [] if residual is None else [np.sqrt(b) * residual(here, u) for b, (here, *_) in weighed]
        return states, (dq, dv), np.concatenate(rests) if rests else None


class Nodes:
    """Some nodes that move alike. What is known of each is kept; derivatives are computed for all that lack them.

    dt: (n,). by_x (n, 2 nv, 2 nv), by_u (n, 2 nv, nv): derivatives of the state behind the step. by_stage
    (n, stages, 3 nv, 3 nv): of (q, v, u) at each stage by (q, v, u), weighed: the same times dt b; or slopes (n, 3 nv)
    and curvatures (n, 3 nv, 3 nv) of the cost, without the second derivatives of the residual, and blocks: of each
    node Fx, Fu, Lx, Lu, Lxx, Lxu, Luu, which are views.
    """

    def __init__(self, motion: Motion, dt: Sequence[float], has_residual: bool) -> None:
        n, nq, nv = len(dt), motion.coordinates.nq, motion.coordinates.nv
        self.motion, self.dt, self._has_residual = motion, np.array(dt, float), has_residual
        self.y = np.zeros((n, nq + 2 * nv))
        self._lacks = np.zeros(n, bool)
        self._seen: list[bytes] = [b""] * n
        self.by_x, self.by_u = np.empty((n, 2 * nv, 2 * nv)), np.empty((n, 2 * nv, nv))
        if has_residual:
            self.slopes, self.curvatures = np.empty((n, 3 * nv)), np.empty((n, 3 * nv, 3 * nv))
            self._square = np.empty_like(self.curvatures)
            x, u = slice(2 * nv), slice(2 * nv, None)
            by_node = zip(self.by_x, self.by_u, self.slopes, self.curvatures, strict=True)
            self.blocks = [(A, B, L[x], L[u], LL[x, x], LL[x, u], LL[u, u]) for A, B, L, LL in by_node]
        else:
            self.by_stage = np.zeros((n, len(motion.weights), 3 * nv, 3 * nv))
            self.by_stage[:, 0] = np.eye(3 * nv)
            self.by_stage[:, :, 2 * nv :, 2 * nv :] = np.eye(nv)
            self.weighed = np.empty_like(self.by_stage)

    def step(self, k: int, x: Array, u: Array) -> Sequence[Array]:
        """What `Motion.value` says of one node."""
        y = self.y[k]
        self._put(y, x, u)
        self._lacks[k], self._seen[k] = True, x.tobytes() + u.tobytes()
        return self.motion.at(self.motion.value, y, self.dt[k])

    def steps(self, x: Array, u: Array) -> Sequence[Array]:
        """What `Motion.value` says of all nodes: x (n, nx), u (n, nv)."""
        self._put(self.y, x, u)
        self._lacks[:] = True
        self._seen = [a.tobytes() + b.tobytes() for a, b in zip(x, u, strict=True)]
        return self.motion.at(self.motion.value, self.y, self.dt)

    def _put(self, y: Array, x: Array, u: Array) -> None:
        at = self.motion.coordinates
        y[..., : at.nq + at.nv] = x if at.same else np.concatenate(at.ours(x), axis=-1)
        y[..., at.nq + at.nv :] = u

    def stands_at(self, k: int, x: Array, u: Array) -> bool:
        """Whether the node was last stepped from here."""
        return self._seen[k] == x.tobytes() + u.tobytes()

    def differentiate(self, k: int) -> None:
        """Derivatives of node k are there; one call computes those of all nodes that were stepped since."""
        if not self._lacks[k]:
            return
        some = np.flatnonzero(self._lacks)
        which: Any = slice(None) if len(some) == len(self._lacks) else some
        self._fill(which, self.y[which], self.dt[which])
        self._lacks[which] = False

    def _fill(self, which: Any, y: Array, dt: Array) -> None:
        motion, nv = self.motion, self.motion.coordinates.nv
        by = motion.at(motion.slopes, y, dt)
        has_moves = self._has_residual or not motion.coordinates.plain
        moved = motion.at(motion.moves, y, dt) if has_moves else list[Array]()
        end = self._landed(0, by, moved, y)
        self.by_x[which], self.by_u[which] = end[..., : 2 * nv], end[..., 2 * nv :]
        if not self._has_residual:
            for i in range(1, len(motion.weights)):
                self.by_stage[which, i, : 2 * nv] = self._landed(i, by, moved, y)
            self.weighed[which] = self.by_stage[which] * (dt[:, None] * motion.weights)[..., None, None]
            return
        J, square = self._by_y(1, by), self._square[: len(y)]
        self.slopes[which] = dt[:, None] * (moved[1][:, None] @ J)[:, 0]
        np.matmul(np.swapaxes(J, 1, 2), J, out=square)
        np.multiply(square, dt[:, None, None], out=square)
        self.curvatures[which] = square

    def _by_y(self, k: int, by: Sequence[Array]) -> Array:
        """(n, size, 3 nv): derivatives of output k of `moves`."""
        return by[k] if self.motion.coordinates.plain else np.concatenate(by[3 * k : 3 * k + 3], axis=-1)

    def _landed(self, k: int, by: Sequence[Array], moved: Sequence[Array], y: Array) -> Array:
        """(n, 2 nv, 3 nv): derivatives in the tangent space of where q moved to, from those of how far it moved."""
        found, nq, nv = self._by_y(k, by), self.motion.coordinates.nq, self.motion.coordinates.nv
        if self.motion.coordinates.plain:
            found[:, np.arange(nv), np.arange(nv)] += 1.0
            return found
        by_q, by_move = self.motion.dyn.jacobian("integrate")(y[:, :nq], moved[k][:, :nv])
        found[:, :nv] = by_move @ found[:, :nv]
        found[:, :nv, :nv] += by_q
        return found
