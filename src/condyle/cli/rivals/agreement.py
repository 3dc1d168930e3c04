"""Answers are compared before anything is timed: timing two different things would say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from condyle.cli.check import answers, relative
from condyle.cli.states import Array, draw
from condyle.errors import BuildError
from condyle.functions import FUNCTIONS
from condyle.specification import Port

if TYPE_CHECKING:
    from condyle import Dynamics, Robot
    from condyle.cli.rivals.rival import Rival

N_STATES = 16


def agreement(robot: Robot, dynamics: Dynamics, rival: Rival, function: str) -> float:
    """The worst relative difference at random states; BuildError where it is more than the rival allows."""
    states = draw(robot, N_STATES, "float64", (function,), rng=1, frames=dynamics.n_frames)
    theirs = states.outputs(function)
    rival.answers(function, states.arguments(function), theirs)
    ours, ports = answers(dynamics, function, states), FUNCTIONS[function].outputs
    worst = max(_error(robot, *each) for each in zip(ports, theirs, ours, strict=True))
    if not worst < rival.tolerance(function):
        raise BuildError(f"{rival.name} and condyle differ by {worst:.1e} in {function}; nothing was timed")
    return worst


def _error(robot: Robot, port: Port, theirs: Array, ours: Array) -> float:
    """Quaternions of either sign are one rotation: a configuration is compared as we would write it."""
    same = robot.integrate(ours, robot.difference(ours, theirs)) if port.is_configuration else theirs
    return relative(same, ours)
