"""Robot: the immutable model that everything else starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import ModelError, ShapeError, UnsupportedError
from condyle.identity import Identified, Parts, parts_of
from condyle.model import checks, state, write
from condyle.model import contact as loops
from condyle.model.actuator import Actuator
from condyle.model.array import Array, reals, transpose
from condyle.model.change import Drive, assemble, carrier, with_actuators, with_drives, with_elastic
from condyle.model.contact import Contact
from condyle.model.description import Description
from condyle.model.joints.lie import components
from condyle.model.named import suggest
from condyle.model.parts import Body, Frame, Joint, Mimic, RobotData
from condyle.model.physical import attached, parameters, with_parameters
from condyle.model.placement import Placement, alignment
from condyle.model.shapes import Shape
from condyle.model.state import Permutation, State, configurations
from condyle.spatial.vector import IDENTITY_MATRIX
from condyle.specification.integrators import FORCE_FRAMES
from condyle.text import quoted

# A hash of all numbers that dynamics depends on.


_VERSION = "condyle robot 1"
_NONE = np.zeros(0)


def fingerprint(robot: RobotData) -> str:
    """sha256 (hex) over joint types and order, placements, axes, pitches, mimics, inertias, armature, gravity and
    closures.

    Names, limits, damping, friction, springs and actuators do not count; neither does the sign of a zero.
    """
    digest = hashlib.sha256(_VERSION.encode())
    digest.update(_bytes(robot.gravity))
    for joint, body in zip(robot.joints, robot.bodies, strict=True):
        master = -1 if joint.mimic is None else joint.mimic.joint
        digest.update(f"\n{joint.type} {joint.parent} {master}\n".encode())
        digest.update(b"".join(_bytes(x) for x in _numbers(joint)))
        digest.update(_bytes(np.array([body.mass])) + _bytes(body.com) + _bytes(body.inertia))
    for one in robot.contacts:
        digest.update(_closure(robot, one))
    return digest.hexdigest()


def _closure(robot: RobotData, contact: Contact) -> bytes:
    """Where a closure stands on its two bodies, and what it holds."""
    (body, place), at, other = robot.frames[contact.frame], contact.anchored, -1
    if contact.other is not None:
        other, there = robot.frames[contact.other]
        at = there.compose(at)
    own = place.compose(contact.placed)
    numbers = (own.rotation, own.translation, at.rotation, at.translation, np.array(contact.gains))
    return f"\n{contact.kind} {body} {other}\n".encode() + b"".join(_bytes(x) for x in numbers)


def _numbers(joint: Joint) -> tuple[Array, ...]:
    mimic = joint.mimic
    return (
        joint.placement.rotation,
        joint.placement.translation,
        joint.after.rotation,
        joint.after.translation,
        joint.axis,
        _NONE if joint.second_axis is None else joint.second_axis,
        np.array([joint.pitch, 0.0 if mimic is None else mimic.multiplier, 0.0 if mimic is None else mimic.offset]),
        joint.armature,
    )


def _bytes(x: Array) -> bytes:
    return (x + 0.0).astype("<f8").tobytes()


# How bodies are turned at many states at once.


def orientation(robot: RobotData, body: int, q: Array) -> Array:
    """The axes of a body in the world, as columns, (..., 3, 3), at q (..., nq)."""
    turned: Array = np.eye(3)
    while body >= 0:
        joint = robot.joints[body]
        turned = joint.placement.rotation @ _turn(joint, _joint_q(joint, q)) @ joint.after.rotation @ turned
        body = joint.parent
    return np.broadcast_to(turned, (*q.shape[:-1], 3, 3))


def _joint_q(joint: Joint, q: Array) -> Array:
    """The joint's own configuration, (..., kind.nq)."""
    if joint.mimic is None:
        return q[..., joint.q_slice]
    return joint.mimic.multiplier * q[..., joint.q_index : joint.q_index + 1] + joint.mimic.offset


def _turn(joint: Joint, q: Array) -> NDArray[np.float64]:
    """The axes of the moved joint frame in the joint frame, (..., 3, 3)."""
    parts, axes, turned = joint.kind.parts or (joint.kind,), (joint.axis, joint.second_axis), np.eye(3)
    entries = components(q)
    for part, axis in zip(parts, axes, strict=False):
        own, entries = entries[: part.nq], entries[part.nq :]
        rotation = part.transform(own, joint.pitch).rotation
        columns = [[np.broadcast_to(cast(Array, x), q.shape[:-1]) for x in rotation.into(e)] for e in IDENTITY_MATRIX]
        aligned = alignment(np.eye(3)[2] if axis is None else axis)
        turned = turned @ aligned @ np.moveaxis(np.array(columns, np.float64), (0, 1), (-2, -1)) @ transpose(aligned)
    return turned


# External forces on bodies, from wrenches on named frames.


