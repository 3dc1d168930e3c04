"""Numbers of mimic joints act at their master, through the multiplier; the truth is a robot whose joints are free.

With q_all = G q + b for all joints, power is the same: damping G^T D G, friction |G|^T f, and every limit holds for
every joint.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import Builder, ModelError, ModelWarning, Robot, load
from condyle.model.parts import Mimic

INERTIA = np.diag([0.1, 0.2, 0.25])
Numbers = dict[str, float]
M: Numbers = {"lower": -3, "upper": 3, "effort": 10, "velocity": 5, "damping": 1, "friction": 2, "armature": 0.5}
F: Numbers = {"lower": -0.1, "upper": 0.2, "effort": 1, "velocity": 1, "damping": 1, "friction": 2, "armature": 0.1}
X1 = """<mujoco><worldbody>
<body><joint name="a" axis="0 1 0" armature=".1" damping=".5" frictionloss=".2" range="-90 90"/>
<geom size=".1" pos=".2 0 0"/><body pos=".3 0 0">
<joint name="b" axis="0 1 1" armature=".3" damping=".7" frictionloss=".4" range="-10 20"/>
<geom size=".1" pos=".2 0 0"/></body></body>
<body pos="0 1 0"><joint name="d" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/></body></worldbody>
<equality><joint joint1="b" joint2="a" polycoef="0 -2 0 0 0"/></equality></mujoco>"""


def hand(*followers: tuple[float, float, Numbers], mimic: str = "exact", chained: bool = False) -> Robot:
    """A joint "m" and those that follow it, f0, f1, ...: multiplier, offset, numbers; chained: each the one before."""
    builder = Builder().body("palm", mass=1.0, com=(0.1, 0, 0), inertia=INERTIA)
    builder.joint("m", parent="world", child="palm", type="revolute", axis=(0, 1, 0), **M)
    above, master = "palm", "m"
    for k, (multiplier, offset, numbers) in enumerate(followers):
        builder.body(f"tip{k}", mass=1.0, com=(0.1, 0, 0.1), inertia=INERTIA)
        builder.joint(
            f"f{k}",
            parent=above,
            child=f"tip{k}",
            type="prismatic" if k % 2 else "revolute",
            axis=(0, 1, 1),
            xyz=(0.2, 0, 0),
            mimic=(master, multiplier, offset),
            **numbers,
        )
        above, master = f"tip{k}", f"f{k}" if chained else "m"
    return builder.build(mimic=mimic)


def test_an_equality_of_mjcf(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text(X1)
    robot = load(tmp_path / "x.xml")
    np.testing.assert_allclose(robot.damping, [0.5 + 4 * 0.7, 0.0], rtol=1e-15)
    np.testing.assert_allclose(robot.friction, [0.2 + 2 * 0.4, 0.0], rtol=1e-15)
    np.testing.assert_allclose(np.rad2deg(robot.lower), [-10.0, -np.inf], rtol=1e-15)
    np.testing.assert_allclose(np.rad2deg(robot.upper), [5.0, np.inf], rtol=1e-15)
    assert robot.armature.tolist() == [0.1, 0.0]
    assert robot.joints[0].damping.tolist() == [0.5]
    assert robot.joints[1].damping.tolist() == [0.7]


@pytest.mark.parametrize(
    ("multiplier", "offset", "limits"),
    [(3.0, 0.0, (-0.1 / 3, 0.2 / 3)), (-0.5, 0.0, (-0.4, 0.2)), (2.0, 0.5, (-0.3, -0.15)), (-2.0, 6.0, (2.9, 3.0))],
)
def test_every_number_at_the_master(multiplier: float, offset: float, limits: tuple[float, float]) -> None:
    robot, size = hand((multiplier, offset, F)), abs(multiplier)
    np.testing.assert_allclose([robot.lower[0], robot.upper[0]], limits, rtol=1e-15)
    assert robot.damping.tolist() == [1 + size**2]
    assert robot.friction.tolist() == [2 + 2 * size]
    assert robot.velocity.tolist() == [1 / size]
    assert robot.effort.tolist() == [size]
    assert robot.armature.tolist() == [0.5]
    free = hand((multiplier, offset, F), mimic="independent")
    for name in (*M,):
        assert getattr(free, name).tolist() == [M[name], F[name]], name


def test_a_wide_follower_changes_no_limit() -> None:
    robot = hand((1.0, 0.0, {"damping": 1.0}), (-2.0, 1.0, {"lower": -9, "upper": 9, "effort": 9, "velocity": 11}))
    for name in ("lower", "upper", "effort", "velocity"):
        assert getattr(robot, name).tolist() == [M[name]]


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_chain_moves_as_free_joints_that_are_held_together(target: str) -> None:
    """M a + c = tau - damping v for the robot with followers: G^T of the same of all joints."""
    said = ((-2.0, 0.1, F), (0.5, 0.0, {**F, "damping": 3.0, "friction": 0.3}), (3.0, 0.0, {**F, "damping": 0.2}))
    robot, free = hand(*said, chained=True), hand(*said, chained=True, mimic="independent")
    assert [joint.mimic.multiplier for joint in robot.joints[1:] if joint.mimic] == [-2.0, -1.0, -3.0]
    G = np.array([[1.0], [-2.0], [-1.0], [-3.0]])
    b = np.array([0.0, 0.1, 0.05, 0.15])
    np.testing.assert_allclose(robot.damping, np.diag(G.T @ np.diag(free.damping) @ G), rtol=1e-15)
    np.testing.assert_allclose(robot.friction, np.abs(G.T) @ free.friction, rtol=1e-15)
    q, v = robot.random_state(20, 0)
    q_all, v_all = q @ G.T + b, v @ G.T
    assert ((q_all >= free.lower - 1e-15) & (q_all <= free.upper + 1e-15)).all()
    a = robot.compile(target, inputs=("damping",)).forward_dynamics(q, v, 0 * v)
    whole = free.compile("numpy").inverse_dynamics(q_all, v_all, a @ G.T) + free.damping * v_all
    left = np.abs(whole @ G)
    assert left.max() < 1e-13 * np.abs(whole).max()  # rounding of a sum of four terms


def test_random_states_are_within_the_limits_of_every_follower() -> None:
    robot = hand((3.0, 0.0, F), (-2.0, 0.05, {"lower": -0.02, "upper": 0.03}))
    q = robot.random_state(1000, 0).q[:, 0]
    assert (3 * q).min() >= -0.1
    assert (3 * q).max() <= 0.2
    assert (-2 * q + 0.05).min() >= -0.02
    assert (-2 * q + 0.05).max() <= 0.03
    assert np.ptp(q) > 0.9 * (0.035 - 0.01), "the whole range"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({"lower": 4.0, "upper": 5.0}, r"joint 'm': limits .* no motion: q from 4 to 0.2, by 'f0', 'f1' .correct"),
        ({"lower": 0.0, "upper": 0.0}, "q from 0 to 0, by 'f0' "),
        ({"effort": 0.0}, "effort 0, by 'f0' "),
        ({"velocity": 0.0}, "velocity 0, by 'f0' "),
    ],
)
def test_followers_that_leave_no_motion_are_named(numbers: Numbers, text: str) -> None:
    with pytest.warns(ModelWarning, match=text):
        robot = hand((1.0, 0.0, numbers), (1.0, 0.0, F))
    assert [finding.element for finding in robot.check()] == ["joint 'm'"]


def test_a_follower_that_stands_still_adds_nothing() -> None:
    robot = hand((0.0, 7.0, F))
    for name in M:
        assert getattr(robot, name).tolist() == [M[name]], name


def test_numbers_survive_urdf_and_other_roots(tmp_path: Path) -> None:
    robot = hand((-2.0, 0.1, {**F, "armature": 0.0}), (0.5, 0.0, {"lower": -1, "upper": 0.2}), chained=True)
    robot = replace(
        robot, joints=(replace(robot.joints[0], armature=0.0 * robot.joints[0].armature), *robot.joints[1:])
    )
    (tmp_path / "r.urdf").write_text(robot.to_urdf())
    for back in (load(tmp_path / "r.urdf"), robot.reroot("tip1")):
        for name in M:
            assert getattr(back, name).tolist() == getattr(robot, name).tolist(), name
    assert load(tmp_path / "r.urdf").fingerprint == robot.fingerprint


def test_locking_the_master_locks_its_followers() -> None:
    robot = hand((-2.0, 0.1, F), (0.5, 0.0, F), chained=True)
    assert robot.lock({"m": 0.01}).nv == 0
    with pytest.raises(ModelError, match="'f1' mimics 'm': lock 'm' instead"):
        robot.lock({"f1": 0.0})


@pytest.mark.parametrize("change", [{"q_index": 1}, {"v_index": 1}, {"mimic": Mimic(2, 1.0, 0.0)}])
def test_a_follower_with_the_place_of_another_joint_is_refused(change: dict[str, object]) -> None:
    robot = hand((2.0, 0.0, F), (0.5, 0.0, F))
    joints = (robot.joints[0], replace(robot.joints[1], **change), robot.joints[2])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"joint 'f0': (q_index 1, expected 0|v_index 1, expected 0|mimic of joint 2)"):
        replace(robot, joints=joints)


def test_three_hundred_followers_add_up() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = hand(*[(1.0 if k % 2 else -1.0, 0.0, {"damping": 1.0, "friction": 0.5}) for k in range(300)])
    assert robot.damping.tolist() == [301.0]
    assert robot.friction.tolist() == [152.0]


def test_followers_that_narrow_nothing_are_not_named() -> None:
    """Where the master itself stands still; of those that stop it the first three."""
    robot = hand((1.0, 0.0, {}))
    own = replace(robot.joints[0], lower=[0.0], upper=[0.0], effort=[0.0], velocity=[0.0])  # type: ignore[arg-type]
    assert replace(robot, joints=(own, robot.joints[1])).check() == ()
    with pytest.warns(ModelWarning, match="effort 0, by 'f0', 'f1', 'f2' and 1 more"):
        hand(*[(1.0, 0.0, {"effort": 0.0})] * 4)
    with pytest.warns(ModelWarning, match=r"q from 0.2 to 0.2, by 'f0', 'f2' \(correct their limits or multipliers"):
        hand((1.0, 0.0, {"lower": 0.2}), (1.0, 0.0, {}), (1.0, 0.0, {"upper": 0.2}))
