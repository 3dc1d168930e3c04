"""A walking Talos in MuJoCo: plans with contacts of whole soles by schedule, friction and tipping limits, pushed.

Head, wrists and grippers are locked: 28 degrees of freedom and 22 torques. One iteration is a control step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl
from experiments.whole.loop import OnFeet, Push, largest_push, push_table, tables_of, walked
from experiments.whole.world import Ball

Array = NDArray[np.floating]

SOLES = ("left_sole_link", "right_sole_link")
H, KNOTS = 0.02, 60
LOCKED = (
    "head_1_joint",
    "head_2_joint",
    *(f"arm_{side}_{k}_joint" for side in ("left", "right") for k in (5, 6, 7)),
    "gripper_left_joint",
    "gripper_right_joint",
)
POSTURE = {
    "torso_2": 0.006761,
    "arm_left_1": 0.25847,
    "arm_left_2": 0.173046,
    "arm_left_4": -0.525366,
    "arm_right_1": -0.25847,
    "arm_right_2": -0.173046,
    "arm_right_4": -0.525366,
    **{f"leg_{side}_{k}": x for side in ("left", "right") for k, x in ((3, -0.411354), (4, 0.859395), (5, -0.448041))},
}
"""Half sitting, as in PAL's SRDF [rad]."""
LENGTH, WIDTH = 0.09, 0.05
"""Half of a sole, as plans and the simulation have it [m]."""
MU = 0.6
W_SWING = np.sqrt([100.0, 100.0, 4000.0])
BEGIN, STEP, SWING, HEIGHT, STRIDE = 0.6, 0.7, 0.55, 0.06, 0.2
"""When the first foot leaves the ground [s], seconds of a step and of its swing, height and length of a swing [m]."""


PUSHES = tuple(
    Push(2.3 + 1.5 * k, (force * x, force * y, 0.0))
    for k, (force, x, y) in enumerate(((150, 0, 1), (150, 0, -1), (150, 1, 0), (150, -1, 0), (250, 0, 1), (250, -1, 0)))
)
SECONDS = 12.0
ROWS = ("walk", "walk pushed", "walk, largest push")
QUICK = (ROWS[0],)

TEXT = (
    "Talos walks in MuJoCo by steps of 0.2 m, one in 0.7 s, 0.55 s of it with one foot in the air. Head, wrists and "
    "grippers are locked: 28 degrees of freedom, 22 torques. A plan has 60 knots of 20 ms, soles as contacts of six "
    "rows by schedule, torque limits, friction limits of 0.6, and limits of the torques on a sole, so that none tips. "
    "Feet may land elsewhere than the schedule says, at a cost. The loop is that of the quadruped. Pushes are forces "
    "on the pelvis for 0.1 s; walk pushed has six of 150 and 250 N. Legs may pass through each other."
)


