"""Rollouts of a quadruped on the smooth ground, beside rollouts in the air and MuJoCo's with contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import BATCH
from benchmarks.rivals.mujoco_ground import FRICTION, MujocoGround
from benchmarks.steps_common import DT, Array, Maker, Plan, Timed, reusing
from condyle.cli.bound import Call
from condyle.errors import BuildError
from condyle.ground import Foot, Grid, Ground

FEET = tuple(Foot(f"{leg}_lowerleg", (0.35, 0.0, 0.0)) for leg in ("lf", "rf", "lh", "rh"))
GRID = Grid((8, 8), 0.25, (-0.875, -0.875))
PLANE = Ground(FEET, stiffness=5e4, damping=0.2, friction=FRICTION, slip=0.3)
ROUGH = Ground(FEET, stiffness=5e4, damping=0.2, friction=FRICTION, slip=0.3, height=GRID)
SAME, TOUCHING = 0.02, 3.0
"""Of MuJoCo's bases and ours after the rollout [m]; feet that touch its ground, at least."""


def ground(plan: Plan) -> dict[str, Any]:
    """Nanoseconds a step, HyQ standing with random torques, the last state kept."""
    q, v, tau = standing(plan)
    steps, heights = len(q) * plan.steps, 0.01 * np.random.default_rng(4).normal(size=GRID.shape)

    def on(ground: Ground, *more: Array, dtype: str = "float64") -> Maker:
        made: Any = ground.step(plan.robot).compile(dtype=dtype, threads=1)
        given = [np.asarray(x, dtype) for x in (q, v, tau, DT, *more)]
        return lambda: reusing(made.rollout, *given, by_time=("tau",), last=True)

    makers: dict[str, tuple[Maker, int]] = {
        "rollout": (lambda: reusing(plan.rollout(plan.dynamics()), q, v, tau, DT), steps),
        "ground": (on(PLANE), steps),
        "8 x 8 heights": (on(ROUGH, heights), steps),
        "ground, float32": (on(PLANE, dtype="float32"), steps),
        "mujoco, contacts": (lambda: _theirs(plan, q, v, tau, batch=False), steps),
        "mujoco-batch, contacts": (lambda: _theirs(plan, q, v, tau, batch=True), steps),
    }
    return {"rollouts": len(q), "steps": plan.steps, **Timed.of(makers).measured(plan)}


def standing(plan: Plan) -> tuple[Array, Array, Array]:
    """q, v (n, ...) about a standing robot whose feet are in the ground, and torques (n, T, nv) that about hold it."""
    robot, rng, n = plan.robot, np.random.default_rng(3), 64 if plan.quick else BATCH
    one = robot.neutral()
    for leg, sign in (("lf", 1.0), ("rf", 1.0), ("lh", -1.0), ("rh", -1.0)):
        one[robot.joint(f"{leg}_hfe_joint").q_slice] = 0.75 * sign
        one[robot.joint(f"{leg}_kfe_joint").q_slice] = -1.5 * sign
    dynamics = robot.compile("numpy", frames=tuple(foot.frame for foot in FEET))
    turns, places = dynamics.frame_placements(one)
    arms = np.stack([turn @ np.asarray(foot.point) for turn, foot in zip(turns, FEET, strict=True)])
    one[2] -= (places + arms)[:, 2].min() + 5e-3
    push = np.array([0.0, 0.0, robot.mass * 9.81 / len(FEET)])
    wrenches = {f.frame: np.concatenate([push, np.cross(arm, push)]) for f, arm in zip(FEET, arms, strict=True)}
    forces: Any = robot.f_ext(wrenches, "local_world_aligned", one)
    held = dynamics.inverse_dynamics(one, np.zeros(robot.nv), np.zeros(robot.nv), forces)
    held[:6] = 0.0
    tau = held + rng.uniform(-5.0, 5.0, (n, plan.steps, robot.nv)) * (np.arange(robot.nv) >= 6)
    q = robot.integrate(np.tile(one, (n, 1)), 1e-3 * rng.normal(size=(n, robot.nv)))
    return q, 0.1 * rng.normal(size=(n, robot.nv)), tau


def _theirs(plan: Plan, q: Array, v: Array, tau: Array, batch: bool) -> Call:
    """MuJoCo's rollouts, if they are of the same robot that stands: the models of the ground differ."""
    rival = MujocoGround(plan.robot, FEET, batch=batch)
    given = [q, v, tau, np.full(len(q), DT)]
    theirs, _, contacts = rival.last(given)
    ours = PLANE.step(plan.robot).compile().rollout(q, v, tau, DT, by_time=("tau",), last=True).q
    apart = float(np.abs(theirs[:, :3] - ours[:, :3]).max())
    if not (apart < SAME and contacts > TOUCHING):
        raise BuildError(f"bases differ by {apart:.1e} m, {contacts} feet touch; nothing was timed")
    print(f"{rival.name}: bases differ by at most {1e3 * apart:.1f} mm, {contacts:.1f} contacts")
    return rival.call("rollout", given)
