"""Inertial parameters, robots with other ones, payloads."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import ModelError, ModelWarning, Robot
from condyle.model.builder import random_body
from condyle.model.physical import contact_numbers, varied
from condyle.model.placement import Placement
from tests.accuracies import FEW_ROUNDINGS, ROUNDING
from tests.laws.robots import NAMES, changed, relative, robot_named, states

BOX = np.diag([0.1, 0.2, 0.25])
ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="one">
    <inertial><origin xyz="0.1 0.02 -0.1" rpy="0.3 0 0"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0.02"/></inertial>
  </link>
  <link name="two">
    <inertial><origin xyz="0 0.2 0"/><mass value="1"/>
      <inertia ixx="0.02" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="tool"/>
  <joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.1 0 0.4" rpy="0.2 0.4 -0.1"/><axis xyz="0 1 0"/></joint>
  <joint name="c" type="fixed"><parent link="two"/><child link="tool"/><origin xyz="0 0.3 0.1" rpy="1 0.5 2"/></joint>
  {more}
</robot>
"""
PAYLOAD = """
  <link name="payload">
    <inertial><origin xyz="0.05 -0.02 0.03"/><mass value="0.7"/>
      <inertia ixx="0.003" iyy="0.004" izz="0.005" ixy="0.0002" ixz="-0.0001" iyz="0.0003"/></inertial>
  </link>
  <joint name="d" type="fixed"><parent link="tool"/><child link="payload"/></joint>
"""
INERTIA = ((0.003, 0.0002, -0.0001), (0.0002, 0.004, 0.0003), (-0.0001, 0.0003, 0.005))


@pytest.fixture
def arm(tmp_path: Path) -> Robot:
    return loaded(tmp_path, "")


def loaded(folder: Path, more: str) -> Robot:
    path = folder / "arm.urdf"
    path.write_text(ARM.format(more=more))
    return condyle.load(path)


