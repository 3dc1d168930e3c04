"""What mimic joints add to the numbers of the joint that they follow: seen from there, q_f = m q + b and v_f = m v."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from condyle.model.array import Array, frozen
from condyle.text import few

if TYPE_CHECKING:
    from condyle.model.parts import Joint

SHARED = ("lower", "upper", "effort", "velocity", "damping", "friction")
"""The numbers of a follower that count at its master. Armature is not one: functions add it as they add inertia."""


def gathered(joints: Sequence[Joint], name: str) -> Array:
    """One of the joints' arrays for all of q or v, with those of followers: limits the narrowest, forces the sum.

    A follower that stands still (m = 0) adds nothing.
    """
    out = np.concatenate([np.zeros(0), *(getattr(joint, name) for joint in joints if joint.mimic is None)])
    for joint in joints if name in SHARED else ():
        if joint.mimic is not None:
            at = joint.q_index if name in ("lower", "upper") else joint.v_index
            out[at] = _with(float(out[at]), joint, name)
    return frozen(out, len(out))


def _with(master: float, follower: Joint, name: str) -> float:
    """A number of the master, that of one follower included."""
    if follower.mimic is None or follower.mimic.multiplier == 0.0:
        return master
    m, b = follower.mimic.multiplier, follower.mimic.offset
    turned = {"lower": "upper", "upper": "lower"}.get(name, name)
    value = float(getattr(follower, name if m > 0.0 else turned)[0])
    if name == "lower":
        return max(master, (value - b) / m)
    if name == "upper":
        return min(master, (value - b) / m)
    if name == "velocity":
        return min(master, value / abs(m))
    if name == "effort":  # a follower has no motor: the master's force moves both, and may all go through the follower
        return min(master, value * abs(m))
    return master + value * (m * m if name == "damping" else abs(m))  # the master's share of a force f is m f


def stopped(joints: Sequence[Joint]) -> Iterator[tuple[Joint, str]]:
    """Joints that could move but for the limits of their followers, with what is left: "effort 0, by 'f'"."""
    limits = {name: gathered(joints, name).tolist() for name in ("lower", "upper", "effort", "velocity")}
    followers: dict[int, list[Joint]] = {}
    for joint in joints:
        if joint.mimic is not None:
            followers.setdefault(joint.mimic.joint, []).append(joint)
    for k, those in followers.items():
        master = joints[k]
        lower, upper = limits["lower"][master.q_index], limits["upper"][master.q_index]
        if lower >= upper and master.lower[0] < master.upper[0]:
            names = _narrowed(master, those, lower=lower, upper=upper)
            yield master, f"q from {lower:.9g} to {upper:.9g}, by {names}"
        for name in ("effort", "velocity"):
            most = limits[name][master.v_index]
            if most == 0.0 and getattr(master, name)[0] > 0.0:
                yield master, f"{name} 0, by {_narrowed(master, those, **{name: most})}"


def _narrowed(master: Joint, followers: Sequence[Joint], **limits: float) -> str:
    """The names of the followers from which these limits of their master are, where they are not its own."""
    own = {name: float(getattr(master, name)[0]) for name in limits}
    from_here = [
        one.name
        for one in followers
        if any(_with(own[name], one, name) == x != own[name] for name, x in limits.items())
    ]
    return few(map(repr, from_here), 3)
