"""crocoddyl and Pinocchio as packages, and states in Pinocchio's coordinates and in ours: x = (q, v).

Pinocchio has the cosine and sine of a joint that turns without limits; we have its angle. Everything else is alike:
quaternions are x y z w, velocities local. A planar joint, which has an angle here too, is turned likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.calls.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.model.contact import Contact
from condyle.model.description import describe
from condyle.model.robot import Robot
from condyle.text import few, quoted

# crocoddyl and Pinocchio, where they are there and fit each other, and the classes that ours derive from.


INSTALL = "pip install 'condyle[crocoddyl]'"


def _packages() -> tuple[Any, Any]:
    """crocoddyl and Pinocchio. UnsupportedError where they are missing, or crash with each other."""
    try:
        found = {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio")}
    except metadata.PackageNotFoundError:
        found = {}  # not from wheels: whoever built them answers for their versions
    if found.get("crocoddyl", "").startswith("3.2.") and not found["libpinocchio"].startswith("4.0."):
        raise UnsupportedError(
            f"crocoddyl {found['crocoddyl']} crashes with Pinocchio {found['libpinocchio']}, it was built with 4.0.0: "
            "pip install 'pin==4.0.0' 'libpinocchio==4.0.0'"
        )
    try:
        return import_module("crocoddyl"), import_module("pinocchio")
    except ImportError as error:
        raise UnsupportedError(f"{error.name or 'crocoddyl'} is not installed: {INSTALL}") from error


PACKAGES = _packages()
CROC = PACKAGES[0]

if TYPE_CHECKING:  # crocoddyl says no types

    class Model:
        state: Any
        nu: int
        nr: int
        u_lb: Array
        u_ub: Array

        def __init__(self, state: Any, nu: int, nr: int) -> None: ...
        def createData(self) -> Any: ...

    class Problem:
        T: int
        runningDatas: Sequence[Any]
        terminalModel: Any
        terminalData: Any

        def __init__(self, x0: Array, models: Sequence[Any], last: Any) -> None: ...

    Differential = Model
else:
    Differential, Model = CROC.DifferentialActionModelAbstract, CROC.ActionModelAbstract
    Problem = CROC.ShootingProblem


class Memory:
    """An array's memory without its owner: data that kept views of itself would never be freed."""

    def __init__(self, array: Array) -> None:
        self.__array_interface__ = array.__array_interface__


def robot_of(dyn: Dynamics) -> Any:
    """The robot behind it. UnsupportedError where its arrays are not crocoddyl's."""
    given = dyn.__reduce__()[1]
    if given.dtype != "float64" or dyn.on_device:
        raise UnsupportedError(f"dyn has {given.dtype} on {dyn.target!r}; crocoddyl needs float64 on a processor")
    if given.inputs:
        raise UnsupportedError("dyn has open numbers; crocoddyl gives none: compile the robot without inputs=")
    return given.robot


def contacts_of(dyn: Dynamics) -> tuple[Contact, ...]:
    """Those that it is compiled with."""
    return dyn.__reduce__()[1].contacts


def multibody(state: Any) -> Any:
    """The state. UnsupportedError for one without a robot."""
    if not isinstance(state, CROC.StateMultibody):
        raise UnsupportedError(f"state is a {type(state).__name__}; expected crocoddyl.StateMultibody of the robot")
    return state


def active(models: Any, kind: str) -> list[tuple[str, Any]]:
    """Of a ContactModelMultiple or ImpulseModelMultiple those that are on, in its order; kind: "contact", "impulse"."""
    items = getattr(models, f"{kind}s").todict()
    return [(str(name), getattr(items[name], kind)) for name in sorted(items) if items[name].active]


def write(data: Any, slope: Array, curvature: Array, has_u: bool = True) -> None:
    """Derivatives of the cost by (x, u), into crocoddyl's data."""
    n = data.Lx.shape[0]
    data.Lx[:], data.Lxx[:] = slope[:n], curvature[:n, :n]
    if has_u:
        data.Lu[:], data.Lxu[:], data.Luu[:] = slope[n:], curvature[:n, n:], curvature[n:, n:]


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
