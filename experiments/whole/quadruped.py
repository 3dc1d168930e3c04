"""A trotting HyQ in MuJoCo: plans of 50 knots with contacts by schedule, torque limits and friction limits, pushed.

The plan is `condyle.OptimalControl` of the robot's own step with contacts. Each control step is one iteration, from
the state that MuJoCo has at the time; the robot follows the new plan from DELAY later on, by its gains at 1 kHz.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.jobs.optimal_control import OptimalControl
from experiments.dadu2023.trot import Course, course
from experiments.whole.loop import OnFeet, Push, largest_push, push_table, tables_of, walked
from experiments.whole.world import Ball

Array = NDArray[np.floating]

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
H, KNOTS = 0.02, 50
RADIUS = 0.02
"""Of a foot: a ball about the origin of its frame [m]."""
LEG = np.array([-0.1, 0.75, -1.5])
MU = 0.6
"""Friction that plans may use; the ground has 0.7."""
W_Q = np.sqrt(np.array([200.0, 200.0, 800.0] + [600.0] * 3 + [4.0] * 12))
W_V = np.sqrt(np.array([40.0] * 3 + [20.0] * 3 + [0.05] * 12))
W_SWING, W_U = np.sqrt(3000.0), 0.02
W_LAST = 3.0


PUSHES = tuple(
    Push(1.5 + 1.4 * k, (force * x, force * y, 0.0))
    for k, (force, x, y) in enumerate(((300, 0, 1), (300, 0, -1), (300, 1, 0), (300, -1, 0), (500, 0, 1), (500, -1, 0)))
)
SECONDS = 11.0
ROWS = ("trot", "trot pushed", "trot, largest push")
QUICK = (ROWS[0],)

TEXT = (
    "HyQ trots in MuJoCo at 0.25 m/s with the schedule of dadu2023/trot.py. A plan has 50 knots of 20 ms, four feet "
    "as contacts by schedule, torque limits of 150 N m, and friction limits of 0.6 on the forces of the feet; the "
    "ground of MuJoCo has 0.7. A control step every 20 ms is one iteration, two more where a plan violates limits "
    "by more than 0.1; the robot follows the plan by its gains at 1 kHz, from 2 ms after the state on. Pushes are "
    "forces on the trunk for 0.1 s; trot pushed has six of 300 and 500 N."
)


class Quadruped(OnFeet):
    """The robot, its stance, and its problem of optimal control."""

    frames, kind, knots, h, least_height = FEET, "point", KNOTS, H, 0.35

    def __init__(self) -> None:
        self.robot = condyle.load("hyq", floating_base=True)
        self.stance = self.robot.neutral()
        self.stance[7:] = np.concatenate([LEG, LEG * [1, -1, -1], LEG, LEG * [1, -1, -1]])
        self.stance[2] += RADIUS - self.points(self.stance)[:, 2].mean()
        self.places = self.points(self.stance)
        tau, _ = self.held.constrained_inverse_dynamics(self.stance, np.zeros(18), np.zeros(18), np.ones(4))
        self.torques = tau[6:]

    def problem(self) -> OptimalControl:
        def running(
            at: Any, u: Any, active: Any, q_wanted: Any, v_wanted: Any, feet: Any, u_wanted: Any
        ) -> dict[str, Any]:
            rows = [W_Q * at.difference(q_wanted, at.q), W_V * (at.v - v_wanted), W_U * (u - u_wanted)]
            for i, name in enumerate(FEET):
                rows.append(W_SWING * (1.0 - active[i]) * (at.frame(name).translation - feet[3 * i : 3 * i + 3]))
            return {"residual": rows, "below": self.cones(at, u, active)}

        def last(at: Any, q_wanted: Any, v_wanted: Any) -> dict[str, Any]:
            return {"residual": [W_LAST * W_Q * at.difference(q_wanted, at.q), W_LAST * W_V * (at.v - v_wanted)]}

        return self.follows(running, last)

    def balls(self) -> list[Ball]:
        return [Ball(foot, RADIUS) for foot in FEET]

    def cones(self, at: Any, u: Any, active: Any) -> Any:
        """|f_x| <= MU f_z and |f_y| <= MU f_z for each foot that stands, in parts of a quarter of the weight."""
        _, force = at.constrained_forward_dynamics(np.concatenate([np.zeros(6), u]), active)
        share, rows = self.robot.mass * 9.81 / 4.0, list[Any]()
        for i, name in enumerate(FEET):
            x, y, z = at.frame(name).rotation @ force[i, :3]
            for side in (x, -x, y, -y):
                rows.append((side - MU * z) / share - (1.0 - active[i]))
        return np.stack(rows)

    def course(self, t: Array) -> Course:
        return course(t, self.stance[:3], self.places, np.zeros(3))

    def inputs(self, time: float) -> dict[str, Any]:
        """Of a plan that begins at a time."""
        found = self.course(time + H * np.arange(KNOTS + 1))
        n = KNOTS + 1
        q, v = np.tile(self.stance, (n, 1)), np.zeros((n, 18))
        q[:, :3], v[:, :3] = found.base, found.velocity
        feet = np.ascontiguousarray(found.feet.reshape(n, 12))
        stand = np.ascontiguousarray(found.stand[:KNOTS])
        return {"active": stand, "q_wanted": q, "v_wanted": v, "feet": feet, "u_wanted": self.torques}


def measure(row: str, quick: bool) -> dict[str, Any]:
    if row == ROWS[2]:
        return {"largest": largest_push(Quadruped(), 1.5, range(200, 2001, 200), 2.5)}
    return walked(Quadruped(), 1.2 if quick else SECONDS, PUSHES if row == ROWS[1] else ())


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    return {**tables_of(rows, ROWS[:2]), "Largest push": push_table(rows.get(ROWS[2]))}
