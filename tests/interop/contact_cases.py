"""A quadruped with four feet in crocoddyl and here, and problems with contacts of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import condyle
from condyle.model.placement import Placement
from tests.interop.cases import crocoddyl, pinocchio

LEGS = ("lf", "rf", "lh", "rh")
AXES = pinocchio.ReferenceFrame
FOOT = 0.33, 0.0, 0.0


class Quadruped:
    """HyQ on a floating base with point feet, in both."""

    def __init__(self) -> None:
        robot = condyle.load("hyq", floating_base=True)
        self.model = pinocchio.buildModelFromXML(condyle.load("hyq").to_urdf(), pinocchio.JointModelFreeFlyer())
        for leg in LEGS:
            link = self.model.frames[self.model.getFrameId(f"{leg}_lowerleg")]
            place = link.placement * pinocchio.SE3(np.eye(3), np.array(FOOT))
            self.model.addFrame(pinocchio.Frame(f"{leg}_point", link.parentJoint, place, pinocchio.FrameType.OP_FRAME))
        self.state = crocoddyl.StateMultibody(self.model)
        self.actuation = crocoddyl.ActuationModelFloatingBase(self.state)
        feet = [condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy(FOOT)) for leg in LEGS]
        self.robot, self.dyn = robot, robot.compile(contacts=feet, threads=1)
        self.rng = np.random.default_rng(5)

    @cached_property
    def ids(self) -> list[int]:
        return [self.model.getFrameId(f"{leg}_point") for leg in LEGS]

    def x(self) -> Any:
        return self.state.integrate(self.state.zero(), self.rng.uniform(-1, 1, self.state.ndx))

    def u(self) -> Any:
        return self.rng.uniform(-10, 10, 12)

    def contacts(self, on: Any, axes: Any = AXES.LOCAL_WORLD_ALIGNED, gains: tuple[float, float] = (0.0, 50.0)) -> Any:
        """crocoddyl's, of all feet, those of `on` active; in an order by name that is not ours."""
        found = crocoddyl.ContactModelMultiple(self.state, 12)
        for k, frame in enumerate(self.ids):
            there = self.rng.uniform(-1, 1, 3)
            one = crocoddyl.ContactModel3D(self.state, frame, there, axes, 12, np.array(gains))
            found.addContact(f"{'cadb'[k]}_{LEGS[k]}", one, bool(on[k]))
        return found

    def impulses(self, on: Any) -> Any:
        found = crocoddyl.ImpulseModelMultiple(self.state)
        for k, frame in enumerate(self.ids):
            one = crocoddyl.ImpulseModel3D(self.state, frame, AXES.LOCAL_WORLD_ALIGNED)
            found.addImpulse(f"{'cadb'[k]}_{LEGS[k]}", one, bool(on[k]))
        return found

    def costs(self, on: Any) -> Any:
        """As in crocoddyl's gaits: friction cones, centre of mass, a foot, state and torques; and a foot's velocity."""
        found = self.without_torques(12)
        for k, frame in enumerate(self.ids):
            if on[k]:
                cone = crocoddyl.FrictionCone(np.eye(3), 0.7, 4, False)
                rest = crocoddyl.ResidualModelContactFrictionCone(self.state, frame, cone, 12, True)
                bounds = crocoddyl.ActivationModelQuadraticBarrier(crocoddyl.ActivationBounds(cone.lb, cone.ub))
                found.addCost(f"cone{k}", crocoddyl.CostModelResidual(self.state, bounds, rest), 0.1)
        found.addCost("u", self.cost(crocoddyl.ResidualModelControl(self.state, 12)), 0.3)
        still = crocoddyl.ResidualModelFrameVelocity(self.state, self.ids[1], pinocchio.Motion.Zero(), AXES.LOCAL, 12)
        found.addCost("velocity", self.cost(still), 0.5)
        return found

    def without_torques(self, nu: int) -> Any:
        """Those of an impact: centre of mass, a foot, state."""
        found = crocoddyl.CostModelSum(self.state, nu)
        residuals = {
            "com": crocoddyl.ResidualModelCoMPosition(self.state, np.array([0.1, 0.2, 0.3]), nu),
            "foot": crocoddyl.ResidualModelFrameTranslation(self.state, self.ids[0], np.array([0.3, 0.1, 0.0]), nu),
            "x": crocoddyl.ResidualModelState(self.state, self.state.zero(), nu),
        }
        for weight, (name, residual) in enumerate(residuals.items(), start=1):
            found.addCost(name, self.cost(residual), float(weight))
        return found

    def cost(self, residual: Any) -> Any:
        return crocoddyl.CostModelResidual(self.state, residual)

    def theirs(self, costs: Any, contacts: Any) -> Any:
        """crocoddyl's own."""
        return crocoddyl.DifferentialActionModelContactFwdDynamics(
            self.state, self.actuation, contacts, costs, 0.0, True
        )
