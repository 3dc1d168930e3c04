"""Solids as triangles: closed, turned outwards, and about as large as they should be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from condyle.readers.shapes import Solid
from condyle.view.robot_parts import triangles_of

A, B, C = 0.3, 0.2, 0.5
VOLUMES = {
    "box": ((A, B, C), 8.0 * A * B * C),
    "cylinder": ((A, A, C), 2.0 * np.pi * A**2 * C),
    "sphere": ((A, A, A), 4.0 / 3.0 * np.pi * A**3),
    "ellipsoid": ((A, B, C), 4.0 / 3.0 * np.pi * A * B * C),
    "capsule": ((A, A, C), 4.0 / 3.0 * np.pi * A**3 + 2.0 * np.pi * A**2 * C),
}


@pytest.mark.parametrize("kind", VOLUMES)
def test_a_solid(kind) -> None:
    size, volume = VOLUMES[kind]
    vertices, faces = triangles_of(Solid(kind, np.array(size)))
    corners = vertices[faces]
    found = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert 0.96 * volume < found <= volume * (1 + 1e-12)
    high = np.array(size) + (np.array((0, 0, A)) if kind == "capsule" else 0.0)
    np.testing.assert_allclose(vertices.max(axis=0), high, rtol=0.01)
    np.testing.assert_allclose(vertices.min(axis=0), -high, rtol=0.01)
    edges = Counter((int(a), int(b)) for face in faces for a, b in zip(face, np.roll(face, -1), strict=True))
    assert set(edges.values()) == {1} and all((b, a) in edges for a, b in edges)  # closed: each edge both ways
