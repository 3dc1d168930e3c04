"""The simulated robot on flat ground, a millisecond a step: by our own step with springs under the feet, and MuJoCo.

Feet are balls of RADIUS about the origins of their frames. Torques of joints are held over a millisecond.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.cli.rivals import mujoco_c
from condyle.cli.rivals.numbers import numbers_of
from experiments.dadu2023.walker import FEET, NV, RADIUS, Walker

Array = NDArray[np.floating]

MS = 1e-3
SUBSTEPS = 4
"""Of a millisecond: the springs are stiff."""
STIFFNESS, DAMPING, FRICTION, SLIP = 5e4, 1.5, 0.7, 0.02
"""N/m; s/m, by which the push grows with the velocity; and the velocity [m/s] by which friction is smoothed."""


class World(Protocol):
    """q (25), v (24): the state."""

    q: Array
    v: Array

    def advance(self, torques: Array) -> None:
        """A millisecond under the torques (18) of the joints."""
        ...


class Springs:
    """Semi-implicit Euler, each foot on a damped spring, with friction that grows smoothly with its velocity."""

    def __init__(self, walker: Walker, q: Array, v: Array) -> None:
        self.q, self.v = q.copy(), v.copy()
        made = walker.robot.function(
            on_springs, {"q": "nq", "v": "nv", "tau": "nv", "h": ()}, reference_frame="local_world_aligned"
        )
        self.step = made.compile(threads=1)

    def advance(self, torques: Array) -> None:
        tau = np.concatenate([np.zeros(6), torques])
        after = self.step.rollout(self.q, self.v, tau, MS / SUBSTEPS, steps=SUBSTEPS, last=True)
        self.q, self.v = after.q, after.v


def on_springs(at: Any, tau: Any, h: Any) -> dict[str, Any]:
    """One step: q, v."""
    force: Any = tau
    for name in FEET:
        foot = at.frame(name)
        J = foot.jacobian[:3]
        velocity = (J * at.v[None, :]).sum(axis=1)
        depth = np.maximum(RADIUS - foot.translation[2], 0.0)
        push = STIFFNESS * depth * np.maximum(1.0 - DAMPING * velocity[2], 0.0)
        slip = velocity[:2]
        grip = -FRICTION * push * slip / np.sqrt((slip**2).sum() + SLIP**2)
        force = force + (J * np.concatenate([grip, push[None]])[:, None]).sum(axis=0)
    after = at.step(force, h)
    return {"q": after.q, "v": after.v}


class MuJoCo:
    """MuJoCo's own contacts and integrator, with its defaults for both."""

    def __init__(self, walker: Walker, q: Array, v: Array) -> None:
        self.mujoco, self.robot = import_module("mujoco"), walker.robot
        numbers = numbers_of(walker.robot, "MuJoCo", FEET)
        spec = self.mujoco.MjSpec.from_string(mujoco_c.mjcf(numbers))
        spec.option.disableflags, spec.option.timestep = 0, MS
        geom = self.mujoco.mjtGeom
        spec.worldbody.add_geom(type=geom.mjGEOM_PLANE, size=[0, 0, 1], friction=[FRICTION, 0.005, 0.0001])
        for joint, where in zip(numbers.frame_joint, numbers.frame_translation, strict=True):
            ball = spec.bodies[int(joint) + 1].add_geom(type=geom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], pos=where)
            ball.friction, ball.mass = [FRICTION, 0.005, 0.0001], 0.0
        self.model = spec.compile()
        self.data = self.mujoco.MjData(self.model)
        found = mujoco_c.frames(self.robot, q[None], v[None])
        self.data.qpos[:], self.data.qvel[:] = found.q[0], found.T[0] @ v
        self.read()

    def read(self) -> None:
        q, v = mujoco_c.ours(self.robot, self.data.qpos[None], self.data.qvel[None])
        self.q, self.v = q[0], v[0]

    def advance(self, torques: Array) -> None:
        self.data.qfrc_applied[NV - len(torques) :] = torques
        self.mujoco.mj_step(self.model, self.data)
        self.read()


WORLDS: dict[str, type[Springs] | type[MuJoCo]] = {"springs": Springs, "mujoco": MuJoCo}
