"""The part of a compiled model that is read here, out of the bytes that MuJoCo saves; MuJoCo's code does not run here.

The bytes come from a child that a hostile file may have led astray, so every size, index and name is checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from condyle.errors import Finding, ModelError
from condyle.model.array import Array
from condyle.model.contact import Contact, gap_of, turned
from condyle.model.placement import IDENTITY, Placement, matrix_of
from condyle.readers.folders import Folders
from condyle.readers.mjcf_tree import Schema, asset_name, oddity
from condyle.readers.xml import Element

Ints = NDArray[np.int64]
_FLAG = "mjDSBL_"
_MAGIC, _HEADER = 54321, 5
JOINT_Q, JOINT_V = (7, 4, 1, 1), (6, 3, 1, 1)  # mjtJoint: free, ball, slide, hinge
_KINDS = ("body", "jnt", "geom", "site", "tendon", "eq", "actuator")
_NAMED = {kind: f"n{kind}" for kind in _KINDS}


class DamagedError(ValueError):
    """Bytes that are no compiled model."""


@dataclass(slots=True, eq=False)
class Compiled:
    """What is read of MuJoCo's mjModel, under its names; arrays of one column are flat."""

    gravity: Array
    density: float
    viscosity: float
    disabled: frozenset[str | int]
    names: dict[str, list[str]]
    qpos0: Array
    qpos_spring: Array
    body_parentid: Ints
    body_jntnum: Ints
    body_jntadr: Ints
    body_pos: Array
    body_quat: Array
    body_ipos: Array
    body_iquat: Array
    body_mass: Array
    body_inertia: Array
    body_gravcomp: Array
    body_mocapid: Ints
    jnt_type: Ints
    jnt_qposadr: Ints
    jnt_dofadr: Ints
    jnt_limited: Ints
    jnt_actfrclimited: Ints
    jnt_pos: Array
    jnt_axis: Array
    jnt_stiffness: Array
    jnt_stiffnesspoly: Array
    jnt_springyield: Array
    jnt_range: Array
    jnt_actfrcrange: Array
    dof_frictionloss: Array
    dof_armature: Array
    dof_damping: Array
    dof_dampingpoly: Array
    site_bodyid: Ints
    site_pos: Array
    site_quat: Array
    geom_type: Ints
    geom_contype: Ints
    geom_conaffinity: Ints
    geom_bodyid: Ints
    geom_pos: Array
    geom_quat: Array
    geom_size: Array
    eq_type: Ints
    eq_objtype: Ints
    eq_obj1id: Ints
    eq_obj2id: Ints
    eq_active0: Ints
    eq_data: Array
    tendon_adr: Ints
    tendon_num: Ints
    tendon_limited: Ints
    tendon_actfrclimited: Ints
    tendon_stiffness: Array
    tendon_stiffnesspoly: Array
    tendon_damping: Array
    tendon_dampingpoly: Array
    tendon_armature: Array
    tendon_frictionloss: Array
    wrap_type: Ints
    wrap_objid: Ints
    wrap_prm: Array
    actuator_trntype: Ints
    actuator_dyntype: Ints
    actuator_gaintype: Ints
    actuator_biastype: Ints
    actuator_gainprm: Array
    actuator_biasprm: Array
    actuator_delay: Array
    actuator_plugin: Ints
    actuator_group: Ints
    actuator_ctrladr: Ints
    actuator_ctrlnum: Ints
    actuator_ctrllimited: Ints
    actuator_ctrlrange: Array
    actuator_forcelimited: Ints
    actuator_forcerange: Array
    actuator_outnum: Ints
    actuator_trnid: Ints
    actuator_outadr: Ints
    actuator_gear: Array
    actuator_armature: Array
    actuator_damping: Array
    actuator_dampingpoly: Array

    @property
    def nbody(self) -> int:
        return len(self.body_parentid)

    @property
    def njnt(self) -> int:
        return len(self.jnt_type)

    def is_off(self, what: str | int) -> bool:
        """Whether an option of the file switches off a part of the simulation, such as "GRAVITY" (mjtDisableBit), or
        a group of actuators.
        """
        return what in self.disabled


