"""crocoddyl's integrated action models, without costs: A and B of a step along a trajectory, in its C++ loop.

calc comes before calcDiff there; only calcDiff is timed. One thread. In the wheels of crocoddyl 3.2.1 and Pinocchio 4.1
calc leaves gravity out and calcDiff does not, so that A and B are taken at states that are slightly off: answers agree
to rounding for robots without gravity only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.cli.rivals import rival
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import model_of, pinocchio
from condyle.cli.rivals.rival import Array, step_tolerance
from condyle.errors import UnsupportedError

if TYPE_CHECKING:
    from condyle.model.robot import Robot

MODELS = {
    "semi_implicit_euler": "IntegratedActionModelEuler.calcDiff",
    "rk4": "IntegratedActionModelRK(four).calcDiff",
}

COARSE = 1e-3


class CrocoddylSteps:
    """One robot, one integrator of MODELS."""

    name = "crocoddyl"

    def __init__(self, robot: Robot, integrator: str = "semi_implicit_euler") -> None:
        if integrator not in MODELS:
            raise UnsupportedError(f"crocoddyl has no {integrator}; it has {', '.join(MODELS)}")
        self._crocoddyl: Any = rival.package("crocoddyl", "crocoddyl")
        self._model = model_of(pinocchio(), numbers_of(robot, "crocoddyl"))
        self._falls = any(robot.gravity)
        self._rk4, self._tolerance = integrator == "rk4", step_tolerance(robot)
        self.algorithms = {"dstep": MODELS[integrator]}
        self.about = {"version": str(self._crocoddyl.__version__), "flags": "the wheel's own library"}

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        del function
        return self._prepared(arrays)[0]

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        del function
        run, problem = self._prepared(arrays)
        run()
        for k, data in enumerate(problem.runningDatas):
            out[0][k], out[1][k] = data.Fx, data.Fu

    def tolerance(self, function: str) -> float:
        del function
        return COARSE if self._falls else self._tolerance

    def _prepared(self, arrays: Sequence[Array]) -> tuple[Callable[[], object], Any]:
        """A knot for every state."""
        q, v, tau, dt = arrays
        crocoddyl = self._crocoddyl
        state = crocoddyl.StateMultibody(self._model)
        torques, costs = crocoddyl.ActuationModelFull(state), crocoddyl.CostModelSum(state, state.nv)
        motion = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, torques, costs)
        knots = [self._integrated(motion, float(h)) for h in dt]
        xs: list[Any] = [*np.concatenate((q, v), axis=-1)]
        us: list[Any] = [*tau]
        problem = crocoddyl.ShootingProblem(xs[0], knots, knots[-1])
        problem.nthreads = 1
        xs.append(xs[-1])
        problem.calc(xs, us)
        return lambda: problem.calcDiff(xs, us), problem

    def _integrated(self, motion: Any, dt: float) -> Any:
        if self._rk4:
            return self._crocoddyl.IntegratedActionModelRK(motion, self._crocoddyl.RKType.four, dt)
        return self._crocoddyl.IntegratedActionModelEuler(motion, dt)
