"""Points of a robot that may touch the ground: where they are, and forces on them as forces on bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from condyle.errors import UnsupportedError
from condyle.ground.checks import numbers
from condyle.model.array import transpose
from condyle.model.change import carrier
from condyle.symbolic.entries import numpy as np
from condyle.user.state import State

Array = Any  # of numbers, or of symbols


@dataclass(frozen=True)
class Foot:
    """A point of a named frame. point (3,) [m]: in the frame's axes, from its origin."""

    frame: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        point = numbers(self.point, 3)
        if not isinstance(self.frame, str) or point is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"Foot({self.frame!r}, {self.point!r}): give a frame's name and three numbers [m]")
        object.__setattr__(self, "point", point)


def feet_of(names_or_feet: Any) -> tuple[Foot, ...]:
    """Feet that are given by a frame's name, or as `Foot`. UnsupportedError."""
    listed = cast("Sequence[object]", names_or_feet if isinstance(names_or_feet, (list, tuple)) else ())
    if not listed or not all(isinstance(x, (str, Foot)) for x in listed):
        raise UnsupportedError(
            f"Ground: feet={names_or_feet!r}; give a list of names of frames, or of Foot(frame, point)"
        )
    feet = tuple(x if isinstance(x, Foot) else Foot(x) for x in cast("Sequence[str | Foot]", names_or_feet))
    if twice := [foot for k, foot in enumerate(feet) if foot in feet[:k]]:
        raise UnsupportedError(f"Ground: {twice[0]} is given twice")
    return feet


class Placed(NamedTuple):
    """A foot at a state. translation, velocity (3,): in the world's axes. rotation (3, 3): of its frame."""

    foot: Foot
    translation: Array
    velocity: Array
    rotation: Array


def placed(state: State, foot: Foot) -> Placed:
    """Where a foot is and how it moves, whatever velocities of frames refer to. ModelError for frames that are none."""
    carrier(state.robot, foot.frame, "no ground can push it; name a frame of a moving body")
    frame, point = state.frame(foot.frame), np.asarray(foot.point)
    rotation, arm = frame.rotation, frame.rotation @ point
    linear, angular = frame.velocity[:3], frame.velocity[3:]
    if state.reference_frame == "local":
        velocity = rotation @ (linear + np.cross(angular, point))
    elif state.reference_frame == "world":
        velocity = linear + np.cross(angular, frame.translation + arm)
    else:
        velocity = linear + np.cross(angular, arm)
    return Placed(foot, frame.translation + arm, velocity, rotation)


def on_bodies(state: State, feet: Sequence[Placed], forces: Sequence[Array]) -> Array:
    """f_ext (n_bodies, 6) of forces (3,) [N] in the world's axes at feet, as the function's methods take it."""
    rows: list[Array] = [np.zeros(6)] * len(state.robot.bodies)
    for one, force in zip(feet, forces, strict=True):
        body, placement = state.robot.frames[one.foot.frame]
        arm: Array = transpose(placement.rotation) @ placement.translation + np.asarray(
            one.foot.point
        )  # in the frame's axes
        if state.force_frame == "local":
            turned = one.rotation.T @ force
            wrench = [placement.rotation @ turned, placement.rotation @ np.cross(arm, turned)]
        else:
            wrench = [force, np.cross(one.rotation @ arm, force)]
        rows[body] = rows[body] + np.concatenate(wrench)
    return np.stack(rows)
