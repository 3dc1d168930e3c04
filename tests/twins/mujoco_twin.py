"""The same robot in MuJoCo, by an MJCF file written from a Robot's numbers, and the maps between coordinates.

MuJoCo has hinges, slides, balls and free joints; its free joint's linear velocity is in world axes and its
acceleration is the rate of that, its quaternions begin with w.
"""

from __future__ import annotations

import mujoco
import numpy as np

from condyle.model.parts import Joint
from condyle.model.robot import Robot
from tests.laws.tangent import turned
from tests.model.kinematics import matrix

Array = np.ndarray
MUJOCO_JOINT_TYPES = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "spherical": "ball",
    "free": "free",
}


def mjcf(robot: Robot) -> str:
    """The robot as MJCF; every joint must be of a kind in `MUJOCO_JOINT_TYPES`, its body's frame in the joint frame."""
    children: dict[int, list[int]] = {}
    for i, joint in enumerate(robot.joints):
        children.setdefault(joint.parent, []).append(i)
    lines = [
        '<mujoco><compiler angle="radian" autolimits="false"/>',
        f'<option gravity="{words(robot.gravity)}"><flag constraint="disable" contact="disable"/></option>',
        "<worldbody>",
    ]

    def write(i: int) -> None:
        joint, body = robot.joints[i], robot.bodies[i]
        assert joint.after.is_identity
        place = matrix(joint.placement)
        lines.append(f'<body name="b{i}" pos="{words(place[:3, 3])}" xyaxes="{words(place[:3, :2].T)}">')
        axis = "" if joint.type in ("spherical", "free") else f'axis="{words(joint.axis)}"'
        rotor = float(joint.armature.max())
        lines.append(f'<joint name="j{i}" type="{MUJOCO_JOINT_TYPES[joint.type]}" {axis} armature="{rotor!r}"/>')
        I = body.inertia
        full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        lines.append(f'<inertial pos="{words(body.com)}" mass="{body.mass!r}" fullinertia="{words(np.array(full))}"/>')
        for child in children.get(i, []):
            write(child)
        lines.append("</body>")

    for root in children[-1]:
        write(root)
    return "\n".join([*lines, "</worldbody></mujoco>"])


def words(x: Array) -> str:
    return " ".join(repr(value) for value in np.ravel(x).tolist())


class MujocoTwin:
    """Takes and gives our coordinates, one state at a time."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.model = mujoco.MjModel.from_xml_string(mjcf(robot))
        self.data = mujoco.MjData(self.model)
        assert self.model.nv == robot.nv
        self.frames = (robot.bodies[len(robot.bodies) // 2].name, robot.bodies[-1].name)

    def joint(self, i: int) -> tuple[Joint, int, int]:
        """Our joint, and where it stands in their q and v."""
        id = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, f"j{i}")
        return self.robot.joints[i], int(self.model.jnt_qposadr[id]), int(self.model.jnt_dofadr[id])

    def place(self, q: Array, v: Array) -> Array:
        """Put them where we are; T (nv, nv): their velocities from ours."""
        T = np.zeros((self.model.nv, self.robot.nv))
        for i in range(len(self.robot.joints)):
            joint, at_q, at_v = self.joint(i)
            own = q[joint.q_slice]
            rows = slice(at_v, at_v + joint.nv)
            T[rows, joint.v_slice] = np.eye(joint.nv)
            if joint.type in ("spherical", "free"):
                own = np.concatenate((own[:-4], own[-1:], own[-4:-1]))
            if joint.type == "free":
                T[at_v : at_v + 3, joint.v_index : joint.v_index + 3] = turned(q[joint.q_slice][None, 3:])[0]
            self.data.qpos[at_q : at_q + joint.nq] = own
        self.data.qvel[:] = T @ v
        return T

    def coriolis(self, q: Array, v: Array) -> Array:
        """What their acceleration has beside T a: R (w x v) of each free joint."""
        result = np.zeros(self.model.nv)
        for i in range(len(self.robot.joints)):
            joint, _, at_v = self.joint(i)
            if joint.type == "free":
                linear, angular = np.split(v[joint.v_slice], 2)
                result[at_v : at_v + 3] = turned(q[joint.q_slice][None, 3:])[0] @ np.cross(angular, linear)
        return result

    def id(self, q: Array, v: Array, a: Array) -> Array:
        T = self.place(q, v)
        mujoco.mj_forward(self.model, self.data)
        self.data.qacc[:] = T @ a + self.coriolis(q, v)
        mujoco.mj_inverse(self.model, self.data)
        return T.T @ self.data.qfrc_inverse

    def fd(self, q: Array, v: Array, tau: Array) -> Array:
        T = self.place(q, v)
        self.data.qfrc_applied[:] = np.linalg.solve(T.T, tau)
        mujoco.mj_forward(self.model, self.data)
        a = np.linalg.solve(T, self.data.qacc_smooth - self.coriolis(q, v))
        self.data.qfrc_applied[:] = 0.0
        return a

    def m(self, q: Array) -> Array:
        T = self.place(q, np.zeros(self.robot.nv))
        mujoco.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return T.T @ M @ T

    def still(self, q: Array) -> Array:
        """Put them where we are, at rest."""
        T = self.place(q, np.zeros(self.robot.nv))
        mujoco.mj_forward(self.model, self.data)
        return T

    def body(self, name: str) -> int:
        """The body whose frame this is, which is one of ours."""
        frame = self.robot.frames[name]
        assert frame.placement.is_identity
        return mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, f"b{frame.body}")

    def fk(self, q: Array) -> tuple[Array, Array]:
        self.still(q)
        ids = [self.body(name) for name in self.frames]
        return np.array([self.data.xmat[i].reshape(3, 3) for i in ids]), np.array([self.data.xpos[i] for i in ids])

    def jac(self, q: Array) -> Array:
        """In the world's axes, at the frame's origin."""
        T, found = self.still(q), np.zeros((len(self.frames), 6, self.model.nv))
        for rows, name in zip(found, self.frames, strict=True):
            mujoco.mj_jacBody(self.model, self.data, rows[:3], rows[3:], self.body(name))
        return found @ T

    def fv(self, q: Array, v: Array) -> Array:
        return self.jac(q) @ v

    def com(self, q: Array) -> Array:
        self.still(q)
        return np.array(self.data.subtree_com[0])

    def jcom(self, q: Array) -> Array:
        T, rows = self.still(q), np.zeros((3, self.model.nv))
        mujoco.mj_jacSubtreeCom(self.model, self.data, rows, 0)
        return rows @ T

    def cmm(self, q: Array) -> Array:
        T, rows = self.still(q), np.zeros((3, self.model.nv))
        mujoco.mj_angmomMat(self.model, self.data, rows, 0)
        return np.vstack((sum(body.mass for body in self.robot.bodies) * self.jcom(q), rows @ T))

    def ke(self, q: Array, v: Array) -> Array:
        self.place(q, v)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return np.array(self.data.energy[1])

    def pe(self, q: Array) -> Array:
        self.still(q)
        mujoco.mj_energyPos(self.model, self.data)
        return np.array(self.data.energy[0])

    def g(self, q: Array) -> Array:
        T = self.still(q)
        return T.T @ self.data.qfrc_bias