def test_parameters_are_about_the_frame_of_the_body(arm: Robot) -> None:
    body, found = arm.bodies[0], arm.inertias[0]
    assert arm.inertias.shape == (2, 10)
    assert found[0] == body.mass and np.array_equal(found[1:4], body.mass * body.com)
    about = body.inertia + body.mass * (body.com @ body.com * np.eye(3) - np.outer(body.com, body.com))
    entries = [about[0, 0], about[0, 1], about[1, 1], about[0, 2], about[1, 2], about[2, 2]]
    assert np.allclose(found[4:], entries, rtol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_own_parameters_make_the_same_robot(name: str) -> None:
    robot = robot_named(name)
    again = robot.with_inertias(robot.inertias)
    assert type(again) is type(robot) and again.fingerprint == robot.fingerprint
    assert list(again.frames) == list(robot.frames) and again.body_names == robot.body_names


@pytest.mark.parametrize("name", ["zoo", "hyq_floating"])
def test_other_parameters_are_read_back(name: str) -> None:
    robot, rng = robot_named(name), np.random.default_rng(5)
    bodies = tuple(random_body(body.name, rng) for body in robot.bodies)
    other = Robot.from_data(replace(robot, bodies=bodies))
    made = robot.with_inertias(other.inertias.tolist())
    assert np.abs(made.inertias - other.inertias).max() < FEW_ROUNDINGS
    for one, two in zip(made.bodies, bodies, strict=True):
        assert np.abs(one.com - two.com).max() < FEW_ROUNDINGS and np.abs(one.inertia - two.inertia).max() < 1e-13


def test_only_the_bodies_that_change_are_new(arm: Robot) -> None:
    pi = arm.inertias
    pi[1] *= 1.5
    other = arm.with_inertias(pi)
    assert other.bodies[0] is arm.bodies[0] and other.bodies[1].mass == 1.5 and other.fingerprint != arm.fingerprint
    assert other.compile(target="numpy").mass_matrix(np.zeros(2))[1, 1] == pytest.approx(
        1.5 * arm.compile(target="numpy").mass_matrix(np.zeros(2))[1, 1]
    )


@pytest.mark.parametrize(
    ("entry", "value", "text"),
    [
        (0, -1.0, "error: link 'two': mass -1 kg"),
        (0, 0.0, "error: link 'two': mass 0 kg with a first moment of mass"),
        (0, np.nan, "inertias is not finite"),
        (4, 1e31, "inertias is not finite, or beyond 1e+30"),
        (4, -3.0, "error: link 'two': inertia not positive definite"),
    ],
)
def test_bodies_that_cannot_be_are_refused(arm: Robot, entry: int, value: float, text: str) -> None:
    pi = arm.inertias
    pi[1, entry] = value
    with pytest.raises(ModelError, match=re.escape(text)):
        arm.with_inertias(pi)


@pytest.mark.parametrize("wrong", [np.zeros((3, 10)), np.zeros(10), 1.0, "x", [[1.0], [1.0, 2.0]], None, {"one": 1}])
def test_parameters_of_another_shape_are_refused(arm: Robot, wrong: object) -> None:
    with pytest.raises(ModelError, match="inertias"):
        arm.with_inertias(wrong)  # type: ignore[arg-type]


def test_what_is_odd_is_a_warning_once(arm: Robot) -> None:
    """As loading does; what was odd before is not said again."""
    pi = arm.inertias
    pi[1] = [1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.3]
    with pytest.warns(ModelWarning, match="triangle inequality") as told:
        odd = arm.with_inertias(pi)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd.with_inertias(odd.inertias)
        odd.attach("one", 0.1)
    pi[1] = 0.0
    with pytest.warns(ModelWarning, match="joint 'b'.* moves no mass"):
        arm.with_inertias(pi)


@pytest.mark.parametrize("frame", ["tool", "two"])
def test_a_payload_is_a_fixed_link_of_the_file(arm: Robot, frame: str, tmp_path: Path) -> None:
    want = loaded(tmp_path, PAYLOAD.replace('link="tool"', f'link="{frame}"'))
    found = arm.attach(frame, 0.7, (0.05, -0.02, 0.03), INERTIA)
    assert np.abs(found.inertias - want.inertias).max() < FEW_ROUNDINGS
    assert type(found) is type(arm) and found.mass == pytest.approx(arm.mass + 0.7)
    assert list(found.frames) == list(arm.frames) and found.bodies[0] is arm.bodies[0]


def test_a_payload_presses_like_a_force() -> None:
    """At rest its weight is one on the frame, in the world's axes."""
    robot = changed(condyle.load("hyq", floating_base=True), gravity=(0.3, -0.2, -9.0))
    frame, com = "lf_lowerleg", np.array([0.1, -0.05, 0.2])
    q = states(robot, 3).q
    heavy, dyn = robot.attach(frame, 2.0, com, 0.01 * np.eye(3)), robot.compile(target="numpy", frames=(frame,))
    weight = np.broadcast_to(2.0 * robot.gravity, (3, 3))
    arm = (dyn.frame_placements(q).rotation[:, 0] @ com[:, None])[..., 0]
    wrench = np.concatenate((weight, np.cross(arm, weight)), axis=-1)
    forces = robot.f_ext({frame: wrench}, frame="local_world_aligned", q=q)
    rest = np.zeros((3, robot.nv))
    want = dyn.inverse_dynamics(q, rest, rest, f_ext=forces)
    assert relative(heavy.compile(target="numpy").generalized_gravity(q), want) < ROUNDING


def test_a_point_mass_is_a_payload_too(arm: Robot) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = arm.attach("tool", 0.5)
    place: Placement = arm.frames["tool"].placement
    assert found.inertias[1, 0] == pytest.approx(1.5)
    assert found.inertias[1, 1:4] == pytest.approx(arm.inertias[1, 1:4] + 0.5 * place.translation)
    nothing = arm.attach("tool", 0.0)
    assert nothing.fingerprint == arm.fingerprint


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("base", 1.0), "frame 'base' is fixed to the world: a payload there is never moved"),
        (("tol", 1.0), "there is no frame 'tol'; did you mean 'tool'"),
        (("tool", -1.0), "link 'payload on tool': mass -1 kg"),
        (("tool", "heavy"), "attach: mass"),
        (("tool", np.inf), "attach: mass is not finite"),
        (("tool", 1.0, (0, 0)), "attach: com has shape (2,), expected (3,)"),
        (("tool", 1.0, (0, 0, 0), (0.1, 0.1, 0.1)), "attach: inertia has shape (3,), expected (3, 3)"),
        (("tool", 1.0, (0, 0, 0), ((1, 1, 0), (0, 1, 0), (0, 0, 1))), "not symmetric"),
        (("tool", 1.0, (0, 0, 0), -BOX), "inertia not positive definite"),
    ],
)
def test_payloads_that_cannot_be_are_refused(arm: Robot, given: tuple[object, ...], text: str) -> None:
    with pytest.raises(ModelError, match=re.escape(text)):
        arm.attach(*given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("off", "fine"), [(0.9e-9, True), (1.5e-9, False)])
