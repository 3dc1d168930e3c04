"""Model predictive control of an arm whose tip follows a path: an iLQR iteration or more a control step, on one core.

Knots keep their distance h while time goes on by a control period, so the last plan is read between its knots. The plan
starts at the state that is predicted for the end of the period in which it is computed; its first knot takes that
state, and the feedback gains carry the difference on. The step lengths of the line search are rolled out at once, in
the lanes of one call, and the cheapest is taken: length 0, the last plan under the new gains, is among them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import riccati
from experiments.problems import Functions

Array = NDArray[np.floating]

PARTS = ("plan", "dynamics", "model", "riccati", "line search")
LENGTHS = (1.0, 0.5, 0.25, 0.0)


class Controller:
    """A plan of q, v and u (knots, 3 n), improved at each call."""

    def __init__(self, functions: Functions, period: float, iterations: int = 1, rho: float = 1e-2) -> None:
        problem, dtype = functions.problem, np.dtype(functions.dtype)
        self.functions, self.n, self.dtype = functions, problem.robot.nv, dtype
        self.backward = riccati.backward(self.n, functions.dtype, functions.threads)
        self.by_torque = riccati.by_torque(self.n, functions.dtype, functions.threads)
        self.iterations = iterations
        self.rest, self.weights, self.h = (x.astype(dtype) for x in (problem.rest, problem.weights(), problem.steps()))
        self.times = problem.h * np.arange(problem.knots)
        self.next = self.places(period + self.times)
        full = self.n * (2 * self.n + 1)
        self.behind = np.zeros(full, dtype), np.zeros(2 * self.n, dtype)
        self.rho, self.gain = np.asarray(rho, dtype), np.array([0.0, 0.0, np.inf], dtype)
        self.lengths = np.array(LENGTHS, dtype)
        self.backwards = {name: np.ascontiguousarray(x[::-1]) for name, x in (("w", self.weights), ("h", self.h))}
        self.seconds = np.zeros(len(PARTS))
        """Of the last call, by `PARTS`."""

    def begin(self, q: Array, v: Array, u: Array) -> None:
        """The first plan: one state and one torque at every knot."""
        self.plan = np.tile(np.concatenate([q, v, u]).astype(self.dtype), (len(self.h), 1))

    def __call__(self, q: Array, v: Array, goal: Array) -> None:
        """The plan for the state (q, v) in which the next period begins; goal (knots, 3)."""
        n, start = self.n, time.perf_counter()
        plan = self.plan = self.read(self.next)
        plan[0, :n], plan[0, n : 2 * n] = q, v
        plan[-1, 2 * n :] = 0.0
        goal = goal.astype(self.dtype)
        self.seconds[:] = 0.0
        self.seconds[0] = time.perf_counter() - start
        for _ in range(self.iterations):
            self.improve(goal)

    def places(self, times: Array) -> tuple[NDArray[np.int64], Array]:
        """Where times (m,) [s] from the plan's beginning are: the knots before them, and the parts of a knot behind."""
        place = np.minimum(times / self.functions.problem.h, len(self.times) - 1)
        before = np.minimum(place.astype(np.int64), len(self.times) - 2)
        return before, (place - before).astype(self.dtype)[:, None]

    def read(self, places: tuple[NDArray[np.int64], Array]) -> Array:
        """The plan there, (m, 3 n)."""
        before, part = places
        here = self.plan[before]
        return here + part * (self.plan[before + 1] - here)

    def improve(self, goal: Array) -> None:
        """One iteration."""
        n, clock, plan = self.n, time.perf_counter, self.plan
        t0 = clock()
        q0, v0, u0 = (np.ascontiguousarray(plan[:, i : i + n]) for i in (0, n, 2 * n))
        back = [np.ascontiguousarray(x[::-1]) for x in (q0, v0, u0, goal)]
        t1 = clock()
        a = self.functions.acceleration(*back[:3])
        t2 = clock()
        model = self.functions.quadratic(back[0], back[1], a, back[2], back[3], self.rest, self.backwards["w"])
        t3 = clock()
        k, K = self.gains(model)
        t4 = clock()
        found = self.functions.follow.rollout(
            *(q0[0], v0[0], q0, v0, u0, k, K, self.lengths, self.h, goal, self.rest, self.weights),
            by_time=("q0", "v0", "u0", "k", "K", "h", "goal", "w"),
            sum=("cost",),
        )
        self.take(found)
        t5 = clock()
        self.seconds += t1 - t0, t2 - t1, t3 - t2, t4 - t3, t5 - t4

    def gains(self, model: Any) -> tuple[Array, Array]:
        """Gains k and K by the torque, from the first knot to the last."""
        found = self.backward.rollout(
            *(
                *self.behind,
                model.Hxx,
                model.Hax,
                model.Haa,
                model.gx,
                model.ga,
                self.backwards["h"],
                self.rho,
                self.gain,
            ),
            by_time=riccati.BY_KNOT,
        )
        by_u = self.by_torque(found.K, found.k, model.M, model.slope)
        return np.ascontiguousarray(by_u.k[::-1]), np.ascontiguousarray(by_u.K[::-1])

    def take(self, found: Any) -> None:
        """The cheapest rollout becomes the plan; FloatingPointError where none is finite."""
        cost = np.where(np.isfinite(found.cost), found.cost, np.inf)
        best = int(cost.argmin())
        if not np.isfinite(cost[best]):
            raise FloatingPointError("no step length gives a finite cost: the controller has diverged")
        n, plan = self.n, self.plan
        plan[1:, :n], plan[1:, n : 2 * n] = found.q[best, :-1], found.v[best, :-1]
        plan[:, 2 * n :] = found.applied[best]
        self.length = self.lengths[best]
