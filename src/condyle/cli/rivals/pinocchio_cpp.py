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
    from condyle import Robot
    from condyle.model.parts import Joint

Array = NDArray[np.float64]

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
        """Run on C-contiguous arrays q, v, a or tau, and Minv for difd; without `out` the answers stay inside."""
        q, v, x = arrays[0], arrays[min(1, len(arrays) - 1)], arrays[min(2, len(arrays) - 1)]
        minv = arrays[3].ctypes.data if len(arrays) > 3 else None
        pointers = None if out is None else (ctypes.c_void_p * len(out))(*(array.ctypes.data for array in out))
        self._lib.rival_run(
            self._handle, FUNCTIONS[function], len(q), q.ctypes.data, v.ctypes.data, x.ctypes.data, minv, pointers
        )


def _new(lib: ctypes.CDLL, robot: Robot) -> int:
    moving = list(zip(robot.joints, robot.bodies, strict=True))
    parents = np.array([joint.parent for joint in robot.joints], dtype=np.intc)
    kinds = np.array([_kind(joint) for joint in robot.joints], dtype=np.intc)
    numbers = [
        _stack([joint.axis for joint in robot.joints]),
        _stack([_rotation_before(robot, joint) for joint in robot.joints]),
        _stack([_origin_before(robot, joint) for joint in robot.joints]),
        _stack([body.mass for body in robot.bodies]),
        _stack([j.after.rotation @ body.com + j.after.translation for j, body in moving]),
        _stack([j.after.rotation @ body.inertia @ j.after.rotation.T for j, body in moving]),
        np.concatenate([joint.armature for joint in robot.joints]),
        _stack([robot.gravity]),
    ]
    return lib.rival_new(
        len(robot.joints),
        parents.ctypes.data_as(_INT_P),
        kinds.ctypes.data_as(_INT_P),
        *(array.ctypes.data_as(_DOUBLE_P) for array in numbers),
    )


def _kind(joint: Joint) -> int:
    """The joint's number in the adapter; a coordinate axis has Pinocchio's special joint, any other the general one."""
    if joint.type not in KINDS or joint.mimic is not None:
        what = "a mimic joint" if joint.mimic is not None else f"a {joint.type} joint"
        raise UnsupportedError(f"this comparison with Pinocchio has no {what[2:]} (joint {joint.name!r})")
    base = KINDS[joint.type]
    if base >= 8:
        return base
    axis = tuple(float(x) for x in joint.axis)
    units = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return base + (units.index(axis) if axis in units else 3)


def _rotation_before(robot: Robot, joint: Joint) -> Array:
    if joint.parent < 0:
        return joint.placement.rotation
    return robot.joints[joint.parent].after.rotation @ joint.placement.rotation


def _origin_before(robot: Robot, joint: Joint) -> Array:
    if joint.parent < 0:
        return joint.placement.translation
    after = robot.joints[joint.parent].after
    return after.rotation @ joint.placement.translation + after.translation


def _stack(rows: Sequence[Array | Sequence[float] | float]) -> Array:
    return np.ascontiguousarray(np.array([np.asarray(row, dtype=float) for row in rows]))
