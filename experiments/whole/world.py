"""A robot on flat ground in MuJoCo, a millisecond a step, with MuJoCo's own contacts; it can be pushed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.cli.rivals import mujoco_c
from condyle.cli.rivals.numbers import numbers_of
from condyle.model.robot import Robot

Array = NDArray[np.floating]

MS = 1e-3
FRICTION, SLIDES = 0.7, 0.69
"""Of the ground; and from which ratio of forces on a foot slides."""


class Ball(NamedTuple):
    """Of a frame, at a place in its axes [m]."""

    frame: str
    radius: float
    place: Sequence[float] = (0.0, 0.0, 0.0)


class World:
    """q, v: the state, in Condyle's coordinates. balls touch the ground; the ground has FRICTION."""

    def __init__(self, robot: Robot, balls: Sequence[Ball], q: Array, v: Array) -> None:
        self.mujoco, self.robot = import_module("mujoco"), robot
        names = tuple(dict.fromkeys(ball.frame for ball in balls))
        numbers = numbers_of(robot, "MuJoCo", names)
        spec = self.mujoco.MjSpec.from_string(mujoco_c.mjcf(numbers))
        spec.option.disableflags, spec.option.timestep = 0, MS
        geom = self.mujoco.mjtGeom
        slip = [FRICTION, 0.005, 0.0001]
        if balls:
            spec.worldbody.add_geom(type=geom.mjGEOM_PLANE, size=[0, 0, 1], friction=slip, contype=2, conaffinity=1)
        for ball in balls:
            k = names.index(ball.frame)
            place = numbers.frame_translation[k] + numbers.frame_rotation[k] @ np.array(ball.place)
            body = spec.bodies[int(numbers.frame_joint[k]) + 1]
            added = body.add_geom(type=geom.mjGEOM_SPHERE, size=[ball.radius, 0, 0], pos=place)
            added.friction, added.mass, added.contype, added.conaffinity = slip, 0.0, 1, 2
        self.model = spec.compile()
        self.data = self.mujoco.MjData(self.model)
        found = mujoco_c.frames(robot, q[None], v[None])
        self.data.qpos[:], self.data.qvel[:] = found.q[0], found.T[0] @ v
        self.read()

    def read(self) -> None:
        q, v = mujoco_c.ours(self.robot, self.data.qpos[None], self.data.qvel[None])
        self.q, self.v = q[0], v[0]

    def advance(self, torques: Array, push: Array | None = None) -> None:
        """A millisecond under the torques of the last joints, and a force on the root [N, in the world's axes]."""
        self.data.qfrc_applied[len(self.v) - len(torques) :] = torques
        self.data.xfrc_applied[1, :3] = 0.0 if push is None else push
        self.mujoco.mj_step(self.model, self.data)
        self.read()

    def friction(self) -> float:
        """The largest ratio of tangential to normal force of a foot that carries 20 N or more."""
        worst, force = 0.0, np.zeros(6)
        for k in range(self.data.ncon):
            self.mujoco.mj_contactForce(self.model, self.data, k, force)
            if force[0] > 20.0:
                worst = max(worst, float(np.hypot(force[1], force[2]) / force[0]))
        return worst
