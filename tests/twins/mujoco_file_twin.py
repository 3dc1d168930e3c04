"""MuJoCo's own reading of an MJCF file, the passive forces and constraints switched off, derivatives by differences."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from condyle.model.parts import Joint
from condyle.model.robot import Robot
from tests.twins.mujoco_twin import MujocoTwin

Array = np.ndarray
STEP = 1e-2
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # central differences of order 6: some 1e-12 at this step
NOISE = 1e-12  # of the largest torque: derivatives below are rounding of the differences
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
        for k, e in enumerate(np.eye(self.robot.nv)):
            sides = [
                w * (self._moved(q, s * STEP * e, v, a) - self._moved(q, -s * STEP * e, v, a))
                for s, w in WEIGHTS.items()
            ]
            by_q[:, k] = np.sum(sides, axis=0) / STEP
            by_v[:, k] = (self.id(q, v + e, a) - self.id(q, v - e, a)) / 2.0  # exact: a quadratic
        least = NOISE * np.abs(self.id(q, v, a)).max()
        return tuple(x if np.abs(x).max() > least else 0.0 * x for x in (by_q, by_v))

    def _moved(self, q: Array, dq: Array, v: Array, a: Array) -> Array:
        return self.id(self.robot.integrate(q, dq), v, a)

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
