"""Errors that name the part and the field where `dataclasses.replace` was given what cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError
from condyle.model.array import Array, frozen, short
from condyle.model.joints import JOINT_TYPES, JointType


class Joint(Protocol):
    """What is read here of `condyle.model.parts.Joint`."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> JointType: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def q_index(self) -> int: ...
    @property
    def v_index(self) -> int: ...
    @property
    def parent(self) -> int: ...
    @property
    def mimic(self) -> Any: ...


def array(what: str, value: ArrayLike, *shape: int) -> Array:
    """A read-only copy with this shape; ModelError that begins with `what`."""
    try:
        return frozen(value, *shape)
    except (ValueError, TypeError) as error:
        cure = f"; give [{value}]" if shape == (1,) and isinstance(value, (int, float)) else ""
        raise ModelError(f"{what}: {error}{cure}") from None


def number(what: str, value: Any) -> float:
    """The same of one number."""
    try:
        return float(value) + 0.0
    except (ValueError, TypeError):
        raise ModelError(f"{what}: expected a number, got {value!r}") from None


def instance(what: str, value: object, kind: type) -> None:
    """ModelError that begins with `what` for a value of another class."""
    if not isinstance(value, kind):
        raise ModelError(f"{what}: expected a {kind.__name__}, got {type(value).__name__}")


def known_type(what: str, name: object) -> None:
    """ModelError for a word that is no joint type."""
    if name not in JOINT_TYPES:
        raise ModelError(f"{what}: type: {name!r} is none, expected one of {', '.join(JOINT_TYPES)}")


def wrong_armature(kind: JointType, armature: Array) -> str:
    """What is wrong with the armature of a joint of this type; "" for nothing."""
    linear = armature[:3]
    if not kind.is_free or bool((linear == linear[0]).all()):
        return ""
    return (
        f"armature {short(linear)} along the linear axes, which turn against the parent's, where it acts: "
        "expected one number for all three"
    )


def wrong_spring(kind: JointType, stiffness: Array) -> str:
    """What is wrong with the stiffness of a joint of this type; "" for nothing."""
    if not bool((stiffness >= 0.0).all()):
        return f"stiffness {short(stiffness)}, expected 0 or more"
    if stiffness.any() and not kind.is_flat:
        return f"stiffness {short(stiffness)} of a {kind.name} joint: springs are on joints whose v is the rate of q"
    return ""


def suggest(name: str, names: Sequence[str]) -> str:
    """The names that were meant, perhaps: for the end of a message."""
    close = get_close_matches(str(name), names, 3, 0.6)
    if close:
        return f"; did you mean {' or '.join(repr(other) for other in close)}?"
    few = ", ".join(repr(other) for other in names[:12])
    return f"; there are {few}{' ...' if len(names) > 12 else ''}" if names else ""


def check_order(joints: Sequence[Joint], n_bodies: int) -> None:
    """ModelError with every joint whose parent does not come before it, or whose place in q and v is not its own."""
    if len(joints) != n_bodies:
        raise ModelError(f"{len(joints)} joints and {n_bodies} bodies: expected as many, body i behind joint i")
    findings: list[Finding] = []
    nq = nv = 0
    for k, joint in enumerate(joints):
        wrong = [] if -1 <= joint.parent < k else [f"parent {joint.parent}, expected -1 to {k - 1}"]
        place = (joint.q_index, joint.nq, joint.v_index, joint.nv)
        right = (nq, joint.kind.nq, nv, joint.kind.nv)
        if joint.mimic is not None:
            at = int(joint.mimic.joint)
            master = joints[at] if 0 <= at < len(joints) else joint
            right = (master.q_index, 0, master.v_index, 0)
            if master.mimic is not None or (joint.kind.nq, master.kind.nq) != (1, 1):
                wrong.append(f"mimic of joint {at}: both need one number in q, and that joint entries of its own")
        each = zip(("q_index", "nq", "v_index", "nv"), place, right, strict=True)
        wrong += [f"{name} {x}, expected {y}" for name, x, y in each if x != y]
        findings += [Finding("error", one, element=f"joint {joint.name!r}") for one in wrong]
        nq, nv = nq + joint.nq, nv + joint.nv
    if findings:
        raise ModelError(findings)
