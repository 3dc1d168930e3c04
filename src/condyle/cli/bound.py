"""Options that say what functions are compiled for: frames, contacts, joint forces and actuators."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from condyle.cli.common import words
from condyle.derivatives import taking
from condyle.functions import FUNCTIONS
from condyle.specification import Function
from condyle.specification.integrators import JOINT_FORCES
from condyle.specification.ports import CONTROLS

if TYPE_CHECKING:
    import condyle
    from condyle.specification import Bound


AT_A_TIP = "the last frame of the last body"


def add_bound(command: argparse.ArgumentParser, frames: str = AT_A_TIP, contacts: str = AT_A_TIP) -> None:
    """What functions are compiled for; frames, contacts: what stands for them by default."""
    command.add_argument(
        "--frames",
        metavar="A,B",
        type=_names,
        default=(),
        help=f"names of the frames that functions of frames compute (default: {frames})",
    )
    command.add_argument(
        "--contacts",
        metavar="A,B",
        type=_names,
        default=(),
        help="names of the frames whose origins functions of contacts hold fixed (default: the loops that the file "
        f"closes, else {contacts})",
    )
    command.add_argument(
        "--joint-forces",
        metavar="WORD,WORD",
        type=_laws,
        default=(),
        help=f"forces of the joints that act beside tau: {', '.join(JOINT_FORCES)}, or all (default: none)",
    )
    command.add_argument(
        "--actuators", action="store_true", help="functions take u, the controls of the robot's actuators, for tau"
    )


def contacts_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[condyle.Contact, ...]:
    """Points that were named; else the file's closures, else the frame at a tip, where it moves."""
    from condyle.compile.options import tip_frame
    from condyle.model.contact import Contact

    if arguments.contacts or robot.contacts:
        return tuple(map(Contact, arguments.contacts)) or robot.contacts
    tip = tip_frame(robot.frames)
    return (Contact(tip),) if robot.frames[tip].body >= 0 else ()


def frames_of(robot: condyle.Robot, arguments: argparse.Namespace) -> tuple[str, ...]:
    """The frames that were named; else one at a tip."""
    from condyle.compile.options import tip_frame

    return arguments.frames or (tip_frame(robot.frames),)


class Driving(TypedDict):
    """Arguments of `Robot.compile`."""

    joint_forces: tuple[str, ...]
    actuators: bool


def driving(arguments: argparse.Namespace) -> Driving:
    """Joint forces and actuators, as they were typed."""
    return {"joint_forces": arguments.joint_forces, "actuators": arguments.actuators}


NO_DRIVES: Driving = {"joint_forces": (), "actuators": False}


def controlled(functions: Iterable[Function], arguments: argparse.Namespace) -> tuple[Function, ...]:
    """The functions, with u as an input where actuators push."""
    return tuple(taking(one, CONTROLS) if arguments.actuators else one for one in functions)


def those_there(functions: Iterable[Function], arguments: argparse.Namespace) -> tuple[Function, ...]:
    """Of all functions those that need no drives that were not typed; of others, which were named, every one."""
    there, named = {"": True, "forces": arguments.joint_forces, "actuators": arguments.actuators}, tuple(functions)
    return tuple(one for one in named if there[one.needs.drives]) if named == tuple(FUNCTIONS.values()) else named


def bound(robot: condyle.Robot, arguments: argparse.Namespace) -> Bound:
    """All that was typed; UnsupportedError for what the robot does not have."""
    from condyle.compile.options import bound_of

    contacts = contacts_of(robot, arguments)
    return bound_of(robot, frames_of(robot, arguments), contacts=contacts, **driving(arguments))


def _laws(text: str) -> tuple[str, ...]:
    return words(text, (*JOINT_FORCES, "all"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


# Times callables side by side: short samples in turn, so that a slow moment of the machine hits them all alike.


Call = Callable[[], object]
CLOCKS: dict[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}
WIDE = 0.15
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to time: `wall` for what a user waits, `cpu` (of this process) for one-thread comparisons.

    samples of sample_s or one call each, fewer (5 at least) where all of them would take more than longest_s.
    """

    clock: str = "wall"
    samples: int = 15
    sample_s: float = 0.004
    longest_s: float = 4.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Nanoseconds per call over the samples; low and high are the quartiles."""

    median: float
    minimum: float
    low: float
    high: float

    def per(self, n: int) -> Spread:
        """The same for each of n states."""
        return Spread(self.median / n, self.minimum / n, self.low / n, self.high / n)

    @property
    def wide(self) -> bool:
        """Whether the quartiles are so far apart that only the minimum and ratios say much."""
        return self.high - self.low > WIDE * self.median


@dataclass(frozen=True, slots=True)
class Row:
    """One measured cell: nanoseconds per state of a function at a batch size."""

    function: str
    batch: int
    engine: str
    ns: Spread


def spelled_out(function: Callable[..., object], arguments: Sequence[object], out: object) -> Call:
    """The call with `out=` as a user writes it: to unpack `*arguments` beside a keyword takes Python 300 ns."""
    match tuple(arguments):
        case (q,):
            return lambda: function(q, out=out)
        case (q, v):
            return lambda: function(q, v, out=out)
        case (q, v, a):
            return lambda: function(q, v, a, out=out)
        case (q, v, a, minv):
            return lambda: function(q, v, a, minv, out=out)
        case several:
            return lambda: function(*several, out=out)


def interleaved(calls: Mapping[str, Call], sampling: Sampling) -> dict[str, Spread]:
    """Each call's time per call. Samples take turns, every second round backwards, so that a drift hits all alike."""
    clock = CLOCKS[sampling.clock]
    once = {name: _warm(call) for name, call in calls.items()}
    repeats = {name: max(1, round(sampling.sample_s * 1e9 / ns)) for name, ns in once.items()}
    round_ns = sum(repeats[name] * ns for name, ns in once.items())
    rounds = min(sampling.samples, max(FEWEST, int(sampling.longest_s * 1e9 / round_ns)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls.items())
    for _ in range(rounds):
        for name, call in order:
            found[name].append(_sample(call, repeats[name], clock))
        order.reverse()
    return {name: _spread(times) for name, times in found.items()}


def _warm(call: Call) -> float:
    """Nanoseconds of a call that is not the first."""
    call()
    once = _sample(call, 1, time.perf_counter_ns)
    return once if once > 1e7 else min(_sample(call, 3, time.perf_counter_ns) for _ in range(2))


def _sample(call: Call, repeats: int, clock: Callable[[], int]) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return max(clock() - start, 1) / repeats


def _spread(times: list[float]) -> Spread:
    low, median, high = (float(x) for x in np.percentile(times, (25, 50, 75)))
    return Spread(median, min(times), low, high)
