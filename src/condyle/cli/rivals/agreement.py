"""Answers are compared before anything is timed: timing two different things would say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from condyle.cli.check import answers, relative
from condyle.cli.states import draw
from condyle.errors import BuildError

if TYPE_CHECKING:
    from condyle import Dynamics, Robot
    from condyle.cli.rivals.rival import Rival

N_STATES = 16


def agreement(robot: Robot, dynamics: Dynamics, rival: Rival, function: str) -> float:
    """The worst relative difference at random states; BuildError where it is more than the rival allows."""
    states = draw(robot, N_STATES, "float64", (function,), rng=1, frames=dynamics.n_frames)
    theirs = states.outputs(function)
    rival.answers(function, states.arguments(function), theirs)
    worst = max(relative(a, b) for a, b in zip(theirs, answers(dynamics, function, states), strict=True))
    if not worst < rival.tolerance(function):
        raise BuildError(f"{rival.name} and condyle differ by {worst:.1e} in {function}; nothing was timed")
    return worst
