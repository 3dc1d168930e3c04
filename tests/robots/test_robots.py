"""The bundled robots are what their names say, and what our writer writes."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from condyle.readers import BUNDLED, load_robot

SIZES = {"iiwa14": 7, "hyq": 12, "atlas": 30}


def text(name: str) -> str:
    return (resources.files("condyle.robots") / f"{name}.urdf").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BUNDLED)
def test_sizes(name: str) -> None:
    robot = load_robot(name)
    assert (robot.name, robot.nq, robot.nv, len(robot.bodies)) == (name, *(SIZES[name],) * 3)
    assert {joint.type for joint in robot.joints} == {"revolute"}
    assert all(joint.axis.tolist() == [0.0, 0.0, 1.0] for joint in robot.joints)
    floating = load_robot(name, floating_base=True)
    assert (floating.nq, floating.nv) == (SIZES[name] + 7, SIZES[name] + 6)


@pytest.mark.parametrize("name", BUNDLED)
def test_our_writer_wrote_them(name: str) -> None:
    assert load_robot(name, snap=0.0).to_urdf() == text(name)


@pytest.mark.parametrize("name", BUNDLED)
def test_nothing_else_is_in_them(name: str) -> None:
    assert "mesh" not in text(name)
    assert "visual" not in text(name)


def test_known_numbers() -> None:
    iiwa = load_robot("iiwa14")
    assert iiwa.bodies[0].mass == 5.76
    assert [float(joint.damping[0]) for joint in iiwa.joints] == [0.5] * 7
    assert iiwa.joints[1].placement.rotation.tolist() == [[-1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert float(iiwa.joints[0].upper[0]) == 2.96705972839
    hyq = load_robot("hyq", floating_base=True)
    assert hyq.bodies[0].mass == 60.978
    assert hyq.parents == (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11)
    atlas = load_robot("atlas")
    assert atlas.bodies[atlas.body_names.index("utorso")].mass == 84.609


def test_what_is_known_to_be_odd() -> None:
    assert load_robot("iiwa14").check() == load_robot("hyq").check() == ()
    odd = load_robot("atlas").check()
    assert {finding.element for finding in odd} == {f"link {n!r}" for n in ("l_lglut", "utorso", "l_foot", "r_foot")}


def test_limits_bound_random_states() -> None:
    robot = load_robot("hyq")
    q = robot.random_state(100, 0).q
    assert np.all(q >= [float(joint.lower[0]) for joint in robot.joints])
    assert np.all(q <= [float(joint.upper[0]) for joint in robot.joints])
