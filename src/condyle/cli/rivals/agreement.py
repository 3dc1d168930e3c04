"""Answers are compared before anything is timed: times of different computations cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from condyle.cli.check import answers, relative
from condyle.cli.states import Array, draw
from condyle.errors import BuildError
from condyle.functions.steps import STEP
from condyle.specification import Function, Port

if TYPE_CHECKING:
    from condyle import Dynamics, Robot
    from condyle.cli.rivals.rival import Rival

N_STATES = 16


def agreement(robot: Robot, dynamics: Dynamics, rival: Rival, function: Function) -> float:
    """The worst relative difference at random states; BuildError where it is more than the rival allows."""
    states = draw(robot, N_STATES, "float64", (function,), rng=1, frames=dynamics.n_frames)
    ours = answers(dynamics, function, states)
    return held(robot, rival, word_of(function), states.arguments(function), ours, function.outputs)


def held(
    robot: Robot, rival: Rival, word: str, arguments: Sequence[Array], ours: Sequence[Array], ports: Sequence[Port]
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
