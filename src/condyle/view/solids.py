"""Balls, boxes, cylinders, capsules and ellipsoids as triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import Array
from condyle.readers.shapes import Solid

AROUND, RINGS = 24, 9
"""Corners of a circle, and circles from the equator of a ball to its pole, both counted."""


def triangles_of(solid: Solid) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) [m] and faces (m, 3), outwards by the right hand."""
    if solid.kind == "box":
        return _turned(np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]), solid.size)
    angles = np.arange(AROUND) * (2.0 * np.pi / AROUND)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if solid.kind == "cylinder":
        return _turned(circle, solid.size)
    steep = np.linspace(0.0, 0.5 * np.pi, RINGS)
    return _ball(circle, np.cos(steep), np.sin(steep), solid)


def _turned(outline: Array, size: Array) -> tuple[Array, NDArray[np.int64]]:
    """A prism over an outline in the plane."""
    n = len(outline)
    walls = [np.column_stack([outline, np.full(n, z)]) for z in (-1.0, 1.0)]
    return np.concatenate([*walls, [(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]]) * size, _strips(n, 2)


def _ball(circle: Array, wide: Array, high: Array, solid: Solid) -> tuple[Array, NDArray[np.int64]]:
    """A ball, an ellipsoid, or a capsule, whose halves are apart."""
    capsule = solid.kind == "capsule"
    radii = np.array((solid.size[0], solid.size[0], solid.size[0])) if capsule else solid.size
    shift = np.array((0.0, 0.0, solid.size[2] if capsule else 0.0))
    both = list(zip(wide.tolist(), high.tolist(), strict=True))[:-1]  # without the pole
    south = [np.column_stack([w * circle, np.full(AROUND, -h)]) * radii - shift for w, h in reversed(both)]
    north = [np.column_stack([w * circle, np.full(AROUND, h)]) * radii + shift for w, h in both]
    rings = [*south, *north] if capsule else [*south, *north[1:]]
    poles = np.array([(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]) * radii + np.stack([-shift, shift])
    return np.concatenate([*rings, poles]), _strips(AROUND, len(rings))


def _strips(n: int, rings: int) -> NDArray[np.int64]:
    """Faces between rings of n corners, from below; the last two corners close both ends."""
    faces: list[tuple[int, int, int]] = []
    low, high, top = n * rings, n * rings + 1, n * (rings - 1)
    for k in range(n):
        j = (k + 1) % n
        for ring in range(rings - 1):
            a, b = n * ring, n * (ring + 1)
            faces += [(a + k, a + j, b + j), (a + k, b + j, b + k)]
        faces += [(low, j, k), (high, top + k, top + j)]
    return np.array(faces, np.int64)
