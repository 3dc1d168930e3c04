"""A random floating humanoid with hands, of any number of velocities: placements and inertias are dense."""

from __future__ import annotations

import numpy as np

import condyle
from condyle import Robot

BRANCHES = (("leg", 6), ("leg", 6), ("arm", 7), ("arm", 7), ("head", 3))
TORSO, FINGER = 3, 4


def humanoid(nv: int, mimic: bool = False, seed: int = 0) -> Robot:
    """nv: velocities, at least 38: those that two hands of fingers with four joints each do not reach are left out.

    mimic: the last joint of each finger follows the one before, and counts beside nv.
    """
    rng = np.random.default_rng(seed)
    builder = condyle.Builder()
    count = 0

    def body(parent: str, follows: str = "") -> str:
        nonlocal count
        count += 1
        name = f"body{count}"
        points = 0.1 * rng.normal(size=(3, 3))
        second = points @ points.T
        builder.body(name, mass=1.0, com=0.1 * rng.normal(size=3), inertia=np.trace(second) * np.eye(3) - second)
        builder.joint(
            f"{name}_joint",
            parent=parent,
            child=name,
            type="revolute",
            axis=rng.normal(size=3),
            xyz=0.3 * rng.normal(size=3),
            rpy=rng.uniform(-3, 3, 3),
            mimic=(f"{follows}_joint", 0.7, 0.1) if follows else None,
        )
        return name

    def chain(parent: str, length: int) -> str:
        for _ in range(length):
            parent = body(parent)
        return parent

    builder.body("pelvis", mass=5.0, inertia=np.eye(3))
    chest = chain("pelvis", TORSO)
    wrists = [end for what, n in BRANCHES if (end := chain("pelvis" if what == "leg" else chest, n)) and what == "arm"]
    left = nv - 6 - TORSO - sum(n for _, n in BRANCHES)
    own = FINGER - mimic
    for k in range(-(-left // own)):
        length = min(own, left - k * own)
        tip = chain(wrists[k % 2], length)
        if mimic:
            body(tip, follows=tip)
    return Robot.from_data(builder.build(floating_base=True))
