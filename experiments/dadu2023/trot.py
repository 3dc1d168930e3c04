"""A trot of a quadruped, as data: which feet stand at a time, and where base, feet and tip are to be.

Diagonal legs move together: a pair swings for SWING seconds, the other pair half a period later. In between all four
feet stand. The base moves forward at SPEED. A foot lands where its hip will be in the middle of its next stance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

LEGS = ("LF", "RF", "LH", "RH")
PERIOD, SWING, HEIGHT = 0.7, 0.3, 0.08
"""Of a trot [s], of a swing [s], and how high a foot is lifted [m]."""
BEGIN = 0.5
"""When the first foot leaves the ground [s]; until then the robot stands."""
SPEED = 0.25
"""Of the base, forward [m/s]."""
LATER = np.array([0.0, 0.5, 0.5, 0.0])
"""By how much of a period each leg swings later than the first."""
CIRCLE, ROUND = 0.08, 2.0
"""Radius [m] and period [s] of the circle that the tip draws, beside the base."""


@dataclass(frozen=True)
class Course:
    """What is wanted at times t (n): base (n, 3), its velocity (n, 3), feet (n, 4, 3), stand (n, 4), tip (n, 3)."""

    base: Array
    velocity: Array
    feet: Array
    stand: Array
    tip: Array


def course(t: Array, base: Array, feet: Array, tip: Array) -> Course:
    """base (3), feet (4, 3) and tip (3): where they are while the robot stands."""
    t = np.asarray(t, float)
    steps = np.maximum(t[:, None] - BEGIN, 0.0) / PERIOD - LATER
    number = np.floor(steps)
    within = (steps - number) * PERIOD / SWING
    stand = (t[:, None] < BEGIN) | (number < 0) | (within >= 1.0)
    landed = number + (within >= 1.0)
    before, after = foothold(landed), foothold(number + 1)
    part = np.clip(within, 0.0, 1.0)
    smooth = part * part * (3.0 - 2.0 * part)
    x = np.where(stand, before, before + smooth * (after - before))
    z = np.where(stand, 0.0, HEIGHT * np.sin(np.pi * part) ** 2)
    ahead = np.zeros((len(t), 3))
    ahead[:, 0] = advance(t)
    wanted = np.broadcast_to(feet, (len(t), 4, 3)).copy()
    wanted[..., 0] += x
    wanted[..., 2] += z
    velocity = np.zeros((len(t), 3))
    velocity[:, 0] = np.where(t > BEGIN, SPEED, 0.0)
    angle = 2.0 * np.pi * np.maximum(t - BEGIN, 0.0) / ROUND
    circle = CIRCLE * np.stack([np.zeros_like(t), np.sin(angle), 1.0 - np.cos(angle)], axis=1)
    return Course(base + ahead, velocity, wanted, stand.astype(float), tip + ahead + circle)


def advance(t: Array) -> Array:
    """How far forward the base is to be [m]."""
    return SPEED * np.maximum(t - BEGIN, 0.0)


def foothold(steps: Array) -> Array:
    """How far forward a foot is after so many of its own steps, (n, 4): 0 before the first."""
    middle = BEGIN + PERIOD * (steps - 1.0 + LATER) + SWING + 0.5 * (PERIOD - SWING)
    return np.where(steps > 0, advance(middle), 0.0)
