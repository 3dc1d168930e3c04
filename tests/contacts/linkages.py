"""Robots with loops: a four-bar with its angles by plane geometry alone, and a branched one in space."""

from __future__ import annotations

import numpy as np

import condyle
from condyle import Robot
from condyle.model.placement import Placement

GROUND, CRANK, COUPLER, ROCKER = 0.5, 0.2, 0.55, 0.4
"""Lengths [m]: the crank goes all the way round, as CRANK + COUPLER < GROUND + ROCKER (Grashof)."""
Array = np.ndarray
CRANKS = np.linspace(-2.5, 2.5, 7)


def at(x: float, y: float = 0.0, z: float = 0.0) -> Placement:
    return Placement.from_rpy((x, y, z))


def four_bar(gains: tuple[float, float] = (0.0, 0.0), *, closed: bool = True) -> Robot:
    """Joints a (crank on the world), b (coupler on the crank), c (rocker on the world), in the x z plane."""
    builder = condyle.Builder("four_bar")
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        moments = np.diag((1e-4, length**3 / 6.0, length**3 / 6.0 + 1e-5))
        builder.body(name, mass=2.0 * length, com=(0.5 * length, 0.0, 0.01), inertia=moments)
    for name, parent, child, x in (
        ("a", "world", "crank", 0.0),
        ("b", "crank", "coupler", CRANK),
        ("c", "world", "rocker", GROUND),
    ):
        builder.joint(name, parent=parent, child=child, type="revolute", axis=(0.0, -1.0, 0.0), xyz=(x, 0.0, 0.0))
    if closed:
        builder.contact("coupler", other="rocker", placement=at(COUPLER), anchor=at(ROCKER), gains=gains)
    return builder.build()


def angles(crank: Array) -> Array:
    """q (n, 3) of the closed four-bar, its upper branch, at crank angles (n,): by triangles."""
    x, z = CRANK * np.cos(crank) - GROUND, CRANK * np.sin(crank)
    diagonal = np.hypot(x, z)
    opening = np.arccos((diagonal**2 + ROCKER**2 - COUPLER**2) / (2.0 * diagonal * ROCKER))
    rocker = np.arctan2(z, x) % (2.0 * np.pi) - opening  # x < 0: no jump
    end_x, end_z = ROCKER * np.cos(rocker) - x, ROCKER * np.sin(rocker) - z
    return np.stack([crank, np.arctan2(end_z, end_x) - crank, rocker], axis=-1)


def slopes(crank: Array, h: float = 1e-4) -> tuple[Array, Array]:
    """dq/dcrank and its own slope, (n, 3) each, by differences of fourth order."""
    around = np.array([angles(crank + k * h) for k in (-2, -1, 0, 1, 2)])
    first = np.tensordot([1.0, -8.0, 0.0, 8.0, -1.0], around, 1) / (12.0 * h)
    second = np.tensordot([-1.0, 16.0, -30.0, 16.0, -1.0], around, 1) / (12.0 * h * h)
    return first, second


def errors(robot: Robot, q: np.ndarray) -> float:
    return float(np.abs(robot.compile("numpy").constraint_errors(q)).max())


def branched(floating: bool = False, shoulder: str = "spherical") -> Robot:
    """A tree whose two branches hold each other, one foot held in the world."""
    builder = condyle.Builder("branched")
    for k, name in enumerate(("base", "l1", "l2", "l3", "r1", "r2", "r3")):
        builder.body(name, mass=1.0 + 0.1 * k, com=(0.1, 0.02 * k, 0.05), inertia=np.diag((0.01, 0.02, 0.025)))
    for side, y in (("l", 0.1), ("r", -0.1)):
        for k, kind, axis in (
            (1, shoulder, (0.0, 1.0, 0.0)),
            (2, "revolute", (1.0, 0.0, 0.0)),
            (3, "revolute", (0.0, 0.6, 0.8)),
        ):
            parent, name = "base" if k == 1 else f"{side}{k - 1}", f"{side}{k}"
            builder.joint(f"j{name}", parent=parent, child=name, type=kind, axis=axis, xyz=(0.3, y / k, 0.0))
    turned = Placement.from_rpy((0.2, 0.0, 0.1), (0.3, 0.2, 0.1))
    builder.contact("l3", "point", "r3", placement=at(0.2), anchor=turned, gains=(100.0, 20.0))
    builder.contact("l2", "point", placement=at(0.1, 0.1), anchor=at(0.71, 0.15, 0.04))
    return builder.build(floating_base=floating)
