"""Optimal control problems of an arm in crocoddyl's own nodes: C++ with Pinocchio, solved by FDDP and box-FDDP."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.control_problems import TIP, Array, Problem


class Answer(NamedTuple):
    """seconds: of the processor."""

    cost: float
    xs: Array
    us: Array
    iterations: int
    seconds: float
    is_solved: bool


class Arm:
    """Problems with the costs of `control_problems.tip_cost` and `end_cost`; torques limited, speeds and positions not.

    weights: of |tip - goal|^2, |v|^2 and |u|^2 on the way, and of the first two at the end. Its Euler node is the
    semi-implicit step, and it has the cost times dt: weights are divided by it.
    """

    def __init__(self, problem: Problem, weights: tuple[float, float, float], end: tuple[float, float]) -> None:
        import crocoddyl
        import pinocchio

        self.croc: Any = crocoddyl
        self.problem, self.weights, self.end = problem, weights, end
        model = pinocchio.buildModelFromXML(problem.robot.to_urdf())
        model.gravity.linear = np.asarray(problem.robot.gravity)
        self.state: Any = crocoddyl.StateMultibody(model)
        self.tip = model.getFrameId(TIP)

    def costs(self, goal: Array, tip: float, v: float, u: float) -> Any:
        croc, state = self.croc, self.state
        found = croc.CostModelSum(state, 7)
        speeds = croc.ActivationModelWeightedQuad(np.r_[np.zeros(7), np.ones(7)])
        residuals = {
            "tip": (croc.ActivationModelQuad(3), croc.ResidualModelFrameTranslation(state, self.tip, goal, 7), tip),
            "v": (speeds, croc.ResidualModelState(state, np.zeros(14), 7), v),
            "u": (croc.ActivationModelQuad(7), croc.ResidualModelControl(state, 7), u),
        }
        for name, (activation, residual, weight) in residuals.items():
            if weight:
                found.addCost(name, croc.CostModelResidual(state, activation, residual), weight)
        return found

    def node(self, goal: Array, dt: float, weights: tuple[float, float, float]) -> Any:
        croc = self.croc
        full = croc.ActuationModelFull(self.state)
        flow = croc.DifferentialActionModelFreeFwdDynamics(self.state, full, self.costs(goal, *weights))
        node = croc.IntegratedActionModelEuler(flow, dt)
        if dt and "u" in self.problem.bounds:
            node.u_lb, node.u_ub = self.problem.bounds["u"]
        return node

    def shooting(self, i: int, threads: int = 1) -> Any:
        """Problem i."""
        problem, dt = self.problem, self.problem.dt
        goal = np.broadcast_to(problem.values["goal"][i], (problem.knots + 1, 3))
        tip, v, u = (weight / dt for weight in self.weights)
        running = [self.node(goal[k], dt, (tip, v, u)) for k in range(problem.knots)]
        last = self.node(goal[-1], 0.0, (*self.end, 0.0))
        shooting = self.croc.ShootingProblem(np.r_[problem.q[i], problem.v[i]], running, last)
        shooting.nthreads = threads
        return shooting

    def solve(self, shooting: Any, most: int = 200, start: tuple[Any, Any] | None = None) -> Answer:
        """By box-FDDP where torques are limited, else by FDDP; start: xs and us, else at rest without torques."""
        croc = self.croc
        solver = (croc.SolverBoxFDDP if "u" in self.problem.bounds else croc.SolverFDDP)(shooting)
        solver.th_stop = 1e-12
        xs, us = start or ([np.array(shooting.x0)] * (shooting.T + 1), [np.zeros(7)] * shooting.T)
        begin = time.process_time()
        is_solved = solver.solve(xs, us, most, False)
        seconds = time.process_time() - begin
        return Answer(
            float(solver.cost), np.array(solver.xs), np.array(solver.us), int(solver.iter), seconds, is_solved
        )
