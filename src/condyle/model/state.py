"""The configuration space of a whole robot: arrays (..., nq) and (..., nv), joint by joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.errors import OutOfMemoryError, ShapeError, StateError
from condyle.model.array import Array, dtype_name, generator_of, reals
from condyle.model.joints import JointType
from condyle.model.joints.lie import components, stacked, transport
from condyle.model.parts import Joint, RobotData
from condyle.scalar import Scalar
from condyle.text import few

UNIT_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
NEAR_UNIT = 1e-3
"""What is further off is a mistake, not rounding: calls refuse it."""
_SHOWN = 8


class State(NamedTuple):
    """q (..., nq) and v (..., nv)."""

    q: Array
    v: Array


class IntegrateDerivatives(NamedTuple):
    """dq, ddv (..., nv, nv): derivatives of q ⊕ dv by q and by dv, in tangent spaces; see `integrate_derivatives`."""

    dq: NDArray[np.floating]
    ddv: NDArray[np.floating]


def neutral(robot: RobotData) -> Array:
    """Return the neutral configuration (nq,): every joint at zero, every quaternion unit."""
    return np.concatenate([np.zeros(0), *(joint.kind.neutral() for joint in robot.joints if joint.mimic is None)])


def random_state(robot: RobotData, n: int, rng: int | np.random.Generator, dtype: DTypeLike = "float64") -> State:
    """Return n random states: a named tuple q (n, nq), v (n, nv). rng: a Generator, or its seed.

    q is within the limits of all joints, mimic joints too, where they are finite; else angles are in [-π, π], lengths
    in [-1, 1] m and orientations uniform. v is in [-1, 1]. dtype: "float64" or "float32"; in float32 these are the same
    states, rounded.
    Errors: ShapeError for n, OutOfMemoryError, DTypeError for rng, UnsupportedError for dtype.
    """
    kind = dtype_name(dtype)
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ShapeError(f"n={n!r} random states: give a whole number, 0 or more")
    rng = generator_of("random_state", rng)
    try:
        q = np.empty((n, robot.nq))
    except (MemoryError, ValueError) as error:
        raise OutOfMemoryError(f"n={n} random states do not fit into memory: {error}") from None
    low, high = usual_ranges(robot)
    width = high - low
    for joint in robot.joints:
        if joint.mimic is None:
            own, at = joint.kind.random(rng, n), joint.q_slice
            if not joint.kind.has_quaternion:  # moved from the type's own range into what the limits leave of it
                own = low[at] + 0.5 * (own / joint.kind.spread + 1.0) * width[at]
            q[:, at] = own
    v = rng.uniform(-1.0, 1.0, (n, robot.nv))
    return State(q.astype(kind, copy=False), v.astype(kind, copy=False))


def usual_ranges(robot: RobotData) -> tuple[Array, Array]:
    """(low, high) of each entry of q in random states, (nq,) each."""
    kinds = [joint.kind for joint in robot.joints if joint.mimic is None]
    spread = [x for kind in kinds for x in kind.spread.tolist()]
    limited = [not kind.has_quaternion for kind in kinds for _ in range(kind.nq)]
    limits = zip(limited, robot.lower.tolist(), robot.upper.tolist(), spread, strict=True)
    ranges = [_range(low, high, x) if yes else (-x, x) for yes, low, high, x in limits]
    both: Array = np.reshape(np.array(ranges, np.float64), (-1, 2))
    return both[:, 0], both[:, 1]


def _range(lower: float, upper: float, spread: float) -> tuple[float, float]:
    if not lower <= upper or lower == np.inf or upper == -np.inf:
        return -spread, spread
    low, high = max(lower, -spread), min(upper, spread)
    if low <= high:
        return low, high
    # limits beyond the usual range: the end of them that faces it
    if lower > spread:
        return lower, min(upper, lower + 2.0 * spread)
    return max(lower, upper - 2.0 * spread), upper


def integrate(robot: RobotData, q: ArrayLike, dv: ArrayLike) -> NDArray[np.floating]:
    """Return q ⊕ dv (..., nq): q (..., nq) moved by the local tangent vector dv (..., nv).

    Batches broadcast; the answer is float32 if both are. ShapeError, DTypeError, StateError for quaternions that are
    further than 1e-3 from unit length.
    """
    q64, dv64, kind = _pair(("q", q, robot.nq), ("dv", dv, robot.nv))
    _check_near(robot, q64)
    out = np.empty(q64.shape)
    for joint, at, rates in _runs(robot.joints):
        own, step = q64[..., at], dv64[..., rates]
        out[..., at] = own + step if joint.is_flat else _by_entries(joint.integrate, own, step)
    return out.astype(kind, copy=False)


def difference(robot: RobotData, q0: ArrayLike, q1: ArrayLike) -> NDArray[np.floating]:
    """Return q1 ⊖ q0 (..., nv): the dv with which `integrate` goes from q0 (..., nq) to q1 (..., nq).

    Batches broadcast; the answer is float32 if both are. ShapeError, DTypeError, StateError as in `integrate`.
    """
    a, b, kind = _pair(("q0", q0, robot.nq), ("q1", q1, robot.nq))
    _check_near(robot, a)
    _check_near(robot, b)
    out = np.empty((*a.shape[:-1], robot.nv))
    for joint, at, rates in _runs(robot.joints):
        begin, end = a[..., at], b[..., at]
        out[..., rates] = end - begin if joint.is_flat else _by_entries(joint.difference, begin, end)
    return out.astype(kind, copy=False)


def integrate_derivatives(robot: RobotData, dv: ArrayLike) -> IntegrateDerivatives:
    """Return the derivatives of q ⊕ dv: a named tuple dq, ddv, each (..., nv, nv), the same for every q.

    (q ⊕ x) ⊕ dv = (q ⊕ dv) ⊕ dq x and q ⊕ (dv + x) = (q ⊕ dv) ⊕ ddv x, to first order in x. Both are the identity
    except for free, spherical and planar joints. float32 if dv is. ShapeError, DTypeError.
    """
    dv64, kind = _array("dv", dv, robot.nv)
    by_q = np.zeros((*dv64.shape, robot.nv), kind)
    by_q[...] = np.eye(robot.nv)
    by_dv = np.array(by_q)
    for joint, _, rates in _runs(robot.joints):
        if not joint.is_flat:
            by_q[..., rates, rates], by_dv[..., rates, rates] = transport(joint.adjoint(dv64[..., rates]))
    return IntegrateDerivatives(by_q, by_dv)


def _by_entries(
    step: Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]], first: Array, second: Array
) -> Array:
    """What a joint type does with scalars, of arrays (..., size)."""
    return stacked(step(components(first), components(second)))


@lru_cache(16)
def _runs(joints: tuple[Joint, ...]) -> tuple[tuple[JointType, slice, slice], ...]:
    """(type, where in q, where in v) of all joints; neighbours whose q is a plain vector are one."""
    runs: list[tuple[JointType, slice, slice]] = []
    for joint in joints:
        if joint.mimic is not None:
            continue
        at, rates = joint.q_slice, joint.v_slice
        if runs and joint.kind.is_flat and runs[-1][0].is_flat:
            _, begun, began = runs.pop()
            at, rates = slice(begun.start, at.stop), slice(began.start, rates.stop)
        runs.append((joint.kind, at, rates))
    return tuple(runs)


def configurations(robot: RobotData, q: ArrayLike) -> tuple[Array, np.dtype[np.floating]]:
    """q as float64 (..., nq), and its own number type; ShapeError for other shapes, StateError as in `integrate`."""
    q64, kind = _array("q", q, robot.nq)
    _check_near(robot, q64)
    return q64, np.dtype(kind)


def velocities(robot: RobotData, v: ArrayLike) -> tuple[Array, np.dtype[np.floating]]:
    """v as float64 (..., nv), and its own number type; ShapeError for other shapes."""
    v64, kind = _array("v", v, robot.nv)
    return v64, np.dtype(kind)


def normalize(robot: RobotData, q: ArrayLike) -> NDArray[np.floating]:
    """Return q (..., nq) with its quaternions divided by their norms. ShapeError, DTypeError."""
    q64, kind = _array("q", q, robot.nq)
    out = np.empty(q64.shape)
    for joint in robot.joints:
        if joint.mimic is None:
            out[..., joint.q_slice] = joint.kind.normalize(q64[..., joint.q_slice])
    return out.astype(kind)


def quaternions_of(robot: RobotData) -> tuple[tuple[int, str], ...]:
    """Of each quaternion its first entry in q, and the name of its joint."""
    own = [joint for joint in robot.joints if joint.mimic is None and joint.kind.has_quaternion]
    return tuple((joint.q_slice.stop - 4, joint.name) for joint in own)


def check_state(robot: RobotData, q: ArrayLike, v: ArrayLike | None = None) -> None:
    """Raise StateError for rows of q or v that are not finite, or have quaternions that are not unit; ShapeError."""
    q64, kind = _array("q", q, robot.nq)
    problems: list[str] = []
    bad = _infinite("q", q64, problems)
    if v is not None:
        v64, _ = _array("v", v, robot.nv)
        _broadcast(("q", q64), ("v", v64))
        bad |= _infinite("v", v64, problems)
    bad |= _not_unit(robot, q64, UNIT_TOLERANCE[np.dtype(kind)], problems)
    if problems:
        raise StateError("\n".join(problems), tuple(sorted(bad)))


def _check_near(robot: RobotData, q64: Array) -> None:
    """StateError for quaternions that are off unit length by more than calls allow; what is not finite passes."""
    problems: list[str] = []
    bad = _not_unit(robot, np.where(np.isfinite(q64), q64, np.nan), NEAR_UNIT, problems)
    if problems:
        raise StateError("\n".join(problems), tuple(sorted(bad)))


def _not_unit(robot: RobotData, q64: Array, tolerance: float, problems: list[str]) -> set[int]:
    """The rows with a quaternion whose length is off 1 by more than the tolerance."""
    bad: set[int] = set()
    for joint in robot.joints:
        if joint.mimic is None and joint.kind.has_quaternion:
            rows = _rows(joint.kind.defect(q64[..., joint.q_slice]) > tolerance)
            if rows:
                where = f"{_list(rows)}; normalize(q) makes it so"
                problems.append(f"joint {joint.name!r}: the quaternion is not unit in {where}")
                bad |= set(rows)
    return bad


def _infinite(name: str, x: Array, problems: list[str]) -> set[int]:
    rows = _rows(~np.isfinite(x).all(axis=-1))
    if rows:
        problems.append(f"{name}: not finite in {_list(rows)}")
    return set(rows)


def _rows(mask: NDArray[np.bool_] | np.bool_) -> list[int]:
    return np.flatnonzero(np.atleast_1d(mask)).tolist()


def _list(rows: list[int]) -> str:
    return f"row{'s' if len(rows) > 1 else ''} {few(map(str, rows), _SHOWN)}"


def _array(name: str, x: ArrayLike, n: int) -> tuple[Array, type[np.floating]]:
    """x as float64 (..., n), and the number type of the answer."""
    array = reals(name, x)
    if array.ndim == 0 or array.shape[-1] != n:
        hint = "; states are rows here, (..., n): pass the transpose" if array.ndim == 2 and array.shape[0] == n else ""
        raise ShapeError(f"{name} has shape {array.shape}, expected (..., {n}){hint}")
    kind = np.float32 if array.dtype == np.float32 else np.float64
    return array.astype(np.float64, copy=False), kind


def _pair(
    first: tuple[str, ArrayLike, int], second: tuple[str, ArrayLike, int]
) -> tuple[Array, Array, np.dtype[np.floating]]:
    """Both by (name, value, length of the last axis), batches broadcast, and the number type of the answer."""
    (x, kind), (y, other) = _array(*first), _array(*second)
    if x.shape[:-1] != y.shape[:-1]:
        batch = _broadcast((first[0], x), (second[0], y))
        x, y = np.broadcast_to(x, (*batch, first[2])), np.broadcast_to(y, (*batch, second[2]))
    return x, y, np.result_type(kind, other)


def _broadcast(*named: tuple[str, Array]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.shape[:-1] for _, x in named))
    except (ValueError, RuntimeError) as error:  # RuntimeError: more than 32 dimensions
        shapes = " and ".join(f"{name} {x.shape}" for name, x in named)
        raise ShapeError(f"the batches of {shapes} do not broadcast: {error}") from None
