"""Inverse kinematics: frames stand where they are wanted, q is within its limits, and what is not reached is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks.arms import FLANGES, TIPS, arm, hand
from condyle import DTypeError, ModelError, ShapeError, StateError, UnsupportedError
from tests.jobs.robots import chain

TOLERANCE = 1e-5
READ_BACK = 1.5
"""Entries of R - goal are at most the components of the error of a rotation, added: 1.5 of them at these angles."""
X, Y, Z = np.eye(3)
KINDS = {
    "ball": (("spherical", None), ("revolute", Y), ("spherical", None)),
    "cart": (("planar", None), ("revolute", Y), ("revolute", Y), ("revolute", X)),
    "body": (("free", None),),
    "gantry": (("translation", None), ("spherical", None)),
    "mixed": (("prismatic", Z), ("cylindrical", Z), ("universal", X), ("revolute", X)),
    "endless": (("continuous", Z), ("continuous", Y), ("continuous", X), ("continuous", Z), ("continuous", Y)),
}


def goals(robot: condyle.Robot, frames: Sequence[str], n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Poses that can be reached: those of random states."""
    placed = robot.compile(frames=frames).frame_placements(robot.random_state(n, seed).q)
    return placed.rotation, placed.translation


def check(robot: condyle.Robot, frames: Sequence[str], answer: Any, rotation: Any, translation: Any) -> None:
    """What is said to be solved is, by the library's own kinematics, and q can be."""
    placed = robot.compile(frames=frames).frame_placements(np.asarray(answer.q, np.float64))
    solved = answer.solved
    off = np.abs(placed.translation - translation)[solved]
    assert off.max(initial=0.0) < TOLERANCE * (1.0 if answer.q.dtype == np.float64 else 1.1)
    if rotation is not None:
        assert np.abs(placed.rotation - rotation)[solved].max(initial=0.0) < READ_BACK * TOLERANCE
    slack = 0.0 if answer.q.dtype == np.float64 else 1e-6
    assert (answer.q >= robot.lower - slack).all() and (answer.q <= robot.upper + slack).all()
    assert (np.abs(answer.error).max(axis=(-1, -2)) < TOLERANCE).tolist() == solved.tolist()


@pytest.mark.smoke
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FLANGES)
def test_an_arm_reaches_what_it_can(name: str, dtype: str) -> None:
    robot, frames = arm(name), (FLANGES[name],)
    rotation, translation = (np.asarray(x, dtype) for x in goals(robot, frames, 500))
    answer = robot.inverse_kinematics(frames).compile(dtype=dtype, threads=1)(rotation, translation)
    assert answer.solved.mean() >= 0.995  # 0.9993 of 4096
    assert answer.q.dtype == dtype and answer.iterations.dtype == np.int64
    assert np.median(answer.iterations) < 12
    check(robot, frames, answer, rotation, translation)


def test_five_tips_of_a_hand_at_once() -> None:
    robot = hand()
    rotation, translation = goals(robot, TIPS, 100)
    ik = robot.inverse_kinematics(TIPS).compile(threads=1)
    for wanted in (rotation, None):
        answer = ik(wanted, translation)
        assert answer.solved.all()
        assert answer.error.shape == (100, 5, 6)
        check(robot, TIPS, answer, wanted, translation)


def test_an_arm_on_a_floating_base() -> None:
    robot = condyle.load("iiwa14", floating_base=True)
    frames = (FLANGES["iiwa14"], "base")
    rotation, translation = goals(robot, frames, 100)
    answer = robot.inverse_kinematics(frames).compile(threads=1)(rotation, translation)
    assert answer.solved.mean() >= 0.98  # the base is told: what is left is the arm
    check(robot, frames, answer, rotation, translation)
    near = robot.random_state(100, 1).q
    again = robot.inverse_kinematics(frames).compile(threads=1)(rotation, translation, near)
    assert again.solved.all() and (again.iterations == 1).all() and np.array_equal(again.q, near)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint(kind: str) -> None:
    robot = chain(KINDS[kind])
    rotation, translation = goals(robot, ("tip",), 100)
    ik = robot.inverse_kinematics(("tip",)).compile(threads=1)
    answer = ik(rotation, translation)
    assert answer.solved.mean() >= 0.9
    robot.check_state(answer.q)
    check(robot, ("tip",), answer, rotation, translation)
    single = ik(rotation[0], translation[0], robot.random_state(100, 1).q[0])
    assert single.solved is True and single.iterations == 1


def test_a_single_target_is_that_of_the_first_attempt_that_is_done() -> None:
    robot, frames = arm("panda"), (FLANGES["panda"],)
    rotation, translation = goals(robot, frames, 20)
    ik = robot.inverse_kinematics(frames).compile(threads=1)
    for R, p in zip(rotation, translation, strict=True):
        answer = ik(R, p)
        assert answer.solved is True and answer.q.shape == (7,) and answer.error.shape == (1, 6)
        assert np.abs(answer.error).max() < TOLERANCE
        assert np.array_equal(answer.q, ik(R, p).q)
        start = np.clip(answer.q + 0.01, robot.lower, robot.upper)
        assert ik(R, p, start).iterations <= 4  # its own start is the first, and near
    assert ik(rotation[0], translation[0], seeds=1).solved


