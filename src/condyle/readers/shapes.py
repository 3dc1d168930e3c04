"""Shapes that a model file shows, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import Array
from condyle.model.placement import Placement

SOLIDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


@dataclass(frozen=True, slots=True, eq=False)
class MeshFile:
    """A mesh as its file has it. kind: "stl" or "obj". name: of the file. data: its bytes. scale (3,)."""

    kind: str
    name: str
    data: bytes
    scale: Array


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """One of `SOLIDS`. size (3,) [m]: half-lengths along x, y, z; of a capsule without its half-balls."""

    kind: str
    size: Array


@dataclass(frozen=True, slots=True, eq=False)
class Triangles:
    """vertices (n, 3) [m], faces (m, 3) of their indices."""

    vertices: Array
    faces: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Visual:
    """One shape, its link, and where it stands in the link's frame."""

    link: str
    placement: Placement
    shape: MeshFile | Solid | Triangles
