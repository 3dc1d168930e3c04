"""What acts on the bodies in MuJoCo and not here: refused, ignored with a note, or said when the robot is compiled;
joint equalities that are mimics or hold a joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from condyle.errors import Finding, UnsupportedError
from condyle.model.array import Array
from condyle.readers.mjcf_checks import place
from condyle.readers.mjcf_compiled import Compiled, Ints
from condyle.readers.mjcf_loops import closing
from condyle.readers.xml import Element
from condyle.text import few

_EQ_JOINT = 2  # mjtEq
_SCALAR = (2, 3)  # mjtJoint: slide, hinge
_ON_JOINT, _ON_TENDON = (0, 1), 3  # mjtTrn: joint, jointinparent; tendon
_SECTIONS = {"tendon": "tendon", "eq": "equality", "actuator": "actuator"}


def check_modelled(
    model: Compiled, root: Element, taken: Mapping[str, Sequence[Element]], ignore: bool
) -> list[Finding]:
    """Notes on what acts in MuJoCo only; UnsupportedError for what changes the motion of the tree, unless `ignore`.

    taken: what was left out of the file already, by what a person calls it.
    """
    acting = _acting(model)
    label = _Labels(model, root)
    found = [_said(what, [_label(node, root.file) for node in nodes]) for what, nodes in taken.items()]
    modelled = {*_ties(model).values(), *closing(model)}
    loose = [i for i in np.flatnonzero(model.eq_active0).tolist() if i not in modelled]
    found += label.said("equality constraints", "eq", loose)
    found += label.said("tendons with a spring, damping, friction, a limit or armature", "tendon", acting)
    if found and not ignore:
        raise UnsupportedError(
            f"{root.file}: {'; '.join(found)}: not supported; to load the tree without them say unmodelled='ignore', "
            "or take them out of the file"
        )
    return [Finding("note", f"{what}: ignored", root.file) for what in found]


def followers(model: Compiled) -> dict[int, tuple[int, float, float]]:
    """Joints that an active joint equality ties to another by a line: master, multiplier, offset, as mimics have them.

    MuJoCo: q_1 - ref_1 = c_0 + c_1 (q_2 - ref_2) + ...; of several equalities of one joint the first counts.
    """
    found: dict[int, tuple[int, float, float]] = {}
    for joint, i in _ties(model).items():
        if not _is_constant(model, i):
            master = int(model.eq_obj2id[i])
            shift, slope = (float(c) for c in model.eq_data[i, :2])
            refs = model.qpos0[model.jnt_qposadr[[joint, master]]]
            found[joint] = (master, slope, float(refs[0] + shift - slope * refs[1]))
    return found


def held(model: Compiled) -> dict[int, float]:
    """Joints that an active joint equality holds at a value of q [rad or m], and those that follow them.

    MuJoCo: q_1 - ref_1 = c_0, without a second joint or where its coefficients are 0.
    """
    values = {
        joint: float(model.qpos0[model.jnt_qposadr[joint]] + model.eq_data[i, 0])
        for joint, i in _ties(model).items()
        if _is_constant(model, i)
    }
    tied, todo = followers(model), list(values)
    while todo:
        at = todo.pop()
        for joint, (master, slope, offset) in tied.items():
            if master == at and joint not in values:
                values[joint] = slope * values[at] + offset
                todo.append(joint)
    return values


def _ties(model: Compiled) -> dict[int, int]:
    """For each joint the first active joint equality that ties it to a line of another, or to a number."""
    straight = (model.eq_type == _EQ_JOINT) & (model.eq_active0 != 0)
    alone = model.eq_obj2id < 0
    straight &= alone | ~(model.eq_data[:, 2:5] != 0.0).any(axis=1)
    within = (model.eq_obj1id >= 0) & (model.eq_obj1id < model.njnt) & (model.eq_obj2id < model.njnt)
    ties: dict[int, int] = {}
    for i in np.flatnonzero(straight & within).tolist():
        joint = int(model.eq_obj1id[i])
        if int(model.jnt_type[joint]) in _SCALAR:
            ties.setdefault(joint, i)
    return ties


def _is_constant(model: Compiled, i: int) -> bool:
    """Whether joint equality i, one of `_ties`, has no other joint in it."""
    return int(model.eq_obj2id[i]) < 0 or float(model.eq_data[i, 1]) == 0.0


def reflected(model: Compiled, values: Array) -> Array:
    """What actuators add to each entry of their joint, (njnt,): gear squared times `values` (nactuator,).

    MuJoCo adds it to every degree of freedom of the joint, by the first number of `gear`.
    """
    out = np.zeros(model.njnt)
    for i in np.flatnonzero(values).tolist():
        joint = int(model.actuator_trnid[i, 0])
        if int(model.actuator_trntype[i]) in _ON_JOINT and 0 <= joint < model.njnt:
            out[joint] += _gear(model, i) ** 2 * values[i]
    return out


def _gear(model: Compiled, i: int) -> float:
    return float(model.actuator_gear[int(model.actuator_outadr[i]), 0])


def _acting(model: Compiled) -> list[int]:
    """Tendons that pull, or weigh, by themselves or by what an actuator adds to them."""
    own = (model.tendon_stiffness, model.tendon_stiffnesspoly, model.tendon_damping, model.tendon_dampingpoly)
    found = set(_any(*own, model.tendon_armature, model.tendon_frictionloss, model.tendon_limited))
    for i in _any(model.actuator_armature, model.actuator_damping, model.actuator_dampingpoly):
        if int(model.actuator_trntype[i]) == _ON_TENDON and _gear(model, i) != 0.0:
            found.add(int(model.actuator_trnid[i, 0]))
    return sorted(i for i in found if 0 <= i < len(model.names["tendon"]))


def _any(*arrays: Array | Ints) -> list[int]:
    """The rows in which one of the arrays is not zero."""
    found = [(array != 0.0).any(axis=tuple(range(1, array.ndim))) for array in arrays]
    return np.flatnonzero(np.any(found, axis=0)).tolist()


class _Labels:
    """Names and lines of compiled things, for messages."""

    def __init__(self, model: Compiled, root: Element) -> None:
        self.model, self.root = model, root

    def said(self, what: str, kind: str, which: Sequence[int]) -> list[str]:
        return [_said(what, [self.label(kind, i) for i in which])] if which else []

    def label(self, kind: str, i: int) -> str:
        """By its name, or by its place if each element of the section became one thing."""
        name = self.model.names[kind][i]
        nodes = self.nodes(kind)
        named = [node for node in nodes if name and node.get("name") == name]
        if named:
            return _label(named[0], self.root.file)
        if len(nodes) == len(self.model.names[kind]) and kind != "jnt":
            return _label(nodes[i], self.root.file)
        return repr(name) if name else f"number {i}"

    def nodes(self, kind: str) -> list[Element]:
        if kind == "jnt":
            return [node for node in self.root.walk() if node.tag in ("joint", "freejoint") and node.get("name")]
        return [node for section in self.root.children if section.tag == _SECTIONS[kind] for node in section.children]


def _label(node: Element, file: str) -> str:
    name = node.get("name") or node.get("plugin")
    return f"{name!r} ({place(node, file)})" if name else f"<{node.tag}> ({place(node, file)})"


def _said(what: str, labels: list[str]) -> str:
    return f"{what} ({len(labels)}): {few(labels, 3)}"


def unapplied_forces(model: Compiled, joints: Sequence[str]) -> tuple[str, ...]:
    """What is never refused, in words: forces that are little, or meant to be added by the user."""
    springs = [repr(joints[j]) for j in _any(model.jnt_stiffness, model.jnt_stiffnesspoly)]
    actuators = len(model.names["actuator"])
    present = {
        f"springs of {len(springs)} joint{_plural(len(springs))} ({few(springs, 3)})": bool(springs),
        f"{actuators} actuator{_plural(actuators)}": actuators > 0,
        "gravity compensation (gravcomp)": bool(model.body_gravcomp.any()),
        "fluid forces (density, viscosity)": model.density != 0.0 or model.viscosity != 0.0,
        "nonlinear damping": bool(model.dof_dampingpoly.any()) or bool(model.actuator_dampingpoly.any()),
    }
    return tuple(name for name, here in present.items() if here)


def unmoved(model: Compiled, bodies: Sequence[str]) -> tuple[str, ...]:
    """What is said of mocap bodies, which a user moves in MuJoCo."""
    names = [repr(bodies[i]) for i in np.flatnonzero(model.body_mocapid >= 0).tolist()]
    if not names:
        return ()
    what, them = ("mocap body is", "it") if len(names) == 1 else ("mocap bodies are", "them")
    return (f"{len(names)} {what} fixed, as is what is welded to {them}: {few(names, 3)}",)


def _plural(number: int) -> str:
    return "" if number == 1 else "s"
