"""Pinocchio's C++ for one robot, called with plain arrays, one thread.

The model is built from the numbers of our own `Robot` (after merging, snapping and locking), so that both
libraries compute with the same robot, in the same joint order, and answers can be compared entry by entry.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError

if TYPE_CHECKING:
    from condyle.model.parts import Joint
    from condyle.model.robot import Robot

Array = NDArray[np.floating]

FUNCTIONS = {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}
ALGORITHMS = {
    "id": "rnea",
    "fd": "aba",
    "m": "crba",
    "minv": "computeMinverse",
    "did": "computeRNEADerivatives",
    "dfd": "computeABADerivatives",
    "difd": "computeRNEADerivatives and two dense products",
}
KINDS = {"revolute": 0, "continuous": 0, "prismatic": 4, "spherical": 8, "free": 9}
WITHOUT_AXIS = 8
_DOUBLE_P = ctypes.POINTER(ctypes.c_double)
_INT_P = ctypes.POINTER(ctypes.c_int)


class Pinocchio:
    """One robot in Pinocchio's C++."""

    def __init__(self, robot: Robot, library: ctypes.CDLL) -> None:
        self._lib = library
        self._lib.rival_new.restype = ctypes.c_void_p
        self._lib.rival_new.argtypes = [ctypes.c_int, _INT_P, _INT_P, *[_DOUBLE_P] * 8]
        self._lib.rival_free.argtypes = [ctypes.c_void_p]
        self._lib.rival_free.restype = None
        self._lib.rival_run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, *[ctypes.c_void_p] * 5]
        self._lib.rival_run.restype = None
        self._handle: int = _new(self._lib, robot)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._lib.rival_free(self._handle)

    def run(self, function: str, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> None:
        """Run on C-contiguous float64 arrays q, v, a or tau, Minv for difd; without `out` the answers stay inside."""
        q, v, x = arrays[0], arrays[min(1, len(arrays) - 1)], arrays[min(2, len(arrays) - 1)]
        minv = arrays[3].ctypes.data if len(arrays) > 3 else None
        pointers = None if out is None else (ctypes.c_void_p * len(out))(*(array.ctypes.data for array in out))
        self._lib.rival_run(
            self._handle, FUNCTIONS[function], len(q), q.ctypes.data, v.ctypes.data, x.ctypes.data, minv, pointers
        )


def _new(lib: ctypes.CDLL, robot: Robot) -> int:
    parents = np.array(robot.parents, dtype=np.intc)
    kinds = np.array([_kind(joint) for joint in robot.joints], dtype=np.intc)
    numbers = [
        _flat([joint.axis for joint in robot.joints]),
        *_placements(robot),
        *_inertias(robot),
        _flat([joint.armature for joint in robot.joints]),
        _flat([robot.gravity]),
    ]
    return lib.rival_new(
        len(robot.joints),
        parents.ctypes.data_as(_INT_P),
        kinds.ctypes.data_as(_INT_P),
        *(array.ctypes.data_as(_DOUBLE_P) for array in numbers),
    )


def _kind(joint: Joint) -> int:
    """The joint's number in the adapter; a coordinate axis has Pinocchio's special joint, any other the general one."""
    if joint.mimic is not None:
        raise UnsupportedError(f"the comparison with Pinocchio knows no mimic joints such as {joint.name!r}")
    if joint.type not in KINDS:
        raise UnsupportedError(f"the comparison with Pinocchio knows no {joint.type} joints such as {joint.name!r}")
    base = KINDS[joint.type]
    if base >= WITHOUT_AXIS:
        return base
    units = [list(row) for row in np.eye(3)]
    axis = list(joint.axis)
    return base + (units.index(axis) if axis in units else 3)


def _placements(robot: Robot) -> tuple[Array, Array]:
    """Rotation and translation of each joint in its parent's moved joint frame."""
    rotations: list[Array] = []
    translations: list[Array] = []
    for joint in robot.joints:
        rotation, translation = joint.placement.rotation, joint.placement.translation
        if joint.parent >= 0:
            after = robot.joints[joint.parent].after
            translation = after.rotation @ translation + after.translation
            rotation = after.rotation @ rotation
        rotations.append(rotation)
        translations.append(translation)
    return _flat(rotations), _flat(translations)


def _inertias(robot: Robot) -> tuple[Array, Array, Array]:
    """Mass, centre of mass and inertia about it, of each body in its moved joint frame."""
    masses: list[Array] = []
    centres: list[Array] = []
    inertias: list[Array] = []
    for joint, body in zip(robot.joints, robot.bodies, strict=True):
        rotation, translation = joint.after.rotation, joint.after.translation
        masses.append(np.array([body.mass]))
        centres.append(rotation @ body.com + translation)
        inertias.append(rotation @ body.inertia @ np.transpose(rotation))
    return _flat(masses), _flat(centres), _flat(inertias)


def _flat(rows: Sequence[Array]) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(row) for row in rows]).astype(np.float64)
