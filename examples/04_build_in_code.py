"""A robot that no URDF file can say: a screw on a hinge."""

from __future__ import annotations

import numpy as np

import condyle

ball = 0.01 * np.eye(3)
robot = (
    condyle.Builder()
    .body("arm", mass=2.0, com=(0.0, 0.0, 0.2), inertia=ball)
    .joint("hinge", parent="world", child="arm", type="revolute", axis=(0.0, 1.0, 0.0))
    .body("nut", mass=0.5, com=(0.0, 0.0, 0.0), inertia=ball)
    .joint("screw", parent="arm", child="nut", type="helical", axis=(0.0, 0.0, 1.0), pitch=0.02)
    .build()
)

dyn = robot.compile(target="numpy")
M = dyn.mass_matrix(robot.neutral())
print("mass matrix:\n", M)

# along the screw the nut's mass weighs pitch^2, beside its inertia about the axis
assert np.isclose(M[1, 1], 0.01 + 0.5 * 0.02**2)
