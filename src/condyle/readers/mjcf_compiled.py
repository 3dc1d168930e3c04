"""The part of a compiled model that is read here, out of the bytes that MuJoCo saves; MuJoCo's code does not run here.

The bytes come from a child that a hostile file may have led astray, so every size, index and name is checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import Array
from condyle.readers.mjcf_schema import Schema

Ints = NDArray[np.int64]
_MAGIC, _HEADER = 54321, 5
JOINT_Q, JOINT_V = (7, 4, 1, 1), (6, 3, 1, 1)  # mjtJoint: free, ball, slide, hinge
_NAMED = {"body": "nbody", "jnt": "njnt", "site": "nsite", "tendon": "ntendon", "eq": "neq", "actuator": "nactuator"}


class DamagedError(ValueError):
    """Bytes that are no compiled model."""


@dataclass(slots=True, eq=False)
class Compiled:
    """What is read of MuJoCo's mjModel, under its names; arrays of one column are flat."""

    gravity: Array
    density: float
    viscosity: float
    weightless: bool
    names: dict[str, list[str]]
    qpos0: Array
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
    jnt_range: Array
    jnt_actfrcrange: Array
    dof_frictionloss: Array
    dof_armature: Array
    dof_damping: Array
    dof_dampingpoly: Array
    site_bodyid: Ints
    site_pos: Array
    site_quat: Array
    eq_type: Ints
    eq_objtype: Ints
    eq_obj1id: Ints
    eq_obj2id: Ints
    eq_active0: Ints
    eq_data: Array
    tendon_limited: Ints
    tendon_stiffness: Array
    tendon_stiffnesspoly: Array
    tendon_damping: Array
    tendon_dampingpoly: Array
    tendon_armature: Array
    tendon_frictionloss: Array
    actuator_trntype: Ints
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


_COUNTS = {
    "body": "nbody",
    "jnt": "njnt",
    "dof": "nv",
    "site": "nsite",
    "eq": "neq",
    "tendon": "ntendon",
    "geom": "ngeom",
    "mesh": "nmesh",
}
_ROWS = {"qpos0": "nq", "mesh_vert": "nmeshvert", "mesh_face": "nmeshface"}
_COLUMNS = {
    **dict.fromkeys(("body_pos", "body_ipos", "body_inertia", "jnt_pos", "jnt_axis", "site_pos"), 3),
    **dict.fromkeys(("geom_pos", "geom_size", "mesh_vert", "mesh_face"), 3),
    **dict.fromkeys(("body_quat", "body_iquat", "site_quat", "geom_quat"), 4),
    **dict.fromkeys(("jnt_range", "jnt_actfrcrange", "actuator_trnid"), 2),
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
    names = {what: reader.names(what, count) for what, count in _NAMED.items()}
    model = Compiled(
        gravity=options["gravity"],
        density=float(options["density"][0]),
        viscosity=float(options["viscosity"][0]),
        weightless=bool(int(options["disableflags"][0]) & schema.constants["mjDSBL_GRAVITY"]),
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
        wide = name.endswith("poly") or name == "eq_data"
        expected = _COLUMNS.get(name, 1)
        if (rows != count and name != "actuator_gear") or (columns != expected and not wide):
            raise DamagedError(f"{name} is {rows} x {columns}")
        return at, form, (rows, columns) if wide or expected > 1 else (rows,)

    def options(self) -> dict[str, Array]:
        forms = {"gravity": ("<f8", 3), "density": ("<f8", 1), "viscosity": ("<f8", 1), "disableflags": ("<i4", 1)}
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
    fine = fine and _within(model.actuator_outadr, max(1, len(model.actuator_gear)))
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
