"""Actuators as data: which joints one drives, by which gears, and its force as a function of its control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.array import LARGEST, frozen, short
from condyle.model.joints import JointType
from condyle.model.named import suggest
from condyle.specification import Drive

KINDS = ("motor", "position", "velocity", "damper", "general")
UNLIMITED = (-np.inf, np.inf)
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Actuator:
    """A force on joints, by one control u:

    force = clip(gain clip(u, control) + b0 + b1 length + b2 rate, force range),

    of a damper force = clip(-gain clip(u, control) rate, force range). length = sum of gear q, rate = sum of gear v,
    over the joints of `transmission`; each of them gets gear times the force. As MuJoCo's, the range of the force is
    that before the gear.

    name: of its own. transmission: {joint: gear}, gear in rad/rad, or 1/m for a slide if the force is a torque; joints
    with one degree of freedom. kind: "motor" (no bias), "position" (gain kp, bias (b0, -kp, -kv)), "velocity" (gain kv,
    bias (b0, 0, -kv)), "damper" (gain 0 or more, no bias, no negative control), "general". bias: (b0, b1, b2); None is
    that of its kind, with kv = 0 for "position". control, force: (low, high), infinite where there is none.
    Errors: ModelError, which names the actuator and everything that is wrong with it.
    """

    name: str
    transmission: Mapping[str, float]
    kind: str = "motor"
    gain: float = 1.0
    bias: tuple[float, float, float] | None = None
    control: Range = UNLIMITED
    force: Range = UNLIMITED

    def __post_init__(self) -> None:
        wrong: list[str] = []
        if not isinstance(self.name, str) or not self.name:  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong.append(f"name={self.name!r}: give text")
        gears = _gears(self.transmission, wrong)
        (gain,) = _numbers("gain", (self.gain,), ("gain",), wrong)
        bias = self.bias
        if bias is None:
            bias = {"position": (0.0, -gain, 0.0), "velocity": (0.0, 0.0, -gain)}.get(self.kind, (0.0, 0.0, 0.0))
        b0, b1, b2 = _numbers("bias", bias, ("b0", "b1", "b2"), wrong)
        control, force = _range("control", self.control, wrong), _range("force", self.force, wrong)
        wrong += [] if wrong else _odd(self.kind, gain, (b0, b1, b2), control)
        if wrong:
            raise ModelError([Finding("error", text, element=f"actuator {self.name!r}") for text in wrong])
        values = (MappingProxyType(gears), gain, (b0, b1, b2), control, force)
        for name, value in zip(("transmission", "gain", "bias", "control", "force"), values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def gains(self) -> tuple[float, float, float, float]:
        """gain, b0, b1, b2."""
        return (self.gain, *(self.bias or (0.0, 0.0, 0.0)))

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.transmission.items()), self.kind, self.gain, self.bias))

    def __reduce__(self) -> tuple[type[Actuator], tuple[object, ...]]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self), tuple({**values, "transmission": dict(self.transmission)}.values())


def _gears(said: Mapping[str, float], wrong: list[str]) -> dict[str, float]:
    if not isinstance(said, Mapping) or not said:  # pyright: ignore[reportUnnecessaryIsInstance]
        wrong.append(f"transmission={said!r}: give joints and gears such as {{'elbow': 100.0}}")
        return {}
    gears: dict[str, float] = {}
    for joint, gear in said.items():
        before = len(wrong)
        (gears[joint],) = _numbers(f"gear of joint {joint!r}", (gear,), ("gear",), wrong)
        if gears[joint] == 0.0 and len(wrong) == before:
            wrong.append(f"gear of joint {joint!r} is 0: leave the joint out")
    return gears


def _numbers(
    what: str, values: Iterable[float], names: Sequence[str], wrong: list[str], largest: float = LARGEST
) -> tuple[float, ...]:
    """As many numbers as names; zeros, and what is wrong, for what is none."""
    try:
        array = frozen(tuple(values), len(names))
    except (TypeError, ValueError):
        wrong.append(f"{what}: {values!r}, expected numbers ({', '.join(names)})")
        return (0.0,) * len(names)
    if not (np.abs(array) <= largest).all():
        wrong.append(f"{what}: {short(array)}: a number is NaN, or beyond {largest:.0e}")
    return tuple(array.tolist())


def _range(what: str, values: Range, wrong: list[str]) -> Range:
    before = len(wrong)
    low, high = _numbers(what, values, ("low", "high"), wrong, np.inf)
    if len(wrong) == before and not (low <= high and low < np.inf and high > -np.inf):
        wrong.append(f"{what}: low {low:.9g}, high {high:.9g}: expected low <= high")
    return low, high


def _odd(kind: str, gain: float, bias: tuple[float, float, float], control: Range) -> list[str]:
    """What does not fit the kind."""
    if kind not in KINDS:
        return [f"kind={kind!r}: allowed is {', '.join(map(repr, KINDS))}"]
    fits = {
        "motor": (bias == (0.0, 0.0, 0.0), "(0, 0, 0)"),
        "damper": (bias == (0.0, 0.0, 0.0), "(0, 0, 0)"),
        "position": (bias[1] == -gain, "(b0, -gain, b2)"),
        "velocity": (bias[1:] == (0.0, -gain), "(b0, 0, -gain)"),
        "general": (True, ""),
    }
    is_fine, wanted = fits[kind]
    wrong = [] if is_fine else [f"bias {bias} of kind {kind!r}: expected {wanted}; other ones are kind 'general'"]
    if kind == "damper" and not (gain >= 0.0 and control[0] >= 0.0):
        wrong.append(f"gain {gain:.9g}, control from {control[0]:.9g}: of a damper both are 0 or more")
    if bias[2] > 0.0 and kind != "general":
        wrong.append(f"bias: b2 {bias[2]:.9g}: damping is not negative, so it is 0 or less; or say kind 'general'")
    return wrong


# Whether a robot can have an actuator, and what becomes of it where joints follow others or are fixed.


class Follows(NamedTuple):
    """q = multiplier q[joint] + offset; joint None is a joint that stands still at `offset`."""

    joint: str | None
    multiplier: float
    offset: float


def check_actuators(
    actuators: Iterable[Actuator], joints: Mapping[str, JointType | None], file: str | None = None
) -> list[Finding]:
    """An error for every name that is there twice, and for joints that are not there or have no or several freedoms.

    joints: the type of each by name, None for one that is fixed.
    """
    actuators = tuple(actuators)
    if not all(isinstance(one, Actuator) for one in actuators):  # pyright: ignore[reportUnnecessaryIsInstance]
        return [Finding("error", f"actuators={actuators!r}: give condyle.Actuator each", file)]
    count = Counter(one.name for one in actuators)
    findings = [
        Finding("error", f"{n} actuators have this name", file, element=f"actuator {name!r}", cure="rename all but one")
        for name, n in count.items()
        if n > 1
    ]
    for one in actuators:
        for joint in one.transmission:
            wrong = ""
            if joint not in joints:
                wrong = f"there is no joint {joint!r}{suggest(joint, tuple(joints))}"
            elif (kind := joints[joint]) is not None and kind.nv != 1:
                wrong = f"joint {joint!r} is {kind.name}: only joints with one degree of freedom can be driven"
            if wrong:
                findings.append(Finding("error", wrong, file, element=f"actuator {one.name!r}"))
    return findings


def folded(actuators: Iterable[Actuator], follows: Mapping[str, Follows], order: Sequence[str]) -> tuple[Actuator, ...]:
    """The actuators on free joints alone, in this order: a gear g of a follower is g multiplier at its master.

    What offsets add to the length goes to b0. Actuators that drive nothing then are left out.
    """
    out: list[Actuator] = []
    for one in actuators:
        gears, shift = dict.fromkeys(order, 0.0), 0.0
        for joint, gear in one.transmission.items():
            master, multiplier, offset = follows.get(joint, (joint, 1.0, 0.0))
            shift += gear * offset
            if master is not None:
                gears[master] += gear * multiplier
        gears = {joint: gear for joint, gear in gears.items() if gear != 0.0}
        if gears:
            _, b0, b1, b2 = one.gains
            out.append(replace(one, transmission=gears, bias=(b0 + b1 * shift, b1, b2)))
    return tuple(out)


def left_out(before: Iterable[Actuator], after: Iterable[Actuator], file: str | None = None) -> list[Finding]:
    """A note on every actuator that drives nothing any more."""
    kept = {one.name for one in after}
    text = "drives nothing and is left out: what it would move is fixed, or its gears cancel"
    return [Finding("note", text, file, element=f"actuator {one.name!r}") for one in before if one.name not in kept]


def in_numbers(actuators: Iterable[Actuator], places: Mapping[str, tuple[int, int]]) -> tuple[Drive, ...]:
    """Actuators as the equation of motion has them. places: the entries of v and q of each joint."""
    return tuple(
        Drive(
            one.kind == "damper",
            tuple((*places[name], gear) for name, gear in one.transmission.items()),
            one.gains,
            one.control,
            one.force,
        )
        for one in actuators
    )
