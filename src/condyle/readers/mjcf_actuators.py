"""Actuators of an MJCF file: those whose force is affine in length and rate, and why others are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.actuator import UNLIMITED, Actuator, Range
from condyle.model.array import Array
from condyle.model.state import names_of
from condyle.readers.mjcf_model import JOINT_V, Compiled, Ints
from condyle.text import few

ON_JOINT, ON_TENDON = (0, 1), 3  # mjtTrn: joint, jointinparent; tendon
_PLACES = {2: "a slider-crank", 4: "a site", 5: "adhesion of a body", 6: "an orientation"}  # mjtTrn
_FIXED, _AFFINE = 0, 1  # mjtGain; mjtBias has "none" for the first
_WRAP_JOINT = 1  # mjtWrap
_MUSCLE = 2  # mjtGain, mjtBias


class Actuators(NamedTuple):
    """What was read, and in words what was not."""

    actuators: tuple[Actuator, ...]
    ignored: tuple[str, ...]


def read_actuators(model: Compiled, joints: Sequence[str], label: Callable[[int], str], file: str) -> Actuators:
    """joints: their names. label: what messages call an actuator. ModelError for numbers beyond all reason."""
    found: list[Actuator] = []
    without: dict[str, list[str]] = {}
    wrong: list[Finding] = []
    for i, name in enumerate(names_of(model.names["actuator"], "actuator")):
        gears = _gears(model, i, joints)
        why = gears if isinstance(gears, str) else _why_not(model, i)
        if isinstance(gears, str) or why:
            without.setdefault(why, []).append(label(i))
            continue
        try:
            found.append(_actuator(model, i, name, gears))
        except ModelError as error:
            wrong += [replace(finding, file=file) for finding in error.findings]
    if wrong:
        raise ModelError(wrong)
    return Actuators(tuple(found), tuple(f"actuators with {why} ({few(names, 3)})" for why, names in without.items()))


def reflected(model: Compiled, values: Array) -> Array:
    """What actuators add to each entry of their joint, (njnt,): gear squared times `values` (nactuator,).

    MuJoCo adds it to every degree of freedom of the joint, by the first number of `gear`.
    """
    out = np.zeros(model.njnt)
    for i in np.flatnonzero(values).tolist():
        joint = int(model.actuator_trnid[i, 0])
        if int(model.actuator_trntype[i]) in ON_JOINT and 0 <= joint < model.njnt:
            out[joint] += gear_of(model, i) ** 2 * values[i]
    return out


def gear_of(model: Compiled, i: int) -> float:
    """The first number of `gear`; 0 for an actuator that puts out nothing."""
    k = int(model.actuator_outadr[i])
    return float(model.actuator_gear[k, 0]) if 0 <= k < len(model.actuator_gear) else 0.0


def _gears(model: Compiled, i: int, joints: Sequence[str]) -> dict[str, float] | str:
    """{joint: gear}, or why there is none."""
    kind, target, gear = int(model.actuator_trntype[i]), int(model.actuator_trnid[i, 0]), gear_of(model, i)
    if kind in ON_JOINT:
        arms = [(target, 1.0)]
    elif kind == ON_TENDON and 0 <= target < len(model.tendon_adr):
        first = int(model.tendon_adr[target])
        parts = range(first, first + int(model.tendon_num[target]))
        if any(model.wrap_type[k] != _WRAP_JOINT for k in parts):
            return "a spatial tendon"
        arms = [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in parts]
    else:
        return _PLACES.get(kind, "a transmission that is not known")
    if not all(0 <= joint < model.njnt for joint, _ in arms):
        return "a joint that is not there"
    if any(JOINT_V[int(model.jnt_type[joint])] != 1 for joint, _ in arms):
        return "a ball or free joint"
    gears: dict[str, float] = {}
    for joint, arm in arms:
        gears[joints[joint]] = gears.get(joints[joint], 0.0) + gear * arm
    gears = {joint: value for joint, value in gears.items() if value != 0.0}
    return gears or "a gear of 0"


def _why_not(model: Compiled, i: int) -> str:
    """Why the force of an actuator is not affine; "" where it is."""
    gain, bias = int(model.actuator_gaintype[i]), int(model.actuator_biastype[i])
    bilinear = gain == _AFFINE and not model.actuator_gainprm[i, :2].any()
    reasons = {
        "a muscle": _MUSCLE in (gain, bias),
        "a plugin": bool(model.actuator_plugin[i] >= 0),
        "activation dynamics": bool(model.actuator_dyntype[i] != 0),
        "a delay": bool(model.actuator_delay[i] != 0.0),
        "several controls": (int(model.actuator_ctrlnum[i]), int(model.actuator_outnum[i])) != (1, 1),
        "a gain that depends on length": not (gain == _FIXED or bilinear),
        "a bias that is not affine": bias not in (_FIXED, _AFFINE),
        "a gain that depends on rate, and is no damper's": bilinear and not _is_damper(model, i),
        "forces that the file's options switch off": model.is_off("ACTUATION")
        or model.is_off(int(model.actuator_group[i])),
    }
    return next((reason for reason, here in reasons.items() if here), "")


def _is_damper(model: Compiled, i: int) -> bool:
    has_bias = model.actuator_biastype[i] == _AFFINE and bool(model.actuator_biasprm[i, :3].any())
    return not has_bias and float(model.actuator_gainprm[i, 2]) <= 0.0 and _control(model, i)[0] >= 0.0


def _actuator(model: Compiled, i: int, name: str, gears: dict[str, float]) -> Actuator:
    force = _limits(model.actuator_forcelimited, model.actuator_forcerange, i)
    control = _control(model, i)
    if model.actuator_gaintype[i] == _AFFINE:
        return Actuator(name, gears, "damper", -float(model.actuator_gainprm[i, 2]), None, control, force)
    gain, (b0, b1, b2) = float(model.actuator_gainprm[i, 0]), (0.0, 0.0, 0.0)
    if model.actuator_biastype[i] == _AFFINE:
        b0, b1, b2 = (float(x) for x in model.actuator_biasprm[i, :3])
    kinds = {
        "motor": (b0, b1, b2) == (0.0, 0.0, 0.0),
        "velocity": (b1, b2) == (0.0, -gain) and gain >= 0.0,
        "position": b1 == -gain and b2 <= 0.0,
    }
    kind = next((kind for kind, here in kinds.items() if here), "general")
    return Actuator(name, gears, kind, gain, (b0, b1, b2), control, force)


def _control(model: Compiled, i: int) -> Range:
    if model.is_off("CLAMPCTRL"):
        return UNLIMITED
    return _limits(model.actuator_ctrllimited, model.actuator_ctrlrange, int(model.actuator_ctrladr[i]))


def _limits(limited: Ints, ranges: Array, k: int) -> Range:
    return (float(ranges[k, 0]), float(ranges[k, 1])) if 0 <= k < len(limited) and limited[k] else UNLIMITED
