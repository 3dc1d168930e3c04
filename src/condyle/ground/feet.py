"""Points of a robot that may touch the ground: where they are, and forces on them as forces on bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, cast

from condyle.errors import ShapeError, UnsupportedError
from condyle.model.array import transpose
from condyle.model.change import carrier
from condyle.symbolic import Symbols
from condyle.symbolic.comparisons import numpy as np
from condyle.user.state import State

# What a ground's numbers may be.


def check_values(values: Mapping[str, Any], zero: tuple[str, ...]) -> None:
    """One real number each, or a symbol of one; zero: those that may be zero, the others are positive."""
    for name, value in values.items():
        if isinstance(value, Symbols):
            if value.shape != ():
                raise ShapeError(f"Ground: {name} has shape {value.shape}; give one number for all feet: ()")
            continue
        allowed = "zero or a positive number" if name in zero else "a positive number"
        if not is_number(value) or value < 0.0 or (value == 0.0 and name not in zero):
            raise UnsupportedError(f"Ground: {name}={value!r}; give {allowed}, SI")


def check_inputs(inputs: Sequence[str], allowed: Iterable[str]) -> None:
    """UnsupportedError for names that a step of the ground cannot take as inputs."""
    if isinstance(inputs, str):
        raise UnsupportedError(f"inputs={inputs!r}: give a list of names, such as ({inputs!r},)")
    if unknown := [name for name in inputs if name not in allowed]:
        raise UnsupportedError(f"inputs: {unknown[0]!r}; allowed is {', '.join(map(repr, allowed))}")


def is_number(x: Any) -> bool:
    """A finite real number, and no truth."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool) and isfinite(cast(float, x))


def numbers(x: Any, n: int) -> tuple[float, ...] | None:
    """n real numbers of a sequence or an array; None where it is not that."""
    try:
        found = tuple(x)
    except TypeError:
        return None
    return tuple(map(float, found)) if len(found) == n and all(map(is_number, found)) else None


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