def test_answers_do_not_depend_on_the_place_in_a_batch_or_on_threads() -> None:
    robot, frames = arm("panda"), (FLANGES["panda"],)
    rotation, translation = goals(robot, frames, 300)
    problem = robot.inverse_kinematics(frames)
    whole, threads = (problem.compile(threads=k)(rotation, translation) for k in (1, 3))
    part = problem.compile(threads=1)(rotation[37:60], translation[37:60])
    for name in ("q", "error", "iterations", "solved"):
        assert np.array_equal(getattr(whole, name), getattr(threads, name))
        assert np.array_equal(getattr(whole, name)[37:60], getattr(part, name))


def test_batches_of_any_shape() -> None:
    robot, frames = arm("ur5e"), (FLANGES["ur5e"],)
    rotation, translation = goals(robot, frames, 6)
    ik = robot.inverse_kinematics(frames).compile(threads=1)
    plain, shaped = ik(rotation, translation), ik(rotation.reshape(2, 3, 1, 3, 3), translation.reshape(2, 3, 1, 3))
    assert shaped.q.shape == (2, 3, 6) and shaped.error.shape == (2, 3, 1, 6) and shaped.solved.shape == (2, 3)
    assert np.array_equal(shaped.q.reshape(6, 6), plain.q)
    assert ik(rotation[:0], translation[:0]).q.shape == (0, 6)
    starts = robot.random_state(4, 2).q  # one target from many starts
    assert ik(rotation[0], translation[0], starts).q.shape == (4, 6)


def test_the_same_by_numpy() -> None:
    robot, frames = arm("iiwa14"), (FLANGES["iiwa14"],)
    rotation, translation = goals(robot, frames, 16)
    problem = robot.inverse_kinematics(frames, most=20)
    fast, plain = (problem.compile(target, threads=1)(rotation, translation) for target in ("cpu", "numpy"))
    assert np.array_equal(fast.iterations, plain.iterations)
    assert np.array_equal(fast.solved, plain.solved)
    assert np.abs(fast.q - plain.q)[fast.solved].max() < 1e-6  # rounding, grown by as many steps of Newton's method


def test_weights_leave_out_what_does_not_matter() -> None:
    robot, frames = arm("iiwa14"), (FLANGES["iiwa14"], "iiwa_link_4")
    rotation, translation = goals(robot, frames, 100)
    ik = robot.inverse_kinematics(frames, position=(1.0, 0.0), rotation=(0.3, 0.0)).compile(threads=1)
    answer = ik(rotation, np.stack([translation[:, 0], translation[:, 1] + 9.0], axis=1))
    assert answer.solved.mean() > 0.98
    assert not answer.error[:, 1].any()
    turned = robot.inverse_kinematics(frames[:1], position=0.0).compile(threads=1)(rotation[:, :1], translation[:, :1])
    assert turned.solved.all() and not turned.error[:, 0, :3].any()


def test_a_posture_is_near_as_far_as_the_target_leaves_it_free() -> None:
    robot, frames = arm("panda"), (FLANGES["panda"],)
    rest = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    rotation, translation = goals(robot, frames, 200)
    plain, drawn = (robot.inverse_kinematics(frames, rest=x).compile(threads=1) for x in (None, rest))
    for wanted, least in ((rotation, 0.97), (None, 0.99)):
        answer = drawn(wanted, translation)
        assert answer.solved.mean() >= least
        check(robot, frames, answer, wanted, translation)
        assert np.abs(answer.q - rest).mean() < np.abs(plain(wanted, translation).q - rest).mean()
    # three of seven degrees of freedom are told; the way that is left is short: of 1 rad without a posture
    J = robot.compile(frames=frames).frame_jacobians(answer.q)[:, 0, :3]
    R = robot.compile(frames=frames).frame_placements(answer.q).rotation[:, 0]
    left = (rest - answer.q) - (np.linalg.pinv(R @ J) @ (R @ J) @ (rest - answer.q)[..., None])[..., 0]
    inside = ((answer.q > robot.lower) & (answer.q < robot.upper)).all(axis=1)
    assert np.median(np.abs(left[inside]).max(axis=1)) < 0.1


def test_limits_hold_or_are_left_out() -> None:
    robot = chain([("revolute", Z)], length=1.0, lower=-0.5, upper=0.5)
    target = np.array([[np.cos(0.8), np.sin(0.8), 0.0]])
    inside, outside = (robot.inverse_kinematics(("tip",), limits=x).compile(threads=1) for x in (True, False))
    answer = inside(None, target)
    assert not answer.solved and answer.q == pytest.approx([0.5], abs=1e-12)
    assert np.linalg.norm(answer.error[0, :3]) == pytest.approx(2.0 * np.sin(0.15), abs=1e-9)
    assert outside(None, target).q == pytest.approx([0.8], abs=TOLERANCE)
    beyond = np.array([[2.0]])  # a start outside is moved to the limit
    assert inside(None, [[[np.cos(0.5), np.sin(0.5), 0.0]]], beyond).solved.all()


