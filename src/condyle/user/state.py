"""`at`: one state of a robot, as a user's function sees it. What it has follows from the specifications.

Every method of `Dynamics` is one of `at`, without q and v, which the state has: `at.forward_dynamics(tau)`. Functions
of frames are asked one frame at a time: `at.frame("tool0").velocity`. `at.robot` is the robot itself, `at.contacts` are
its contacts, which hold in steps unless `active=` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any, NamedTuple, Protocol

from condyle.algorithms.stepping import first_order
from condyle.calls.methods import as_result
from condyle.compile.options import bound_arguments, check_driven, lacks_contacts, tip_frame
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.kinematics import ByCalls
from condyle.functions.quantities import Q, V
from condyle.model.named import suggest
from condyle.model.robot import Robot
from condyle.model.tree import Tree, tree_of
from condyle.specification import F_EXT, Bound, Function
from condyle.specification.integrators import METHODS
from condyle.specification.ports import ACTIVE, CONTACT_NUMBERS, CONTROLS, FRICTION_NUMBERS
from condyle.symbolic.elementwise import numpy as np

HELD = (Q.name, V.name)
"""What a state has."""


class Caller(Protocol):
    """What computes functions at the state."""

    def call(self, function: Function, arguments: Sequence[Any], frame: str) -> Sequence[Any]:
        """The answers of a function, an array each; frame: the one that a function of frames is asked for."""
        ...


class State:
    """q, v, `frame(name)`, and the robot's functions.

    robot: whose state it is. reference_frame, force_frame: what velocities of frames, and `f_ext`, refer to. contacts:
    those that the function was given.
    """

    def __init__(self, held: Mapping[str, Any], caller: Caller, robot: Robot, bound: Bound) -> None:
        self._held, self._caller, self._bound = held, caller, bound
        self.robot, self.reference_frame, self.force_frame = robot, bound.reference_frame, bound.force_frame
        self.contacts = bound.contacts

    def __getattr__(self, name: str) -> Any:
        if name in HELD:
            if name in self._held:
                return self._held[name]
            raise UnsupportedError(
                f"at.{name}: {name} is no input of this function; add {name!r}: 'n{name}' to inputs="
            )
        for function in FUNCTIONS.values():
            if function.method == name:
                if _is_of_frames(function):
                    raise UnsupportedError(
                        f"at.{name}: ask one frame, such as at.frame('tool0').{attributes(function)[0]}"
                    )
                return self._method(function, "")
        methods = [function.method for function in FUNCTIONS.values() if not _is_of_frames(function)]
        known = (*HELD, "frame", *methods)
        meant = suggest(name, known) if get_close_matches(name, known, 1, 0.6) else f"; there are {', '.join(known)}"
        raise AttributeError(f"at.{name}: there is no such quantity{meant}")

    def frame(self, name: str) -> FrameState:
        """A frame of the robot, by its name."""
        if name not in self.robot.frames:
            known = suggest(str(name), tuple(self.robot.frames))
            raise UnsupportedError(f"at.frame: there is no frame {name!r}{known}")
        return FrameState(name, self._method)

    def moved_to(self, q: Any, v: Any) -> State:
        """The robot at another state: q (nq), v (nv). What comes in other inputs stays as it is."""
        return State({**self._held, Q.name: q, V.name: v}, self._caller, self.robot, self._bound)

    def stepped(self, v_next: Any, dt: Any) -> State:
        """The robot after dt [s] of semi-implicit Euler, given v_next = v + dt a (nv), as `contact_solve` gives it.

        It is the step of `compile(integrator="semi_implicit_euler")` with an acceleration of one's own.
        """
        calls = _Calls(self._caller, tree_of(self.robot, self._bound))
        moves, given = ByCalls(calls), (list(self.q), list(self.v), list(v_next))
        q, v = first_order(calls.tree, METHODS["semi_implicit_euler"], moves, *given, dt)
        return self.moved_to(np.stack(q), np.stack(v))

    def _method(self, function: Function, frame: str) -> Callable[..., Any]:
        """A function that takes what the state has not; frame: of which one."""
        signature = _signature(function.taking(CONTROLS) if self._bound.drives.actuators else function)

        def method(*args: object, **named: object) -> object:
            return self._answers(function, bound_arguments(f"at.{function.method}", signature, args, named), frame)

        method.__name__ = function.method
        return method

    def _answers(self, function: Function, arguments: Mapping[str, object], frame: str) -> Any:
        arguments = self._held_by_contacts(function, arguments)
        called = function.taking(*(name for name, value in arguments.items() if value is not None))
        check_driven(f"at.{function.method}", self._bound.drives, called, "robot.function")
        inputs = [getattr(self, port.name) if port.name in HELD else arguments[port.name] for port in called.inputs]
        answers = self._caller.call(called, inputs, frame)
        if frame:
            return dict(zip((port.name for port in function.outputs), (answer[0] for answer in answers), strict=True))
        return as_result(called if len(called.outputs) > len(function.outputs) else function, answers)

    def _held_by_contacts(self, function: Function, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """With all contacts on where a function may take their flags; UnsupportedError where there are none."""
        said = [name for name in (*CONTACT_NUMBERS, *FRICTION_NUMBERS) if arguments.get(name) is not None]
        beside = said and not self.contacts and "contacts" not in function.options
        if beside or lacks_contacts(function, self.contacts, self._bound.drives):
            raise UnsupportedError(
                f"at.{function.method}: the robot has no contacts; give contacts=(condyle.Contact({self._tip!r}),), "
                "say, to robot.function"
            )
        if not self.contacts or ACTIVE.name not in function.numbers or arguments.get(ACTIVE.name) is not None:
            return arguments
        return {**arguments, ACTIVE.name: np.ones(len(self.contacts))}

    @property
    def _tip(self) -> str:
        return tip_frame(self.robot.frames) if self.robot.frames else "foot"


class _Calls(NamedTuple):
    """What `ByCalls` calls."""

    caller: Caller
    tree: Tree

    def call(self, function: Function, *arguments: Any) -> Sequence[Any]:
        return self.caller.call(function, arguments, "")


class FrameState:
    """One frame at the state: `rotation`, `translation`, `velocity`, `jacobian`, `acceleration(a)`, ..."""

    def __init__(self, name: str, method: Callable[[Function, str], Callable[..., Any]]) -> None:
        self._name, self._method = name, method

    def __getattr__(self, name: str) -> Any:
        known: list[str] = []
        for function in FUNCTIONS.values():
            if _is_of_frames(function):
                outputs = dict(zip(attributes(function), (port.name for port in function.outputs), strict=True))
                known += outputs
                if name in outputs:
                    return self._quantity(function, outputs[name])
        raise AttributeError(f"at.frame({self._name!r}).{name}: there is {', '.join(known)}")

    def _quantity(self, function: Function, output: str) -> Any:
        """A value; a method where it takes more than the state has."""
        method: Callable[..., Mapping[str, Any]] = self._method(function, self._name)
        if all(port.name in HELD for port in function.inputs):
            return method()[output]

        def of_more(*args: object, **named: object) -> Any:
            return method(*args, **named)[output]

        return of_more


def _is_of_frames(function: Function) -> bool:
    return "frames" in function.options


def attributes(function: Function) -> list[str]:
    """What its answers are called at one frame: by the method's name, where there is one answer."""
    if len(function.outputs) > 1:
        return [port.name for port in function.outputs]
    words = function.method.removeprefix("frame_").split("_")
    return ["_".join(word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s") for word in words)]


def _signature(function: Function) -> Signature:
    names = [port.name for port in function.inputs if port.name not in HELD]
    either = Parameter.POSITIONAL_OR_KEYWORD
    more = [Parameter(F_EXT.name, either, default=None)] if function.takes_f_ext else []
    numbers = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in function.numbers if name != CONTROLS.name
    ]
    return Signature([*(Parameter(name, either) for name in names), *more, *numbers])
