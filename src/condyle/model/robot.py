"""Robot: the immutable model that everything else starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import ModelError, ShapeError
from condyle.model import change, checks, state, write
from condyle.model.array import Array, reals, transpose
from condyle.model.description import Description
from condyle.model.fingerprint import fingerprint
from condyle.model.parts import Body, Frame, Joint, Mimic, RobotData
from condyle.model.placement import Placement
from condyle.model.state import State
from condyle.model.topology import assemble
from condyle.text import quoted

Self = TypeVar("Self", bound="Robot")


class Permutation(NamedTuple):
    """Index arrays into another joint order: here = there[..., p.q] (and p.v); there[..., p.q] = here goes back."""

    q: NDArray[np.intp]
    v: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Robot(RobotData):
    """A robot: joints and bodies in depth-first order, frames by name, gravity (3,) [m/s²] in world axes.

    q (nq,) holds the joints' configurations in order, v (nv,) their velocities. Immutable; pickles as data.
    fingerprint: sha256 (hex) of all numbers that dynamics depends on.
    """

    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        RobotData.__post_init__(self)
        object.__setattr__(self, "fingerprint", fingerprint(self))

    def __repr__(self) -> str:
        """One line: what a prompt shows; the joints and bodies are attributes."""
        return f"<{type(self).__name__} {quoted(self.name)}: nq {self.nq}, nv {self.nv}, {len(self.bodies)} bodies>"

    @classmethod
    def of(cls: type[Self], robot: RobotData) -> Self:
        """The robot of a robot."""
        whole = (robot.name, robot.gravity, robot.joints, robot.bodies, robot.frames, robot.base)
        return cls(*whole, robot.snap, robot.snapped)

    @classmethod
    def assemble(cls: type[Self], description: Description) -> Self:
        """The robot of a description whose graph is sound."""
        return cls.of(assemble(description))

    def joint(self, name: str) -> Joint:
        """The joint of this name; its numbers are q[..., joint.q_slice] and v[..., joint.v_slice]. ModelError."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise ModelError(f"there is no joint {name!r}{change.suggest(name, self.joint_names)}")

    neutral = state.neutral
    random_state = state.random_state
    integrate = state.integrate
    difference = state.difference
    integrate_derivatives = state.integrate_derivatives
    normalize = state.normalize
    check_state = state.check_state
    to_urdf = write.to_urdf
    check = checks.check

    def f_ext(self, wrenches: Mapping[str, ArrayLike]) -> NDArray[np.floating]:
        """External forces on every body, (..., n_bodies, 6), from wrenches on named frames.

        Each wrench (..., 6) is [force N; torque N m] in the axes of its frame, at its origin; it is moved to the frame
        of the body that carries it. Batches broadcast; float32 when all are. ModelError for an unknown frame or one
        fixed to the world.
        """
        if not isinstance(wrenches, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"f_ext: expected frames and their wrenches such as {{'foot': wrench}}, got {wrenches!r}")
        given = {name: reals(f"the wrench on {name!r}", wrench) for name, wrench in wrenches.items()}
        single = bool(given) and all(wrench.dtype == np.float32 for wrench in given.values())
        moved = [(self._carrier(name), _wrench(name, wrench)) for name, wrench in given.items()]
        try:
            batch = np.broadcast_shapes(*(wrench.shape[:-1] for _, wrench in moved))
        except (ValueError, RuntimeError) as error:  # RuntimeError: more than 32 dimensions
            raise ShapeError(f"the batches of the wrenches do not broadcast: {error}") from None
        total = np.zeros((*batch, len(self.bodies), 6))
        for frame, wrench in moved:
            place = frame.placement
            turn = transpose(place.rotation)
            force, torque = wrench[..., :3] @ turn, wrench[..., 3:] @ turn
            total[..., frame.body, :3] += force
            total[..., frame.body, 3:] += torque + np.cross(place.translation, force)
        return total.astype(np.float32) if single else total

    def _carrier(self, name: str) -> Frame:
        if name not in self.frames:
            raise ModelError(f"there is no frame {name!r}{change.suggest(name, tuple(self.frames))}")
        if self.frames[name].body < 0:
            raise ModelError(f"frame {name!r} is fixed to the world: a force on it moves nothing")
        return self.frames[name]

    def lock(self: Self, values: Mapping[str, float | Sequence[float] | Array]) -> Self:
        """The robot with the named joints frozen at their values (a number, or kind.nq numbers), bodies merged.

        Locking a master locks its mimics. ModelError for unknown names and values that cannot be.
        """
        return self.assemble(change.lock(self, values))

    def reroot(self: Self, link: str) -> Self:
        """The same robot held by `link`: fixed base, the world stands where `link` does and the old root moves;
        floating base, the free joint's q and v are those of `link`'s frame.

        Link frames, joint names and signs, and the meaning of every other q stay; the joint order is new (see
        `permutation`). UnsupportedError for a joint on the way that cannot be reversed.
        """
        return self.assemble(change.reroot(self, link))

    def permutation(self, names: Sequence[str]) -> Permutation:
        """Where this robot's q and v stand in another joint order, given by all names of its moving joints.

        ModelError for names that are missing, unknown or given twice (mimic joints may be left out).
        """
        own = {joint.name: joint for joint in self.joints}
        wanted = {joint.name for joint in self.joints if joint.mimic is None}
        unknown, missing = [n for n in names if n not in own], sorted(wanted - set(names))
        twice = sorted({n for n in names if list(names).count(n) > 1})
        if unknown or missing or twice:
            wrong = {"unknown": unknown, "missing": missing, "given twice": twice}
            found = ", ".join(f"{what} {which}" for what, which in wrong.items() if which)
            hint = "; Pinocchio's 'universe' is no joint: give model.names[1:]" if "universe" in unknown else ""
            raise ModelError(f"not an order of this robot's joints: {found}{hint}")
        q, v, nq, nv = np.empty(self.nq, np.intp), np.empty(self.nv, np.intp), 0, 0
        for joint in (own[name] for name in names):
            if joint.mimic is None:
                q[joint.q_slice], v[joint.v_slice] = np.arange(nq, nq + joint.nq), np.arange(nv, nv + joint.nv)
                nq, nv = nq + joint.nq, nv + joint.nv
        return Permutation(q, v)


def _wrench(name: str, wrench: NDArray[np.generic]) -> Array:
    array = wrench.astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != 6:
        raise ShapeError(f"the wrench on {name!r} has shape {array.shape}, expected (..., 6): [force; torque]")
    return array


__all__ = ["Body", "Frame", "Joint", "Mimic", "Permutation", "Placement", "Robot", "State"]
