"""Order, merging, mimic chains."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.builder import Builder, chain
from condyle.model.parts import Mimic

BOX = np.diag([0.1, 0.2, 0.25])


def tree() -> Builder:
    """world - base -(fixed)- plate; base - a - {b - (fixed) tip, c}; plate - d."""
    builder = Builder("tree")
    for i, name in enumerate(("base", "plate", "a", "b", "tip", "c", "d")):
        builder.body(name, mass=1.0 + i, com=(0.1 * i, 0.0, 0.05), inertia=BOX)
    builder.joint("plate_fixed", parent="base", child="plate", type="fixed", xyz=(0.0, 0.0, 1.0))
    builder.joint("jd", parent="plate", child="d", type="prismatic", axis=(1, 0, 0), xyz=(0.5, 0.0, 0.0))
    builder.joint("ja", parent="base", child="a", type="revolute")
    builder.joint("jc", parent="a", child="c", type="continuous", axis=(0, 2, 0))
    builder.joint("jb", parent="a", child="b", type="revolute", axis=(0, 0, -1))
    return builder.joint("tip_fixed", parent="b", child="tip", type="fixed", xyz=(0, 0, 0.3), rpy=(0, np.pi / 2, 0))


def test_order_is_depth_first_and_siblings_as_given() -> None:
    robot = tree().build()
    assert robot.joint_names == ("jd", "ja", "jc", "jb")
    assert robot.body_names == ("d", "a", "c", "b")
    assert robot.parents == (-1, -1, 1, 1)
    assert [joint.q_index for joint in robot.joints] == [0, 1, 2, 3]
    assert (robot.nq, robot.nv) == (4, 4)


def test_fixed_links_are_merged_and_stay_frames() -> None:
    robot = tree().build()
    assert set(robot.frames) == {"base", "plate", "a", "b", "tip", "c", "d"}
    assert robot.frames["tip"].body == 3
    assert robot.frames["tip"].placement.translation.tolist() == [0.0, 0.0, 0.3]
    assert robot.frames["plate"].body == -1
    assert robot.joints[0].placement.translation.tolist() == [0.5, 0.0, 1.0]
    assert robot.base is not None
    assert robot.base.mass == 3.0
    body = robot.bodies[3]
    assert body.mass == 9.0
    # b (4 kg) at (0.3, 0, 0.05); tip (5 kg), turned a quarter about y, at (0.05, 0, 0.3 - 0.4)
    assert body.com == pytest.approx(np.array([4 * 0.3 + 5 * 0.05, 0.0, 4 * 0.05 + 5 * -0.1]) / 9.0)
    d = np.array([0.25, 0.0, 0.15])
    between = 4.0 * 5.0 / 9.0 * (d @ d * np.eye(3) - np.outer(d, d))
    assert body.inertia == pytest.approx(BOX + np.diag([0.25, 0.2, 0.1]) + between)


def test_a_lone_link_keeps_its_digits() -> None:
    robot = tree().build()
    assert np.array_equal(robot.bodies[2].inertia, BOX)
    assert robot.bodies[2].com.tolist() == [0.5, 0.0, 0.05]


def test_a_floating_base_carries_the_root_link() -> None:
    robot = tree().build(floating_base=True)
    assert robot.joint_names == ("root_joint", "jd", "ja", "jc", "jb")
    assert robot.body_names[0] == "base"
    assert robot.bodies[0].mass == 3.0
    assert robot.parents == (-1, 0, 0, 2, 2)
    assert (robot.nq, robot.nv) == (11, 10)
    assert robot.base is None


def mimics() -> Builder:
    builder = Builder()
    for name in "abcd":
        builder.body(name, mass=1.0, inertia=BOX)
    builder.joint("ja", parent="world", child="a", type="revolute", mimic=("jb", 2.0, 0.5))
    builder.joint("jb", parent="a", child="b", type="prismatic", mimic=("jc", -3.0, 0.1))
    builder.joint("jc", parent="b", child="c", type="revolute")
    return builder.joint("jd", parent="c", child="d", type="spherical")


def test_mimic_chains_end_at_their_master() -> None:
    robot = mimics().build()
    assert robot.joints[0].mimic == Mimic(2, -6.0, 0.7)
    assert robot.joints[1].mimic == Mimic(2, -3.0, 0.1)
    assert [(j.nq, j.nv, j.q_index, j.v_index) for j in robot.joints] == [(0, 0, 0, 0)] * 2 + [
        (1, 1, 0, 0),
        (4, 3, 1, 1),
    ]
    assert (robot.nq, robot.nv, len(robot.bodies)) == (5, 4, 4)
    free = mimics().build(mimic="independent")
    assert (free.nq, free.nv) == (7, 6)
    assert all(joint.mimic is None for joint in free.joints)


def test_two_thousand_links() -> None:
    robot = chain(2_000)
    assert robot.nv == 2_000
    assert robot.parents[-1] == 1_998
