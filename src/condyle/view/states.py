"""States to draw, checked: from arrays and from files."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import ShapeError, StateError, UnsupportedError
from condyle.model.array import LARGEST, Array, moderate, reals
from condyle.model.parts import RobotData
from condyle.model.robot import Robot
from condyle.text import few

MOST_ROBOTS = 100
MOST_POSES = 2_000_000
"""Bodies x states that are kept at once: 200 MB."""
TEXTS = (".csv", ".txt", ".dat")
MOST_BYTES = 1 << 30
"""Of an array in a file."""
BROKEN = (ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading an archive raises that is damaged, encrypted, or packed by another method."""


class Recorded(NamedTuple):
    """A trajectory of a file: q as it stands there; dt [s] and forces at contacts if the file has them."""

    q: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
    dt: float | None
    contact_forces: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None = None


def checked_states(robot: Robot, q: ArrayLike | None, trajectory: ArrayLike | None) -> Array:
    """(T, N, nq) of N robots at T times, float64.

    q (nq,) or (N, nq): robots that stand still, by default one in its neutral state. trajectory: (T, nq) or
    (N, T, nq), as `rollout` answers. UnsupportedError for both, ShapeError for another shape or too many, StateError
    for entries that are not finite and quaternions that are not unit.
    """
    if q is not None and trajectory is not None:
        raise UnsupportedError("q and trajectory: give one of them")
    name, given = ("q", q) if trajectory is None else ("trajectory", trajectory)
    array = reals(name, robot.neutral() if given is None else given)
    allowed = f"({robot.nq},) or (N, {robot.nq})" if trajectory is None else f"(T, {robot.nq}) or (N, T, {robot.nq})"
    dimensions = (1, 2) if trajectory is None else (2, 3)
    if array.ndim not in dimensions or array.shape[-1] != robot.nq:
        turned = array.ndim >= 2 and array.shape[-2] == robot.nq
        cure = "; states are rows: give the transpose of its last two dimensions" if turned else ""
        raise ShapeError(f"{name} has shape {array.shape}, expected {allowed} with nq {robot.nq}{cure}")
    if 0 in array.shape[:-1]:
        raise ShapeError(f"{name} has shape {array.shape}: there is no state to draw")
    try:
        robot.check_state(array)
    except StateError as error:  # which says q
        raise StateError(re.sub(r"^q\b", name, str(error)), error.rows) from None
    whole = array.astype(np.float64)
    if trajectory is None:
        states = np.reshape(whole, (1, 1 if whole.ndim == 1 else len(whole), robot.nq))
    else:
        states = np.moveaxis(whole if whole.ndim == 3 else whole[None], 0, 1)
    return _few_enough(robot, name, states)


def _few_enough(robot: RobotData, name: str, states: Array) -> Array:
    times, robots = states.shape[:2]
    if robots > MOST_ROBOTS:
        raise ShapeError(f"{name}: {robots} robots, at most {MOST_ROBOTS} are drawn: give some, such as {name}[:16]")
    most = MOST_POSES // max(1, robots * len(robot.bodies))
    if times > most:
        raise ShapeError(
            f"{name}: {times} times of {robots} robots, at most {most} are kept: give fewer, such as every "
            f"{-(-times // most)}th"
        )
    return states


