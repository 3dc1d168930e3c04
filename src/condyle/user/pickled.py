"""What identifies a user's function, and its pickle: it is traced again on the other side, and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from condyle.compile.options import robot_parts
from condyle.errors import UnsupportedError
from condyle.identity import Identified, Parts, differing, digest
from condyle.model.robot import Robot
from condyle.specification import Bound

Traced = TypeVar("Traced", bound=Identified)


def parts_of_function(robot: Robot, bound: Bound, traced: Parts) -> Parts:
    """Hashes of the robot, of the options, and of what was traced, by name."""
    options = {name: digest(value) for name, value in bound._asdict().items()}
    return {**robot_parts(robot), **options, **{f"function.{name}": part for name, part in traced.items()}}


def traced_again(kind: Callable[..., Traced], recipe: tuple[object, ...], pickled: Parts) -> Traced:
    """A function out of a pickle, traced here; UnsupportedError where that gives another one."""
    function = kind(*recipe)
    differences = ", ".join(differing(pickled, function.identity_parts))
    if differences:
        raise UnsupportedError(
            f"{function}: traced here it is not the function that was pickled (what differs: {differences}). A "
            "pickle has the function by its name, and constants of its module or closure that were set at run time "
            "have other values here: pass them as inputs, or bind them by functools.partial(f, gain=...), which a "
            "pickle holds"
        )
    return function
