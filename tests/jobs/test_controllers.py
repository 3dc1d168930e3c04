"""Controllers: the least of their squares, within every limit; an arm that reaches, a quadruped that is pushed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks.arms import FLANGES, arm
from condyle.cli.rivals.mujoco_c import mjcf, ours
from condyle.cli.rivals.numbers import numbers_of
from condyle.jobs.controllers import AXES, OPERATIONAL_SPACE, WHOLE_BODY, operational_space, whole_body
from tests.accuracies import SOLVED

EFFORT = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
STANDING = np.ravel([(-0.1, 0.75 * sign, -1.5 * sign) for sign in (1.0, -1.0, 1.0, -1.0)])
LEVEL, UP, RADIUS = np.zeros((4, 3)), np.ones(4), 0.02
PUSH = np.array([120.0, 240.0, 0.0])


def reaching(robot: condyle.Robot, effort: np.ndarray, **options: Any) -> Any:
    f = partial(operational_space, frame=FLANGES["panda"], effort=effort, **options)
    return robot.function(f, OPERATIONAL_SPACE, **AXES).compile(threads=1)


def test_operational_space_is_the_least_of_its_squares() -> None:
    """No torque that may change makes them less: of the matrices of `Dynamics`, where half of the states saturate."""
    robot, effort, frames = arm("panda"), 0.4 * EFFORT, (FLANGES["panda"],)
    q, v = robot.random_state(100, 1)
    goal = robot.compile(frames=frames).frame_placements(robot.random_state(100, 2).q)
    answer = reaching(robot, effort)(q, v, goal.rotation[:, 0], goal.translation[:, 0])
    assert (answer.status == 1).all() and (np.abs(answer.tau) <= effort).all()
    assert (np.abs(answer.tau) > 0.999 * effort).any(axis=1).mean() > 0.3
    dyn = robot.compile(frames=frames, reference_frame="local_world_aligned")
    pose, Minv, h = dyn.frame_placements(q), dyn.mass_matrix_inverse(q), dyn.nonlinear_effects(q, v)
    J, bias = dyn.frame_jacobians(q)[:, 0], dyn.frame_jacobians_time_derivative(q, v)[:, 0] @ v[..., None]
    turn = goal.rotation[:, 0] @ pose.rotation[:, 0].swapaxes(1, 2)
    sine = 0.5 * np.stack([turn[:, i, j] - turn[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=1)
    error = np.concatenate([(goal.translation - pose.translation)[:, 0], sine], axis=1)
    wanted = 100.0 * error - 20.0 * (J @ v[..., None])[..., 0] - bias[..., 0]
    A = J @ Minv
    inertia = A @ J.swapaxes(1, 2)
    inertia += 1e-5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(6)
    off = (A @ (answer.tau - h)[..., None])[..., 0] - wanted
    beside = (Minv @ (answer.tau - h)[..., None])[..., 0] + 20.0 * v
    slope = (A.swapaxes(1, 2) @ np.linalg.solve(inertia, off[..., None]))[..., 0] + 1e-2 * beside
    H = A.swapaxes(1, 2) @ np.linalg.solve(inertia, A) + 1e-2 * Minv
    better = np.clip(answer.tau - slope / np.diagonal(H, axis1=1, axis2=2), -effort, effort)
    assert np.abs((better - answer.tau) / effort).max() < 1e-5  # of a step of each torque for itself


def test_an_arm_reaches_a_pose_with_little_torque() -> None:
    """Without gravity and with a tenth of its torques, which are at their limits first, it arrives all the same."""
    robot, frame = arm("panda", gravity=(0.0, 0.0, 0.0)), FLANGES["panda"]
    posture = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    end = posture + 0.5 * np.array([1, 1, -1, 1, 1, -1, 1])
    dyn = robot.compile(frames=(frame,), threads=1)
    effort = 0.1 * EFFORT
    f, goal = reaching(robot, effort, posture=posture), dyn.frame_placements(end)
    q, v, most = posture.copy(), np.zeros(7), 0.0
    for _ in range(800):
        answer = f(q, v, goal.rotation[0], goal.translation[0])
        assert answer.status == 1 and (np.abs(answer.tau) <= effort).all()
        most = max(most, float((np.abs(answer.tau) / effort).max()))
        q, v = dyn.step(q, v, answer.tau, 2e-3)
    pose = dyn.frame_placements(q)
    assert most > 0.999
    assert np.abs(pose.translation - goal.translation).max() < 5e-3
    assert np.abs(pose.rotation - goal.rotation).max() < 2e-2


def walking(**options: Any) -> tuple[condyle.Robot, Any]:
    robot = condyle.load("hyq", floating_base=True)
    f = partial(whole_body, **{"frames": FEET, "effort": np.full(18, 120.0), **options})
    return robot, robot.function(f, WHOLE_BODY, sizes={"n_feet": 4}, **AXES).compile(threads=1)


def stands(robot: condyle.Robot) -> np.ndarray:
    """On its feet, whose centres are at height 0."""
    q = robot.neutral()
    q[7:] = STANDING
    q[2] -= robot.compile("numpy", frames=FEET).frame_placements(q).translation[:, 2].min()
    return q


def test_a_whole_body_moves_as_it_says_within_its_limits() -> None:
    """The forward dynamics with held feet, by another algorithm, answers the same accelerations and forces."""
    robot, f = walking()
    rng = np.random.default_rng(0)
    q = robot.integrate(stands(robot), 0.1 * rng.standard_normal((100, 18)))
    v, base = 0.3 * rng.standard_normal((100, 18)), 2.0 * rng.standard_normal((100, 6))
    answer = f(q, v, base, LEVEL, UP)
    assert (answer.status == 1).all()
    assert (np.abs(answer.tau) <= 120.0 + 1e-6).all() and not answer.tau[:, :6].any()
    side, up = np.abs(answer.force[..., :2]).max(axis=-1), answer.force[..., 2]
    assert (side <= 0.6 * up + 1e-6).all() and (up >= -1e-6).all() and (up <= 600.0 + 1e-6).all()
    off = np.abs(answer.acceleration[:, :6] - base).max(axis=1)
    assert np.median(off) < 0.05 and (off > 0.1).any()  # most can be done, and some cannot
    held = robot.compile(contacts=[condyle.Contact(foot) for foot in FEET])
    a, force = held.constrained_forward_dynamics(q, v, answer.tau, UP)
    turn = robot.compile(frames=FEET).frame_placements(q).rotation
    assert a == pytest.approx(answer.acceleration, abs=SOLVED * np.abs(a).max())
    turned = (turn @ force[..., :3, None])[..., 0]
    assert turned == pytest.approx(answer.force, abs=SOLVED * np.abs(force).max())


def test_a_foot_in_the_air_swings_as_told() -> None:
    robot, f = walking()
    q, v, wanted = stands(robot), np.zeros(18), LEVEL.copy()
    wanted[1] = 1.0, -0.5, 3.0
    answer = f(q, v, np.zeros(6), wanted, np.array([1.0, 0.0, 1.0, 1.0]))
    assert answer.status == 1
    J = robot.compile(frames=FEET, reference_frame="local_world_aligned").frame_jacobians(q)[:, :3]
    assert J @ answer.acceleration == pytest.approx(wanted, abs=SOLVED)
    assert np.linalg.norm(answer.force[1]) < 1.5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_standing_quadruped_is_pushed_about_in_mujoco() -> None:
    """Pushed by 270 N for 0.2 s, a third of its weight: friction is at its limit, it moves by 3 cm, and comes back."""
    mujoco = pytest.importorskip("mujoco")
    robot, f = walking(friction=0.5)
    goal = stands(robot)
    spec = mujoco.MjSpec.from_string(mjcf(numbers_of(robot, "MuJoCo")))
    off = mujoco.mjtDisableBit
    spec.option.disableflags &= ~int(off.mjDSBL_CONTACT) & ~int(off.mjDSBL_CONSTRAINT)
    spec.option.timestep = 1e-3
    ground, ball = mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_SPHERE
    spec.worldbody.add_geom(type=ground, size=[0, 0, 1], pos=[0, 0, -RADIUS], contype=1, conaffinity=0)
    bodies = spec.bodies[1:]  # behind the world, in the robot's order
    for foot in FEET:
        body, place = robot.frames[foot]
        bodies[body].add_geom(type=ball, size=[RADIUS, 0, 0], pos=place.translation, contype=0, conaffinity=1)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([goal[:3], goal[[6, 3, 4, 5]], goal[7:]])
    path, ratios = list[float](), list[float]()
    for k in range(1000):
        states = ours(robot, data.qpos[None], data.qvel[None])
        q, v = states[0][0], states[1][0]
        away = robot.difference(q, goal)[:6]
        answer = f(q, v, 100.0 * away - 20.0 * v[:6], LEVEL, UP)
        assert answer.status == 1
        data.qfrc_applied[6:], data.qfrc_applied[:3] = answer.tau[6:], PUSH * (200 <= k < 400)
        mujoco.mj_step(model, data)
        path.append(float(np.abs(away).max()))
        ratios.append(float((np.abs(answer.force[:, :2]).max(axis=1) / np.maximum(answer.force[:, 2], 1.0)).max()))
    assert max(path[:200]) < 1e-3 and max(ratios[100:200]) < 0.05
    assert 0.01 < max(path) < 0.05 and 0.49 < max(ratios) < 0.5 + 1e-6
    assert path[-1] < 2e-3


def test_the_whole_body_is_exported(tmp_path: Path) -> None:
    """Its input `active` is no flag of a contact, and known answers go with it."""
    dog = condyle.load("hyq", floating_base=True)
    f = partial(whole_body, frames=FEET, effort=dog.effort, friction=0.6)
    dog.function(f, WHOLE_BODY, sizes={"n_feet": 4}, **AXES).export("c", tmp_path / "project", name="dog")
    assert "active[n][4]" in (tmp_path / "project" / "dog.h").read_text()
    assert "Test_function" in (tmp_path / "project" / "test.c").read_text()
