"""A bundled robot in MuJoCo with all its collision shapes on flat ground, to try policies in another simulation.

MuJoCo reads the bundled file itself; damping and friction of joints are those of the file. Its reader of URDF leaves
out the free joint and the armature: both are set here. Effort limits what motors and servos push by.
"""

from __future__ import annotations

from importlib import import_module, resources

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.cli.rivals import mujoco_c

Array = NDArray[np.floating]

_LEG, _ARM = (-0.1, 0.0, 0.0, 0.3, -0.2, 0.0), (0.0, 1.28, 0.0, 0.0, 0.0)
POSTURES = {"go2": (0.0, 0.9, -1.8) * 4, "g1": (*_LEG, *_LEG, 0.0, 0.0, 0.0, 0.2, 0.2, *_ARM, 0.2, -0.2, *_ARM)}
"""Of the joints as the robots stand [rad]."""
HEIGHTS = {"go2": 0.2884, "g1": 0.7862}
"""Of the bases there, with the feet on the ground [m]."""
FLOOR, ROBOT = 1, 2
"""Bits of the kinds of shapes that touch each other."""


def gains(name: str) -> tuple[Array, Array]:
    """kp [N m/rad] and kd [N m s/rad] of each joint: g1 as its source has them, go2 30 and 0.8."""
    if name == "go2":
        return np.full(12, 30.0), np.full(12, 0.8)
    joints = condyle.load(name).joint_names
    return np.array([20.0 if "ankle" in joint or "wrist" in joint else 75.0 for joint in joints]), np.full(29, 2.0)


def stance(name: str) -> Array:
    """q of the robot as it stands."""
    q = condyle.load(name, floating_base=True).neutral()
    q[2], q[7:] = HEIGHTS[name], POSTURES[name]
    return q


class World:
    """q, v: the state, in Condyle's coordinates: a quaternion x, y, z, w, and the base's velocity in its own axes.

    friction: of all contacts. timestep [s]: of MuJoCo. gains: (kp, kd), numbers or arrays, makes servos, whose controls
    are targets of the joints; None makes motors, whose controls are torques. passive: damping and friction of joints.
    self_collision: shapes of a robot touch each other, but for those of neighbours and those that overlap as it stands.
    cone: of friction, "elliptic" or "pyramidal". integrator: one of MuJoCo's.
    """

    def __init__(
        self,
        name: str,
        friction: float = 0.8,
        timestep: float = 0.002,
        *,
        gains: tuple[Array | float, Array | float] | None = None,
        passive: bool = True,
        self_collision: bool = True,
        cone: str = "elliptic",
        integrator: str = "implicitfast",
    ) -> None:
        self.mujoco = mujoco = import_module("mujoco")
        self.robot = robot = condyle.load(name, floating_base=True)
        text = (resources.files("condyle.robots") / f"{name}.urdf").read_text(encoding="utf-8")
        ends = f'<parent link="(world)"/><child link="{robot.body_names[0]}"/>'
        free = f'<link name="(world)"/><joint name="root" type="floating">{ends}</joint>'
        spec = mujoco.MjSpec.from_string(text.replace("</robot>", f"{free}</robot>"))
        spec.option.timestep = timestep
        spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
        spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        spec.option.impratio = 100.0 if cone == "elliptic" else 1.0
        for geom in spec.geoms:
            geom.contype, geom.conaffinity = ROBOT, FLOOR | (ROBOT if self_collision else 0)
            geom.condim, geom.friction[0] = 3, friction
        floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        floor.contype, floor.conaffinity, floor.friction[0], floor.priority = FLOOR, ROBOT, friction, 1
        kp, kd = gains or (0.0, 0.0)
        kp, kd = (np.broadcast_to(np.asarray(x, np.float64), robot.nv - 6) for x in (kp, kd))
        for i, joint in enumerate(robot.joints[1:]):
            hinge = spec.joint(joint.name)
            hinge.armature = float(joint.armature[0])
            if not passive:
                hinge.damping[:], hinge.frictionloss = 0.0, 0.0
            actuator = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            if gains is not None:
                actuator.set_to_position(kp=float(kp[i]), kv=float(kd[i]))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.start = stance(name)
        if self_collision:
            self._part(spec)
        self.reset()

    def _part(self, spec: object) -> None:
        """Pairs of links that overlap as the robot stands do not touch."""
        self.reset()
        pairs = {tuple(sorted(self._links(k))) for k in range(self.data.ncon)}
        for first, second in pairs:
            if self.model.body(0).name not in (first, second):
                spec.add_exclude(bodyname1=first, bodyname2=second)  # type: ignore[attr-defined]
        self.model = spec.compile()  # type: ignore[attr-defined]
        self.data = self.mujoco.MjData(self.model)

    def _links(self, contact: int) -> list[str]:
        geoms = self.data.contact[contact].geom
        return [self.model.body(int(self.model.geom_bodyid[geom])).name for geom in geoms]

    def reset(self, q: Array | None = None, v: Array | None = None) -> None:
        """Put the robot at a state; None: it stands, at rest."""
        q = self.start if q is None else np.asarray(q, np.float64)
        v = np.zeros(self.robot.nv) if v is None else np.asarray(v, np.float64)
        self.mujoco.mj_resetData(self.model, self.data)
        theirs = mujoco_c.frames(self.robot, q[None], v[None])
        self.data.qpos[:], self.data.qvel[:] = theirs.q[0], theirs.T[0] @ v
        self.mujoco.mj_forward(self.model, self.data)
        self._read()

    def _read(self) -> None:
        q, v = mujoco_c.ours(self.robot, self.data.qpos[None], self.data.qvel[None])
        self.q, self.v = q[0], v[0]

    def step(self, controls: Array, n: int = 1) -> tuple[Array, Array]:
        """q and v after n steps under these torques [N m] or targets [rad] of the joints."""
        self.data.ctrl[:] = controls
        for _ in range(n):
            self.mujoco.mj_step(self.model, self.data)
        self._read()
        return self.q, self.v

    def push(self, velocity: Array) -> None:
        """Add a velocity (3,) [m/s, in the world's axes] to that of the base."""
        self.data.qvel[:3] += velocity
        self._read()

    def touching(self) -> set[str]:
        """The links that touch the ground."""
        pairs = [self._links(k) for k in range(self.data.ncon)]
        return {link for pair in pairs for link in pair if "world" in pair and link != "world"}

    def has_fallen(self, height: float = 0.5, tilt: float = 1.0) -> bool:
        """The base is lower than this part of its height as it stands, or turned from upright by over `tilt` [rad]."""
        x, y = self.q[3:5]
        upright = 1.0 - 2.0 * (x * x + y * y)
        return bool(self.q[2] < height * self.start[2] or upright < np.cos(tilt) or not np.isfinite(self.q).all())
