"""The same robot in Pinocchio, built in code from a Robot's numbers, and the maps between the two sets of coordinates.

Joints that Pinocchio lacks are chains of those it has, with massless bodies between; mimic joints are free there, and
the map G from our coordinates to all of theirs makes them follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from condyle.model.placement import alignment
from condyle.model.robot import Joint, Robot
from tests.twins.parameters import moved_parameters

Array = np.ndarray
REFERENCES = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}


@dataclass
class Part:
    """One of Pinocchio's joints: the joint of ours that it belongs to, and which of its freedoms it is (None: all)."""

    joint: Joint
    freedom: int | None
    id: int


class Twin:
    """A pin.Model for a robot; every method takes and gives our coordinates, one state at a time."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
        self.parts: list[Part] = []
        self.bodies: list[tuple[int, pin.SE3]] = []  # of each of our bodies: their joint, and our frame in theirs
        for joint, body in zip(robot.joints, robot.bodies, strict=True):
            self._add(joint)
            id, place = self.bodies[-1]
            inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
            self.model.appendBodyToJoint(id, inertia, place)
        self._set_armature()
        self.data = self.model.createData()
        self.G = self._map()

    def _add(self, joint: Joint) -> None:
        parent, place = (0, pin.SE3.Identity()) if joint.parent < 0 else self.bodies[joint.parent]
        turn = alignment(joint.axis) if joint.type in ("planar", "continuous") else np.eye(3)
        at = place * se3(joint.placement) * pin.SE3(np.array(turn), np.zeros(3))
        kinds = their_joints(joint)
        for k, kind in enumerate(kinds):
            parent = self.model.addJoint(parent, kind, at, f"{joint.name} {k}")
            self.parts.append(Part(joint, k if len(kinds) > 1 else None, parent))
            at = pin.SE3.Identity()
        self.bodies.append((parent, pin.SE3(np.array(turn).T, np.zeros(3)) * se3(joint.after)))

    def _set_armature(self) -> None:
        rotors = np.zeros(self.model.nv)
        for part in self.parts:
            own = part.joint.armature if part.freedom is None else part.joint.armature[part.freedom]
            rotors[self.v_slice(part)] = own
        self.model.armature = rotors

    def v_slice(self, part: Part) -> slice:
        their = self.model.joints[part.id]
        return slice(their.idx_v, their.idx_v + their.nv)

    def _map(self) -> Array:
        G = np.zeros((self.model.nv, self.robot.nv))
        for part in self.parts:
            joint, rows = part.joint, self.v_slice(part)
            if joint.mimic is not None:
                G[rows, joint.v_index] = joint.mimic.multiplier
            elif part.freedom is not None:
                G[rows, joint.v_index + part.freedom] = 1.0
            else:
                G[rows, joint.v_slice] = np.eye(joint.nv)
        return G

    def q(self, q: Array) -> Array:
        """Their configuration."""
        result = np.zeros(self.model.nq)
        for part in self.parts:
            joint, their = part.joint, self.model.joints[part.id]
            own = q[joint.q_slice]
            if joint.mimic is not None:
                own = joint.mimic.multiplier * q[joint.q_index : joint.q_index + 1] + joint.mimic.offset
            elif part.freedom is not None:
                own = own[part.freedom : part.freedom + 1]
            if joint.type == "continuous":
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            if joint.type == "planar":
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            result[their.idx_q : their.idx_q + their.nq] = own
        return result

    def forces(self, f_ext: Array | None) -> pin.StdVec_Force:
        """Their external forces: of each joint, in its frame."""
        result = pin.StdVec_Force()
        result.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for (id, place), wrench in zip(self.bodies, () if f_ext is None else f_ext, strict=f_ext is not None):
            result[id] = result[id] + place.act(pin.Force(wrench[:3], wrench[3:]))
        return result

    def id(self, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
        whole = pin.rnea(self.model, self.data, self.q(q), self.G @ v, self.G @ a, self.forces(f_ext))
        return self.G.T @ whole + self.rotors(v)[0]

    def m(self, q: Array) -> Array:
        return self.G.T @ self._all_m(q) @ self.G

    def _all_m(self, q: Array) -> Array:
        M = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return M + np.triu(M, 1).T

    def did(self, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> tuple[Array, Array]:
        given = (self.q(q), self.G @ v, self.G @ a, self.forces(f_ext))
        by_q, by_v, _ = pin.computeRNEADerivatives(self.model, self.data, *given)
        return self.G.T @ by_q @ self.G, self.G.T @ by_v @ self.G + self.rotors(v)[1]

    def rotors(self, v: Array) -> tuple[Array, Array]:
        """What armature of free joints is here beside theirs, armature (w x v), and its derivatives by v."""
        force, slope = np.zeros_like(v), np.zeros((len(v), len(v)))
        for joint in self.robot.joints:
            if joint.type == "free":
                rows, turns = (slice(joint.v_index + k, joint.v_index + k + 3) for k in (0, 3))
                force[rows] = joint.armature[:3] * np.cross(v[turns], v[rows])
                slope[rows, rows] = joint.armature[0] * np.cross(np.eye(3), v[turns])
                slope[rows, turns] = -joint.armature[0] * np.cross(np.eye(3), v[rows])
        return force, slope

    @property
    def is_plain(self) -> bool:
        """Without mimic joints, and armature of free joints; else forward dynamics is solved with their M here."""
        bare = all(joint.type != "free" or not joint.armature.any() for joint in self.robot.joints)
        return bare and all(joint.mimic is None for joint in self.robot.joints)

    def minv(self, q: Array) -> Array:
        if not self.is_plain:
            return np.linalg.inv(self.m(q))
        Minv = np.triu(pin.computeMinverse(self.model, self.data, self.q(q)))
        return self.G.T @ (Minv + np.triu(Minv, 1).T) @ self.G

    def fd(self, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
        if not self.is_plain:
            return np.linalg.solve(self.m(q), tau - self.id(q, v, 0.0 * v, f_ext))
        return self.G.T @ pin.aba(self.model, self.data, self.q(q), self.G @ v, self.G @ tau, self.forces(f_ext))

    def dfd(self, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> tuple[Array, Array, Array]:
        if not self.is_plain:
            Minv = self.minv(q)
            by_q, by_v = self.did(q, v, self.fd(q, v, tau, f_ext), f_ext)
            return -Minv @ by_q, -Minv @ by_v, Minv
        given = (self.q(q), self.G @ v, self.G @ tau, self.forces(f_ext))
        by_q, by_v, Minv = pin.computeABADerivatives(self.model, self.data, *given)
        Minv = np.triu(Minv) + np.triu(Minv, 1).T
        return tuple(self.G.T @ x @ self.G for x in (by_q, by_v, Minv))

    def difd(self, q: Array, v: Array, a: Array, Minv: Array, f_ext: Array | None = None) -> tuple[Array, Array]:
        by_q, by_v = self.did(q, v, a, f_ext)
        return -Minv @ by_q, -Minv @ by_v

    def asked(self, frames: Sequence[str], reference_frame: str = "local") -> Twin:
        """The same, which answers for these frames too."""
        self.reference = REFERENCES[reference_frame]
        self.frames = [self._frame(*self.robot.frames[name], name) for name in frames]
        self.data = self.model.createData()
        return self

    def _frame(self, body: int, placement: object, name: str) -> int:
        id, place = self.bodies[body] if body >= 0 else (0, pin.SE3.Identity())
        named = f"{name} of ours"
        if not self.model.existFrame(named):
            frame = pin.Frame(named, id, 0, place * se3(placement), pin.FrameType.OP_FRAME)
            self.model.addFrame(frame, False)
        return self.model.getFrameId(named)

    def _moved(self, *state: Array) -> None:
        q, *rates = state
        pin.forwardKinematics(self.model, self.data, self.q(q), *(self.G @ x for x in rates))
        pin.updateFramePlacements(self.model, self.data)

    def fk(self, q: Array) -> tuple[Array, Array]:
        self._moved(q)
        places = [self.data.oMf[id] for id in self.frames]
        return np.array([place.rotation for place in places]), np.array([place.translation for place in places])

    def fv(self, q: Array, v: Array) -> Array:
        self._moved(q, v)
        given = self.model, self.data
        return np.array([pin.getFrameVelocity(*given, id, self.reference).vector for id in self.frames])

    def fa(self, q: Array, v: Array, a: Array) -> Array:
        self._moved(q, v, a)
        given = self.model, self.data
        return np.array([pin.getFrameClassicalAcceleration(*given, id, self.reference).vector for id in self.frames])

    def jac(self, q: Array) -> Array:
        given = self.model, self.data, self.q(q)
        return np.array([pin.computeFrameJacobian(*given, id, self.reference) @ self.G for id in self.frames])

    def djac(self, q: Array, v: Array) -> Array:
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q(q), self.G @ v)
        pin.updateFramePlacements(self.model, self.data)
        given = self.model, self.data
        return np.array([pin.getFrameJacobianTimeVariation(*given, id, self.reference) @ self.G for id in self.frames])

    def com(self, q: Array) -> Array:
        return np.array(pin.centerOfMass(self.model, self.data, self.q(q)))

    def jcom(self, q: Array) -> Array:
        return pin.jacobianCenterOfMass(self.model, self.data, self.q(q)) @ self.G

    def h(self, q: Array, v: Array) -> Array:
        return pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.G @ v).vector.copy()

    def dh(self, q: Array, v: Array, a: Array) -> Array:
        given = self.q(q), self.G @ v, self.G @ a
        return pin.computeCentroidalMomentumTimeVariation(self.model, self.data, *given).vector.copy()

    def cmm(self, q: Array) -> Array:
        return pin.computeCentroidalMap(self.model, self.data, self.q(q)) @ self.G

    def ke(self, q: Array, v: Array) -> Array:
        """By their M: computeKineticEnergy counts the rotors of no joint, or of some."""
        return np.array(0.5 * v @ self.m(q) @ v)

    def pe(self, q: Array) -> Array:
        return np.array(pin.computePotentialEnergy(self.model, self.data, self.q(q)))

    def g(self, q: Array) -> Array:
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def nle(self, q: Array, v: Array, f_ext: Array | None = None) -> Array:
        return self.id(q, v, 0.0 * v, f_ext)

    def cor(self, q: Array, v: Array) -> Array:
        C = self.G.T @ pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.G @ v) @ self.G
        for joint in self.robot.joints:
            if joint.type == "free":
                rows, turns = (slice(joint.v_index + k, joint.v_index + k + 3) for k in (0, 3))
                C[rows, rows] += joint.armature[0] * np.cross(np.eye(3), v[turns])
        return C

    def reg(self, q: Array, v: Array, a: Array) -> Array:
        """By their bodies, whose parameters are linear in ours: the matrix of 10 x 10 for each."""
        given = self.q(q), self.G @ v, self.G @ a
        whole = self.G.T @ pin.computeJointTorqueRegressor(self.model, self.data, *given)
        parts = [(whole[:, 10 * (id - 1) : 10 * id], place.homogeneous) for id, place in self.bodies]
        return np.hstack([part @ moved_parameters(place) for part, place in parts])


def se3(placement: object) -> pin.SE3:
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))  # type: ignore[attr-defined]


def their_joints(joint: Joint) -> list[object]:
    axis, second = np.array(joint.axis), joint.second_axis
    if joint.type == "universal":
        return [pin.JointModelRevoluteUnaligned(axis), pin.JointModelRevoluteUnaligned(np.array(second))]
    if joint.type == "cylindrical":
        return [pin.JointModelPrismaticUnaligned(axis), pin.JointModelRevoluteUnaligned(axis)]
    if joint.type == "helical":
        return [pin.JointModelHelicalUnaligned(axis, joint.pitch)]
    axial = {
        "revolute": pin.JointModelRevoluteUnaligned,
        "prismatic": pin.JointModelPrismaticUnaligned,
    }
    if joint.type in axial:
        return [axial[joint.type](axis)]
    whole = {
        "continuous": pin.JointModelRUBZ,
        "planar": pin.JointModelPlanar,
        "spherical": pin.JointModelSpherical,
        "translation": pin.JointModelTranslation,
        "free": pin.JointModelFreeFlyer,
    }
    return [whole[joint.type]()]


class FileTwin(Twin):
    """Pinocchio's own reading of a robot's URDF, a path or the text itself."""

    def __init__(self, robot: Robot, urdf: str, floating_base: bool) -> None:
        self.robot = robot
        build = pin.buildModelFromXML if urdf.lstrip().startswith("<") else pin.buildModelFromUrdf
        self.model = build(urdf, *([pin.JointModelFreeFlyer()] if floating_base else []))
        self.model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
        unknown = [joint.name for joint in robot.joints if not self.model.existJointName(joint.name)]
        if self.model.nv != robot.nv or unknown:
            raise ValueError(f"Pinocchio reads {self.model.nv} degrees of freedom, not {robot.nv}; lacks {unknown[:3]}")
        self.parts = [Part(joint, None, self.model.getJointId(joint.name)) for joint in robot.joints]
        self.bodies = [(part.id, pin.SE3.Identity()) for part in self.parts]
        self._set_armature()  # it reads no rotors
        self.data = self.model.createData()
        self.G = self._map()
