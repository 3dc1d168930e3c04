"""MuJoCo's own reading of an MJCF file, the passive forces and constraints switched off, and exact derivatives of it.

The torque is a trigonometric polynomial of degree 2 in the angle of a turn about one axis, and a polynomial of degree 2
in a shift along one axis and in each velocity: the formulas below have no error but that of rounding.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from condyle.model.parts import Joint
from condyle.model.robot import Robot
from tests.twins.mujoco_twin import MujocoTwin

Array = np.ndarray
EIGHTH = np.pi / 4.0
OFF = ("ACTUATION", "CONSTRAINT", "CONTACT", "DAMPER", "SPRING")


class MujocoFileTwin(MujocoTwin):
    """Takes and gives our coordinates; the robot must have every joint of the file, mimics as joints of their own.

    Left out: springs, damping, friction, gravity compensation, fluids, the inertia of tendons, constraints, contacts.
    """

    def __init__(self, robot: Robot, path: Path) -> None:
        self.robot = robot
        self.model = mujoco.MjModel.from_xml_path(str(path))
        if self.model.nv != robot.nv:
            raise ValueError(f"MuJoCo reads {self.model.nv} degrees of freedom, not {robot.nv}")
        for name in OFF:
            self.model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
        self.model.opt.density = self.model.opt.viscosity = 0.0
        self.model.body_gravcomp[:] = 0.0
        self.model.tendon_armature[:] = 0.0
        self.data = mujoco.MjData(self.model)
        self.ids = joint_ids(self.model)

    def joint(self, i: int) -> tuple[Joint, int, int]:
        joint = self.robot.joints[i]
        id = self.ids[joint.name]
        return joint, int(self.model.jnt_qposadr[id]), int(self.model.jnt_dofadr[id])

    def minv(self, q: Array) -> Array:
        return np.linalg.inv(self.m(q))

    def did(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        by_q, by_v = np.empty((2, self.robot.nv, self.robot.nv))
        for k, (e, turns) in enumerate(zip(np.eye(self.robot.nv), self._turns(), strict=True)):
            by_q[:, k] = self._by_turn(q, e, v, a) if turns else self._odd(q, e, v, a)
            by_v[:, k] = (self.id(q, v + e, a) - self.id(q, v - e, a)) / 2.0
        return by_q, by_v

    def _turns(self) -> list[bool]:
        """Of each velocity, whether it is that of a turn."""
        kinds = {"prismatic": [False], "free": [False] * 3 + [True] * 3}
        return [turn for joint in self.robot.joints for turn in kinds.get(joint.type, [True] * joint.nv)]

    def _by_turn(self, q: Array, e: Array, v: Array, a: Array) -> Array:
        """b + 2 c of b sin(x) + c sin(2 x), which is b at a quarter and b / sqrt(2) + c at an eighth of a turn."""
        b = self._odd(q, 2.0 * EIGHTH * e, v, a)
        return b + 2.0 * (self._odd(q, EIGHTH * e, v, a) - b / np.sqrt(2.0))

    def _odd(self, q: Array, dq: Array, v: Array, a: Array) -> Array:
        there, back = (self.id(self.robot.integrate(q, side), v, a) for side in (dq, -dq))
        return (there - back) / 2.0

    def dfd(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        Minv = self.minv(q)
        return (*self.difd(q, v, self.fd(q, v, tau), Minv), Minv)

    def difd(self, q: Array, v: Array, a: Array, Minv: Array) -> tuple[Array, Array]:
        by_q, by_v = self.did(q, v, a)
        return -Minv @ by_q, -Minv @ by_v


def joint_ids(model: mujoco.MjModel) -> dict[str, int]:
    """The number of each joint by the name that our reader gives it: its own, or one that no other has."""
    given = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(model.njnt)]
    ids = {name: i for i, name in enumerate(given) if name}
    for i, name in enumerate(given):
        if not name:
            fresh = f"joint{i}"
            while fresh in ids:
                fresh += "_"
            ids[fresh] = i
    return ids
