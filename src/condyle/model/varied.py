"""Numbers of robots like a given one: what tests draw where numbers of the robot are inputs."""

from __future__ import annotations

import numpy as np

from condyle.model.array import Array
from condyle.model.inertias import parameters
from condyle.model.parts import RobotData

BALL = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
"""What a body without mass gets instead."""


def varied(robot: RobotData, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Of n robots, by the names of `condyle.ports.NUMBERS`: M has about the condition of the robot's own.

    Bodies have half to one and a half of their mass; gravity, armature and damping are a little more or less.
    """
    own = parameters(robot)
    bodies = np.where(own[:, :1] > 0.0, own, BALL)
    return {
        "inertias": bodies * rng.uniform(0.5, 1.5, (n, len(bodies), 1)),
        "gravity": robot.gravity + rng.uniform(-1.0, 1.0, (n, 3)),
        "armature": robot.armature + rng.uniform(0.0, 0.1, (n, robot.nv)),
        "damping": rng.uniform(0.0, 1.0, (n, robot.nv)),
    }
