"""The configuration space of a whole robot: q (..., nq) and v (..., nv), joint by joint, and other orders of joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.errors import ModelError, OutOfMemoryError, ShapeError, StateError
from condyle.model.array import Array, dtype_name, generator_of, reals
from condyle.model.joints import JointType
from condyle.model.joints.lie import components, stacked, transport
from condyle.model.parts import Joint, RobotData
from condyle.scalar import Scalar
from condyle.text import few, quoted

UNIT_TOLERANCE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
NEAR_UNIT = 1e-3
"""What is further off is a mistake, not rounding: calls refuse it."""
# Where q and v of a robot stand in another order of its joints: that of a Pinocchio model, of MuJoCo, or of names.


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


# Names of what has none in an MJCF file.


def names_of(names: Sequence[str], what: str) -> list[str]:
    """A name for each: its own, or one that nobody else has."""
    taken = {name for name in names if name}
    return [name if name else fresh(f"{what}{i}", taken) for i, name in enumerate(names)]


def fresh(name: str, taken: set[str]) -> str:
    """The name, with _ behind it until it is in `taken` no more; it is then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


_SIZES = ((7, 6), (4, 3), (1, 1), (1, 1))
"""(nq, nv) by mjtJoint: free, ball, slide, hinge."""
_SHOWN_NAMES = 5
_ONE_FILE = "load both from one file, with the same base and the same joints locked"


class Permutation(NamedTuple):
    """Index arrays into another joint order: here = there[..., p.q]; there[..., p.q] = here goes back; p.v for v."""

    q: NDArray[np.intp]
    v: NDArray[np.intp]


class PinocchioModel(Protocol):
    """What is read of a `pinocchio.Model`; entry 0 is the universe."""

    @property
    def names(self) -> Iterable[str]: ...
    @property
    def idx_qs(self) -> Iterable[int]: ...
    @property
    def nqs(self) -> Iterable[int]: ...
    @property
    def idx_vs(self) -> Iterable[int]: ...
    @property
    def nvs(self) -> Iterable[int]: ...


class MujocoJoint(Protocol):
    @property
    def name(self) -> str: ...


class MujocoModel(Protocol):
    """What is read of a `mujoco.MjModel`."""

    @property
    def njnt(self) -> int: ...
    @property
    def jnt_type(self) -> Sequence[int]: ...
    @property
    def jnt_qposadr(self) -> Sequence[int]: ...
    @property
    def jnt_dofadr(self) -> Sequence[int]: ...
    @property
    def joint(self) -> Callable[[int], MujocoJoint]: ...


Order: TypeAlias = Sequence[str] | RobotData | PinocchioModel | MujocoModel


class _Entries(NamedTuple):
    """Where the entries of one joint are in q and v there, each in our order of them."""

    name: str
    q: Sequence[int]
    v: Sequence[int]


def permutation(robot: RobotData, order: Order) -> Permutation:
    """Return where this robot's q and v are in another order of its joints.

    order: a `pinocchio.Model`, a `mujoco.MjModel` or another Robot that has the same joints; or the names of the joints
    that have entries, each with as many as here. Of MuJoCo's quaternions w x y z, p.q takes x y z w.
    ModelError for joints that are missing, unknown or twice there, for joints with another number of entries there, and
    for names of mimic joints, which do not say whether these have entries.
    """
    by_name = {joint.name: joint for joint in robot.joints}
    there = _read(order, by_name)
    names = [one.name for one in there]
    wrong = {
        "unknown": [name for name in names if name not in by_name],
        "missing": [joint.name for joint in robot.joints if joint.mimic is None and joint.name not in names],
        "given twice": sorted(name for name, count in Counter(names).items() if count > 1),
    }
    problems = [f"{what} [{few(map(quoted, which), _SHOWN_NAMES)}]" for what, which in wrong.items() if which]
    if problems:
        hint = "'universe' is no joint: give the model itself, or model.names[1:]" if "universe" in names else _ONE_FILE
        raise ModelError(f"not an order of this robot's joints: {', '.join(problems)}; {hint}")
    _check_sizes(there, by_name)
    q, v = np.empty(robot.nq, np.intp), np.empty(robot.nv, np.intp)
    for one in there:
        joint = by_name[one.name]
        q[joint.q_slice], v[joint.v_slice] = one.q, one.v
    return Permutation(q, v)


