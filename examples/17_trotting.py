"""A quadruped trots: crocoddyl's gait problem and solver, contacts and derivatives of Condyle behind its nodes.

Needs `pip install 'condyle[crocoddyl]'`.
"""

from __future__ import annotations

from typing import Any

import crocoddyl
import numpy as np
import pinocchio
from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

import condyle
from condyle.interop.crocoddyl import rebuilt

LEGS, SIGN = ("lf", "rf", "lh", "rh"), (1.0, 1.0, -1.0, -1.0)  # hind legs bend the other way
STEP, LIFT, H, KNOTS, SUPPORT = 0.15, 0.1, 0.01, 25, 2  # [m], [m], [s], nodes of a step, of all feet on the ground

# The same robot in Pinocchio, which crocoddyl's costs read, in its posture.
robot = condyle.load("hyq", floating_base=True)
model: Any = pinocchio.buildModelFromXML(condyle.load("hyq").to_urdf(), pinocchio.JointModelFreeFlyer())
q = robot.neutral()
for leg, sign in zip(LEGS, SIGN, strict=True):
    first = next(joint for joint in robot.joints if joint.name.startswith(leg)).q_index
    q[first : first + 3] = 0.0, 0.75 * sign, -1.5 * sign
data = model.createData()
pinocchio.framesForwardKinematics(model, data, q)
feet = [data.oMf[model.getFrameId(f"{leg}_foot")].translation.copy() for leg in LEGS]
q[2] -= np.mean([foot[2] for foot in feet])
model.referenceConfigurations["standing"] = q

# Two steps of two feet each, with an impact where they land: friction cones, centre of mass, feet, state and torques.
x0 = np.concatenate([q, np.zeros(robot.nv)])
gait = SimpleQuadrupedalGaitProblem(model, *(f"{leg}_foot" for leg in LEGS))
theirs = gait.createTrottingProblem(x0, STEP, LIFT, H, KNOTS, SUPPORT)

# One compiled robot with all four feet serves every phase: which of them hold is a number of each node.
held = [condyle.Contact(f"{leg}_foot") for leg in LEGS]
ours = rebuilt(theirs, robot.compile(contacts=held, threads=1))

costs: list[Any] = []
for name, problem in (("crocoddyl", theirs), ("condyle", ours)):
    solver, log = crocoddyl.SolverFDDP(problem), crocoddyl.CallbackLogger()
    solver.setCallbacks([log])
    us = [np.asarray(u) for u in problem.quasiStatic([x0] * problem.T)]
    solver.solve([x0] * (problem.T + 1), us, 100, False)
    costs.append(np.array(log.costs))
    print(
        f"{name}: {problem.T} nodes, {solver.iter} iterations, cost {solver.cost:.9g}, base at {solver.xs[-1][0]:.3f} m"
    )

end = np.array(solver.xs[-1])
pinocchio.framesForwardKinematics(model, data, end[: robot.nq])
moved = [data.oMf[model.getFrameId(f"{leg}_foot")].translation - foot for leg, foot in zip(LEGS, feet, strict=True)]
print("feet have gone", *(f"{step[0]:.3f}" for step in moved), "m forward")

assert len(costs[0]) == len(costs[1]) and np.allclose(costs[0], costs[1], rtol=1e-6)
assert all(0.07 < step[0] < 0.16 for step in moved)
