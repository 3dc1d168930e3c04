"""Robots that were put together in code and cannot be: refused by name, before anything is computed."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import ModelError
from condyle.model.parts import Mimic
from condyle.model.placement import Placement

R = condyle.chain(3, rng=0)
MIRROR = Placement(np.diag([1.0, 1.0, -1.0]), np.zeros(3))
FAR = Placement(np.eye(3), np.full(3, np.nan))


def with_joint(**fields: Any) -> condyle.Robot:
    return replace(R, joints=(R.joints[0], replace(R.joints[1], **fields), R.joints[2]))


def with_body(**fields: Any) -> condyle.Robot:
    return replace(R, bodies=(R.bodies[0], replace(R.bodies[1], **fields), R.bodies[2]))


def with_universal(**fields: Any) -> condyle.Robot:
    """The last of two joints is a universal one."""
    tree = condyle.random_tree(2, 0, types=("universal",))
    return replace(tree, joints=(tree.joints[0], replace(tree.joints[1], **fields)))


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("type", "wobbly", "joint 'joint1': type: 'wobbly' is none, expected one of revolute"),
        ("placement", np.eye(4), "joint 'joint1': placement: expected a Placement, got ndarray"),
        ("pitch", "steep", "joint 'joint1': pitch: expected a number, got 'steep'"),
        ("armature", 0.1, "joint 'joint1': armature: expected shape (1,), got (); give [0.1]"),
        ("parent", 7, "joint 'joint1': parent 7, expected -1 to 0"),
        ("parent", 1, "joint 'joint1': parent 1, expected -1 to 0"),
        ("parent", -2, "joint 'joint1': parent -2, expected -1 to 0"),
        ("v_index", 0, "joint 'joint1': v_index 0, expected 1"),
        ("nq", 2, "joint 'joint1': nq 2, expected 1"),
        ("pitch", None, "joint 'joint1': pitch: expected a number, got None"),
        ("after", None, "joint 'joint1': after: expected a Placement, got NoneType"),
        ("second_axis", [1.0], "joint 'joint1': second_axis: expected shape (3,), got (1,)"),
        ("mimic", Mimic(3, 1.0, 0.0), "joint 'joint1': mimic of joint 3: both need one number in q"),
        ("mimic", Mimic(-1, 1.0, 0.0), "joint 'joint1': mimic of joint -1: both need one number in q"),
        ("q_index", 0, "joint 'joint1': q_index 0, expected 1"),
        ("nv", 2, "joint 'joint1': nv 2, expected 1"),
        ("mimic", Mimic(9, 1.0, 0.0), "joint 'joint1': mimic of joint 9"),
    ],
)
def test_a_joint_that_fits_nowhere_is_named(field: str, wrong: object, said: str) -> None:
    with pytest.raises(ModelError, match=re.escape(said)):
        with_joint(**{field: wrong})


@pytest.mark.parametrize("wrong", ["heavy", [1.0, 2.0], None])
def test_a_mass_that_is_no_number_is_named(wrong: object) -> None:
    with pytest.raises(ModelError, match=r"^body 'link1': mass: expected a number, got "):
        with_body(mass=wrong)


def test_a_robot_needs_as_many_bodies_as_joints_and_three_numbers_of_gravity() -> None:
    with pytest.raises(ModelError, match="2 joints and 3 bodies"):
        replace(R, joints=R.joints[:-1])
    with pytest.raises(ModelError, match=re.escape("gravity: expected shape (3,), got (2,)")):
        replace(R, gravity=(0.0, 0.0))


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        (with_body(inertia=-np.eye(3)), "link 'link1': inertia not positive definite"),
        (with_body(inertia=np.diag([1.0, -1.0, 1.0]), com=np.zeros(3)), "link 'link1': inertia not positive definite"),
        (with_joint(armature=[-0.1]), "joint 'joint1': armature [-0.1], expected 0 or more"),
        (with_joint(armature=[np.nan]), "joint 'joint1': armature [nan], expected 0 or more"),
        (with_joint(damping=[np.inf]), "joint 'joint1': damping [inf], expected finite numbers"),
        (with_joint(axis=[0.0, 0.0, 0.0]), "joint 'joint1': axis [0 0 0], expected a unit vector"),
        (with_joint(axis=[0.0, 0.0, 2.0]), "joint 'joint1': axis [0 0 2], expected a unit vector"),
        (with_joint(placement=MIRROR), "joint 'joint1': placement: its rotation [[1 0 0] [0 1 0] [0 0 -1]] is not one"),
        (with_joint(after=FAR), "joint 'joint1': after: its rotation"),
        (with_joint(friction=[1e31]), "joint 'joint1': friction [1e+31], expected finite numbers"),
        (with_joint(spring_reference=[np.nan]), "joint 'joint1': spring_reference [nan], expected finite numbers"),
        (with_joint(stiffness=[np.inf]), "joint 'joint1': stiffness [inf], expected finite numbers"),
        (with_joint(stiffness=[-1.0]), "joint 'joint1': stiffness [-1], expected 0 or more"),
        (with_joint(placement=Placement(np.eye(3), np.array([0.0, 1e31, 0.0]))), "placement: its rotation"),
        (with_universal(second_axis=None), "joint 'joint1': second_axis None, expected a unit vector"),
        (with_universal(second_axis=[0.0, 2.0, 0.0]), "joint 'joint1': second_axis [0 2 0], expected a unit vector"),
    ],
)
def test_what_cannot_be_is_refused_by_compile(robot: condyle.Robot, said: str) -> None:
    with pytest.raises(ModelError, match=re.escape(said)):
        robot.compile()


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(ModelError) as caught:
        replace(with_body(inertia=-np.eye(3)), joints=with_joint(armature=[-1.0]).joints).compile()
    assert [finding.element for finding in caught.value.findings] == ["link 'link1'", "joint 'joint1'"]


@pytest.mark.parametrize("name", ["iiwa14", "hyq", "atlas"])
def test_robots_of_files_are_sound(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        condyle.load(name, floating_base=True).compile()


@pytest.mark.parametrize("part", ["axis", "placement", "after"])
def test_vectors_and_turns_are_of_unit_length_to_a_millionth(part: str) -> None:
    """|axis|² and R Rᵀ; what a file's digits leave is less."""

    def scaled(by: float) -> dict[str, Any]:
        joint = R.joints[1]
        if part == "axis":
            return {"axis": joint.axis * np.sqrt(by)}
        place: Placement = getattr(joint, part)
        return {part: Placement(place.rotation * np.sqrt(by), place.translation)}

    for close in (0.9e-6, -0.9e-6):
        with_joint(**scaled(1.0 + close)).compile("numpy")
    for far in (1.1e-6, -1.1e-6):
        with pytest.raises(ModelError, match=f"joint 'joint1': {part}"):
            with_joint(**scaled(1.0 + far)).compile("numpy")


