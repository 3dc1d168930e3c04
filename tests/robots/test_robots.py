"""The bundled robots are what their names say, and what our writer writes."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from condyle.readers import BUNDLED, load_robot
from condyle.specification.integrators import PAPERS

SIZES = {
    "iiwa14": 7,
    "hyq": 12,
    "atlas": 30,
    "panda": 8,
    "ur5e": 6,
    "anymal_kinova": 18,
    "talos": 32,
    "allegro": 16,
    "go2": 12,
    "g1": 29,
}
TIPS = {
    "hyq": ("lf_foot", "lh_foot", "rf_foot", "rh_foot"),
    "panda": ("panda_hand", "panda_hand_tcp", "panda_leftfinger", "panda_rightfinger"),
    "ur5e": ("ft_frame", "flange", "tool0"),
    "anymal_kinova": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT", "j2s6s200_end_effector"),
    "talos": ("left_sole_link", "right_sole_link", "wrist_left_ft_tool_link", "gripper_right_base_link"),
    "allegro": ("link_3.0_tip", "link_7.0_tip", "link_11.0_tip", "link_15.0_tip"),
    "go2": ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    "g1": tuple(f"{side}_foot{end}" for side in ("left", "right") for end in ("", "_fl", "_fr", "_rl", "_rr")),
}


def text(name: str) -> str:
    return (resources.files("condyle.robots") / f"{name}.urdf").read_text(encoding="utf-8")


@pytest.mark.smoke
@pytest.mark.parametrize("name", BUNDLED)
def test_sizes(name: str) -> None:
    robot = load_robot(name)
    assert (robot.name, robot.nq, robot.nv) == (name, SIZES[name], SIZES[name])
    floating = load_robot(name, floating_base=True)
    assert (floating.nq, floating.nv) == (SIZES[name] + 7, SIZES[name] + 6)


@pytest.mark.parametrize("name", PAPERS)
def test_joints_of_the_papers_robots(name: str) -> None:
    robot = load_robot(name)
    assert len(robot.bodies) == SIZES[name]
    assert {joint.type for joint in robot.joints} == {"revolute"}
    assert all(joint.axis.tolist() == [0.0, 0.0, 1.0] for joint in robot.joints)


@pytest.mark.parametrize("name", BUNDLED)
def test_our_writer_wrote_them(name: str) -> None:
    first, source, rest = text(name).split("\n", 2)
    assert source.startswith("<!-- Written by Condyle from ")
    assert source.endswith(": changed, see LICENSES.md -->")
    assert load_robot(name, snap=0.0).to_urdf() == f"{first}\n{rest}"


@pytest.mark.parametrize("name", BUNDLED)
def test_nothing_else_is_in_them(name: str) -> None:
    assert "mesh" not in text(name)
    assert "visual" not in text(name)


@pytest.mark.parametrize("name", BUNDLED)
def test_sources_and_licences_are_named(name: str) -> None:
    page = (resources.files("condyle.robots") / "LICENSES.md").read_text(encoding="utf-8")
    assert f"| `{name}.urdf` | {SIZES[name]} |" in page


@pytest.mark.parametrize("name", TIPS)
def test_feet_tools_and_hands_are_frames(name: str) -> None:
    frames = load_robot(name).frames
    assert set(TIPS[name]) <= set(frames)
    bodies = [frames[tip].body for tip in TIPS[name]]
    assert all(body >= 0 for body in bodies)
    if name in ("hyq", "allegro", "go2"):  # a leg or a finger each
        assert len(set(bodies)) == len(bodies)


def test_known_numbers() -> None:
    iiwa = load_robot("iiwa14")
    assert iiwa.bodies[0].mass == 5.76
    assert [float(joint.damping[0]) for joint in iiwa.joints] == [0.5] * 7
    assert iiwa.joints[1].placement.rotation.tolist() == [[-1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert float(iiwa.joints[0].upper[0]) == 2.96705972839
    hyq = load_robot("hyq", floating_base=True)
    assert hyq.bodies[0].mass == 60.978
    assert hyq.parents == (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11)
    assert hyq.frames["rh_foot"].placement.translation.tolist() == [0.346, 0.0, 0.0]
    atlas = load_robot("atlas")
    assert atlas.bodies[atlas.body_names.index("utorso")].mass == 84.609


def test_the_fingers_of_panda_move_together() -> None:
    fingers = load_robot("panda").joints[-2:]
    assert [joint.type for joint in fingers] == ["prismatic", "prismatic"]
    assert fingers[0].mimic is None
    assert fingers[1].mimic is not None
    assert load_robot("panda", mimic="independent").nv == 9


def test_what_is_known_to_be_odd() -> None:
    assert all(load_robot(name).check() == () for name in BUNDLED if name != "atlas")
    odd = load_robot("atlas").check()
    assert {finding.element for finding in odd} == {f"link {n!r}" for n in ("l_lglut", "utorso", "l_foot", "r_foot")}


def test_limits_bound_random_states() -> None:
    robot = load_robot("hyq")
    q = robot.random_state(100, 0).q
    assert np.all(q >= [float(joint.lower[0]) for joint in robot.joints])
    assert np.all(q <= [float(joint.upper[0]) for joint in robot.joints])
