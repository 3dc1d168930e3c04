"""Forces on named frames: where they come to, and in whose axes."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import DTypeError, ModelError, ShapeError, UnsupportedError
from condyle.model.builder import Builder
from tests.accuracies import FEW_ROUNDINGS
from tests.model.kinematics import frames_at
from tests.zoo import every_joint

BOX = np.diag([0.1, 0.2, 0.25])


def test_forces_move_to_the_body_that_carries_the_frame() -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("tool")
    builder.joint("j", parent="world", child="a", type="revolute")
    builder.joint("t", parent="a", child="tool", type="fixed", xyz=(1, 0, 0), rpy=(0, 0, np.pi / 2))
    robot = builder.build()
    # a push along the tool's x is one along the body's y, one metre out
    assert robot.f_ext({"tool": (2.0, 0, 0, 0, 0, 0)}).tolist() == [[0, 2, 0, 0, 0, 2]]
    both = robot.f_ext({"tool": np.ones((4, 6)), "a": np.ones(6)})
    assert both.shape == (4, 1, 6)
    assert robot.f_ext({}).shape == (1, 6) and robot.f_ext({}).dtype == np.float64
    assert robot.f_ext({}, frame="local_world_aligned", q=np.zeros((2, 1), np.float32)).dtype == np.float64
    single = np.ones(6, np.float32)
    assert robot.f_ext({"tool": single, "a": single}).dtype == np.float32
    assert robot.f_ext({"tool": single, "a": np.ones(6)}).dtype == both.dtype == np.float64
    with pytest.raises(ModelError, match="frames and their wrenches"):
        robot.f_ext(np.ones((1, 6)))  # pyright: ignore
    with pytest.raises(ModelError, match="fixed to the world"):
        robot.f_ext({"world": np.zeros(6)})
    with pytest.raises(ModelError, match="did you mean 'tool'"):
        robot.f_ext({"tol": np.zeros(6)})
    with pytest.raises(ModelError, match="no frame 3"):
        robot.f_ext({3: np.zeros(6)})  # type: ignore[dict-item]
    with pytest.raises(DTypeError, match="'tool' is <U4, expected real numbers"):
        robot.f_ext({"tool": "push"})
    with pytest.raises(ShapeError, match="'tool' is not a regular array"):
        robot.f_ext({"tool": [[1.0], [2.0, 3.0]]})  # type: ignore[list-item]
    with pytest.raises(ShapeError, match="force; torque"):
        robot.f_ext({"tool": np.zeros(3)})
    with pytest.raises(ShapeError, match="broadcast"):
        robot.f_ext({"tool": np.zeros((2, 6)), "a": np.zeros((3, 6))})


def test_forces_in_the_axes_of_the_world() -> None:
    """At every state of a batch, on a frame that is turned in its body, by every type of joint."""
    robot = every_joint(floating_base=True)
    q = robot.random_state(4, 0).q
    rng = np.random.default_rng(1)
    for name in robot.frames:
        wrench = rng.uniform(-1, 1, 6)
        found = robot.f_ext({name: wrench}, frame="local_world_aligned", q=q)
        assert found.shape == (4, len(robot.bodies), 6) and found.dtype == np.float64
        for state, forces in zip(q, found, strict=True):
            turn = frames_at(robot, state)[name].rotation.T
            want = robot.f_ext({name: np.concatenate((turn @ wrench[:3], turn @ wrench[3:]))})
            assert np.abs(forces - want).max() < FEW_ROUNDINGS, name


def test_forces_in_the_axes_of_the_world_broadcast_with_q() -> None:
    robot = every_joint(floating_base=True)
    q, push = robot.random_state(3, 0).q, np.ones((5, 1, 6))
    world = {"frame": "local_world_aligned"}
    grid = robot.f_ext({"universal": push, "follower": np.ones(6)}, q=q, **world)
    assert grid.shape == (5, 3, len(robot.bodies), 6)
    one = robot.f_ext({"universal": push[0, 0], "follower": np.ones(6)}, q=q[1], **world)
    assert one.shape == grid.shape[2:] and np.abs(one - grid[4, 1]).max() < FEW_ROUNDINGS
    single = np.ones(6, np.float32)
    assert robot.f_ext({"planar": single}, q=q.astype(np.float32), **world).dtype == np.float32
    assert robot.f_ext({"planar": single}, q=q, **world).dtype == np.float64
    assert robot.f_ext({}, q=q, **world).shape == (3, len(robot.bodies), 6)
    assert np.array_equal(robot.f_ext({"planar": single}, q=q), robot.f_ext({"planar": single}, frame="local"))
    with pytest.raises(UnsupportedError, match="needs q="):
        robot.f_ext({"planar": single}, **world)
    with pytest.raises(UnsupportedError, match="allowed is 'local', 'local_world_aligned'"):
        robot.f_ext({"planar": single}, frame="world", q=q)
    with pytest.raises(ShapeError, match=r"q has shape \(3, 2\)"):
        robot.f_ext({"planar": single}, q=q[:, :2], **world)
    with pytest.raises(ShapeError, match="the wrenches and q do not broadcast"):
        robot.f_ext({"planar": np.ones((2, 6))}, q=q, **world)
    with pytest.raises(ModelError, match="fixed to the world"):
        every_joint().f_ext({"trunk": single}, q=every_joint().neutral(), **world)


def test_one_number_is_no_wrench_and_no_state() -> None:
    robot = every_joint()
    with pytest.raises(ShapeError, match=r"^the wrench on 'planar' has shape \(\), expected \(\.\.\., 6\)"):
        robot.f_ext({"planar": 1.0})
    with pytest.raises(ShapeError, match=rf"^q has shape \(\), expected \(\.\.\., {robot.nq}\)$"):
        robot.f_ext({"planar": np.ones(6)}, "local_world_aligned", 1.0)


def test_forces_on_two_frames_of_a_body_add_up() -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("tool").body("pin")
    builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 0, 1), rpy=(0.3, 0.1, 0.2))
    builder.joint("t", parent="a", child="tool", type="fixed", xyz=(1, 0, 0), rpy=(0, 0, np.pi / 2))
    robot = builder.joint("p", parent="tool", child="pin", type="fixed", xyz=(0, 0, 2), rpy=(0.5, 0, 0)).build()
    rng = np.random.default_rng(0)
    wrenches = {name: rng.normal(size=(3, 6)) for name in ("a", "tool", "pin")}
    for options in ({}, {"frame": "local_world_aligned", "q": np.array([[0.7], [0.1], [-2.0]])}):
        alone = [robot.f_ext({name: wrench}, **options) for name, wrench in wrenches.items()]  # type: ignore[arg-type]
        np.testing.assert_allclose(robot.f_ext(wrenches, **options), sum(alone), rtol=0, atol=1e-14)  # type: ignore[arg-type]
