"""Forces of actuators and springs from a robot's data, by the equations of `condyle.Actuator` and `condyle.Joint`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condyle.model.parts import RobotData

Reals = NDArray[np.float64]


def arms(robot: RobotData) -> Reals:
    """(nu, nv): the gear of each actuator at each degree of freedom."""
    found = np.zeros((len(robot.actuators), robot.nv))
    columns = {joint.name: joint.v_index for joint in robot.joints if joint.mimic is None}
    for row, one in zip(found, robot.actuators, strict=True):
        for joint, gear in one.transmission.items():
            row[columns[joint]] += gear
    return found


def actuator_forces(robot: RobotData, q: Reals, v: Reals, u: Reals) -> Reals:
    """(nv,): joints that are driven have one number in q, where their v_index says in these tests."""
    gears = arms(robot)
    at = np.zeros(robot.nv)
    for joint in robot.joints:
        if joint.nq == 1:
            at[joint.v_index] = q[joint.q_index]
    out = np.zeros(robot.nv)
    for row, one, control in zip(gears, robot.actuators, u, strict=True):
        length, rate, held = row @ at, row @ v, np.clip(control, *one.control)
        b0, b1, b2 = one.bias or (0.0, 0.0, 0.0)
        bare = -one.gain * held * rate if one.kind == "damper" else one.gain * held + b0 + b1 * length + b2 * rate
        out += row * np.clip(bare, *one.force)
    return out


def spring_forces(robot: RobotData, q: Reals) -> Reals:
    """(nv,), of robots whose q is a plain vector."""
    return -robot.stiffness * (q - robot.spring_reference)
