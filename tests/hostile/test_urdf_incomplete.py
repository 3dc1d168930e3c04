"""URDF files that say too little, or something twice: taken as other readers take them, with a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.hostile.urdf_text import FOLLOWER, INERTIA, LIMIT, MASS, arm, inertial, refused, warned


@pytest.mark.parametrize("inside", ["<inertial/>", inertial(""), '<inertial><origin xyz="1 2 3"/></inertial>'])
def test_an_inertial_without_a_mass_is_none(inside: str, tmp_path: Path) -> None:
    """As in Pinocchio, which drops all of it."""
    robot = warned(tmp_path, "link 'arm': <inertial> has no <mass>: it is ignored", arm(inside) + FOLLOWER.format("j"))
    assert robot.bodies[0].mass == 0.0 and not robot.bodies[0].inertia.any()


def test_an_inertial_without_an_inertia_is_a_point_mass(tmp_path: Path) -> None:
    inside = '<inertial><origin xyz="1 2 3"/><mass value="2"/></inertial>'
    robot = warned(tmp_path, "link 'arm': a mass but no inertia: a point mass", arm(inside))
    assert robot.bodies[0].mass == 2.0 and robot.bodies[0].com.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "inside",
    [inertial('<mass value="one"/>'), inertial(inertia=INERTIA.replace("0.25", "one")), inertial("<mass/>")],
)
def test_what_cannot_be_read_is_all_that_is_said(inside: str, tmp_path: Path) -> None:
    assert len(refused(tmp_path, "link 'arm': <", arm(inside)).findings) == 1


def test_an_unknown_attribute_of_an_origin(tmp_path: Path) -> None:
    """It turns nothing in Pinocchio either; strict refuses it, for a rotation was meant."""
    body = arm(more='<origin xyz="1 2 3" rrpy="0 0 1"/>' + LIMIT)
    robot = warned(tmp_path, "physics: .*joint 'j': <origin> rrpy= is unknown and ignored; did you mean 'rpy'", body)
    assert robot.joints[0].placement.translation.tolist() == [1.0, 2.0, 3.0]
    assert (robot.joints[0].placement.rotation == np.eye(3)).all()
    refused(tmp_path, "rrpy= is unknown", body, strict=True)


def test_of_limits_that_differ_the_first_counts(tmp_path: Path) -> None:
    """As in Pinocchio; what changes a mass or a placement is refused."""
    body = arm(more=LIMIT + LIMIT.replace("10", "20") + '<dynamics damping="1"/><dynamics damping="2"/>')
    robot = warned(tmp_path, "2 <dynamics> that differ: the first counts(.|\n)*2 <limit> that differ", body)
    assert robot.joints[0].effort.tolist() == [10.0] and robot.joints[0].damping.tolist() == [1.0]
    refused(tmp_path, "2 <origin> that differ", arm(more=LIMIT + '<origin xyz="1 2 3"/><origin xyz="1 2 4"/>'))
    refused(tmp_path, "2 <mass> that differ", arm(inertial(MASS + '<mass value="2"/>')))
