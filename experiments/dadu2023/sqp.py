"""Model predictive control by one Gauss-Newton SQP iteration a control step, by multiple shooting.

The plan is q, v at KNOTS + 1 knots and u between them; defects d_k = step(x_k, u_k) less x_(k+1) need not be zero. With
dx_(k+1) = A dx_k + B du_k + d_k the backward pass of Riccati gives du = K dx + k. One step of length 1 is tried first,
and halved while the merit, the cost and DEFECT times the sum of the absolute defects, does not fall.

Each period takes H seconds and moves the plan by one knot. Its first state is the one predicted for the time at which
the plan begins to hold.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from experiments.dadu2023.engines import Engine
from experiments.dadu2023.walker import KNOTS, NJ, NU, NV, Model, Walker, Wanted

Array = NDArray[np.floating]

PARTS = ("plan", "dynamics", "LQ", "Riccati", "line search")
LENGTHS = (1.0, 0.5, 0.25, 0.125)
DEFECT = 300.0
NX = 2 * NV


class Controller:
    """A plan, improved at each call. engine: where steps and their derivatives come from."""

    def __init__(self, walker: Walker, engine: Engine) -> None:
        self.walker, self.engine = walker, engine
        self.seconds, self.length = np.zeros(len(PARTS)), 1.0
        self.gains = np.zeros((KNOTS, NU, NX + 1), walker.dtype)
        self.backward = Backward(walker.dtype)

    def begin(self, q: Array, v: Array, wanted: Wanted) -> None:
        """The first plan: the robot stands still."""
        self.q, self.v = (np.tile(x, (KNOTS + 1, 1)).astype(self.walker.dtype) for x in (q, v))
        self.u = wanted.u[:-1].copy()

    def __call__(self, q: Array, v: Array, wanted: Wanted) -> None:
        """The plan for a state (q, v) and references of KNOTS + 1 knots: one iteration."""
        clock, t0 = time.perf_counter, time.perf_counter()
        self.q[:-1], self.v[:-1] = self.q[1:].copy(), self.v[1:].copy()
        self.u[:-1] = self.u[1:].copy()
        self.u[-1] = wanted.u[-2]
        self.q[0], self.v[0] = q, v
        t1 = clock()
        model = self.model(wanted)
        t2 = clock()
        A, B, *behind = self.engine.linearise(self.q[:-1], self.v[:-1], model.force[:-1])
        t3 = clock()
        defect = self.defects(self.q, self.v, *behind)
        self.backward.chain(A, B, defect, model)
        t4 = clock()
        self.gains = self.backward.gains(model)
        dx, du = self.backward.follow(self.gains)
        t5 = clock()
        merit = float(model.cost.sum()) + DEFECT * np.abs(defect).sum()
        stepped = self.search(dx, du, merit, wanted)
        t6 = clock()
        self.seconds[:] = t1 - t0, t3 - t2 + stepped, t2 - t1 + t4 - t3, t5 - t4, t6 - t5 - stepped

    def model(self, wanted: Wanted) -> Model:
        """The costs; the last knot has no input of its own."""
        u = np.concatenate([self.u, self.u[-1:]])
        return self.walker.model(self.q, self.v, u, wanted)

    def defects(self, q: Array, v: Array, q_behind: Array, v_behind: Array) -> Array:
        """Of the states behind the steps (KNOTS, NX), in the tangent spaces of the knots that they should meet."""
        return np.concatenate([self.walker.dynamics.difference(q[1:], q_behind), v_behind - v[1:]], axis=1)

    def search(self, dx: Array, du: Array, before: float, wanted: Wanted) -> float:
        """The longest step with a merit below `before` becomes the plan, else the shortest; seconds in the engine."""
        seconds = 0.0
        for length in LENGTHS:
            q = self.walker.dynamics.integrate(self.q, length * dx[:, :NV])
            v, u = self.v + length * dx[:, NV:], self.u + length * du
            force, cost = self.cost(q, v, u, wanted)
            start = time.perf_counter()
            behind = self.engine.step(q[:-1], v[:-1], force[:-1])
            seconds += time.perf_counter() - start
            after = cost + DEFECT * np.abs(self.defects(q, v, *behind)).sum()
            if after < before:
                break
        if not np.isfinite(after):
            raise FloatingPointError("no step length gives a finite cost: the controller has diverged")
        self.q, self.v, self.u, self.length = q, v, u, length
        return seconds

    def cost(self, q: Array, v: Array, u: Array, wanted: Wanted) -> tuple[Array, float]:
        """F of the knots, and the cost of all."""
        force, cost = self.walker.costs(q, v, np.concatenate([u, u[-1:]]), wanted)
        return force, float(cost.sum())


class Backward:
    """The backward pass of Riccati; its arrays are kept from one period to the next."""

    def __init__(self, dtype: np.dtype[np.floating]) -> None:
        self.T = np.zeros((KNOTS, NX + 1, NU + NX + 1), dtype)
        """(dx, 1) of the knot behind by (du, dx, 1)."""
        self.T[:, -1, -1] = 1.0
        self.solved, self.PT = np.empty((KNOTS, NX + 1, NU), dtype), np.empty(self.T.shape[1:], dtype)
        self.Q, self.value = np.empty((NU + NX + 1,) * 2, dtype), np.empty((NX + 1,) * 2, dtype)
        self.posv: Any = get_lapack_funcs("posv", dtype=dtype)

    def chain(self, A: Array, B: Array, defect: Array, model: Model) -> None:
        """T, of A and B by the state and the generalised force, which depends on q and on the inputs."""
        T = self.T
        T[:, :NX, :NJ] = B[:, :, NV - NJ :]  # torques are entries of the force
        np.matmul(B, model.by_feet[:-1], out=T[:, :NX, NJ:NU])
        T[:, :NX, NU:-1] = A
        T[:, :NX, NU : NU + NV] += B @ model.by_q[:-1]
        T[:, :NX, -1] = defect

    def gains(self, model: Model) -> Array:
        """(KNOTS, NU, NX + 1): du by (dx, 1), from the last knot to the first.

        With the value 1/2 (dx, 1)^T P (dx, 1) behind a knot, Q = T^T P T and its blocks by u and x = (dx, 1):
        (Quu + Huu) gains = -(Qux + gu), and the value before it is Qxx + H + Qxu gains.
        """
        T, Q, P = self.T, self.Q, model.H[-1].copy()
        Quu, Qxu, Qxx, diagonal = Q[:NU, :NU], Q[NU:, :NU], Q[NU:, NU:], np.einsum("ii->i", Q)[:NU]
        for j in reversed(range(KNOTS)):
            np.matmul(P, T[j], out=self.PT)
            np.matmul(T[j].T, self.PT, out=Q)
            diagonal += model.Huu
            Qxu[-1] += model.gu[j]
            _, x, failed = self.posv(Quu.T, Qxu.T)
            if failed:
                raise FloatingPointError(f"the Hessian by the inputs of knot {j} is not positive")
            self.solved[j] = x.T
            np.matmul(Qxu, x, out=self.value)
            np.subtract(Qxx, self.value, out=P)
            P += model.H[j]
            P += P.T  # rounding would grow from knot to knot
            P *= 0.5
        return -self.solved.swapaxes(1, 2)

    def follow(self, gains: Array) -> tuple[Array, Array]:
        """Changes dx (KNOTS + 1, NX) and du (KNOTS, NU) by the linear model, from dx = 0 at the first knot."""
        moved = np.zeros((KNOTS + 1, NU + NX + 1), gains.dtype)
        moved[0, -1] = 1.0
        for j in range(KNOTS):
            moved[j, :NU] = gains[j] @ moved[j, NU:]
            moved[j + 1, NU:] = self.T[j] @ moved[j]
        return moved[:, NU:-1], moved[:-1, :NU]
