"""Lock and reroot: frames stand where they stood, masses stay, and what cannot be says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from condyle import Actuator, Builder, Drive
from condyle.errors import ModelError, UnsupportedError
from condyle.model.builder import chain
from condyle.model.change import assemble, joint_of
from condyle.model.description import JointSpec, MimicOf, Numbers, describe
from condyle.model.parts import Mimic
from condyle.model.placement import IDENTITY
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


def test_values_agree_and_quaternions_are_unit_to_a_billionth() -> None:
    robot = every_joint()
    robot.lock({"revolute": 0.4, "follower": -0.4 + 0.9e-9})
    robot.lock({"spherical": (0.0, 0.0, 0.0, 1.0 + 0.9e-9)})
    with pytest.raises(ModelError, match=r"puts it at -0.4, not -0.39999999"):
        robot.lock({"revolute": 0.4, "follower": -0.4 + 1.5e-9})
    with pytest.raises(ModelError, match="the quaternion is not unit"):
        robot.lock({"spherical": (0.0, 0.0, 0.0, 1.0 + 1.5e-9)})


def test_a_base_with_armature_stays_where_it_is() -> None:
    robot = every_joint(floating_base=True)
    turning = replace(robot, joints=(replace(robot.joints[0], armature=[0, 0, 0, 0, 0, 0.5]), *robot.joints[1:]))
    assert turning.reroot("trunk").fingerprint == turning.fingerprint
    with pytest.raises(UnsupportedError, match="joint 'root_joint' has armature, which resists the motion"):
        turning.reroot("revolute")


def test_names_of_a_series_elastic_joint_are_its_own() -> None:
    builder = Builder().body("a", mass=1.0, inertia=0.1 * np.eye(3)).body("j_motor").body("j_spring")
    builder.joint("j", parent="world", child="a", type="revolute", armature=0.1)
    builder.joint("m", parent="a", child="j_motor", type="fixed").joint("s", parent="a", child="j_spring", type="fixed")
    elastic = builder.build().with_elastic({"j": Drive(stiffness=1.0)})
    assert elastic.joint_names == ("j", "j_spring_") and elastic.body_names == ("j_motor_", "a")


@pytest.mark.parametrize(
    "drive",
    [
        {"gear": -1.0, "spring_reference": -2.0, "effort": 0.0, "velocity": np.inf, "stiffness": 0.0},
        {"gear": (1e30, 1.0), "rotor_inertia": 1e30, "effort": 1e30},
    ],
)
def test_numbers_that_a_drive_may_have(drive: dict[str, Any]) -> None:
    made = Drive(**drive)
    assert all(np.array_equal(getattr(made, name), value) for name, value in drive.items())


@pytest.mark.parametrize(
    ("drive", "said"),
    [
        ({"gear": 0.0}, "gear=0.0, expected any number but 0, and none beyond 1e.30"),
        ({"gear": np.inf}, "gear=inf, expected any number but 0"),
        ({"spring_reference": np.inf}, "spring_reference=inf, expected a number, and none"),
        ({"effort": -np.inf}, "effort=-inf, expected 0 or more"),
        ({"effort": -1.0}, "effort=-1.0, expected 0 or more"),
        ({"velocity": 1e31}, "velocity=1e.31, expected 0 or more, and none beyond"),
        ({"velocity": np.nan}, "velocity=nan, expected 0 or more"),
        ({"rotor_inertia": -1.0}, "rotor_inertia=-1.0, expected 0 or more"),
        ({"damping": [[1.0]]}, "damping=.*, expected 0 or more"),
        ({"stiffness": "soft"}, "stiffness='soft', expected 0 or more"),
    ],
)
def test_numbers_that_a_drive_may_not_have(drive: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=f"^error: Drive: {said}"):
        Drive(**drive)


def test_a_drive_has_no_limits_that_it_does_not_say() -> None:
    numbers = Drive(gear=(2.0, -3.0), rotor_inertia=0.5).numbers(2)
    assert {name: x.tolist() for name, x in numbers.items()} == {
        "damping": [0.0, 0.0],
        "friction": [0.0, 0.0],
        "stiffness": [0.0, 0.0],
        "spring_reference": [0.0, 0.0],
        "effort": [np.inf, np.inf],
        "velocity": [np.inf, np.inf],
        "armature": [2.0, 4.5],
    }
    with pytest.raises(ModelError, match="gear: 2 numbers, expected 1 or 3"):
        Drive(gear=(2.0, -3.0)).numbers(3)


@pytest.mark.parametrize("actuators", [3, ["motor"], (None,)])
def test_what_is_no_list_of_actuators(actuators: Any) -> None:
    with pytest.raises(ModelError, match=r"actuators=.*: give condyle.Actuator each"):
        every_joint().with_actuators(actuators)


def test_a_fixed_joint_adds_nothing_to_the_length_of_its_actuator() -> None:
    builder = Builder().body("a", mass=1.0, inertia=0.1 * np.eye(3)).body("b")
    builder.joint("j", parent="world", child="a", type="revolute").joint("f", parent="a", child="b", type="fixed")
    robot = builder.actuator(Actuator("servo", {"j": 2.0, "f": 3.0}, "position", 5.0)).build()
    assert robot.actuators == (Actuator("servo", {"j": 2.0}, "position", 5.0),)


def test_a_follower_of_what_does_not_move_is_no_robot() -> None:
    """Where a description is put together by hand: `finish` looks before."""
    description = describe(chain(2, 0))
    first, second = description.joints[-2:]
    for master in ("nobody", second.name):
        follower = replace(second, mimic=MimicOf(master))
        with pytest.raises(ModelError, match=rf"^joint '{second.name}' mimics '{master}', which is no moving joint"):
            assemble(replace(description, joints=(*description.joints[:-2], first, follower)))
    found = assemble(
        replace(description, joints=(*description.joints[:-1], replace(second, mimic=MimicOf(first.name))))
    )
    assert found.joints[1].mimic == Mimic(0, 1.0, 0.0) and (found.nq, found.nv) == (1, 1)


def test_a_joint_of_a_description_has_the_numbers_of_its_type() -> None:
    """What is not said is no limit, and no force; one number stands for all freedoms."""
    spec = JointSpec(
        "j", "free", None, "a", axis=np.array((1.0, 0, 0)), pitch=0.5, numbers=Numbers(armature=np.ones(1))
    )
    joint = joint_of(spec, 3, IDENTITY, 5, 4)
    assert (joint.parent, joint.q_index, joint.v_index, joint.nq, joint.nv, joint.pitch) == (3, 5, 4, 7, 6, 0.0)
    assert joint.axis.tolist() == [0.0, 0.0, 1.0] and joint.second_axis is None and joint.mimic is None
    assert (joint.lower.tolist(), joint.upper.tolist()) == ([-np.inf] * 7, [np.inf] * 7)
    assert (joint.effort.tolist(), joint.velocity.tolist()) == ([np.inf] * 6, [np.inf] * 6)
    for name in ("damping", "friction", "stiffness", "spring_reference"):
        assert getattr(joint, name).tolist() == [0.0] * 6
    assert joint.armature.tolist() == [1.0] * 6
    follower = joint_of(replace(spec, type="helical", mimic=MimicOf("k")), -1, IDENTITY, 5, 4)
    assert (follower.nq, follower.nv, follower.pitch, follower.axis.tolist()) == (0, 0, 0.5, [1.0, 0.0, 0.0])
    universal = JointSpec(
        "u", "universal", None, "a", axis=np.array((0.0, 2.0, 0.0)), second_axis=np.array((3.0, 0, 0))
    )
    both = joint_of(universal, -1, IDENTITY, 0, 0)
    assert both.second_axis is not None
    assert (both.axis.tolist(), both.second_axis.tolist()) == ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