def checked_forces(
    robot: RobotData, forces: Mapping[str, ArrayLike] | None, times: int, robots: int
) -> dict[str, Array]:
    """Forces (T, N, 3) [N] in world axes by the frame that they act on.

    Each is (3,), (N, 3) without a trajectory, (T, 3) or (N, T, 3) with one. ShapeError, StateError, UnsupportedError.
    """
    found: dict[str, Array] = {}
    if forces is not None and not isinstance(forces, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(
            f"forces={forces!r}, expected a dict of frames and forces, such as {{'foot': (0, 0, 10)}}"
        )
    for name, given in (forces or {}).items():
        if name not in robot.frames:
            known = few(robot.frames, 8)
            raise UnsupportedError(f"forces: there is no frame {name!r}; frames are {known}")
        found[name] = by_state(f"forces[{name!r}]", reals(f"forces[{name!r}]", given), ((3,),), times, robots)
    return found


def checked_contact_forces(forces: ArrayLike | None, contacts: int, times: int, robots: int) -> Array | None:
    """Forces at contacts, (T, N, C, 6) or (T, N, C, 3). UnsupportedError without contacts; ShapeError, StateError."""
    if forces is None:
        return None
    if not contacts:
        raise UnsupportedError(
            "contact_forces: there are no contacts; name them by contacts= or ground=, on the command line --contacts"
        )
    tails = ((contacts, 6), (contacts, 3))
    return by_state("contact_forces", reals("contact_forces", forces), tails, times, robots)


def by_state(
    name: str, values: NDArray[np.generic], tails: Sequence[tuple[int, ...]], times: int, robots: int
) -> Array:
    """An array with one entry for all states, or one of each robot, time, or robot and time: (T, N, *tail), float64.

    tails: the shapes that an entry may have. ShapeError, StateError.
    """
    heads: dict[tuple[int, ...], tuple[int, ...] | None] = {(): (1, 1), (robots, times): None}
    if times == 1:
        heads[(robots,)] = (1, robots)
    if robots == 1:
        heads.setdefault((times,), (times, 1))
    shapes = {(*head, *tail): (lead, tail) for tail in tails for head, lead in heads.items()}
    if values.shape not in shapes:
        allowed = ", ".join(map(str, shapes))
        counts = f"{times} times, {robots} robots"
        counts += f", {tails[0][0]} contacts" if len(tails[0]) == 2 else ""
        raise ShapeError(f"{name} has shape {values.shape}, expected one of {allowed}: there are {counts}")
    array = values.astype(np.float64)
    lead, tail = shapes[array.shape]
    if not moderate(array):
        sound = np.abs(np.reshape(array, (-1, int(np.prod(tail))))) <= LARGEST
        rows = np.flatnonzero(~sound.all(axis=1)).tolist()
        raise StateError(f"{name}: not finite, or beyond {LARGEST:.0e}, in rows {few(map(str, rows), 8)}", tuple(rows))
    whole = np.moveaxis(array, 0, 1) if lead is None else np.reshape(array, (*lead, *tail))
    return np.broadcast_to(whole, (times, robots, *tail))


def checked_points(forces: Iterable[str], points: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """Where each force acts, (3,) [m] in its frame, by default the origin. ShapeError, UnsupportedError."""
    found: dict[str, Array] = {name: np.zeros(3) for name in forces}
    if points is not None and not isinstance(points, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(
            f"points={points!r}, expected a dict of frames and points, such as {{'foot': (0, 0, 0)}}"
        )
    for name, given in (points or {}).items():
        if name not in found:
            raise UnsupportedError(f"points: there is no force on {name!r}; there are {few(found, 8) or 'none'}")
        array = reals(f"points[{name!r}]", given).astype(np.float64)
        if array.shape != (3,) or not np.isfinite(array).all():
            raise ShapeError(f"points[{name!r}] is {given}, expected three finite numbers, metres in the frame")
        found[name] = array
    return found


def read_trajectory(path: str | os.PathLike[str]) -> Recorded:
    """A trajectory of a .npy file, or of a .npz file with `q` and perhaps `dt` [s] and `contact_forces`.

    OSError where there is no such file; UnsupportedError, which names the file, for what it holds otherwise.
    """
    path = Path(path)
    with path.open("rb") as stream:
        is_archive = stream.read(2) == b"PK"
    try:
        if not is_archive:
            return Recorded(np.array(np.load(path, mmap_mode="r", allow_pickle=False)), None)
        with zipfile.ZipFile(path) as archive:
            large = [entry.filename for entry in archive.infolist() if entry.file_size > MOST_BYTES]
        if large:
            raise UnsupportedError(f"{path}: {large[0]!r} is larger than {MOST_BYTES} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            if "q" not in arrays:
                raise UnsupportedError(f"{path} holds {few(arrays.files, 8) or 'nothing'}, expected an array 'q'")
            if not isinstance(arrays["q"], np.ndarray):  # a member that is no .npy file: bytes
                raise ValueError
            pushed = arrays.get("contact_forces")
            if pushed is not None and not isinstance(pushed, np.ndarray):
                raise ValueError
            return Recorded(arrays["q"], _dt(path, arrays["dt"]) if "dt" in arrays else None, pushed)
    except BROKEN:
        text = path.suffix in TEXTS
        cure = f"; convert it by numpy.save({path.stem + '.npy'!r}, numpy.loadtxt({path.name!r}, delimiter=','))"
        why = f"{path} is no .npy or .npz file of numbers; Python objects are not read"
        raise UnsupportedError(why + (cure if text else "")) from None


def _dt(path: Path, value: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> float:
    if value.shape != () or value.dtype.kind not in "fiu":
        raise UnsupportedError(f"{path}: dt has shape {value.shape} and type {value.dtype}, expected one number")
    return checked_dt(float(cast(float, value)), f"{path}: dt")


def checked_dt(dt: float, what: str = "dt") -> float:
    """Seconds between states. UnsupportedError unless positive and finite."""
    if not isinstance(dt, Real) or not 0.0 < dt < np.inf:
        raise UnsupportedError(f"{what} is {dt!r}, expected the seconds between two states, more than 0")
    return dt
