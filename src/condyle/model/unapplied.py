"""What a robot's file says and no function applies, in one line: said once, when the robot is first compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from condyle.errors import ModelWarning
from condyle.model.parts import Joint, RobotData
from condyle.text import printable

Self = TypeVar("Self", bound=RobotData)
_WHERE = 'docs/models.md, "What a file says and no function applies"'
_CALLER = 3  # of compile or export
_said: set[str] = set()


def unapplied(robot: RobotData, inputs: Sequence[str] = ()) -> str:
    """One line with every kind and how many; "" where there is none, for bundled robots and for those made in code.

    inputs: those of `compile`, which apply what they name. Limits alone are not said: nearly every file has them.
    """
    notes = robot.file_notes
    if notes is None:
        return ""
    apart = [] if "damping" in inputs else _counted(robot, "damping", lambda joint: joint.damping.any())
    if apart:
        apart[0] += " (compile(inputs=('damping',)) takes it)"
    apart += _counted(robot, "friction", lambda joint: joint.friction.any())
    apart += notes.ignored
    if not apart and not notes.otherwise:
        return ""
    if apart:
        apart += _counted(robot, "limits", _is_limited)
    parts = [f"not applied: {', '.join(apart)}"] if apart else []
    parts += [f"read otherwise: {', '.join(notes.otherwise)}"] if notes.otherwise else []
    return printable(f"the file of robot {robot.name!r}: {'; '.join(parts)}; see {_WHERE}")


def say_unapplied(robot: RobotData, inputs: Sequence[str] = ()) -> None:
    """A ModelWarning with that line, once in a process; its place is the caller of the function that calls this."""
    line = unapplied(robot, inputs)
    if line and line not in _said:
        warnings.warn(ModelWarning(line), stacklevel=_CALLER)
        _said.add(line)  # not where the warning was raised as an error: the next call raises it again


def without_notes(robot: Self) -> Self:
    """The robot of which nothing is said: for what compiles it by itself, and where the line was printed."""
    return robot if robot.file_notes is None else replace(robot, file_notes=None)


def _counted(robot: RobotData, what: str, whose: Callable[[Joint], object]) -> list[str]:
    """The kind and the number of joints that have it, if any."""
    number = sum(bool(whose(joint)) for joint in robot.joints)
    return [f"{what} of {number} joint{'s' if number > 1 else ''}"] if number else []


def _is_limited(joint: Joint) -> bool:
    limits = (joint.lower, joint.upper, joint.effort, joint.velocity)
    return any(bool(np.isfinite(limit).any()) for limit in limits)
