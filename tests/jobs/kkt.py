"""How far a plan is from a stationary point: residuals of the conditions of Karush, Kuhn and Tucker, in float64.

With multipliers y (signed as those of `condyle.qp`: positive where an upper side holds, negative at a lower one)

    L = sum_{k < N} l_k(x_k, u_k) + y_k . c_k(x_k, u_k) + p_{k+1} . (step(x_k, u_k) (-) x_{k+1})  +  l_N + y_N . c_N

The costates follow from stationarity in x, p_k = dL/dx_k, backwards from the end, and what is left is dL/du_k = 0.
Derivatives are in tangent spaces: of user's functions by `jacobian`, of the step by that of difference(x_{k+1}, step).
Nothing here is a solver's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.control_problems import Array, Problem, gap_function, knot_function, step_function

CONSTRAINTS = ("below", "equal")


class Residuals(NamedTuple):
    """Largest ones. stationarity: of dL/du, beside the largest entry of its two parts. defect: of the steps [q; v].

    violation: of bounds, inequalities and equations. sign: of multipliers that pull. complementarity: of y times slack,
    beside the cost.
    """

    stationarity: float
    defect: float
    violation: float
    sign: float
    complementarity: float
    cost: float


class Checker:
    """Of all problems of a group: functions are compiled once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.step, self.gap = step_function(problem).compile(threads=1), gap_function(problem).compile(threads=1)
        knots = knot_function(problem, problem.running, True), knot_function(problem, problem.last, False)
        self.names = [[port.name for port in knot.specification.outputs] for knot in knots]
        self.running, self.last = (knot.compile(threads=1) for knot in knots)
        self.by_gap = self.gap.jacobian(by=("q", "v", "u"))
        self.by_running, self.by_last = self.running.jacobian(by=("q", "v", "u")), self.last.jacobian(by=("q", "v"))

    def inputs(self, i: int) -> tuple[list[Array], list[Array]]:
        """Values of inputs at the knots before the last one, and there."""
        problem = self.problem
        both = [(value[i], name in problem.by_knot) for name, value in problem.values.items()]
        return [x[:-1] if timed else x for x, timed in both], [x[-1] if timed else x for x, timed in both]

    def flags(self) -> list[Array]:
        problem = self.problem
        return [] if problem.flags is None else [problem.flags, problem.landings()]

    def rollout(self, i: int, u: Array) -> tuple[Array, Array]:
        """States from the start under controls u (N, nu)."""
        q, v = [self.problem.q[i]], [self.problem.v[i]]
        for k in range(len(u)):
            after = self.step(q[-1], v[-1], u[k], *(flag[k] for flag in self.flags()))
            q.append(after.q)
            v.append(after.v)
        return np.array(q), np.array(v)

    def cost(self, i: int, q: Array, v: Array, u: Array) -> float:
        inputs, ends = self.inputs(i)
        return _cost(self.parts(0, q[:-1], v[:-1], u, *inputs)) + _cost(self.parts(1, q[-1], v[-1], *ends))

    def parts(self, which: int, *arguments: Array) -> dict[str, Array]:
        """The parts of a knot's function by name: of `running`, or of `last`."""
        function = (self.running, self.last)[which]
        answer = function(*arguments)
        return answer._asdict() if isinstance(answer, tuple) else {self.names[which][0]: answer}

    def slopes(self, which: int, *arguments: Array) -> dict[str, Array]:
        """Their derivatives by q, v and u, as "dresidual_dq"."""
        return (self.by_running, self.by_last)[which](*arguments)._asdict()

    def __call__(self, i: int, q: Array, v: Array, u: Array, multipliers: Mapping[str, Array]) -> Residuals:
        """Of the plan q (N + 1, nq), v (N + 1, nv), u (N, nu) of problem i.

        multipliers: "u" (N, nu), "q", "v" (N, nv) from knot 1 on, "below", "equal" (N, rows), "last_below",
        "last_equal" (rows), each only where there are some.
        """
        q, v, u = (np.asarray(x, np.float64) for x in (q, v, u))
        y = {name: np.asarray(x, np.float64) for name, x in multipliers.items()}
        inputs, ends = self.inputs(i)
        knots, end = self.parts(0, q[:-1], v[:-1], u, *inputs), self.parts(1, q[-1], v[-1], *ends)
        defects = self.gap(q[:-1], v[:-1], u, q[1:], v[1:], *self.flags())
        stationary, scale = self.stationarity(i, q, v, u, y)
        rows = [*self.bounds(q, v, u, y), *constraints("", knots, y), *constraints("last_", end, y)]
        cost = _cost(knots) + _cost(end)
        first = max(np.abs(q[0] - self.problem.q[i]).max(), np.abs(v[0] - self.problem.v[i]).max())
        return Residuals(
            stationarity=float(np.abs(stationary).max() / max(1.0, scale)),
            defect=float(max(np.abs(defects).max(), first)),
            violation=max((violation for violation, _, _ in rows), default=0.0),
            sign=max((sign for _, sign, _ in rows), default=0.0),
            complementarity=max((product for _, _, product in rows), default=0.0) / max(1.0, abs(cost)),
            cost=cost,
        )

    def stationarity(self, i: int, q: Array, v: Array, u: Array, y: Mapping[str, Array]) -> tuple[Array, float]:
        """dL/du (N, nu) at the costates of the plan, and the largest entry of its parts."""
        inputs, ends = self.inputs(i)
        arguments, behind = (q[:-1], v[:-1], u, *inputs), (q[-1], v[-1], *ends)
        by = gradients(self.parts(0, *arguments), self.slopes(0, *arguments), "", y, ("q", "v", "u"))
        p = np.concatenate(gradients(self.parts(1, *behind), self.slopes(1, *behind), "last_", y, ("q", "v")))
        steps = self.by_gap(q[:-1], v[:-1], u, q[1:], v[1:], *self.flags())
        A = np.concatenate([steps.dgap_dq, steps.dgap_dv], axis=2)
        at_bounds = np.concatenate([self.tangent(y["q"]) if "q" in y else 0.0 * v[1:], y.get("v", 0.0 * v[1:])], axis=1)
        found, scale = np.zeros_like(u), 0.0
        for k in reversed(range(len(u))):
            p = p + at_bounds[k]
            own, later = by[2][k] + y.get("u", 0.0 * u)[k], steps.dgap_du[k].T @ p
            found[k], scale = own + later, max(scale, np.abs(own).max(), np.abs(later).max())
            p = np.concatenate([by[0][k], by[1][k]]) + A[k].T @ p
        return found, scale

    def tangent(self, y: Array) -> Array:
        """Multipliers of bounds on q (..., nq), by the tangent (..., nv): bounds are those of joints with one angle."""
        robot = self.problem.robot
        if y.shape[-1] == robot.nv:
            return y
        found = np.zeros((*y.shape[:-1], robot.nv))
        for joint in robot.joints:
            if joint.nq == joint.nv:
                found[..., joint.v_index : joint.v_index + joint.nv] = y[..., joint.q_index : joint.q_index + joint.nq]
        return found

    def bounds(self, q: Array, v: Array, u: Array, y: Mapping[str, Array]) -> list[tuple[float, float, float]]:
        """Violation, sign and complementarity of each kind of bounds."""
        found = list[tuple[float, float, float]]()
        for name, x in (("q", q[1:]), ("v", v[1:]), ("u", u)):
            if name in self.problem.bounds:
                lower, upper = self.problem.bounds[name]
                movable = (lower < upper) & np.ones_like(x, dtype=bool)
                violation = np.maximum(lower - x, x - upper).max()
                own = np.where(movable, y[name], 0.0)
                slack = np.where(own > 0, upper - x, x - lower)
                products = np.where(own != 0, np.abs(own) * np.where(np.isfinite(slack), np.abs(slack), 1.0), 0.0)
                found.append((float(max(violation, 0.0)), 0.0, float(products.max())))
        return found