def f_ext(
    robot: RobotData, wrenches: Mapping[str, ArrayLike], frame: str = "local", q: ArrayLike | None = None
) -> NDArray[np.floating]:
    """Return external forces on every body (..., n_bodies, 6), from wrenches on named frames.

    wrenches: {frame: (..., 6)}, each [force N; torque N m] at the origin of its frame. frame: "local": in the axes of
    each frame; "local_world_aligned": in world axes, with the robot at q (..., nq). Batches broadcast. The answer is in
    the link frames of the bodies, as functions take it; float32 if all arrays are. ModelError for an unknown frame or
    one fixed to the world; UnsupportedError for another word and for a missing q.
    """
    if not isinstance(wrenches, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"f_ext: expected frames and their wrenches such as {{'foot': wrench}}, got {wrenches!r}")
    given = {name: reals(f"the wrench on {name!r}", wrench) for name, wrench in wrenches.items()}
    kinds = [wrench.dtype for wrench in given.values()]
    found = [(carrier(robot, name, "a force on it moves nothing"), _wrench(name, x)) for name, x in given.items()]
    batches = [wrench.shape[:-1] for _, wrench in found]
    at = _q_of_axes(robot, frame, q)
    if at is not None:
        kinds.append(at[1])
        batches.append(at[0].shape[:-1])
    try:
        batch = np.broadcast_shapes(*batches)
    except (ValueError, RuntimeError) as error:  # RuntimeError: more than 32 dimensions
        who = "the wrenches" if at is None else "the wrenches and q"
        raise ShapeError(f"the batches of {who} do not broadcast: {error}") from None
    total = np.zeros((*batch, len(robot.bodies), 6))
    for carried, wrench in found:
        force, torque = _in_the_body(robot, carried, wrench, None if at is None else at[0])
        total[..., carried.body, :3] += force
        total[..., carried.body, 3:] += torque + np.cross(carried.placement.translation, force)
    return total.astype(np.float32) if given and all(kind == np.float32 for kind in kinds) else total


def _q_of_axes(robot: RobotData, axes: str, q: ArrayLike | None) -> tuple[Array, np.dtype[np.floating]] | None:
    """The q that axes depend on, and its own number type; None where they depend on none."""
    if axes not in FORCE_FRAMES:
        raise UnsupportedError(f"f_ext: frame={axes!r}: allowed is {', '.join(map(repr, FORCE_FRAMES))}")
    if axes == "local":
        return None
    if q is None:
        raise UnsupportedError(f"f_ext: frame={axes!r} needs q=, which says how the frames are turned")
    return configurations(robot, q)


def _in_the_body(robot: RobotData, frame: Frame, wrench: Array, q: Array | None) -> tuple[Array, Array]:
    """Force and torque in the axes of the frame's body."""
    if q is None:
        turn = transpose(frame.placement.rotation)
        return wrench[..., :3] @ turn, wrench[..., 3:] @ turn
    turn = orientation(robot, frame.body, q)
    return (wrench[..., None, :3] @ turn)[..., 0, :], (wrench[..., None, 3:] @ turn)[..., 0, :]


def _wrench(name: str, wrench: NDArray[np.generic]) -> Array:
    array = wrench.astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != 6:
        raise ShapeError(f"the wrench on {name!r} has shape {array.shape}, expected (..., 6): [force; torque]")
    return array


Self = TypeVar("Self", bound="Robot")


