"""From points of the world to the plane of a picture: orthographic projection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array, transpose
from condyle.specification.choices import VIEWS

ANGLES = {"iso": (-50.0, 22.0), "front": (0.0, 0.0), "side": (-90.0, 0.0), "top": (-90.0, 90.0)}
"""Azimuth and elevation [degrees] of the eye: "front" looks along -x, "side" along y, "top" along -z."""


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """right, up, towards: unit vectors (3,) of the picture and to the eye, in world axes."""

    right: Array
    up: Array
    towards: Array

    def flat(self, points: Array) -> Array:
        """Points (..., 3) on the picture, (..., 2) [m]: to the right and up."""
        return points @ np.stack([self.right, self.up], axis=1)

    def depth(self, points: Array) -> Array:
        """How near points (..., 3) are to the eye, (...) [m]: the larger, the nearer."""
        return points @ self.towards

    def outline(self, columns: Array) -> tuple[float, float, float]:
        """The ellipse that an ellipsoid is seen as: two radii [m] and the angle [rad] of the first one.

        columns (3, 3): its half-axes. The ellipsoid is {C u, |u| = 1}; its shadow by P (2, 3) has P C Cᵀ Pᵀ.
        """
        seen = np.stack([self.right, self.up]) @ columns
        squares, axes = np.linalg.eigh(seen @ transpose(seen))
        first, second = np.sqrt(np.maximum(squares[::-1], 0.0)).tolist()
        return first, second, math.atan2(float(axes[1, 1]), float(axes[0, 1])) % math.pi


def camera(view: str) -> Camera:
    """The camera of a word. UnsupportedError."""
    if view not in VIEWS:
        raise UnsupportedError(f"view={view!r}, expected one of {', '.join(VIEWS)}")
    azimuth, elevation = map(math.radians, ANGLES[view])
    c, s = math.cos(azimuth), math.sin(azimuth)
    towards = np.array((math.cos(elevation) * c, math.cos(elevation) * s, math.sin(elevation)))
    right = np.array((-s, c, 0.0))
    return Camera(right, np.cross(towards, right), towards)