_COUNTS = {
    "body": "nbody",
    "jnt": "njnt",
    "dof": "nv",
    "site": "nsite",
    "eq": "neq",
    "tendon": "ntendon",
    "geom": "ngeom",
    "mesh": "nmesh",
    "wrap": "nwrap",
}
_ROWS = {
    **dict.fromkeys(("qpos0", "qpos_spring"), "nq"),
    **dict.fromkeys(("actuator_ctrllimited", "actuator_ctrlrange"), "nu"),
    "actuator_gear": "nout",
    "mesh_vert": "nmeshvert",
    "mesh_face": "nmeshface",
}
_COLUMNS = {
    **dict.fromkeys(("body_pos", "body_ipos", "body_inertia", "jnt_pos", "jnt_axis", "site_pos"), 3),
    **dict.fromkeys(("geom_pos", "geom_size", "mesh_vert", "mesh_face"), 3),
    **dict.fromkeys(("body_quat", "body_iquat", "site_quat", "geom_quat"), 4),
    **dict.fromkeys(("jnt_range", "jnt_actfrcrange", "actuator_trnid"), 2),
    **dict.fromkeys(("actuator_ctrlrange", "actuator_forcerange"), 2),
    "actuator_gear": 6,
}


def read_compiled(data: bytes, schema: Schema) -> Compiled:
    """DamagedError for bytes that do not fit the schema, or whose indices lead nowhere."""
    reader = Bytes(data, schema)
    arrays = [field for field in fields(Compiled) if "_" in field.name]
    values = {
        field.name: reader.integers(field.name) if field.type == "Ints" else reader.floats(field.name)
        for field in arrays
    }
    options = reader.options()
    flags, groups = (int(options[name][0]) for name in ("disableflags", "disableactuator"))
    bits = {name.removeprefix(_FLAG): bit for name, bit in schema.constants.items() if name.startswith(_FLAG)}
    off = (name for name, bit in bits.items() if flags & bit)
    names = {what: reader.names(what, count) for what, count in _NAMED.items()}
    model = Compiled(
        gravity=options["gravity"],
        density=float(options["density"][0]),
        viscosity=float(options["viscosity"][0]),
        disabled=frozenset((*off, *(group for group in range(31) if groups >> group & 1))),
        names=names,
        qpos0=reader.floats("qpos0"),
        **values,  # pyright: ignore[reportArgumentType]
    )
    _check_indices(model, reader.sizes["nv"])
    return model