def test_what_is_too_far_has_the_least_error() -> None:
    """Of two links of 0.5 m in the plane: the distance less 1 m."""
    robot = chain([("revolute", Z), ("revolute", Z)], length=0.5, lower=-3.0, upper=3.0)
    rng = np.random.default_rng(0)
    distance, angle = rng.uniform(1.05, 3.0, 100), rng.uniform(-2.8, 2.8, 100)
    target = np.stack([distance * np.cos(angle), distance * np.sin(angle), 0.0 * angle], axis=-1)[:, None]
    ik = robot.inverse_kinematics(("tip",)).compile(threads=1)
    answer = ik(None, target)
    assert not answer.solved.any()
    more = np.linalg.norm(answer.error[:, 0, :3], axis=1) - (distance - 1.0)
    assert (more > -1e-12).all() and np.quantile(more, 0.9) < 1e-4 and more.max() < 0.02
    single = ik(None, target[0])
    assert single.solved is False and np.linalg.norm(single.error) < distance[0] - 1.0 + 0.02


def test_a_target_that_is_no_number_harms_no_other() -> None:
    robot, frames = arm("panda"), (FLANGES["panda"],)
    rotation, translation = goals(robot, frames, 20)
    ik = robot.inverse_kinematics(frames).compile(threads=1)
    whole = ik(rotation, translation)
    translation[3, 0, 1] = np.nan
    rotation[4, 0, 2, 2] = np.nan
    answer = ik(rotation, translation)
    bad = np.isin(np.arange(20), (3, 4))
    assert not answer.solved[bad].any() and np.isnan(answer.q[bad]).all()
    assert np.array_equal(answer.q[~bad], whole.q[~bad])
    assert ik(rotation[3], translation[3]).solved is False


def test_rotations_that_are_none() -> None:
    robot, frames = arm("panda"), (FLANGES["panda"],)
    rotation, translation = goals(robot, frames, 5)
    ik = robot.inverse_kinematics(frames).compile(threads=1)
    for wrong in (1.1 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.diag([1.2, 1.0, 0.8])):
        rotation[2, 0] = wrong
        with pytest.raises(StateError, match=r"1 of the rotations are none: R\^T R is further than 0.001"):
            ik(rotation, translation)
        with pytest.raises(StateError, match="rotations are none"):
            ik(rotation[2], translation[2])
    assert ik(None, translation).solved.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frames": ()}, r"frames=\(\): give a name"),
        ({"frames": "panda_link8"}, "give a list of names"),
        ({"frames": ("panda_link9",)}, "there is no frame 'panda_link9'; did you mean"),
        ({"frames": ("panda_link0",)}, "'panda_link0' is fixed to the world"),
        ({"position": -1.0}, "position=-1.0: give a number, 0 or more"),
        ({"position": 0.0, "rotation": 0.0}, "no weight is above 0"),
        ({"rotation": (1.0, 2.0)}, "one for each of 1 frames"),
        ({"tolerance": 0.0}, "tolerance=0.0, expected a number above 0"),
        ({"most": 0}, "most=0: give a whole number"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        arm("panda").inverse_kinematics(**{"frames": ("panda_link8",), **options})


def test_robots_and_arguments_that_cannot_be() -> None:
    robot = arm("panda")
    with pytest.raises(UnsupportedError, match="the robot has nv 0"):
        condyle.Builder().body("stone", mass=1.0).build().inverse_kinematics(("stone",))
    joints = tuple(dataclasses.replace(joint, lower=joint.upper + 1.0) for joint in robot.joints[:1])
    wrong = condyle.Robot.from_data(dataclasses.replace(robot, joints=(*joints, *robot.joints[1:])))
    with pytest.raises(ModelError, match="no q keeps the limits of 'panda_joint1'"):
        wrong.inverse_kinematics(("panda_link8",))
    assert wrong.inverse_kinematics(("panda_link8",), limits=False)
    problem = robot.inverse_kinematics(("panda_link8",))
    with pytest.raises(UnsupportedError, match="tolerance=1e-08 is less than float32 resolves"):
        robot.inverse_kinematics(("panda_link8",), tolerance=1e-8).compile(dtype="float32")
    with pytest.raises(ShapeError, match="q"):
        robot.inverse_kinematics(("panda_link8",), rest=np.zeros(6))
    ik, R, p = problem.compile(threads=1), np.eye(3)[None], np.array([[0.4, 0.0, 0.5]])
    wrong_ones: list[tuple[Any, ...]] = [
        (R, p[0]),
        (R[0], p),
        (R, p[:, :2]),
        (R, p, np.zeros(6)),
        (R, np.zeros((2, 3))),
    ]
    for arguments in wrong_ones:
        with pytest.raises(ShapeError):
            ik(*arguments)
    with pytest.raises(DTypeError, match="float32"):
        ik(R.astype(np.float32), p)
    with pytest.raises(UnsupportedError, match="seeds=0"):
        ik(R, p, seeds=0)
