"""The box: how large the words of a task may be, as it is said and for each entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import format_for
from condyle.backends.fpga.settings import FASTEST, LEAST, MOST, RISE, SPEED
from condyle.backends.fpga.target import Word as Numbers
from condyle.errors import UnsupportedError
from condyle.model.robot import Robot
from condyle.text import printable

Reals = NDArray[np.float64]
Box: TypeAlias = Mapping[str, "float | Reals"]
"""By name the largest absolute value, of all entries or of each (nv,)."""
TURN = np.pi
"""Angles of joints that turn without end."""
FORCE = "f_ext"
"""The box has this entry too where a task carries external forces."""
SAID = ("v", "a", "tau")
"""What can be said."""
RULE = f"give v, a or tau, for all joints or for one (v.joint_3), from {LEAST:g} to {MOST:g} in SI units"


def box_of(robot: Robot, said: object, f_ext: float | None) -> Box:
    """The box of this robot: what is said, defaults for the rest.

    v: the velocity limit of each joint in the model file; SPEED where it has none, or one beyond FASTEST. a: v / RISE.
    tau: without a bound, what states of the box need.

    said: v, a, tau, each a number, an array (nv,), or numbers by joint; "v.joint_3" is that joint's too, and goes
    before what is said of all. UnsupportedError names what is wrong and what is allowed.
    """
    found = {name: np.full(robot.nv, np.nan) for name in SAID}
    for key, value in sorted(flat(said).items(), key=lambda pair: "." in pair[0]):
        name, dot, joint = key.partition(".")
        if name not in SAID:
            more = "; the option f_ext is for external forces" if name == FORCE else ""
            raise UnsupportedError(f"box: there is no {printable(key)!r} in a box: {RULE}{more}")
        entries = _entries(robot, key, joint) if dot else range(robot.nv)
        found[name][list(entries)] = _numbers(key, value, 1 if dot else robot.nv)
    v = _else(found["v"], usual_speeds(robot))
    a = _else(found["a"], np.minimum(np.maximum(v / RISE, LEAST), MOST))
    box: dict[str, float | Reals] = {"q": TURN, "v": _one(v), "a": _one(a)}
    if np.isfinite(found["tau"]).any():
        box["tau"] = _one(_else(found["tau"], np.full(robot.nv, np.inf)))
    return box if f_ext is None else {**box, FORCE: f_ext}


def usual_speeds(robot: Robot) -> Reals:
    """The velocities (nv,) of a box that says none [rad/s, m/s]."""
    return np.where((robot.velocity >= LEAST) & (robot.velocity <= FASTEST), robot.velocity, SPEED)


def _else(said: Reals, default: Reals) -> Reals:
    """What is said, else its default."""
    return np.where(np.isnan(said), default, said)


def check_held(limits: Mapping[Word, float], numbers: Numbers) -> None:
    """UnsupportedError for a box that goes beyond a word whose point is fixed."""
    for word, bound in limits.items():
        format = format_for(numbers, bound)
        most = float(format.to_real(np.array(format.limit)))
        if bound > most:
            raise UnsupportedError(
                f"box: {word} may be {bound:g}, but word {numbers.name!r} ends at {most:g}: choose a smaller box, or a "
                "word with a scale for each signal, such as 27x18"
            )


def flat(said: object) -> dict[str, object]:
    """Joints behind a dot, {"v": {"j": 2}} is {"v.j": 2}; arrays as lists, which compare."""
    if not isinstance(said, Mapping):
        raise UnsupportedError(f"box={said!r} is not a mapping such as {{'v': 10, 'a': 100}}: {RULE}")
    found: dict[str, object] = {}
    for name, value in cast("Mapping[object, object]", said).items():
        by_joint = cast("Mapping[object, object]", value).items() if isinstance(value, Mapping) else ()
        pairs = [(f"{name}.{joint}", one) for joint, one in by_joint] if isinstance(value, Mapping) else [(name, value)]
        found |= {str(key): one.tolist() if isinstance(one, np.ndarray) else one for key, one in pairs}
    return found


def _entries(robot: Robot, key: str, name: str) -> range:
    """Where a joint stands in v."""
    joints = {joint.name: joint for joint in robot.joints}
    if name not in joints or joints[name].mimic is not None:
        there = ", ".join(printable(joint.name) for joint in robot.joints if joint.mimic is None)
        what = "follows another joint" if name in joints else "names no moving joint"
        raise UnsupportedError(f"box: {printable(key)!r} {what}: the joints are {there}")
    return range(joints[name].v_index, joints[name].v_index + joints[name].nv)


def _numbers(key: str, value: object, n: int) -> Reals:
    """One number, or n of them."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0)
    if found.dtype.kind not in "iuf" or found.shape not in ((), (n,)):
        also = f" or a list of {n}" if n > 1 else ""
        raise UnsupportedError(f"box: {printable(key)}={printable(repr(value))} is not a number{also}: {RULE}")
    if not ((found >= LEAST) & (found <= MOST)).all():
        raise UnsupportedError(f"box: {printable(key)}={printable(repr(value))} is out of range: {RULE}")
    return found.astype(np.float64)


def _one(sizes: Reals) -> float | Reals:
    """A number where all entries are equal."""
    return float(sizes[0]) if len(set(sizes.tolist())) == 1 else sizes