class Bytes:
    """One saved model, cut into arrays."""

    def __init__(self, data: bytes, schema: Schema) -> None:
        self.data, self.schema = data, schema
        count = len(schema.sizes)
        self.start = 4 * _HEADER + 8 * count
        if len(data) < self.start + 8 * len(schema.options):
            raise DamagedError("too short")
        header = np.frombuffer(data, "<i4", _HEADER).tolist()
        if [header[0], header[1], header[2], header[4]] != [_MAGIC, 8, count, len(schema.arrays)]:
            raise DamagedError(f"header {header}")
        sizes = np.frombuffer(data, "<i8", count, 4 * _HEADER).tolist()
        self.sizes: dict[str, int] = dict(zip(schema.sizes, sizes, strict=True))
        self.arrays = self._arrays()

    def _arrays(self) -> dict[str, tuple[int, str, int, int]]:
        """Offset, type, rows and columns by name; the arrays are the end of the file."""
        shapes = [(row, self._size(row.rows), math.prod(map(self._size, row.columns))) for row in self.schema.arrays]
        total = sum(np.dtype(row.form).itemsize * rows * columns for row, rows, columns in shapes if rows)
        at = len(self.data) - total
        if at < self.start:
            raise DamagedError("sizes")
        arrays: dict[str, tuple[int, str, int, int]] = {}
        for row, rows, columns in shapes:
            arrays[row.name] = (at, row.form, rows, columns)
            at += np.dtype(row.form).itemsize * rows * columns
        return arrays

    def _size(self, word: str) -> int:
        value = int(word) if word.isdigit() else self.sizes.get(word, self.schema.constants.get(word, 0))
        if not 0 <= value <= len(self.data):
            raise DamagedError(f"{word} = {value}")
        return value

    def floats(self, name: str) -> Array:
        """Rows by columns; flat if one column is expected."""
        at, form, shape = self.shape(name)
        found: Array = np.frombuffer(self.data, form, math.prod(shape), at).astype(np.float64)
        return np.reshape(found, shape)

    def integers(self, name: str) -> Ints:
        at, form, shape = self.shape(name)
        found: Ints = np.frombuffer(self.data, form, math.prod(shape), at).astype(np.int64)
        return np.reshape(found, shape)

    def shape(self, name: str) -> tuple[int, str, tuple[int, ...]]:
        """Where an array begins, its type, rows and columns, which must be the expected ones."""
        kind = name.partition("_")[0]
        count = self.sizes[_ROWS.get(name) or _COUNTS.get(kind, "nactuator")]
        at, form, rows, columns = self.arrays[name]
        wide = name.endswith("poly") or name in ("eq_data", "actuator_gainprm", "actuator_biasprm")
        expected = _COLUMNS.get(name, 1)
        if rows != count or (columns != expected and not wide):
            raise DamagedError(f"{name} is {rows} x {columns}")
        return at, form, (rows, columns) if wide or expected > 1 else (rows,)

    def options(self) -> dict[str, Array]:
        forms = {"gravity": ("<f8", 3), "density": ("<f8", 1), "viscosity": ("<f8", 1)}
        forms |= {"disableflags": ("<i4", 1), "disableactuator": ("<i4", 1)}
        return {
            name: np.frombuffer(self.data, form, count, self.start + self.schema.options[name]).astype(np.float64)
            for name, (form, count) in forms.items()
        }

    def names(self, what: str, count: str) -> list[str]:
        """The name of each thing of a kind, "" where it has none."""
        start, _, length, _ = self.arrays["names"]
        text = self.data[start : start + length]
        at, form, rows, _ = self.arrays[f"name_{what}adr"]
        names: list[str] = []
        for first in np.frombuffer(self.data, form, rows, at).tolist():
            end = text.find(b"\0", first)
            if rows != self.sizes[count] or not 0 <= first <= end:
                raise DamagedError(f"name of {what}")
            names.append(text[first:end].decode(errors="replace"))
        return names


def _check_indices(model: Compiled, nv: int) -> None:
    """DamagedError unless every index that is followed leads somewhere, and each joint belongs to one body."""
    bodies = np.arange(model.nbody)
    fine = model.nbody > 0 and bool((model.body_parentid[1:] < bodies[1:]).all()) and not model.body_parentid.min() < 0
    owned = [
        j
        for first, number in zip(model.body_jntadr.tolist(), model.body_jntnum.tolist(), strict=True)
        for j in (range(first, first + number) if first >= 0 and 0 < number <= model.njnt else ())
    ]
    fine = fine and owned == list(range(model.njnt)) and all(0 <= kind < 4 for kind in model.jnt_type.tolist())
    fine = fine and _within(model.site_bodyid, model.nbody) and _within(model.eq_type, 64)
    fine = fine and _within(model.geom_bodyid, model.nbody)
    ends = (model.tendon_adr, model.tendon_num, model.tendon_adr + model.tendon_num)
    fine = fine and all(_within(each, len(model.wrap_type) + 1) for each in ends)
    fine = fine and min(model.actuator_gainprm.shape[1], model.actuator_biasprm.shape[1]) >= 3
    if fine:
        kinds: list[int] = model.jnt_type.tolist()
        q, v = [JOINT_Q[kind] for kind in kinds], [JOINT_V[kind] for kind in kinds]
        fine = model.jnt_qposadr.tolist() == _starts(q) and model.jnt_dofadr.tolist() == _starts(v)
        fine = fine and (sum(q), sum(v)) == (len(model.qpos0), nv) and model.eq_data.shape[1:] >= (11,)
    if not fine:
        raise DamagedError("indices")


