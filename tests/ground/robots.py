"""Robots with feet for tests, and grounds under them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

import condyle
from condyle.ground import Foot

FEET = tuple(Foot(f"{leg}_lowerleg", (0.35, 0.0, 0.0)) for leg in ("lf", "rf", "lh", "rh"))
MASS = 2.0


@cache
def ball(gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> condyle.Robot:
    """A point that moves along the world's axes: q and v are its position and velocity."""
    builder = condyle.Builder(gravity=gravity).body("ball", mass=MASS, inertia=0.01 * np.eye(3))
    return builder.joint("way", parent="world", child="ball", type="translation").build()


@cache
def box() -> condyle.Robot:
    """A free body with a foot at each of four corners, `corners`."""
    builder = condyle.Builder().body("box", mass=MASS, inertia=np.diag([0.02, 0.03, 0.04]))
    return builder.joint("base", parent="world", child="box", type="free").build()


CORNERS = tuple(Foot("box", (x, y, -0.05)) for x in (-0.2, 0.2) for y in (-0.1, 0.1))


@cache
def quadruped() -> condyle.Robot:
    return condyle.load("hyq", floating_base=True)


def standing(height: float = 0.59) -> np.ndarray:
    """q of the quadruped with bent legs."""
    robot = quadruped()
    q = robot.neutral()
    q[2] = height
    for leg, sign in (("lf", 1.0), ("rf", 1.0), ("lh", -1.0), ("rh", -1.0)):
        q[robot.joint(f"{leg}_hfe_joint").q_slice] = 0.75 * sign
        q[robot.joint(f"{leg}_kfe_joint").q_slice] = -1.5 * sign
    return q


@cache
def one_leg() -> condyle.Robot:
    """The quadruped whose other legs are held as they stand: half of its joints, and all its feet."""
    robot, q = quadruped(), standing()
    held = [joint for joint in robot.joints[1:] if not joint.name.startswith("lf")]
    return robot.lock({joint.name: float(q[joint.q_index]) for joint in held})


def of_joints(robot: condyle.Robot, q: np.ndarray, *rates: np.ndarray) -> list[np.ndarray]:
    """Of numbers of the quadruped (n, nq) and (n, nv) those of a robot with some of its joints."""
    own = [quadruped().joint(joint.name) for joint in robot.joints]
    return [
        np.concatenate([q[:, joint.q_slice] for joint in own], axis=1),
        *(np.concatenate([x[:, joint.v_slice] for joint in own], axis=1) for x in rates),
    ]


SIZES = {"sphere": (0.1,), "capsule": (0.05, 0.15), "box": (0.2, 0.1, 0.05), "cylinder": (0.1, 0.15)}


@cache
def solid(kind: str, size: tuple[float, ...] | None = None) -> tuple[condyle.Robot, tuple[condyle.Contact, ...]]:
    """A free homogeneous body of one shape, of a capsule that of its cylinder, and its contacts with a ground."""
    x, y, z = sides = np.array(3 * (size := size or SIZES[kind]))[:3]
    if kind == "sphere":
        moments = 0.4 * sides**2
    elif kind == "box":
        moments = np.array([y**2 + z**2, z**2 + x**2, x**2 + y**2]) / 3.0
    else:
        moments = np.array([x**2 / 4.0 + y**2 / 3.0, x**2 / 4.0 + y**2 / 3.0, x**2 / 2.0])
    builder = condyle.Builder().body("solid", mass=MASS, inertia=MASS * np.diag(moments))
    robot = builder.joint("base", parent="world", child="solid", type="free").build()
    return robot, robot.shape_contacts([condyle.Shape(kind, size, "solid")])


def turn_of(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4), x y z w."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def about(axis: Sequence[float] | np.ndarray, angle: float) -> np.ndarray:
    """The quaternion of a turn [rad] about a unit axis."""
    return np.array([*(np.sin(0.5 * angle) * np.asarray(axis)), np.cos(0.5 * angle)])


def height_of(kind: str, quaternion: np.ndarray, normal: Sequence[float] = (0.0, 0.0, 1.0)) -> np.ndarray:
    """How far the centre of a solid is above its deepest point, along a unit normal: its support function."""
    along = np.abs(np.einsum("...ij,i->...j", turn_of(quaternion), np.asarray(normal)))
    size = SIZES[kind]
    if kind == "box":
        return along @ np.array(size)
    across = np.sqrt(np.maximum(1.0 - along[..., 2] ** 2, 0.0))
    rim = size[0] * across if kind == "cylinder" else size[0] + 0.0 * across
    return rim + (0.0 if kind == "sphere" else size[-1]) * along[..., 2]
