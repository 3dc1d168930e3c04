"""Robots whose inverse kinematics is solved: bundled arms, and a hand with five tips."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle

FLANGES = {"panda": "panda_link8", "iiwa14": "iiwa_link_7", "ur5e": "wrist_3_link"}
TIPS = tuple(f"tip_{finger}" for finger in range(5))
FINGER = (
    ("spread", 0.09, (0, 0, 1), -0.35, 0.35),
    ("knuckle", 0.0, (0, 1, 0), -0.2, 1.6),
    ("middle", 0.045, (0, 1, 0), 0.0, 1.7),
    ("end", 0.03, (0, 1, 0), 0.0, 1.2),
)
"""Name, distance from the joint before [m], axis, and limits [rad] of the joints of a finger."""
SEATS = ((-0.04, -1.0), (-0.03, -0.1), (-0.01, 0.0), (0.01, 0.1), (0.03, 0.2))
"""Where the thumb and four fingers begin on the palm: y [m], angle [rad]."""


def arm(name: str, **options: Any) -> condyle.Robot:
    """A bundled arm, without its fingers."""
    robot = condyle.load(name, **options)
    fingers = {joint.name: 0.0 for joint in robot.joints if "finger" in joint.name}
    return robot.lock(fingers) if fingers else robot


def hand() -> condyle.Robot:
    """A palm that is fixed to the world, a thumb and four fingers of four joints."""
    builder = condyle.Builder("hand").body("palm", mass=0.5, inertia=1e-3 * np.eye(3))
    builder.joint("wrist", parent="world", child="palm", type="fixed")
    for finger, (y, angle) in enumerate(SEATS):
        parent, turn = "palm", (0.0, 0.0, angle)
        for name, length, axis, lower, upper in FINGER:
            body, place = f"{name}_{finger}", (length, y if parent == "palm" else 0.0, 0.0)
            builder.body(body, mass=0.03, inertia=1e-5 * np.eye(3))
            builder.joint(
                f"{body}_joint", parent=parent, child=body, type="revolute", axis=axis, xyz=place, rpy=turn,
                lower=lower, upper=upper,
            )  # fmt: skip
            parent, turn = body, (0.0, 0.0, 0.0)
        builder.body(TIPS[finger], mass=1e-3, inertia=1e-7 * np.eye(3))
        builder.joint(f"{TIPS[finger]}_joint", parent=parent, child=TIPS[finger], type="fixed", xyz=(0.025, 0.0, 0.0))
    return builder.build()