def _within(indices: Ints, count: int) -> bool:
    return bool(((indices >= 0) & (indices < count)).all())


def _starts(widths: list[int]) -> list[int]:
    return [sum(widths[:k]) for k in range(len(widths))]


# Loops of an MJCF file: `connect` holds a point, `weld` a whole frame, of two bodies or of a body and the world.
#
# eq_data, for bodies 1 and 2, x_k in the axes and from the origin of body k: connect: x_1, x_2; weld: x_2, x_1, then
# the quaternion (w, x, y, z) of body 2 in body 1, torquescale. Sites say it all.


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


# Where MuJoCo would look for the files of a model; what it reads instead are the bytes that are found there.


LeftOut = Callable[[Element, list[Finding]], None]


def take_files(
    root: Element, folders: Folders, most: int, each: int | None = None, left_out: LeftOut | None = None
) -> dict[str, tuple[Path, bytes]]:
    """Read every file that the assets of a pruned tree name, `most` bytes in all, and name it there by a word of ours.

    Returns path and bytes by that word. ModelError for a file that is missing, no regular file or outside `folders`,
    unless left_out takes the element of a mesh and what is wrong with its file. each: bytes of one file.
    """
    home, strip = _compiler(root)
    taken: dict[str, tuple[Path, bytes]] = {}
    for node in root.walk():
        name = node.attributes.get("file")
        if name is None:
            continue
        node.attributes["name"] = asset_name(node)
        try:
            path, data = _read(node, folders, home, strip, most if each is None else min(each, most))
        except ModelError as error:
            if left_out is None:
                raise
            left_out(node, list(error.findings))
            continue
        most -= len(data)
        word = f"file{len(taken)}{_ending(name)}"
        node.attributes["file"] = word
        taken[word] = (path, data)
    return taken


def _read(node: Element, folders: Folders, home: str, strip: bool, most: int) -> tuple[Path, bytes]:
    """The path and the bytes of the file that an asset names. ModelError."""
    name = node.attributes["file"]
    if node.tag not in ("mesh", "hfield"):
        raise ModelError([node.error(f"<{node.tag}> file={name!r}: files of meshes and height fields alone are read")])
    for what, path in ((f"<{node.tag}> file={name!r}", name), (f"<compiler>: the folder of meshes {home!r}", home)):
        odd = oddity(path)
        if odd is not None:
            raise ModelError([node.error(f"{what} {odd[0]}", odd[1])])
    last = name.rpartition("/")[2] if strip else name
    places = (folders.model_folder / home / last, *(() if strip else (node.folder / last,)))
    return folders.read(places, most, f"<{node.tag}> file={name!r}", (node.file, node.line))


def _ending(name: str) -> str:
    """The ending of a file's name, by which MuJoCo knows its form."""
    ending = Path(name).suffix
    return ending if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", ending) else ""


def _compiler(root: Element) -> tuple[str, bool]:
    """The folder of meshes, and whether names lose their folders; the folder is taken out of the tree."""
    home, strip = "", False
    for node in root.children:
        if node.tag == "compiler":
            words = node.attributes
            home = words.pop("assetdir", home)
            home = words.pop("meshdir", home)
            words.pop("texturedir", None)
            strip = words.get("strippath", "true" if strip else "false") == "true"
    return home, strip
