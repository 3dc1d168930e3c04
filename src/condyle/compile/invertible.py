"""Whether the mass matrix of a robot has an inverse, for functions that need it: before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterable

from condyle.compile.options import SHOWN
from condyle.errors import SingularError
from condyle.model.checks import idle_coordinates
from condyle.model.robot import Robot
from condyle.specification import Function
from condyle.text import few


def check_invertible(robot: Robot) -> None:
    """SingularError if M(q) has no inverse for any q."""
    idle = idle_coordinates(robot, robot.random_state(4, 0).q)
    if not idle:
        return
    still = [joint for joint in robot.joints if any(joint.v_index <= k < joint.v_index + joint.nv for k in idle)]
    names = [repr(joint.name) for joint in still]
    lone = f"joint {names[0]} moves no inertia of its own"
    which = lone if len(names) == 1 else f"joints {few(names, SHOWN)} move no inertia of their own"
    behind = robot.bodies[robot.joints.index(still[-1])].name
    raise SingularError(
        f"{which}, so the mass matrix has no inverse. Lock what moves none, robot.lock({{{names[-1]}: q}}), or give it "
        f"armature, or give mass to the bodies that it carries (from {behind!r} on); functions that need no inverse, "
        "such as inverse_dynamics, work as it is"
    )


def check_solvable(robot: Robot, functions: Iterable[Function]) -> None:
    """SingularError if one of the functions has to do with an inverse of the mass matrix that there is for no q."""
    if any(function.solves_own for function in functions):
        check_invertible(robot)
