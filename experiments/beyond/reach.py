"""crocoddyl's reach of a Kinova arm (its example arm_manipulation_fwddyn), with its dynamics and with ours.

FDDP takes 100 steps of 0.01 s by semi-implicit Euler from the posture `arm_up` to the placement (0.6, 0.2, 0.5) of the
end effector. The costs stay crocoddyl's; only accelerations and their derivatives are ours. It compares digits, not
speed: each node is called from C++ through Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle

Array = NDArray[np.floating]

H, KNOTS = 0.01, 100
GOAL = np.array([0.6, 0.2, 0.5])
TIP = "j2s6s200_end_effector"
PRINTED = {"iterations": 72, "cost": 8.125, "tip": (0.60058469, 0.1980805, 0.49717409)}
"""The end of crocoddyl's own log, examples/log/arm_manipulation_fwddyn.log: its cost has four digits there."""
ROWS = ("reach by crocoddyl", "reach by condyle")
QUICK = (ROWS[1],)
PACKAGES = ("crocoddyl", "pinocchio", "example_robot_data")
INSTALL = "pip install 'condyle[crocoddyl]' example-robot-data"

TEXT = (
    "crocoddyl's example arm_manipulation_fwddyn is compared with its own log: the iterations, the cost, and the place "
    "of the end effector. The costs stay crocoddyl's; only accelerations and their derivatives are ours. This compares "
    "digits, not speed. crocoddyl 3.2.1 needs Pinocchio 4.0.0: with 4.1 its wheel does not work."
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    """quick changes nothing: a row takes seconds."""
    del quick
    try:
        crocoddyl, pinocchio, data = (import_module(name) for name in PACKAGES)
    except ModuleNotFoundError as missing:
        return {"left_out": f"{missing.name} is not installed: {INSTALL}"}
    loader = data.robots_loader.KinovaLoader()
    model, q0 = loader.robot.model, loader.robot.model.referenceConfigurations["arm_up"]
    state = crocoddyl.StateMultibody(model)
    x0 = np.concatenate([q0, np.zeros(model.nv)])
    running, terminal = costs(crocoddyl, pinocchio, state, x0)
    if row.endswith("condyle"):
        ours, arm = import_module("condyle.interop.crocoddyl"), condyle.load(loader.df_path).compile(threads=1)
        motions = [ours.DifferentialActionModel(state, arm, cost) for cost in (running, terminal)]
        step, problem = ours.IntegratedActionModel, ours.ShootingProblem
    else:
        actuation = crocoddyl.ActuationModelFull(state)
        motions = [crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, c) for c in (running, terminal)]
        step, problem = crocoddyl.IntegratedActionModelEuler, crocoddyl.ShootingProblem
    nodes = [step(motion, h) for motion, h in zip(motions, (H, 0.0), strict=True)]
    solver = crocoddyl.SolverFDDP(problem(x0, [nodes[0]] * KNOTS, nodes[1]))
    solved = bool(solver.solve())
    reached = placed(pinocchio, model, solver.xs[-1][: model.nq])
    versions = {name: str(module.__version__) for name, module in (("crocoddyl", crocoddyl), ("pinocchio", pinocchio))}
    answer = {
        "solved": solved,
        "iterations": int(solver.iter),
        "cost": float(solver.cost),
        "tip": reached,
        "where": _point(reached),
    }
    return answer | {"text": f"{solver.cost:.10g}", "versions": versions}


def costs(crocoddyl: Any, pinocchio: Any, state: Any, x0: Array) -> tuple[Any, Any]:
    """Of the example: placement of the end effector, state and torque; at the end the placement alone."""
    goal = pinocchio.SE3(np.eye(3), GOAL)
    placement = crocoddyl.ResidualModelFramePlacement(state, state.pinocchio.getFrameId(TIP), goal, state.nv)
    residuals = (
        ("placement", placement, 1.0),
        ("state", crocoddyl.ResidualModelState(state, x0, state.nv), 0.1),
        ("torque", crocoddyl.ResidualModelControl(state, state.nv), 0.1),
    )
    running, terminal = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
    for name, residual, weight in residuals:
        running.addCost(name, crocoddyl.CostModelResidual(state, residual), weight)
    terminal.addCost("placement", crocoddyl.CostModelResidual(state, placement), 1e3)
    return running, terminal


def placed(pinocchio: Any, model: Any, q: Array) -> list[float]:
    """Where the end effector is."""
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q)
    return [float(x) for x in data.oMf[model.getFrameId(TIP)].translation]


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    found = [["dynamics by", "iterations", "cost", "end effector"]]
    for name in ROWS:
        row = rows.get(name)
        if row is None:
            found.append([name, "not measured"])
        elif not row["solved"]:
            found.append([name, f"did not converge in {row['iterations']}"])
        else:
            found.append([name, str(row["iterations"]), row["text"], row["where"]])
    return {
        "Reach": [*found, ["crocoddyl's log", str(PRINTED["iterations"]), str(PRINTED["cost"]), _point(PRINTED["tip"])]]
    }


def _point(x: Any) -> str:
    return ", ".join(f"{value:.8f}" for value in x)
