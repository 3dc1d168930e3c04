"""A robot as plain arrays: what adapters build their models from, joint by joint, so that answers can be compared.

The numbers are those of our own `Robot` after merging, snapping and locking; no file format comes in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from condyle.cli.check import answers, relative
from condyle.cli.states import Array, draw
from condyle.errors import BuildError, UnsupportedError
from condyle.functions.steps import STEP
from condyle.specification import Function, Port
from condyle.text import quoted

if TYPE_CHECKING:
    import condyle
    from condyle.calls.dynamics import Dynamics
    from condyle.cli.rivals.rival import Rival
    from condyle.model.placement import Placement
    from condyle.model.robot import Joint, Robot


Floats = NDArray[np.float64]
Matrix = NDArray[np.floating]
JOINT_KINDS = {"revolute": 0, "continuous": 0, "prismatic": 4, "spherical": 8, "free": 9}
"""A coordinate axis adds 0, 1 or 2, any other 3; spherical and free joints have none."""
WITHOUT_AXIS = 8
INTS = ("parent", "kind", "frame_joint")
FLOATS = (
    *("axis", "rotation", "translation", "mass", "com", "inertia", "armature", "gravity"),
    *("frame_rotation", "frame_translation"),
)
_INT_P, _DOUBLE_P = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)


class Struct(ctypes.Structure):
    """rival::Numbers of pinocchio_model.hpp."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int) for name in ("joints", "frames")),
        *((name, _INT_P) for name in INTS),
        *((name, _DOUBLE_P) for name in FLOATS),
    ]


@dataclass(frozen=True)
class Numbers:
    """Per joint: parent (-1: none), kind, axis, rotation and translation in the parent's body, and its body's inertia.

    The body's frame is the joint's moved frame; inertia is about the centre of mass in these axes. armature: (nv,).
    Per frame: its joint (-1: the world), and where it stands in that joint's moved frame.
    """

    parent: NDArray[np.intc]
    kind: NDArray[np.intc]
    axis: Floats
    rotation: Floats
    translation: Floats
    mass: Floats
    com: Floats
    inertia: Floats
    armature: Floats
    gravity: Floats
    frame_joint: NDArray[np.intc]
    frame_rotation: Floats
    frame_translation: Floats

    def struct(self) -> Struct:
        """Points into these arrays: keep them."""
        ints = (getattr(self, name).ctypes.data_as(_INT_P) for name in INTS)
        floats = (getattr(self, name).ctypes.data_as(_DOUBLE_P) for name in FLOATS)
        return Struct(len(self.parent), len(self.frame_joint), *ints, *floats)


def numbers_of(robot: Robot, library: str, frames: tuple[str, ...] = ()) -> Numbers:
    """The arrays; UnsupportedError for joints that the comparison with `library` does not support."""
    if not robot.joints:
        raise UnsupportedError(f"no joint of this robot moves: there is nothing to compare with {library}")
    kinds = [_kind(robot, joint, library) for joint in robot.joints]
    places = [_inside(robot, joint.parent, joint.placement) for joint in robot.joints]
    bodies = list(zip(robot.joints, robot.bodies, strict=True))
    turns = [joint.after.rotation for joint in robot.joints]
    points = [_inside(robot, *robot.frames[name]) for name in frames]
    return Numbers(
        np.array(robot.parents, dtype=np.intc),
        np.array(kinds, dtype=np.intc),
        _rows([joint.axis for joint in robot.joints]),
        _rows([rotation for rotation, _ in places]),
        _rows([translation for _, translation in places]),
        _rows([body.mass for body in robot.bodies]),
        _rows([joint.after.rotation @ body.com + joint.after.translation for joint, body in bodies]),
        _rows([turn @ body.inertia @ np.transpose(turn) for turn, body in zip(turns, robot.bodies, strict=True)]),
        np.concatenate([np.ravel(joint.armature) for joint in robot.joints]).astype(np.float64),
        _rows(list(robot.gravity)),
        np.array([robot.frames[name].body for name in frames], dtype=np.intc),
        _rows([rotation for rotation, _ in points]),
        _rows([translation for _, translation in points]),
    )


def _kind(robot: Robot, joint: Joint, library: str) -> int:
    if joint.mimic is not None:
        raise UnsupportedError(
            f"the comparison with {library} supports no mimic joints such as {joint.name!r}: --mimic independent makes "
            "them independent joints in both libraries; --lock "
            f"{quoted(robot.joints[joint.mimic.joint].name)}=VALUE fixes them"
        )
    if joint.type not in JOINT_KINDS:
        raise UnsupportedError(
            f"the comparison with {library} supports no {joint.type} joints such as {joint.name!r}; it supports "
            f"{', '.join(JOINT_KINDS)}: --lock {quoted(joint.name)}=VALUE fixes it, or leave {library} out of --against"
        )
    if joint.type == "free" and joint.armature.any() and library != "MuJoCo":
        raise UnsupportedError(
            f"{library} defines armature on a free joint such as {joint.name!r} differently: take the armature out of "
            f"the file, or leave {library} out of --against"
        )
    base = JOINT_KINDS[joint.type]
    if base >= WITHOUT_AXIS:
        return base
    units = [list(row) for row in np.eye(3)]
    axis = list(joint.axis)
    return base + (units.index(axis) if axis in units else 3)


def _inside(robot: Robot, body: int, place: Placement) -> tuple[Matrix, Matrix]:
    """What stands in this body's frame (-1: the world's), seen from its joint's moved frame."""
    if body < 0:
        return place.rotation, place.translation
    after = robot.joints[body].after
    return after.rotation @ place.rotation, after.rotation @ place.translation + after.translation


def _rows(rows: object) -> Floats:
    return np.ascontiguousarray(rows, dtype=np.float64)


# Answers are compared before anything is timed: times of different computations cannot be compared.


N_STATES = 16


def agreement(robot: condyle.Robot, dynamics: Dynamics, rival: Rival, function: Function) -> float:
    """The worst relative difference at random states; BuildError where it is more than the rival allows."""
    states = draw(robot, N_STATES, "float64", (function,), rng=1, frames=dynamics.n_frames)
    ours = answers(dynamics, function, states)
    return held(robot, rival, word_of(function), states.arguments(function), ours, function.outputs)


def held(
    robot: condyle.Robot,
    rival: Rival,
    word: str,
    arguments: Sequence[Array],
    ours: Sequence[Array],
    ports: Sequence[Port],
) -> float:
    """The same at these states. word: what rivals call the function."""
    theirs = [np.zeros_like(array) for array in ours]
    rival.answers(word, arguments, theirs)
    worst = max(_error(robot, *each) for each in zip(ports, theirs, ours, strict=True))
    if not worst < rival.tolerance(word):
        raise BuildError(f"{rival.name} and condyle differ by {worst:.1e} in {word}; nothing was timed")
    return worst


def word_of(function: Function) -> str:
    """What rivals call a function: rollouts of so many steps, of which only the last state is kept, are one to them."""
    repeat = function.repeat
    if repeat is None or repeat.backwards or (repeat.function, repeat.by_time, repeat.every) != (STEP, ("tau",), 0):
        return function.name
    return "rollout"


def _error(robot: Robot, port: Port, theirs: Array, ours: Array) -> float:
    """Quaternions of either sign are one rotation: a configuration is compared as we would write it."""
    same = robot.integrate(ours, robot.difference(ours, theirs)) if port.is_configuration else theirs
    return relative(same, ours)
