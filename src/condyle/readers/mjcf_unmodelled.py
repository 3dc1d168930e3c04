"""What acts on the bodies in MuJoCo and not here: refused, or ignored with a note; joint equalities that are mimics."""

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
    tied = set(followers(model))
    first = {int(model.eq_obj1id[i]): i for i in reversed(_followed(model)) if int(model.eq_obj1id[i]) in tied}
    modelled = {*first.values(), *closing(model)}
    loose = [i for i in np.flatnonzero(model.eq_active0).tolist() if i not in modelled]
    found += label.said("equality constraints", "eq", loose)
    found += label.said("tendons with a spring, damping, friction, a limit or armature", "tendon", acting)
    if found and not ignore:
        raise UnsupportedError(
            f"{root.file}: {'; '.join(found)}: not supported; to load the tree without them say unmodelled='ignore', "
            "or take them out of the file"
        )
    routes = [i for i in range(len(model.names["tendon"])) if i not in acting]
    found += label.said("tendons that only route actuators", "tendon", routes)
    found += label.said("joint springs", "jnt", _any(model.jnt_stiffness, model.jnt_stiffnesspoly))
    return [Finding("note", f"{what}: ignored", root.file) for what in (*found, *_small(model))]


def followers(model: Compiled) -> dict[int, tuple[int, float, float]]:
    """Joints that an active joint equality ties to another by a line: master, multiplier, offset, as mimics have them.

    MuJoCo: q_1 - ref_1 = c_0 + c_1 (q_2 - ref_2) + ...; of several equalities of one joint the first counts.
    """
    found: dict[int, tuple[int, float, float]] = {}
    for i in _followed(model):
        joint, master = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        shift, slope = (float(c) for c in model.eq_data[i, :2])
        if joint not in found:
            refs = model.qpos0[model.jnt_qposadr[[joint, master]]]
            found[joint] = (master, slope, float(refs[0] + shift - slope * refs[1]))
    return found


def _followed(model: Compiled) -> list[int]:
    """Active equalities of two joints by a line."""
    straight = (model.eq_type == _EQ_JOINT) & (model.eq_active0 != 0) & (model.eq_data[:, 1] != 0.0)
    straight &= ~(model.eq_data[:, 2:5] != 0.0).any(axis=1)
    within = (model.eq_obj1id >= 0) & (model.eq_obj1id < model.njnt)
    within &= (model.eq_obj2id >= 0) & (model.eq_obj2id < model.njnt)
    return np.flatnonzero(straight & within).tolist()


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


def _small(model: Compiled) -> list[str]:
    """What is never refused: forces that are little, or meant to be added by the user."""
    present = {
        "gravity compensation (gravcomp)": bool(model.body_gravcomp.any()),
        "fluid forces (density, viscosity)": model.density != 0.0 or model.viscosity != 0.0,
        "nonlinear damping": bool(model.dof_dampingpoly.any()) or bool(model.actuator_dampingpoly.any()),
    }
    return [name for name, here in present.items() if here]
