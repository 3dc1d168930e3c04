"""A box from recorded states, or from the torques that a robot's motors have."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.compile.options import check_numbers, check_robot
from condyle.compile.routes import check_invertible
from condyle.errors import ShapeError, StateError, UnsupportedError
from condyle.fpga.box import ANGLE, LEAST, MOST, TURN, bounds_of_q, box_of, exact, flat, sampled
from condyle.fpga.plans import RANGES
from condyle.functions.dynamics import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX_INVERSE
from condyle.model.array import reals
from condyle.model.robot import Robot
from condyle.text import few, printable
from condyle.view.states import BROKEN, MOST_BYTES

Reals = NDArray[np.float64]
Said: TypeAlias = dict[str, dict[str, list[float]]]
"""A box as a user gives it, by joint."""
ROOM = 1.25
"""A box is so many times as large as what was recorded or sampled: other states need more."""
STILL = 0.01
"""A joint that hardly moved has this part of its default v and a."""


def box_of_states(
    robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None, tau: ArrayLike | None = None
) -> Said:
    """Return the `box=` of recorded states: q (n, nq), v (n, nv), and a or tau (n, nv), in SI units.

    Of each joint v and a are 1.25 times the largest recorded ones, at least 1 % of the default. Without a it is that of
    forward dynamics with tau. q is named for joints that leave the default range.
    Errors: ShapeError, DTypeError; StateError for what is not finite or beyond 1e6; UnsupportedError for a and tau both
    or neither, and for angles beyond 31 rad.
    """
    check_robot("box_of_states", robot)
    if (a is None) == (tau is None):
        raise UnsupportedError("box_of_states: give the accelerations a or the torques tau of the states, one of them")
    named = {"q": q, "v": v} | ({"tau": tau} if a is None else {"a": a})
    states = {name: _rows(name, x, robot.nq if name == "q" else robot.nv) for name, x in named.items() if x is not None}
    if len({len(rows) for rows in states.values()}) > 1:
        counts = ", ".join(f"{name} {len(rows)}" for name, rows in states.items())
        raise ShapeError(f"box_of_states: the arrays have different numbers of states: {counts}")
    robot.check_state(states["q"])
    if a is None:
        check_invertible(robot)
        (states["a"],) = exact(robot, FORWARD_DYNAMICS, states)
    usual = box_of(robot, {}, None)
    box = {
        name: np.maximum(ROOM * np.abs(states[name]).max(axis=0), np.maximum(LEAST, STILL * usual[name]))
        for name in "va"
    }
    return _by_joint(robot, {name: np.minimum(x, MOST) for name, x in box.items()}) | _ranges(robot, states["q"])


def box_of_effort(robot: Robot, percent: float = 10.0) -> Said:
    """Return the `box=` whose accelerations have torques within some per cent of the effort limits around the bias.

    The bias is the torque of zero acceleration, c(q, v). a_i is 1.25 times the largest sum of |M^-1_ij| |tau_j - c_j|
    over j, in sampled configurations. A joint without a motor (a free joint, or an effort limit of 0) has no torque.
    Errors: UnsupportedError for a joint without an effort limit; SingularError.
    """
    check_robot("box_of_effort", robot)
    check_numbers(percent=percent)
    if not 0.0 < percent <= 100.0:
        raise UnsupportedError(f"percent={percent}: give per cent of the effort limits, above 0 and at most 100")
    check_invertible(robot)
    free = [joint.name for joint in robot.joints if joint.kind.is_free]
    unlimited = [
        joint.name
        for joint in robot.joints
        if joint.mimic is None and joint.name not in free and not np.isfinite(robot.effort[joint.v_slice]).all()
    ]
    if unlimited:
        raise UnsupportedError(
            f"box_of_effort: the model has no effort limit of {few(map(printable, unlimited), 8)}: set it in the model "
            "file, give a of the box, or take a box of recorded states"
        )
    states = sampled(robot, RANGES, 0)
    at_rest = {**states, "a": np.zeros_like(states["a"])}
    (bias,), (inverse,) = (exact(robot, function, at_rest) for function in (INVERSE_DYNAMICS, MASS_MATRIX_INVERSE))
    motor = np.where(np.isfinite(robot.effort), robot.effort, 0.0)
    torque = np.where(motor > 0.0, 0.01 * percent * motor, np.abs(bias))
    rows = np.abs(np.reshape(inverse, (-1, robot.nv, robot.nv)))
    a = (rows @ torque[..., None])[..., 0].max(axis=0)
    return _by_joint(robot, {"a": np.minimum(np.maximum(ROOM * a, LEAST), MOST)})


def box_of_file(robot: Robot, path: Path) -> Said:
    """`box_of_states` of a .npz file with q, v, and a or tau. UnsupportedError names the file and what it holds."""
    arrays = _arrays(path, ("q", "v", "a", "tau"))
    lacking = [name for name in ("q", "v") if name not in arrays]
    if lacking or not {"a", "tau"} & arrays.keys():
        there = few(arrays, 8) or "none of them"
        raise UnsupportedError(
            f"{printable(str(path))}: expected arrays q, v, and a or tau (numpy.savez); it has {there}"
        )
    if "a" in arrays:
        arrays.pop("tau", None)
    return box_of_states(robot, **arrays)


def merged(box: Mapping[str, object], said: Mapping[str, object]) -> dict[str, object]:
    """A box with the numbers of a user, which have priority: v for all joints replaces v of each joint."""
    own = flat(said)
    return {key: x for key, x in flat(box).items() if key.partition(".")[0] not in own} | own


def _arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """The arrays of these names in a .npz file."""
    said = printable(str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            large = [entry.filename for entry in archive.infolist() if entry.file_size > MOST_BYTES]
        if large:
            raise UnsupportedError(f"{said}: {printable(large[0])!r} is larger than {MOST_BYTES} bytes")
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in names if name in file}
    except OSError as error:
        raise UnsupportedError(f"{said} cannot be read: {error.strerror or error}") from error
    except BROKEN:
        found = {}
    if not found or not all(isinstance(x, np.ndarray) for x in found.values()):
        raise UnsupportedError(
            f"{said} is no .npz file with arrays of numbers; numpy.savez(file, q=q, v=v, tau=tau) makes one; Python "
            "objects are not read"
        )
    return found


def _rows(name: str, x: ArrayLike, size: int) -> Reals:
    array = reals(name, x)
    if array.ndim != 2 or array.shape[1] != size or not len(array):
        turned = "; states are rows: give the transpose" if array.ndim == 2 and array.shape[0] == size else ""
        raise ShapeError(f"{name} has shape {array.shape}, expected (n, {size}) of n states, 1 or more{turned}")
    rows = array.astype(np.float64)
    bad = np.flatnonzero(~(np.abs(rows) <= MOST).all(axis=1)).tolist()
    if bad:
        which = few(map(str, bad), 8)
        raise StateError(f"{name}: numbers that are not finite, or beyond {MOST:g}, in rows {which}", tuple(bad))
    return rows


def _by_joint(robot: Robot, entries: Mapping[str, Reals]) -> Said:
    joints = [joint for joint in robot.joints if joint.mimic is None]
    return {name: {joint.name: x[joint.v_slice].tolist() for joint in joints} for name, x in entries.items()}


def _ranges(robot: Robot, q: Reals) -> Said:
    """The q of joints that leave their default range; all coordinates of such a joint."""
    usual, largest = bounds_of_q(robot, TURN), np.abs(q).max(axis=0)
    found: dict[str, list[float]] = {}
    for joint in robot.joints:
        if joint.mimic is None and not joint.kind.has_quaternion and (largest > usual)[joint.q_slice].any():
            most = np.array([ANGLE if k in joint.kind.angles else MOST for k in range(joint.nq)])
            wide = np.where(largest > usual, ROOM * largest, usual)[joint.q_slice]
            if (largest[joint.q_slice] > most).any():
                raise UnsupportedError(
                    f"box_of_states: q of {printable(joint.name)} reaches {largest[joint.q_slice].max():g}: an angle "
                    f"is at most {ANGLE:g} rad: subtract whole turns"
                )
            found[joint.name] = np.minimum(wide, most).tolist()
    return {"q": found} if found else {}
