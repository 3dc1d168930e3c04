"""Robots in crocoddyl and here, and costs of the same value."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest

import condyle

crocoddyl: Any = pytest.importorskip("crocoddyl", reason="pip install 'condyle[crocoddyl]'", exc_type=ImportError)
pinocchio: Any = pytest.importorskip("pinocchio")

from condyle.interop import crocoddyl as ours  # noqa: E402

__all__ = ["Case", "case", "crocoddyl", "ours", "pinocchio"]

TURNING = """<robot name="turning"><link name="world"/>{}</robot>""".format(
    "".join(
        f"""<link name="l{k}"><inertial><origin xyz="0.1 0.02 0.3"/><mass value="2"/>
        <inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j{k}" type="{kind}"><parent link="{before}"/><child link="l{k}"/><axis xyz="{axis}"/>
        <origin xyz="0 0.1 0.4"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""
        for k, (kind, before, axis) in enumerate(
            [("continuous", "world", "0 0 1"), ("revolute", "l0", "0 1 0"), ("continuous", "l1", "1 0 0")]
        )
    )
)


CART = """<robot name="cart"><link name="world"/>
<link name="cart"><inertial><origin xyz="0.1 0.05 0"/><mass value="3"/>
<inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="pole"><inertial><origin xyz="0.02 0 0.3"/><mass value="1"/>
<inertia ixx=".1" iyy=".1" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ground" type="planar"><parent link="world"/><child link="cart"/><axis xyz="0 0 1"/></joint>
<joint name="hinge" type="revolute"><parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint></robot>"""


class Case:
    """A robot in both libraries, and costs of the same value."""

    def __init__(self, text: str, robot: condyle.Robot, floating: bool) -> None:
        free = (pinocchio.JointModelFreeFlyer(),) if floating else ()
        self.model = pinocchio.buildModelFromXML(text, *free)
        self.state, self.robot = crocoddyl.StateMultibody(self.model), robot
        self.dyn = robot.compile(threads=1)
        self.rng = np.random.default_rng(3)

    def x(self) -> Any:
        return self.state.integrate(self.state.zero(), self.rng.uniform(-1, 1, self.state.ndx))

    def u(self) -> Any:
        return self.rng.uniform(-10, 10, self.state.nv)

    def costs(self) -> Any:
        """State, torque, placement of a frame and its velocity."""
        nv, frames = self.state.nv, list(self.model.frames)
        last = max(range(len(frames)), key=lambda k: frames[k].parentJoint)
        goal = pinocchio.SE3.Random()
        placement = crocoddyl.ResidualModelFramePlacement(self.state, last, goal, nv)
        local, still = pinocchio.ReferenceFrame.LOCAL, pinocchio.Motion.Zero()
        residuals = {
            "x": crocoddyl.ResidualModelState(self.state, self.state.zero(), nv),
            "u": crocoddyl.ResidualModelControl(self.state, nv),
            "place": placement,
            "velocity": crocoddyl.ResidualModelFrameVelocity(self.state, last, still, local, nv),
            "grav": crocoddyl.ResidualModelControlGrav(self.state, nv),
        }
        found = crocoddyl.CostModelSum(self.state, nv)
        for weight, (name, residual) in enumerate(residuals.items(), start=1):
            found.addCost(name, crocoddyl.CostModelResidual(self.state, residual), 0.1 * weight)
        return found

    def theirs(self, costs: Any) -> Any:
        full = crocoddyl.ActuationModelFull(self.state)
        return crocoddyl.DifferentialActionModelFreeFwdDynamics(self.state, full, costs)


def case(name: str) -> Case:
    texts = {"turning": TURNING, "cart": CART}
    if name in texts:
        with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
            file.write(texts[name])
            file.flush()
            return Case(texts[name], condyle.load(file.name), False)
    floating = name == "hyq"
    robot = condyle.load(name, floating_base=floating)
    return Case(condyle.load(name).to_urdf(), robot, floating)