def test_the_inertia_of_a_payload_is_symmetric_to_a_billionth(arm: Robot, off: float, fine: bool) -> None:
    inertia = np.diag([1.0, 2.0, 2.0])
    inertia[1, 0] = 2.0 * off
    if fine:
        assert arm.attach("two", 1e3, (0, 0, 0), inertia).mass == 1002.0 + 1.0
    else:
        with pytest.raises(ModelError, match="the payload on 'two': inertia is not symmetric"):
            arm.attach("two", 1e3, (0, 0, 0), inertia)


def test_a_payload_without_numbers_is_a_point_at_its_frame(arm: Robot) -> None:
    told = arm.attach("two", 0.5)
    assert np.array_equal(told.inertias, arm.attach("two", 0.5, (0, 0, 0), np.zeros((3, 3))).inertias)
    assert told.inertias[1, 1:].tolist() == pytest.approx(arm.inertias[1, 1:].tolist(), abs=1e-15)


def test_a_body_without_mass_may_have_an_inertia(arm: Robot) -> None:
    pi = arm.inertias
    pi[1] = [0.0, 0, 0, 0, 0.1, 0.0, 0.2, 0.0, 0.0, 0.25]
    with pytest.warns(ModelWarning, match="link 'two': an inertia but no mass"):
        light = arm.with_inertias(pi)
    assert np.array_equal(light.inertias[1], pi[1]) and not light.bodies[1].com.any()
    assert light.bodies[1].inertia.tolist() == np.diag([0.1, 0.2, 0.25]).tolist()


def test_what_contacts_take_is_drawn_from_these_ranges() -> None:
    n, count = 3000, 3
    found = contact_numbers(count, n, np.random.default_rng(0))
    assert {name: x.shape for name, x in found.items()} == {
        "active": (n, count),
        "gains": (n, count, 2),
        "anchors": (n, count, 12),
        "rising": (n, count),
        "restitution": (n, count),
    }
    assert (found["active"][:, 0] == 1.0).all() and set(np.unique(found["active"][:, 1])) == {0.0, 1.0}
    assert set(np.unique(found["rising"])) == {0.0, 1.0}
    places, turns = found["anchors"][..., :3], found["anchors"][..., 3:].reshape(-1, 3, 3)
    between(places, -0.3, 0.3)
    between(found["gains"], 0.0, 2.0)
    between(found["restitution"], 0.0, 0.9)
    np.testing.assert_allclose(turns @ np.swapaxes(turns, 1, 2), np.broadcast_to(np.eye(3), turns.shape), atol=1e-14)
    between(-np.arcsin(turns[:, 2, 0]), -0.3, 0.3)


def between(x: np.ndarray, low: float, high: float) -> None:
    """All of the range is taken, to a hundredth, and no more."""
    slack = 0.01 * (high - low)
    assert low <= x.min() < low + slack and high - slack < x.max() <= high


def test_robots_like_one_are_drawn_from_these_ranges() -> None:
    """A body without mass has that of a ball of 1 kg instead."""
    robot = condyle.chain(3, 0).with_actuators([condyle.Actuator("m", {"joint1": 1.0}, "position", 2.0, (1, -2, -3))])
    bodies = (*robot.bodies[:2], replace(robot.bodies[2], mass=0.0, inertia=np.zeros((3, 3))))
    light = replace(robot, bodies=bodies)
    found = varied(light, 3000, np.random.default_rng(0))
    between(found["inertias"][:, :2] / light.inertias[:2], 0.5, 1.5)
    ball = found["inertias"][:, 2]
    between(ball[:, 0], 0.5, 1.5)
    np.testing.assert_allclose(ball, ball[:, :1] * [1, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1], rtol=1e-15)
    between(found["gravity"] - light.gravity, -1.0, 1.0)
    between(found["armature"] - light.armature, 0.0, 0.1)
    for name in ("damping", "dry_friction", "stiffness"):
        between(found[name], 0.0, 1.0)
    between(found["actuator_gains"] / [2.0, 1.0, -2.0, -3.0], 0.9, 1.1)
    assert found["actuator_gains"].shape == (3000, 1, 4)