@pytest.mark.parametrize(
    "wrong", [{"mass": -1.0}, {"mass": np.inf}, {"com": np.full(3, np.nan)}, {"inertia": 1e31 * np.eye(3)}]
)
def test_what_never_moves_is_looked_at_too(wrong: dict[str, Any]) -> None:
    base = condyle.Builder().body("base", mass=1.0).build().base
    assert base is not None
    with pytest.raises(ModelError, match=r"body 'base': .*, expected 0 or more, and no number beyond 1e\+30"):
        replace(R, base=replace(base, **wrong))
    with pytest.raises(ModelError, match=r"body 'link1': .*, expected 0 or more, and no number beyond 1e\+30"):
        with_body(**wrong)
    assert with_body(mass=0.0).bodies[1].mass == 0.0


def test_only_joints_of_one_number_follow_and_are_followed() -> None:
    def tree(*types: str) -> condyle.Robot:
        robot = condyle.Builder()
        for k, kind in enumerate(types):
            robot.body(f"b{k}", mass=1.0, inertia=0.1 * np.eye(3))
            robot.joint(f"j{k}", parent=f"b{k - 1}" if k else "world", child=f"b{k}", type=kind)
        return robot.build()

    for types in (("spherical", "revolute"), ("revolute", "spherical"), ("planar", "planar")):
        robot = tree(*types)
        follower = replace(robot.joints[1], mimic=Mimic(0, 1.0, 0.0), nq=0, nv=0, q_index=0, v_index=0)
        with pytest.raises(ModelError, match="joint 'j1': mimic of joint 0: both need one number in q"):
            replace(robot, joints=(robot.joints[0], follower))