@dataclass(frozen=True, slots=True, eq=False)
class Robot(RobotData, Identified):
    """A robot: joints and bodies in depth-first order, frames by name, gravity (3,) [m/s²] in world axes.

    q (nq,) holds the joints' positions in order, v (nv,) their velocities. It cannot be changed; it pickles as data.
    fingerprint: sha256 (hex) of all numbers that dynamics depends on. identity: of everything that an answer can depend
    on, to the last bit: frames, contacts, limits, damping, friction, springs, actuators, shapes and names too.
    """

    fingerprint: str = field(init=False)
    _parts: dict[str, str] = field(init=False, repr=False, default_factory=dict[str, str])

    def __post_init__(self) -> None:
        RobotData.__post_init__(self)
        object.__setattr__(self, "fingerprint", fingerprint(self))

    def __repr__(self) -> str:
        """One line: what a prompt shows; the joints and bodies are attributes."""
        return f"<{type(self).__name__} {quoted(self.name)}: nq {self.nq}, nv {self.nv}, {len(self.bodies)} bodies>"

    @classmethod
    def from_data(cls: type[Self], robot: RobotData) -> Self:
        """The robot of a robot."""
        whole = (robot.name, robot.gravity, robot.joints, robot.bodies, robot.frames, robot.base)
        more = (robot.contacts, robot.actuators, robot.file_notes, robot.shapes)
        return cls(*whole, robot.snap, robot.snapped, *more)

    @classmethod
    def assemble(cls: type[Self], description: Description) -> Self:
        """The robot of a description whose graph is sound."""
        return cls.from_data(assemble(description))

    def _identified(self) -> Parts:
        return parts_of(self)

    def joint(self, name: str) -> Joint:
        """Return the joint of this name. It has q[..., joint.q_slice] and v[..., joint.v_slice]. ModelError."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise ModelError(f"there is no joint {name!r}{suggest(name, self.joint_names)}")

    neutral = state.neutral
    random_state = state.random_state
    integrate = state.integrate
    difference = state.difference
    integrate_derivatives = state.integrate_derivatives
    normalize = state.normalize
    check_state = state.check_state
    f_ext = f_ext
    to_urdf = write.to_urdf
    check = checks.check
    permutation = state.permutation

    @property
    def inertias(self) -> Array:
        """Return the inertial parameters (n_bodies, 10) of each body: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz, SI.

        About the origin of the body's frame, in its axes. Torques are linear in them, see `inverse_dynamics_regressor`.
        A row is Pinocchio's `toDynamicParameters`.
        """
        return parameters(self)

    def with_inertias(self: Self, inertias: ArrayLike) -> Self:
        """Return the robot with other `inertias`, (n_bodies, 10).

        ModelError names every body that cannot exist; ModelWarning names a doubtful one, as `condyle.load` does.
        """
        return self.from_data(with_parameters(self, inertias))

    def attach(
        self: Self,
        frame: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = ((0.0,) * 3,) * 3,
    ) -> Self:
        """Return the robot with a payload welded to a frame.

        mass [kg]. com (3,) [m]: centre of mass in the frame. inertia (3, 3) [kg m²]: about com, in the axes of the
        frame. ModelError for an unknown frame, for one that is fixed to the world, and for a payload that cannot exist.
        """
        return self.from_data(attached(self, frame, mass, com, inertia))

    def with_drives(self: Self, drives: Mapping[str, Drive]) -> Self:
        """Return the robot whose joints of these names have the numbers of a `condyle.Drive` instead of their own.

        What a drive does not say is 0, or no limit; limits of q stay. ModelError with every unknown joint, every drive
        with as many numbers as no joint has, and a spring on a joint whose q is no plain vector.
        """
        return self.from_data(with_drives(self, drives))

    def with_elastic(self: Self, drives: Mapping[str, Drive]) -> Self:
        """Return the robot with series elastic joints: {joint: the `condyle.Drive` of its spring}.

        Such a joint, q, becomes two on one axis, whose sum is q: "elbow" is the motor's side behind the gear, with the
        armature, the limits, the friction and the actuators of the joint; "elbow_spring" is the deflection, with the
        stiffness and damping of the drive. ModelError with every unknown joint, and for a joint without armature, with
        several degrees of freedom, and one that mimics or is mimicked.
        Source: Spong, Modeling and Control of Elastic Joint Robots, 1987.
        """
        return self.from_data(with_elastic(self, drives))

    def with_actuators(self: Self, actuators: Iterable[Actuator]) -> Self:
        """Return the robot with these actuators, a `condyle.Actuator` each, instead of its own.

        What one drives by a joint that mimics another is driven by that one: gear times multiplier. ModelError for
        names that are there twice and for joints that are not there or have more than one degree of freedom.
        """
        return self.from_data(with_actuators(self, actuators))

    def shape_contacts(self, which: Sequence[str | Shape] | None = None) -> tuple[Contact, ...]:
        """Return the contacts of shapes with a ground of `condyle.ground`, to be given as `contacts=`.

        A sphere has 1, a capsule 2, a box and a cylinder 4 each: the points that are deepest (docs/how-to/friction.md).

        which: names of `shapes` or of the frames that have them, or each a `condyle.Shape`; None is all `shapes` of
        bodies that move. Errors: UnsupportedError for a name without shapes, which says what the file has and was left
        out, and for a frame that does not move. ModelWarning, where which is None: what was left out.
        """
        return loops.shape_contacts(self, which)

    def lock(self: Self, values: Mapping[str, float | Sequence[float] | Array]) -> Self:
        """Return the robot with joints fixed at values, {name: number, or kind.nq numbers} in rad and m; bodies are
        merged.

        Joints that mimic a fixed joint are fixed too. ModelError for an unknown name or an impossible value.
        ModelWarning for a contact of `contacts` whose two frames are on one body then, and for an actuator that drives
        nothing then: they are left out.
        """
        return self.from_data(loops.locked(self, values))

    def reroot(self: Self, link: str) -> Self:
        """Return the same robot with another root link.

        Fixed base: the world is where `link` is, and the old root moves. Floating base: q and v of the free joint are
        those of the frame of `link`. Link frames, names and signs of joints and the meaning of the other q stay; the
        order of the joints is new, see `permutation`. Loops are closed at the same places. UnsupportedError for a joint
        between the two roots that cannot be reversed.
        """
        return self.from_data(loops.rerooted(self, link))


__all__ = ["Actuator", "Body", "Drive", "Frame", "Joint", "Mimic", "Permutation", "Placement", "Robot", "State"]