def constraints(prefix: str, parts: Mapping[str, Array], y: Mapping[str, Array]) -> list[tuple[float, float, float]]:
    """Violation, sign and complementarity of a user's inequalities and equations."""
    found = list[tuple[float, float, float]]()
    if "below" in parts:
        own = y[f"{prefix}below"]
        sign, product = np.maximum(-own, 0.0).max(), np.abs(own * parts["below"]).max()
        found.append((float(np.maximum(parts["below"], 0.0).max()), float(sign), float(product)))
    if "equal" in parts:
        found.append((float(np.abs(parts["equal"]).max()), 0.0, 0.0))
    return found


def gradients(
    parts: Mapping[str, Array], by: Mapping[str, Array], prefix: str, y: Mapping[str, Array], variables: tuple[str, ...]
) -> list[Array]:
    """Of l + y . c by each of the variables."""
    weights = {"residual": lambda r: r, "cost": np.ones_like}
    found = list[Array]()
    for x in variables:
        terms = [
            np.einsum("...i,...ij->...j", weights.get(name, lambda _: y[prefix + name])(part), by[f"d{name}_d{x}"])
            for name, part in parts.items()
        ]
        found.append(np.sum(terms, axis=0))
    return found


def _cost(parts: Mapping[str, Array]) -> float:
    return 0.5 * float((parts.get("residual", np.zeros(1)) ** 2).sum()) + float(parts.get("cost", np.zeros(1)).sum())