class Humanoid(OnFeet):
    """The robot, its stance, and its problem of optimal control."""

    frames, kind, knots, h, least_height = SOLES, "plane", KNOTS, H, 0.6

    def __init__(self) -> None:
        whole = condyle.load("talos", floating_base=True)
        self.robot = robot = whole.lock(dict.fromkeys(LOCKED, 0.0))
        self.stance = robot.neutral()
        for name, x in POSTURE.items():
            self.stance[robot.joint(f"{name}_joint").q_index] = x
        self.stance[2] -= self.points(self.stance)[:, 2].mean()
        self.places = self.points(self.stance)
        nv = robot.nv
        tau, _ = self.held.constrained_inverse_dynamics(self.stance, np.zeros(nv), np.zeros(nv), np.ones(2))
        self.torques = tau[6:]
        self.w_q = np.sqrt(np.array([50.0, 10.0, 400.0] + [400.0] * 3 + [20.0] * 10 + [4.0] * 12))
        self.w_v = np.sqrt(np.array([30.0, 3.0, 10.0] + [20.0] * 3 + [0.5] * 10 + [0.1] * 12))

    def problem(self) -> OptimalControl:
        def running(
            at: Any, u: Any, active: Any, q_wanted: Any, v_wanted: Any, feet: Any, u_wanted: Any
        ) -> dict[str, Any]:
            rows = [self.w_q * at.difference(q_wanted, at.q), self.w_v * (at.v - v_wanted), 0.01 * (u - u_wanted)]
            for i, name in enumerate(SOLES):
                sole, air = at.frame(name), 1.0 - active[i]
                rows.append(W_SWING * air * (sole.translation - feet[3 * i : 3 * i + 3]))
                turned = np.stack([sole.rotation[2, 0], sole.rotation[2, 1], sole.rotation[1, 0]])
                rows.append(np.sqrt(400.0) * air * turned)
            return {"residual": rows, "below": self.cones(at, u, active)}

        def last(at: Any, q_wanted: Any, v_wanted: Any) -> dict[str, Any]:
            return {"residual": [3.0 * self.w_q * at.difference(q_wanted, at.q), 5.0 * self.w_v * (at.v - v_wanted)]}

        return self.follows(running, last)

    def cones(self, at: Any, u: Any, active: Any) -> Any:
        """Friction, and the point where the ground pushes inside of a sole, in parts of half of the weight."""
        _, force = at.constrained_forward_dynamics(np.concatenate([np.zeros(6), u]), active)
        share, rows = self.robot.mass * 9.81 / 2.0, list[Any]()
        for i in range(2):
            x, y, z, tx, ty, tz = force[i]
            for side, most in ((x, MU), (y, MU), (tx / WIDTH, 0.9), (ty / LENGTH, 0.9), (tz / WIDTH, MU)):
                rows += [(side - most * z) / share - (1.0 - active[i]), (-side - most * z) / share - (1.0 - active[i])]
        return np.stack(rows)

    def inputs(self, time: float) -> dict[str, Any]:
        """Of a plan that begins at a time."""
        n = KNOTS + 1
        t = time + H * np.arange(n)
        stand, feet, ahead = walk(t, self.places)
        q, v = np.tile(self.stance, (n, 1)), np.zeros((n, self.robot.nv))
        q[:, 0] += ahead
        v[:, 0] = np.where(t > BEGIN + 0.5 * STEP, STRIDE / (2.0 * STEP), 0.0)
        return {
            "active": np.ascontiguousarray(stand[:KNOTS]),
            "q_wanted": q,
            "v_wanted": v,
            "feet": np.ascontiguousarray(feet.reshape(n, 6)),
            "u_wanted": self.torques,
        }

    def balls(self) -> list[Ball]:
        """Of the ground's contacts: small ones at the corners of the soles."""
        corners = [(x, y, 0.01) for x in (-LENGTH - 0.01, LENGTH + 0.01) for y in (-WIDTH - 0.01, WIDTH + 0.01)]
        return [Ball(sole, 0.01, corner) for sole in SOLES for corner in corners]


def walk(t: Array, places: Array) -> tuple[Array, Array, Array]:
    """stand (n, 2), feet (n, 2, 3), and how far forward the base is (n); places (2, 3): of feet that stand.

    Feet swing in turn, the left one first, by half of STRIDE the first time.
    """
    steps = np.maximum(t - BEGIN, 0.0) / STEP
    number = np.floor(steps)
    part = np.clip((steps - number) * STEP / SWING, 0.0, 1.0)
    moving = (t >= BEGIN) & (part < 1.0)
    stand, feet = np.ones((len(t), 2)), np.broadcast_to(places, (len(t), 2, 3)).copy()
    for i in range(2):
        mine = number % 2 == i
        stand[:, i] = np.where(moving & mine, 0.0, 1.0)
        done = np.floor((number + 1 - i) / 2)  # steps begun before this one, of this foot
        landed = np.where(mine, done, done) + np.where(mine & (part >= 1.0) & (t >= BEGIN), 1.0, 0.0)
        landed = np.where(t < BEGIN, 0.0, landed)
        here, there = reach(landed, i), reach(landed + 1.0, i)
        smooth = part * part * (3.0 - 2.0 * part)
        feet[:, i, 0] += np.where(stand[:, i] == 0.0, here + smooth * (there - here), here)
        feet[:, i, 2] += np.where(stand[:, i] == 0.0, HEIGHT * np.sin(np.pi * part) ** 2, 0.0)
    return stand, feet, STRIDE / (2.0 * STEP) * np.maximum(t - BEGIN - 0.5 * STEP, 0.0)


def reach(steps: Array, foot: int) -> Array:
    """How far forward a foot is after so many of its steps: each is STRIDE, the first of the left one half of it."""
    return STRIDE * np.maximum(steps - (0.5 if foot == 0 else 0.0), 0.0)


def measure(row: str, quick: bool) -> dict[str, Any]:
    if row == ROWS[2]:
        return {"largest": largest_push(Humanoid(), 2.3, range(200, 1401, 200), 3.0)}
    return walked(Humanoid(), 0.8 if quick else SECONDS, PUSHES if row == ROWS[1] else ())


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {**tables_of(rows, ROWS[:2]), "Largest push": push_table(rows.get(ROWS[2]))}
