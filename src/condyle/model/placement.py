"""Where one frame stands in another: a rotation matrix and a translation, exact at quarter turns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from condyle.model.array import Array, frozen, short, transpose
from condyle.spatial.rotation import from_quaternion

Angles = tuple[float, float, float]
_QUARTER = math.pi / 2.0
RIGID = 1e-6
"""How far the rows of a rotation may be from orthonormal."""
_ROUNDING = 1e-14  # rad, of angles that are written to the last digit or were products of rotations


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """A child frame in its parent, in numbers: x_parent = rotation x_child + translation [m]. See `spatial.rotation`.

    rotation (3, 3), translation (3,), read-only. rpy, where known, are the roll, pitch and yaw [rad] that give this
    rotation to the last digit. moved: how far [rad] each angle was that was taken as a quarter turn.
    """

    rotation: Array
    translation: Array
    rpy: Angles | None = None
    moved: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen(self.rotation, 3, 3))
        object.__setattr__(self, "translation", frozen(self.translation, 3))

    def __reduce__(self) -> tuple[type[Placement], tuple[Array, Array, Angles | None, tuple[float, ...]]]:
        return type(self), (self.rotation, self.translation, self.rpy, self.moved)

    def __repr__(self) -> str:
        turned = "" if np.array_equal(self.rotation, np.eye(3)) else f", rotation {short(self.rotation)}"
        return f"<{type(self).__name__} at {short(self.translation)} m{turned}>"

    @classmethod
    def from_rpy(
        cls, xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0), snap: float = 0.0
    ) -> Placement:
        """Rotation Rz(yaw) Ry(pitch) Rx(roll); angles within `snap` [rad] of a quarter turn are taken as exact."""
        given: list[float] = frozen(rpy, 3).tolist()
        (r, cr, sr), (p, cp, sp), (y, cy, sy) = (_turn(angle, snap) for angle in given)
        rotation = np.array(
            (
                (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
                (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
                (-sp, cp * sr, cp * cr),
            )
        )
        moved = tuple(abs(a - b) for a, b in zip(given, (r, p, y), strict=True) if abs(a - b) > _ROUNDING)
        return cls(rotation, frozen(xyz, 3), (r, p, y), moved)

    @property
    def is_identity(self) -> bool:
        return not self.translation.any() and bool(np.array_equal(self.rotation, np.eye(3)))

    @property
    def is_rigid(self) -> bool:
        """Whether it is finite, and its matrix a rotation."""
        rows = self.rotation
        if not (np.isfinite(rows).all() and np.isfinite(self.translation).all()):
            return False
        return bool(np.abs(rows @ transpose(rows) - np.eye(3)).max() < RIGID and np.linalg.det(rows) > 0.0)

    def compose(self, inner: Placement) -> Placement:
        """The placement of a frame that stands at `inner` in this one; composing with the identity is exact."""
        if inner.is_identity:
            return self
        if self.is_identity:
            return inner
        moved = (*self.moved, *inner.moved)
        return Placement(self.rotation @ inner.rotation, self.apply(inner.translation), moved=moved)

    def inverse(self) -> Placement:
        """The placement of the parent in the child."""
        if self.is_identity:
            return self
        back = transpose(self.rotation)
        return Placement(back, -(back @ self.translation))

    def apply(self, point: Array) -> Array:
        """A point (3,) given in the child, in the parent."""
        return self.rotation @ point + self.translation

    def snapped(self, snap: float) -> Placement:
        """The same placement written in roll, pitch and yaw, those within `snap` [rad] of a quarter turn exact."""
        rpy = self.rpy if self.rpy is not None else rpy_of(self.rotation, snap)
        return Placement.from_rpy(self.translation, rpy, snap)


def _turn(angle: float, snap: float) -> tuple[float, float, float]:
    """The angle taken, its cosine and its sine."""
    quarters = round(angle / _QUARTER)
    if snap > 0.0 and abs(angle - quarters * _QUARTER) <= snap:
        return quarters * _QUARTER, (1.0, 0.0, -1.0, 0.0)[quarters % 4], (0.0, 1.0, 0.0, -1.0)[quarters % 4]
    return angle, math.cos(angle), math.sin(angle)


IDENTITY = Placement.from_rpy()


def rpy_of(rotation: Array, snap: float = 0.0) -> Angles:
    """Roll, pitch and yaw [rad] of Rz(yaw) Ry(pitch) Rx(roll); yaw is 0 where pitch is a quarter turn."""
    r = rotation
    level = math.hypot(r[0, 0], r[1, 0])
    if level <= max(snap, 1e-15):
        pitch = math.copysign(_QUARTER, -r[2, 0])
        return math.atan2(-r[1, 2], r[1, 1]), pitch, 0.0
    yaw = math.atan2(r[1, 0], r[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    # the roll that is left when yaw is undone keeps its digits near the pole
    roll = math.atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return roll, math.atan2(-r[2, 0], level), yaw


def matrix_of(quaternion: ArrayLike) -> Array:
    """The rotation matrix of a unit quaternion (x, y, z, w), (3, 3)."""
    rows = from_quaternion(frozen(quaternion, 4).tolist()).rows
    return np.array(tuple(zip(*rows, strict=True)), np.float64)


def alignment(axis: Array) -> Array:
    """A rotation whose third column is the unit vector `axis`; joint-frame coordinates = alignment · aligned ones.

    Identity for z, a cyclic permutation for x and y, two half-turned axes for the negative ones: all exact. A planar
    joint counts its x and y along the first two columns.
    """
    k = int(np.argmax(np.abs(axis)))
    first: Array
    if np.count_nonzero(axis) == 1:
        first = np.eye(3)[(k + 1) % 3]
    else:
        first = np.eye(3)[int(np.argmin(np.abs(axis)))]
        first = first - axis * float(axis @ first)
        first = first / np.linalg.norm(first)
    return np.column_stack((first, np.cross(axis, first), axis))


def about(axis: Array, angle: float) -> Array:
    """The rotation matrix of a turn by `angle` [rad] about a unit axis, (3, 3)."""
    x, y, z = axis.tolist()
    c, s = math.cos(angle), math.sin(angle)
    k = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    return np.eye(3) * c + s * k + (1.0 - c) * axis[:, None] * axis
