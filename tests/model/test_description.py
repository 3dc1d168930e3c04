"""What a description says by itself: unit axes to the digit, defaults, and graphs that no robot can be made of."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import ModelError, UnsupportedError
from condyle.model.builder import chain
from condyle.model.description import Description, JointSpec, Link, MimicOf, unit_axis
from condyle.model.parts import Body, Mimic
from condyle.model.robot import Robot

EPS = float(np.finfo(np.float64).eps)


def described(*joints: JointSpec) -> Robot:
    links = tuple(Link(Body(joint.child, 1.0, np.zeros(3), np.eye(3))) for joint in joints)
    return Robot.assemble(Description("r", np.zeros(3), links, joints))


@pytest.mark.parametrize(
    ("axis", "unit"),
    [
        ((0.0, -3.0, 0.0), (0.0, -1.0, 0.0)),
        ((1e-12, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ((1.0, 0.9e-12, 0.0), (1.0, 0.0, 0.0)),
        ((3.0, 0.0, 4.0), (0.6, 0.0, 0.8)),
        ((0.6 * (1.0 + 4 * EPS), 0.8 * (1.0 + 4 * EPS), 0.0), None),
        ((0.6 * (1.0 + 8 * EPS), 0.8 * (1.0 + 8 * EPS), 0.0), (0.6, 0.8, 0.0)),
    ],
)
def test_an_axis_keeps_its_digits_where_it_is_unit(
    axis: tuple[float, float, float], unit: tuple[float, float, float] | None
) -> None:
    """None: as it is. |axis|^2 is off by 2e-15 at most then; beside a coordinate axis by 1e-12 it is that one."""
    assert unit_axis(np.array(axis)).tolist() == list(unit or axis)


def test_an_axis_beside_a_coordinate_axis_is_no_other() -> None:
    found = unit_axis(np.array([1.0, 1.1e-12, 0.0]))
    assert found[1] == pytest.approx(1.1e-12, rel=1e-3)
    for zero in (0.9e-12, 0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="axis is zero"):
            unit_axis(np.array([0.0, zero, 0.0]))


def test_a_follower_follows_one_to_one_and_chains_multiply() -> None:
    joints = (
        JointSpec("a", "revolute", None, "a"),
        JointSpec("b", "revolute", "a", "b", mimic=MimicOf("a")),
        JointSpec("c", "prismatic", "b", "c", mimic=MimicOf("b", 2.0, 0.5)),
        JointSpec("d", "prismatic", "c", "d", mimic=MimicOf("c", -3.0, 0.25)),
    )
    robot = described(*joints)
    assert [joint.mimic for joint in robot.joints[1:]] == [
        Mimic(0, 1.0, 0.0),
        Mimic(0, 2.0, 0.5),
        Mimic(0, -6.0, -3.0 * 0.5 + 0.25),
    ]
    assert robot.snap == chain(1).snap == 1e-9 and robot.gravity.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("master", ["a", "nobody", "b"])
def test_a_follower_without_a_master_of_its_own_is_refused(master: str) -> None:
    """Of itself, of nobody, and in a ring."""
    joints = (
        JointSpec("a", "revolute", None, "a", mimic=MimicOf(master)),
        JointSpec("b", "revolute", "a", "b", mimic=MimicOf("a")),
    )
    with pytest.raises(ModelError, match=f"joint 'a' mimics '{'a' if master == 'b' else master}', which is no moving"):
        described(*joints)


@pytest.mark.parametrize(
    "joints",
    [
        (JointSpec("a", "revolute", None, "a"),),
        (JointSpec("a", "free", None, "a"), JointSpec("b", "free", None, "b")),
        (JointSpec("a", "free", None, "a"), JointSpec("b", "revolute", None, "b")),
    ],
)
def test_only_one_base_can_be_moved(joints: tuple[JointSpec, ...]) -> None:
    robot = described(*joints)
    assert robot.base is None
    with pytest.raises(UnsupportedError, match="reroot needs a root link, welded to the world or on one free joint"):
        robot.reroot("a")
