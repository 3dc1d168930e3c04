"""The tasks that environments are measured with: a go2 and a g1 that follow a velocity, on a plane.

Steps of 20 ms, four substeps; drives are position actuators about a posture; observations, rewards and ends as trainers
use them. Friction and inertias are drawn at each reset.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import condyle
from condyle import Actuator, Contact, Environment
from condyle.ground import Plane
from condyle.model.placement import Placement

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
RADIUS = 0.022
"""Of a foot of go2 [m]."""
ACTION = 0.25
"""Radians of a target by an action of 1."""
FALLEN = -0.5
"""z of the base's z axis, upside down: 60 degrees from upright."""


def turned(q: Any) -> Any:
    """The rotation of a base (3, 3), of its quaternion."""
    x, y, z, w = (q[k] for k in range(3, 7))
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row) for row in rows])


class Walk:
    """Follow a velocity. posture (nv - 6) [rad]; height [m] of the base; effort [N m]."""

    def __init__(
        self, robot: condyle.Robot, posture: Any, height: float, kp: Any, kd: Any, contacts: list[Contact]
    ) -> None:
        names, n = robot.joint_names[1:], len(posture)
        kp, kd, effort = np.broadcast_to(kp, n), np.broadcast_to(kd, n), robot.effort[6:]
        self.servos = [
            Actuator(name, {name: 1.0}, "position", kp[k], (0.0, -kp[k], -kd[k]), force=(-effort[k], effort[k]))
            for k, name in enumerate(names)
        ]
        self.robot, self.contacts = robot.with_actuators(self.servos), contacts
        self.posture, self.height = np.asarray(posture), height

    def environment(self, ground: Any, randomises: bool = True, **options: Any) -> Environment:
        """The task. options: of `Environment`."""
        drawn = {"randomise": {"friction": (0.4, 1.0), "inertias": 0.1}} if randomises else {}
        return Environment(
            self.robot, self.observe, self.reward, self.done, control=self.control, actions=len(self.posture),
            contacts=self.contacts, ground=ground, inputs={"command": 3}, reset=self.reset,
            draws=len(self.posture) + 2, horizon=1000, actuators=True, **drawn, **options,
        )  # fmt: skip

    def control(self, state: Any, action: Any) -> Any:
        return self.posture + ACTION * action

    def observe(self, state: Any, command: Any, last_action: Any) -> Any:
        v, scales = state.v, np.array([2.0, 2.0, 0.25])
        joints = state.q[7:] - self.posture
        return np.concatenate(
            [2.0 * v[:3], 0.25 * v[3:6], -turned(state.q)[2], scales * command, joints, 0.05 * v[6:], last_action]
        )

    def reward(self, state: Any, command: Any, action: Any, last_action: Any) -> Any:
        v, down = state.v, -turned(state.q)[2]
        along, turn = ((command[:2] - v[:2]) ** 2).sum(), (command[2] - v[5]) ** 2
        wanted = np.exp(-along / 0.25) + 0.5 * np.exp(-turn / 0.25)
        unwanted = 2.0 * v[2] ** 2 + 0.05 * (v[3] ** 2 + v[4] ** 2) + 0.2 * (down[0] ** 2 + down[1] ** 2)
        return 0.02 * (wanted - unwanted - 0.01 * ((action - last_action) ** 2).sum())

    def done(self, state: Any) -> Any:
        return (-turned(state.q)[2][2] > FALLEN) | (state.q[2] < 0.5 * self.height)

    def reset(self, draws: Any) -> dict[str, Any]:
        n = len(self.posture)
        base = np.array([0.0, 0.0, self.height, 0.0, 0.0, 0.0, 1.0])
        command = np.stack([draws[n], 0.0 * draws[n], draws[n + 1] - 0.5])
        return {"q": np.concatenate([base, self.posture + 0.1 * (draws[:n] - 0.5)]), "command": command}


@cache
def go2(count: int = 4) -> Walk:
    """With 4 contacts: the feet; 8: and the calves; 12: and corners of the trunk; 24: and thighs and more of these."""
    robot = condyle.load("go2", floating_base=True)
    legs = [name.removesuffix("_foot") for name in FEET]
    points = [(name, (0.0, 0.0, 0.0)) for name in FEET]
    points += [(f"{leg}_calf", (0.0, 0.0, -0.02)) for leg in legs]
    points += [("base", (0.19 * x, 0.09 * y, z)) for z in (-0.05, 0.05) for x in (1, -1) for y in (1, -1)]
    points += [(f"{leg}_thigh", (0.0, 0.0, z)) for z in (-0.02, -0.18) for leg in legs]
    contacts = [Contact(frame, placement=Placement.from_rpy(point)) for frame, point in points[:count]]
    posture = np.tile([0.0, 0.9, -1.8], 4)
    return Walk(robot, posture, 0.30, 40.0, 1.0, contacts)


@cache
def g1() -> Walk:
    """With 8 contacts: the corners of the soles."""
    robot = condyle.load("g1", floating_base=True)
    corners = [(0.09 * x, 0.03 * y, 0.0) for x in (1, -1) for y in (1, -1)]
    contacts = [
        Contact(f"{side}_foot", placement=Placement.from_rpy(point)) for side in ("left", "right") for point in corners
    ]
    leg, arm = [-0.1, 0.0, 0.0, 0.3, -0.2, 0.0], [0.2, 0.2, 0.0, 1.28, 0.0, 0.0, 0.0]
    other = [0.2, -0.2, *arm[2:]]
    posture = np.array([*leg, *leg, 0.0, 0.0, 0.0, *arm, *other])
    weak = [any(word in name for word in ("ankle", "wrist")) for name in robot.joint_names[1:]]
    return Walk(robot, posture, 0.79, np.where(weak, 20.0, 75.0), 2.0, contacts)


def ground(walk: Walk) -> Plane:
    """The plane under contacts that are centres of feet of go2, or corners of g1's soles."""
    return Plane(offset=RADIUS if walk.robot.name.startswith("go2") else 0.0)
