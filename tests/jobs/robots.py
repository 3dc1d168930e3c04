"""Robots whose inverse kinematics is solved: joints of any types in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import condyle


def chain(types: Sequence[tuple[str, Any]], length: float = 0.4, **limits: Any) -> condyle.Robot:
    """Joints of these types and axes, one behind the other, and a frame "tip"; limits: of all joints."""
    builder, parent = condyle.Builder("chain"), "world"
    for k, (kind, axis) in enumerate(types):
        builder.body(f"link_{k}", mass=1.0, inertia=0.1 * np.eye(3))
        more: dict[str, Any] = {"second_axis": (0, 1, 0)} if kind == "universal" else {}
        place = (length if k else 0.0, 0.0, 0.0)
        builder.joint(f"joint_{k}", parent=parent, child=f"link_{k}", type=kind, axis=axis, xyz=place, **more, **limits)
        parent = f"link_{k}"
    builder.body("tip", mass=0.1, inertia=0.1 * np.eye(3))
    return builder.joint("last", parent=parent, child="tip", type="fixed", xyz=(length, 0.0, 0.0)).build()
