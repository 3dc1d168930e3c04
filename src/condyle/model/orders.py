"""Where q and v of a robot stand in another order of its joints: that of a Pinocchio model, of MuJoCo, or of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import ModelError
from condyle.model.parts import Joint, RobotData
from condyle.text import few, quoted

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
_SHOWN = 5
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
    problems = [f"{what} [{few(map(quoted, which), _SHOWN)}]" for what, which in wrong.items() if which]
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
            f"mimic joints among the names: {few(map(quoted, follow), _SHOWN)}: a name does not say whether it has "
            "entries there: give the other model itself (Pinocchio's, MuJoCo's or a Robot), or leave out the names "
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
    problems = [f"{few(which, _SHOWN)}: {why}" for why, which in names.items() if why]
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
