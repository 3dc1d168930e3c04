"""Shapes on bodies that may touch the ground, as data: spheres, capsules, boxes and cylinders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import LARGEST, moderate
from condyle.model.placement import IDENTITY, Placement

SHAPE_KINDS = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2}
"""How many sizes each kind has."""
POINTS = {"sphere": 1, "capsule": 2, "box": 4, "cylinder": 4}
"""How many points of each kind may touch at once: those that are deepest."""
_SIZES = {
    "sphere": "the radius [m]",
    "capsule": "the radius and half the length of the cylinder between its half-balls [m]",
    "box": "half the lengths of its sides along x, y and z [m]",
    "cylinder": "the radius and half the length [m]",
}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A solid that is fixed to a frame of a robot, and that may touch the ground.

    kind: "sphere", "capsule", "box", "cylinder". size [m]: (radius,), (radius, half length), (half x, half y, half z),
    (radius, half length), all positive; of a capsule the length without its half-balls. frame: a name of
    `robot.frames`. placement: of its centre and axes in the frame, z along capsules and cylinders. name: for people.
    Errors: UnsupportedError.
    """

    kind: str
    size: tuple[float, ...]
    frame: str
    placement: Placement = IDENTITY
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in SHAPE_KINDS:
            allowed = ", ".join(map(repr, SHAPE_KINDS))
            raise UnsupportedError(f"{self.title}: kind={self.kind!r}; allowed is {allowed}")
        if not isinstance(self.frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"{self.title}: frame={self.frame!r}: give a name of robot.frames")
        place: object = self.placement
        if not isinstance(place, Placement) or not place.is_rigid:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"{self.title}: placement={place!r}: give a rigid condyle.model.placement.Placement")
        try:
            size = np.atleast_1d(np.asarray(self.size, np.float64))
        except (TypeError, ValueError):
            size = np.zeros(0)
        if size.shape != (SHAPE_KINDS[self.kind],) or not moderate(size) or not (size > 0.0).all():
            raise UnsupportedError(
                f"{self.title}: size={self.size!r}; give {_SIZES[self.kind]}, above 0 and none beyond {LARGEST:.0e}"
            )
        object.__setattr__(self, "size", tuple(size.tolist()))

    @property
    def title(self) -> str:
        """What messages call it."""
        name = f" {self.name!r}" if self.name else ""
        return f"shape{name} of frame {self.frame!r}"

    @property
    def points(self) -> int:
        """How many contacts it is."""
        return POINTS[self.kind]

    @property
    def radius(self) -> float:
        """How far its surface is from the points or lines that it is made of [m]; 0 of boxes and cylinders."""
        return self.size[0] if self.kind in ("sphere", "capsule") else 0.0
