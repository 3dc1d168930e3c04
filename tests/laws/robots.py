"""The robots that laws are tried on, and states for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import condyle
from condyle import Robot
from tests.zoo import every_joint

Array = np.ndarray


class States(NamedTuple):
    """n states: q, v, a and external forces, one row each."""

    q: Array
    v: Array
    a: Array
    f_ext: Array


def states(robot: Robot, n: int = 3, seed: int = 0) -> States:
    """Random states with accelerations in [-1, 1] and a wrench on every body."""
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(n, rng)
    return States(q, v, rng.uniform(-1, 1, (n, robot.nv)), rng.uniform(-1, 1, (n, len(robot.bodies), 6)))


def changed(robot: Robot, *, armature: bool = False, gravity: tuple[float, float, float] | None = None) -> Robot:
    """The robot with rotor inertias on every degree of freedom, or with another gravity."""
    rng = np.random.default_rng(3)
    joints = robot.joints
    if armature:
        joints = tuple(replace(j, armature=rotors(j.type, rng.uniform(0.0, 0.5, len(j.armature)))) for j in joints)
    down = robot.gravity if gravity is None else np.array(gravity)
    return Robot(robot.name, down, joints, robot.bodies, robot.frames, robot.base, robot.snap)


def rotors(kind: str, armature: Array) -> Array:
    """The armature, of a free joint one number for its three linear axes."""
    if kind == "free":
        armature[:3] = armature[0]
    return armature


@cache
def robot_named(name: str) -> Robot:
    """One of `NAMES`."""
    if name == "zoo":
        return Robot.from_data(every_joint())
    if name == "zoo_floating":
        return changed(Robot.from_data(every_joint(floating_base=True)), gravity=(1.0, 2.0, -3.0))
    if name == "chain":
        return condyle.chain(8, rng=1)
    if name == "hyq_floating":
        return condyle.load("hyq", floating_base=True)
    kind, seed = name.split("-")
    floating = kind == "floating"
    tree = condyle.random_tree(6, rng=int(seed), floating_base=floating)
    return changed(tree, armature=int(seed) % 2 == 1, gravity=(1.0, -2.0, 4.0) if seed == "1" else None)


NAMES = ("zoo", "zoo_floating", "chain", "hyq_floating", "tree-0", "tree-1", "floating-2", "floating-3")


def relative(got: Array, want: Array, least: float = 0.0) -> float:
    """The largest error, relative to the largest entry of the answer, as accuracies are stated; worst of the batch.

    least: what that entry is taken for where it is smaller.
    """
    got, want = np.asarray(got), np.asarray(want)
    axes = tuple(range(1, want.ndim))
    scale = np.maximum(np.abs(want).max(axis=axes), least)
    error = np.abs(got - want).max(axis=axes)
    return float(np.max(error / np.where(scale > 0.0, scale, 1.0)))
