"""Lock and reroot: frames stand where they stood, masses stay, and what cannot be says so."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import ModelError, UnsupportedError
from condyle.model.robot import Robot
from tests.model.kinematics import centre_of_mass, frames_at, joint_values, matrix, relative
from tests.zoo import every_joint

LOCKED = [("revolute", "spherical"), ("universal", "planar", "prismatic"), ("helical", "cylindrical"), ("free",)]


def close(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return all(np.allclose(a[name], b[name], rtol=0.0, atol=1e-13) for name in a)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("names", LOCKED)
def test_locked_joints_stay_where_they_are(names: tuple[str, ...], floating: bool) -> None:
    robot = every_joint(floating)
    q = robot.random_state(1, 0).q[0]
    own = dict(zip(robot.joint_names, joint_values(robot, q), strict=True))
    locked = robot.lock({name: own[name] if len(own[name]) > 1 else float(own[name][0]) for name in names})
    gone = {*names, "follower"} if "revolute" in names else set(names)
    assert set(locked.joint_names) == set(robot.joint_names) - gone
    rest = np.concatenate([own[joint.name] for joint in locked.joints if joint.mimic is None])
    assert close(frames_as_matrices(robot, q), frames_as_matrices(locked, rest))
    assert centre_of_mass(locked, rest)[0] == pytest.approx(centre_of_mass(robot, q)[0])
    assert centre_of_mass(locked, rest)[1] == pytest.approx(centre_of_mass(robot, q)[1], abs=1e-13)


def frames_as_matrices(robot: Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    return {name: matrix(place) for name, place in frames_at(robot, q).items()}


def test_everything_can_be_locked() -> None:
    robot = every_joint(floating_base=True)
    values = {joint.name: joint.kind.neutral() for joint in robot.joints if joint.mimic is None}
    still = robot.lock(values)
    assert (still.nq, still.joints, still.bodies) == (0, (), ())
    assert set(still.frames) == set(robot.frames)
    assert still.neutral().shape == (0,)


def test_a_mimic_may_be_named_if_its_value_agrees() -> None:
    robot = every_joint()
    robot.lock({"revolute": 0.4, "follower": -0.4})
    with pytest.raises(ModelError, match=r"puts it at -0\.4, not 0\.4"):
        robot.lock({"revolute": 0.4, "follower": 0.4})
    with pytest.raises(ModelError, match="lock 'revolute' instead"):
        robot.lock({"follower": 0.4})


def test_every_mistake_in_one_message() -> None:
    with pytest.raises(ModelError) as caught:
        every_joint().lock({"revolut": 0.0, "planar": 1.0, "prismatic": np.nan, "spherical": (0, 0, 0, 2)})
    for part in ("did you mean 'revolute'", "give 3 finite numbers", "give a finite number", "not unit"):
        assert part in str(caught.value)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("link", ["trunk", "revolute", "prismatic", "follower", "cylindrical"])
def test_rerooting_moves_nothing(link: str, floating: bool) -> None:
    robot = every_joint(floating)
    q = robot.random_state(1, 1).q[0]
    turned = robot.reroot(link)
    own = dict(zip(robot.joint_names, joint_values(robot, q), strict=True))
    rest = np.concatenate([own[joint.name] for joint in turned.joints if joint.mimic is None])
    assert set(turned.joint_names) == set(robot.joint_names)
    assert close(relative(frames_at(robot, q), link), relative(frames_at(turned, rest), link))
    assert np.array_equal(matrix(frames_at(turned, turned.neutral())[link]), np.eye(4))
    assert centre_of_mass(turned, rest)[0] == pytest.approx(centre_of_mass(robot, q)[0])


def test_rerooting_there_and_back() -> None:
    robot = every_joint()
    back = robot.reroot("cylindrical").reroot("trunk")
    q = robot.random_state(1, 2).q[0]
    there = back.permutation([joint.name for joint in robot.joints if joint.mimic is None])
    assert close(frames_as_matrices(robot, q), frames_as_matrices(back, q[there.q]))


@pytest.mark.parametrize("link", ["spherical", "planar", "universal", "translation", "free"])
def test_joints_without_an_inverse_are_refused_by_name(link: str) -> None:
    with pytest.raises(UnsupportedError, match="seen from its child"):
        every_joint().reroot(link)


def test_unknown_links() -> None:
    with pytest.raises(ModelError, match="did you mean 'trunk'"):
        every_joint().reroot("trunc")
