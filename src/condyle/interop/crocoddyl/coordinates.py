"""States in Pinocchio's coordinates and in ours: x = (q, v), joints in the same order.

Pinocchio has the cosine and sine of a joint that turns without limits; we have its angle. Everything else is alike:
quaternions are x y z w, velocities local. A planar joint, which has an angle here too, is turned likewise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.model.description import describe
from condyle.model.robot import Robot
from condyle.text import few, quoted

Array = NDArray[np.floating]
AnyRobot = TypeVar("AnyRobot", bound=Robot)


def arranged(robot: AnyRobot, model: Any) -> AnyRobot:
    """The robot with its joints in the order of a Pinocchio model of it, which reads URDF files by name.

    Every link comes behind its parent; siblings change places. Names that the model lacks stay where they are.
    """
    order = {str(name): k for k, name in enumerate(model.names)}
    description = describe(robot)
    joints = sorted(description.joints, key=lambda joint: order.get(joint.name, -1))
    return robot.assemble(replace(description, joints=tuple(joints)))


class Coordinates:
    """How q of a Pinocchio model and of a robot go into each other. UnsupportedError where the joints differ.

    nq, nv: of the robot. plain: whether q is a plain vector, so that its tangent space is itself. curved: the slices of
    v whose joints are not. nx: of a state in Pinocchio's.
    """

    def __init__(self, model: Any, robot: Any) -> None:
        own = [joint for joint in robot.joints if joint.mimic is None]
        joints = list(zip(model.names, model.joints, strict=True))[1:]
        moving = {str(name): joint for name, joint in joints if joint.nv}  # a mimic joint may have no entries
        mimics = {joint.name for joint in robot.joints if joint.mimic is not None}
        _same_names(list(moving), [joint.name for joint in own], mimics)
        self.nq, self.nv = int(robot.nq), int(robot.nv)
        self.plain = all(joint.kind.is_flat for joint in own)
        self.curved = [slice(joint.v_index, joint.v_index + joint.nv) for joint in own if not joint.kind.is_flat]
        self._parts: list[tuple[int, int, bool]] = []
        """Of each joint where its q begins there, how many numbers it has there, and whether its last is an angle."""
        for joint, there in zip(own, moving.values(), strict=True):
            extra = int(there.nq) - joint.nq
            turned = extra == 1 and joint.type in ("revolute", "continuous", "planar")
            if int(there.nv) != joint.nv or not (extra == 0 or turned):
                raise UnsupportedError(
                    f"joint {quoted(joint.name)} is {there.shortname()} with nq {there.nq}, nv {there.nv} in the state "
                    f"and {joint.type} with nq {joint.nq}, nv {joint.nv} in the robot: load both from the same file"
                )
            self._parts.append((int(there.idx_q), int(there.nq), turned))
        self.same = not any(turned for *_, turned in self._parts)
        self._there = self.nq + sum(turned for *_, turned in self._parts)
        self.nx = self._there + self.nv
        self._key = self.nq, self.nv, tuple(self._parts), tuple((part.start, part.stop) for part in self.curved)

    def __eq__(self, other: object) -> bool:
        """Whether states go into each other in the same way: two states of one robot may not."""
        return isinstance(other, Coordinates) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def ours(self, x: Array) -> tuple[Array, Array]:
        """q (..., nq) and v (..., nv) of the robot, from x (..., nx) of the state."""
        q, v = x[..., : self._there], x[..., self._there :]
        if self.same:
            return q, v
        found: list[Array] = []
        for at, size, turned in self._parts:
            part = q[..., at : at + size]
            angle = np.arctan2(part[..., -1:], part[..., -2:-1]) if turned else part[..., :0]
            found += [part[..., :-2] if turned else part, angle]
        return np.concatenate(found, axis=-1), v

    def theirs(self, q: Any, v: Any) -> Any:
        """x (nx) of the state, from q and v of the robot; of numbers or of symbols."""
        if self.same:
            return np.concatenate([q, v])
        found: list[Any] = []
        at = 0
        for _, size, turned in self._parts:
            part = q[at : at + size - turned]
            found += [part[:-1], np.cos(part[-1:]), np.sin(part[-1:])] if turned else [part]
            at += size - turned
        return np.concatenate([*(part for part in found if part.shape[0]), v])


def _same_names(there: list[str], here: list[str], mimics: set[str]) -> None:
    """UnsupportedError where two orders of joints differ. mimics: names of joints that follow others here."""
    follow = [quoted(name) for name in there if name in mimics]
    if follow:
        raise UnsupportedError(
            f"mimic joints of the robot with entries in the state: {few(follow, 3)}: load the robot with "
            "mimic='independent', or build the state's model with mimic=True"
        )
    cure = "arranged(robot, state.pinocchio)" if sorted(there) == sorted(here) else "load both from the same file"
    for k, (a, b) in enumerate(zip(there, here, strict=False)):
        if a != b:
            raise UnsupportedError(f"joint {k} is {quoted(a)} in the state and {quoted(b)} in the robot: {cure}")
    if len(there) != len(here):
        raise UnsupportedError(
            f"the state has {len(there)} joints and the robot {len(here)}: load both from the same file, with a "
            "floating base in both or in neither, and the same joints locked"
        )