def _read(order: Order, by_name: Mapping[str, Joint]) -> list[_Entries]:
    if isinstance(order, RobotData):
        own = ((joint, joint.q_index, joint.v_index) for joint in order.joints)
        return [_Entries(joint.name, range(k, k + joint.nq), range(i, i + joint.nv)) for joint, k, i in own]
    if hasattr(order, "jnt_qposadr"):
        return _of_mujoco(cast(MujocoModel, order))
    if hasattr(order, "idx_qs"):
        return _of_pinocchio(cast(PinocchioModel, order))
    return _of_names(cast("Sequence[str]", order), by_name)


def _of_pinocchio(model: PinocchioModel) -> list[_Entries]:
    each = zip(model.names, model.idx_qs, model.nqs, model.idx_vs, model.nvs, strict=True)
    return [_Entries(name, range(k, k + nq), range(i, i + nv)) for name, k, nq, i, nv in each][1:]


def _of_mujoco(model: MujocoModel) -> list[_Entries]:
    """Every joint has entries in MuJoCo; its quaternions begin with w, which is last here."""
    names = names_of([model.joint(k).name for k in range(model.njnt)], "joint")
    found: list[_Entries] = []
    for name, kind, k, i in zip(names, model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
        nq, nv = _SIZES[int(kind)]
        q = list(range(int(k), int(k) + nq))
        if nq > 1:
            q.append(q.pop(-4))
        found.append(_Entries(name, q, range(int(i), int(i) + nv)))
    return found


def _of_names(names: Sequence[str], by_name: Mapping[str, Joint]) -> list[_Entries]:
    """Each joint with as many entries as here, in this order."""
    if not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"order={names!r}: give a Pinocchio or MuJoCo model, a Robot, or the names of joints")
    listed = [str(name) for name in names]
    follow = [name for name in listed if name in by_name and by_name[name].mimic is not None]
    if follow:
        raise ModelError(
            f"mimic joints among the names: {few(map(quoted, follow), _SHOWN_NAMES)}: a name does not say whether it "
            "has entries there: give the other model itself (Pinocchio's, MuJoCo's or a Robot), or leave out the names "
            "that have none"
        )
    found: list[_Entries] = []
    nq = nv = 0
    for name in listed:
        kind = by_name[name].kind if name in by_name else None
        sizes = (0, 0) if kind is None else (kind.nq, kind.nv)
        found.append(_Entries(name, range(nq, nq + sizes[0]), range(nv, nv + sizes[1])))
        nq, nv = nq + sizes[0], nv + sizes[1]
    return found


def _check_sizes(there: Sequence[_Entries], by_name: Mapping[str, Joint]) -> None:
    """ModelError where joints have other entries there than here."""
    names: dict[str, list[str]] = {}
    for one in there:
        names.setdefault(_difference(by_name[one.name], len(one.q), len(one.v)), []).append(quoted(one.name))
    problems = [f"{few(which, _SHOWN_NAMES)}: {why}" for why, which in names.items() if why]
    if problems:
        raise ModelError("not an order of this robot's q and v: " + "\n".join(problems))


def _difference(joint: Joint, nq: int, nv: int) -> str:
    """Why a joint has nq and nv entries there, and what to do; "" if it has as many here."""
    if (nq, nv) == (joint.nq, joint.nv):
        return ""
    if joint.mimic is not None:
        return (
            "mimics another joint here and has entries of its own there: load(..., mimic='independent') gives it some "
            "here, Pinocchio's buildModelFromUrdf(..., mimic=True) takes them away there"
        )
    if nv == 0:
        return "has entries here and mimics another joint there: load(..., mimic='exact') makes it mimic here too"
    if joint.kind.angles and (nq, nv) == (joint.nq + 1, joint.nv):
        return (
            "has cos and sin of its angle in q there: no permutation makes it the angle that it has here; the lines "
            "that do are in docs/how-to/coming-from.md"
        )
    return f"nq {nq} and nv {nv} there, {joint.nq} and {joint.nv} here: {_ONE_FILE}"
