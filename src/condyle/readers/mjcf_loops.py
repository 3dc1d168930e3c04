"""Loops of an MJCF file: `connect` holds a point, `weld` a whole frame, of two bodies or of a body and the world.

eq_data, for bodies 1 and 2, x_k in the axes and from the origin of body k:
connect: x_1, x_2; weld: x_2, x_1, then the quaternion (w, x, y, z) of body 2 in body 1, torquescale. Sites say it all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.errors import Finding
from condyle.model.array import Array
from condyle.model.contact import Contact
from condyle.model.loops import gap_of, turned
from condyle.model.placement import IDENTITY, Placement, matrix_of
from condyle.readers.mjcf_compiled import Compiled

_CONNECT, _WELD = 0, 1  # mjtEq
_BODY, _SITE = 1, 6  # mjtObj
_SCALE = 10


def closing(model: Compiled) -> list[int]:
    """Active equalities that close a loop."""
    kinds = (model.eq_type == _CONNECT) | (model.eq_type == _WELD)
    counts = np.where(model.eq_objtype == _SITE, len(model.site_bodyid), model.nbody)
    known = (model.eq_objtype == _SITE) | (model.eq_objtype == _BODY)
    for ids in (model.eq_obj1id, model.eq_obj2id):
        known &= (ids >= 0) & (ids < counts)
    return np.flatnonzero(kinds & known & (model.eq_active0 != 0)).tolist()


def closures(model: Compiled, bodies: Sequence[str], snap: float) -> list[Contact]:
    """Contacts between links of these names, or with the world, in the order of the file."""
    return [_contact(model, i, bodies, snap) for i in closing(model)]


def _contact(model: Compiled, i: int, bodies: Sequence[str], snap: float) -> Contact:
    kind = "plane" if model.eq_type[i] == _WELD and model.eq_data[i, _SCALE] != 0.0 else "point"
    (one, own), (two, at) = _ends(model, i)
    own, at = own.snapped(snap), at.snapped(snap)
    if one == 0 and two != 0:
        return turned(Contact(bodies[0], kind, bodies[two], own, anchor=at), IDENTITY)
    return Contact(bodies[one], kind, bodies[two] if two else None, own, anchor=at)


def _ends(model: Compiled, i: int) -> tuple[tuple[int, Placement], tuple[int, Placement]]:
    """Both bodies, and where in each the frame stands that coincides with the other one."""
    one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    if model.eq_objtype[i] == _SITE:
        return _site(model, one), _site(model, two)
    data = model.eq_data[i]
    if model.eq_type[i] == _WELD:
        return (one, _place(data[3:6], data[6:10])), (two, Placement(np.eye(3), data[:3]))
    return (one, Placement(np.eye(3), data[:3])), (two, Placement(np.eye(3), data[3:6]))


def _site(model: Compiled, site: int) -> tuple[int, Placement]:
    return int(model.site_bodyid[site]), _place(model.site_pos[site], model.site_quat[site])


def _place(position: Array, quaternion: Array) -> Placement:
    length = float(np.linalg.norm(quaternion))
    turn = np.eye(3) if length == 0.0 else matrix_of(np.roll(quaternion, -1) / length)
    return Placement(turn, position)


def opened(model: Compiled, contacts: Sequence[Contact], bodies: Sequence[str], file: str) -> list[Finding]:
    """A note on every loop that is open where the file puts its bodies (qpos0)."""
    poses: list[Placement] = []
    parents: list[int] = model.body_parentid.tolist()
    for i, parent in enumerate(parents):
        own = _place(model.body_pos[i], model.body_quat[i])
        poses.append(own if i == 0 else poses[parent].compose(own))
    found = dict(zip(bodies, poses, strict=True))
    findings: list[Finding] = []
    for one in contacts:
        gap = gap_of(one, found[one.frame], IDENTITY if one.other is None else found[one.other])
        if gap.is_open:
            message = f"is open at the file's own pose, by {gap}"
            findings.append(Finding("note", message, file, element=one.title, cure="robot.close(q) closes it"))
    return findings
