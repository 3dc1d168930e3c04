"""Robots with joint forces and actuators, for tests of functions that have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import condyle
from condyle import Actuator, Drive, Robot
from condyle.compile.options import bound_of
from condyle.model.robot import Robot as Model
from condyle.specification import Drives, Function
from condyle.specification.ports import CONTROLS

SMOOTH = ("damping", "friction", "springs")
"""Joint forces without kinks."""
KINDS = ("revolute", "continuous", "prismatic", "helical")
GAIN = 3.0


@cache
def driven(robot: Model) -> Robot:
    """Damping, friction and springs on every hinge and slide; a servo on each, but a damper on the second and a motor
    on the third; the first pulls the last too, as a tendon does."""
    names = [joint.name for joint in robot.joints if joint.type in KINDS and joint.mimic is None]
    drives = {
        name: Drive(damping=0.2 + 0.1 * k, friction=0.3, stiffness=1.0, spring_reference=0.1 * k)
        for k, name in enumerate(names)
    }
    servo = {"kind": "position", "gain": GAIN, "bias": (0.1, -GAIN, -0.4)}
    laws = [servo, {"kind": "damper", "gain": 0.5, "control": (0.0, 2.0)}, {"kind": "motor", "gain": 2.0}]
    actuators = [
        Actuator(f"drive_{k}", {name: 1.5} if k else {name: 1.0, names[-1]: 0.7}, **(laws[k] if k < 3 else servo))  # type: ignore[arg-type]
        for k, name in enumerate(names)
    ]
    return condyle.Robot.from_data(robot).with_drives(drives).with_actuators(actuators)


def needs_drives(function: Function) -> bool:
    """Whether it is of joint forces or actuators: other robots have no such function."""
    return bool(function.root.needs.drives) or CONTROLS in function.inputs or CONTROLS in function.root.inputs


OPTIONS: Mapping[str, Any] = {"joint_forces": SMOOTH, "actuators": True, "friction_velocity": 0.5}
"""Of `compile`, for `driven`: differences of 1e-4 see the derivatives."""


def smooth_drives(robot: Robot) -> Drives:
    """The same in numbers."""
    return bound_of(robot, **OPTIONS).drives
