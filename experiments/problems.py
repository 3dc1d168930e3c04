"""Optimal control problems of an arm, as data, and the functions of them that Condyle compiles.

A problem has knots k = 0 ... N - 1, h seconds apart, with state x = (q, v) and torque u:

    minimise   sum_k 1/2 (w_tip |tip(q_k) - goal_k|^2 + w_q |q_k - rest|^2 + w_v |v_k|^2 + w_u |u_k|^2)
    subject to q_{k+1} = q_k + h v_k,   v_{k+1} = v_k + h fd(q_k, v_k, u_k)        (explicit Euler)

The weights are those of the running cost up to knot N - 2, and those of the final cost at knot N - 1. No step follows
the last knot: its h is 0, and so is its torque, which any positive weight keeps there. tip is the origin of a frame in
the world's axes. All numbers are SI. q is a plain vector: revolute and prismatic joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments import riccati

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Weights:
    """Weights of |tip - goal|^2 [1/m^2], |q - rest|^2, |v|^2 and |u|^2."""

    tip: float
    q: float
    v: float
    u: float

    def array(self) -> Array:
        return np.array([self.tip, self.q, self.v, self.u])


@dataclass(frozen=True)
class Problem:
    """One problem; its start, and where it has several goals its goals, are arguments of the solver."""

    robot: condyle.Robot
    tip: str
    knots: int
    h: float
    running: Weights
    final: Weights
    rest: Array
    goal: Array = field(default_factory=lambda: np.zeros(3))

    def steps(self) -> Array:
        """h of every knot, (knots,): 0 at the last one."""
        return np.where(np.arange(self.knots) < self.knots - 1, self.h, 0.0)

    def weights(self) -> Array:
        """The weights of every knot, (knots, 4)."""
        found = np.tile(self.running.array(), (self.knots, 1))
        found[-1] = self.final.array()
        return found


@dataclass(frozen=True)
class Functions:
    """What a solver calls, compiled at its first use; arguments and answers as the functions below say."""

    problem: Problem
    damping: float = 0.0
    """N m s: the torque that the joints lose is damping v, in the dynamics and in their derivatives."""
    dtype: str = "float64"
    threads: int | None = None

    def compiled(self, function: Any, **inputs: Any) -> Any:
        made = self.problem.robot.function(function, inputs, reference_frame="local_world_aligned")
        return made.compile(dtype=self.dtype, threads=self.threads)

    @cached_property
    def dynamics(self) -> condyle.Dynamics:
        return self.problem.robot.compile(dtype=self.dtype, threads=self.threads, frames=(self.problem.tip,))

    def acceleration(self, q: Array, v: Array, u: Array) -> Array:
        return self.dynamics.forward_dynamics(q, v, u - self.damping * v)

    @cached_property
    def cost(self) -> Any:
        """cost(q, v, u, goal, rest, w): cost (...), tip (..., 3)."""

        def cost(at: Any, u: Any, goal: Any, rest: Any, w: Any) -> dict[str, Any]:
            tip = at.frame(self.problem.tip).translation
            return {"cost": knot_cost(tip - goal, at.q - rest, at.v, u, w), "tip": tip}

        return self.compiled(cost, q="nq", v="nv", **GIVEN)

    def backward(self, given: bool, blocks: bool) -> Any:
        """The model of a knot and its step of the backward pass in one: rolled out from the last knot to the first.

        backward(given, blocks)(q, v, V, p, u, [slope,] goal, rest, w, h, rho, gain): V, p and gain of `riccati.knot`,
        the gains K and k by the torque, and for several blocks those by the acceleration, K_a and k_a. slope is
        [dtau/dq, dtau/dv] (..., nv, 2 nv) where it is given, else the robot's own.
        """

        def knot(at: Any, u: Any, slope: Any, rest_of_cost: tuple[Any, ...], *value: Any) -> dict[str, Any]:
            goal, rest, w = rest_of_cost
            model = knot_model(at, at.frame(self.problem.tip), slope, u, goal, rest, w)
            M, slope = model.pop("M"), model.pop("slope")
            V, p, h, rho, gain = value
            found = riccati.knot(V, p, h=h, rho=rho, gain=gain, **model)
            by_a = {"K_a": found["K"], "k_a": found["k"]} if blocks else {}
            return found | by_a | riccati.torque_gains(found["K"], found["k"], M, slope)

        def own(
            at: Any, V: Any, p: Any, u: Any, goal: Any, rest: Any, w: Any, h: Any, rho: Any, gain: Any
        ) -> dict[str, Any]:
            slope = self.slope(at, at.forward_dynamics(u - self.damping * at.v))
            return knot(at, u, slope, (goal, rest, w), V, p, h, rho, gain)

        def other(
            at: Any, V: Any, p: Any, u: Any, slope: Any, goal: Any, rest: Any, w: Any, h: Any, rho: Any, gain: Any
        ) -> dict[str, Any]:
            return knot(at, u, slope, (goal, rest, w), V, p, h, rho, gain)

        n = self.problem.robot.nv
        inputs = {"q": "nq", "v": "nv", "V": n * (2 * n + 1), "p": 2 * n, "u": "nv"}
        inputs |= {"slope": (n, 2 * n)} if given else {}
        inputs |= {"goal": 3, "rest": "nq", "w": 4, "h": (), "rho": (), "gain": 3}
        return self.compiled(other if given else own, **inputs)

    def slope(self, at: Any, a: Any) -> Any:
        """[dtau/dq, dtau/dv] of the inverse dynamics at the acceleration a, on symbols."""
        by = at.inverse_dynamics_derivatives(a)
        return np.concatenate([by.dtau_dq, by.dtau_dv + self.damping * np.eye(len(a))], axis=1)

    @cached_property
    def follow(self) -> Any:
        """One step with feedback: rolled out over knots, it is the forward pass of iLQR.

        follow(q, v, q0, v0, u0, k, K, alpha, h, goal, rest, w): the torque u = u0 + alpha k + K (x - x0), the state
        (q, v) behind the step, the cost of the knot, and its torque `applied`.
        """

        def follow(
            at: Any, q0: Any, v0: Any, u0: Any, k: Any, K: Any, alpha: Any, h: Any, goal: Any, rest: Any, w: Any
        ) -> dict[str, Any]:
            u = u0 + alpha * k + K @ np.concatenate([at.q - q0, at.v - v0])
            a = at.forward_dynamics(u - self.damping * at.v)
            miss = at.frame(self.problem.tip).translation - goal
            cost = knot_cost(miss, at.q - rest, at.v, u, w)
            return {"q": at.q + h * at.v, "v": at.v + h * a, "applied": u, "cost": cost}

        n = self.problem.robot.nv
        nominal = {"q0": "nq", "v0": "nv", "u0": "nv", "k": "nv", "K": (n, 2 * n), "alpha": (), "h": ()}
        given = {name: size for name, size in GIVEN.items() if name != "u"}
        return self.compiled(follow, q="nq", v="nv", **nominal, **given)


GIVEN = {"u": "nv", "goal": 3, "rest": "nq", "w": 4}


def knot_cost(miss: Any, bend: Any, v: Any, u: Any, w: Any) -> Any:
    """1/2 (w_tip |miss|^2 + w_q |bend|^2 + w_v |v|^2 + w_u |u|^2)."""
    return 0.5 * (w[0] * (miss**2).sum() + w[1] * (bend**2).sum() + w[2] * (v**2).sum() + w[3] * (u**2).sum())


def knot_model(at: Any, tip: Any, slope: Any, u: Any, goal: Any, rest: Any, w: Any) -> dict[str, Any]:
    """The Gauss-Newton model of a knot's cost, in y = (dq, dv, da): g^T y + 1/2 y^T H y.

    A change of acceleration costs du = M da + slope (dq, dv), slope = [dtau/dq, dtau/dv] of the inverse dynamics at the
    knot's acceleration, so that no inverse of M is needed. The residuals are tip - goal, q - rest, v and u.
    Hxx and Haa are upper triangles, row by row; M (nv, nv) and slope (nv, 2 nv) turn gains by da into gains by u.
    """
    n = len(u)
    M = at.mass_matrix()
    J = tip.jacobian[:3]
    miss = tip.translation - goal
    by_q = w[0] * sum_of(J * miss[:, None]) + w[1] * (at.q - rest)
    every = np.concatenate([slope, M], axis=1)
    g = np.concatenate([by_q, w[2] * at.v, np.zeros(n)]) + w[3] * sum_of(every * u[:, None])
    H = w[3] * products(every, every)
    H_q = w[0] * products(J, J) + w[1] * np.eye(n)
    H_x = H[: 2 * n, : 2 * n] + np.block([[H_q, np.zeros((n, n))], [np.zeros((n, n)), w[2] * np.eye(n)]])
    upper, corner = np.triu_indices(2 * n), np.triu_indices(n)
    return {
        "Hxx": H_x[upper],
        "Hax": H[2 * n :, : 2 * n],
        "Haa": H[2 * n :, 2 * n :][corner],
        "gx": g[: 2 * n],
        "ga": g[2 * n :],
        "M": M,
        "slope": slope,
    }


def sum_of(rows: Any) -> Any:
    return rows.sum(axis=0)


def products(X: Any, Y: Any) -> Any:
    """X^T Y, entry by entry, so that entries which nobody asks for are not computed."""
    return (X[:, :, None] * Y[:, None, :]).sum(axis=0)
