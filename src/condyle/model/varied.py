"""Numbers of robots like a given one: what tests draw where numbers of the robot are inputs."""

from __future__ import annotations

import numpy as np

from condyle.model.array import Array
from condyle.model.inertias import parameters
from condyle.model.parts import RobotData
from condyle.model.placement import Placement

BALL = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
"""What a body without mass gets instead."""


def contact_numbers(count: int, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Of n states, what so many contacts take: by the names of their ports. The first is always on."""
    turns = [Placement.from_rpy(*rng.uniform(-0.3, 0.3, (2, 3))) for _ in range(n * count)]
    anchors = [np.concatenate((turn.translation, np.ravel(turn.rotation))) for turn in turns]
    active = np.asarray(rng.integers(0, 2, (n, count)), np.float64)
    active[:, :1] = 1.0
    return {
        "active": active,
        "gains": rng.uniform(0.0, 2.0, (n, count, 2)),
        "anchors": np.reshape(np.array(anchors, np.float64), (n, count, 12)),
        "rising": np.asarray(rng.integers(0, 2, (n, count)), np.float64),
        "restitution": rng.uniform(0.0, 0.9, (n, count)),
    }


def varied(robot: RobotData, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Of n robots, by the names of `condyle.specification.ports.NUMBERS`: M has about the condition of the robot's own.

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
