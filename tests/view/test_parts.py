"""What is drawn of a robot: equivalent ellipsoids, links, axes, frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import ModelError
from condyle.model.parts import Body, Frame
from condyle.model.placement import Placement
from condyle.readers.shapes import MeshFile, Triangles, Visual
from condyle.view.robot_parts import WORLD, Point, Range, ellipsoid, parts_of, shells
from tests.view.scenes import scene

MASS, RADII = 2.5, np.array([0.1, 0.2, 0.4])


def solid(turn: np.ndarray) -> Body:
    """A solid ellipsoid: I_xx = m (b² + c²) / 5 in its principal axes."""
    moments = MASS / 5.0 * (np.sum(RADII**2) - RADII**2)
    return Body("solid", MASS, np.array([0.3, 0.0, -0.1]), turn @ np.diag(moments) @ turn.T)


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.4, -1.1, 2.0), (2.0, 0.7, -2.5), (-1.0, 2.6, 0.3)])
def test_a_solid_ellipsoid_is_itself(rpy) -> None:
    turn = Placement.from_rpy(rpy=rpy).rotation
    found = ellipsoid(solid(turn), 3)
    assert found is not None and found.centre.body == 3
    np.testing.assert_allclose(np.sort(found.radii), RADII, rtol=1e-12)
    shape = (found.axes * found.radii**2) @ found.axes.T
    np.testing.assert_allclose(shape, turn @ np.diag(RADII**2) @ turn.T, atol=1e-14)
    assert np.linalg.det(found.axes) == pytest.approx(1.0)
    for axis in found.axes.T[:2]:
        assert axis[np.abs(axis).argmax()] > 0.0, "a sign that is not the same on every machine"


def test_no_mass_is_no_ellipsoid_and_impossible_moments_are_flat() -> None:
    assert ellipsoid(Body("none", 0.0, np.zeros(3), np.zeros((3, 3))), 0) is None
    flat = ellipsoid(Body("flat", 1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0])), 0)
    assert flat is not None and flat.radii.min() == 0.0 and np.isfinite(flat.radii).all()


def test_an_arm_is_a_chain_of_links() -> None:
    robot = condyle.load("iiwa14")
    parts = parts_of(robot)
    assert [axis.name for axis in parts.axes] == list(robot.joint_names)
    assert {mark.name for mark in parts.marks} == set(robot.frames)
    assert [e.name for e in parts.ellipsoids] == [*robot.body_names, robot.base.name]
    assert parts.ellipsoids[-1].centre.body == WORLD
    for link in parts.links:
        if link.start.body not in (WORLD, robot.nv - 1):
            following = robot.joints[link.start.body + 1]
            np.testing.assert_array_equal(link.end.position, following.placement.translation)


def test_a_joint_that_slides_is_a_link_between_two_bodies() -> None:
    inertia = 1e-3 * np.eye(3)
    robot = (
        condyle.Builder()
        .body("rail")
        .body("cart", mass=1.0, inertia=inertia)
        .joint("slide", parent="rail", child="cart", type="prismatic", axis=(1, 0, 0), lower=-1, upper=1)
        .build()
    )
    sliding = [link for link in parts_of(robot).links if link.start.body != link.end.body]
    assert [(link.start.body, link.end.body) for link in sliding] == [(WORLD, 0)]


def test_frames_are_chosen_by_name() -> None:
    robot = condyle.load("iiwa14")
    assert [mark.name for mark in parts_of(robot, ["iiwa_link_7"]).marks] == ["iiwa_link_7"]
    with pytest.raises(ModelError, match="no frame 'iiwa_link_8'; did you mean"):
        parts_of(robot, ["iiwa_link_8"])


@pytest.mark.parametrize("kind", ["revolute", "universal", "spherical", "planar", "helical", "translation", "free"])
def test_every_type_of_joint_has_parts(kind) -> None:
    robot = condyle.random_tree(4, 1, types=[kind])
    parts = parts_of(robot)
    assert len(parts.ellipsoids) == 4
    assert len(parts.axes) == sum(joint.kind.axes for joint in robot.joints)


def test_a_hand_lies_on_the_end_of_its_range_where_q_does() -> None:
    """At both limits; the ranges themselves stand on the body before, with metres along a joint that slides."""
    robot = condyle.load("panda")
    size, ranges = 0.2, {one.name: one for one in parts_of(robot).ranges}
    assert list(ranges) == list(robot.joint_names)
    moving = [joint for joint in robot.joints if joint.mimic is None]
    for corner, q in ((1, robot.lower), (-2, robot.upper)):
        made = scene(robot, q)
        for one in (ranges[joint.name] for joint in moving):
            outline, hand = (made.points(of(size))[0, 0] for of in (one.outline, one.pointing))
            if one.slides:
                np.testing.assert_allclose(hand.mean(axis=0), outline[2 if corner == 1 else 3], atol=1e-12)
                assert np.linalg.norm(outline[3] - outline[2]) == pytest.approx(one.upper - one.lower)
            else:
                np.testing.assert_allclose(hand[0] + (hand[1] - hand[0]) / 1.2, outline[corner], atol=1e-12)


def test_joints_without_two_limits_have_no_range() -> None:
    one_side = condyle.Builder()
    for name in "ab":
        one_side.body(name, mass=1.0, inertia=1e-3 * np.eye(3))
    one_side.joint("up", parent="world", child="a", type="prismatic", axis=(0, 0, 1), lower=0.0)
    one_side.joint("turn", parent="a", child="b", type="continuous", axis=(0, 0, 1))
    assert not parts_of(one_side.build()).ranges
    assert len(parts_of(condyle.load("hyq", floating_base=True)).ranges) == 12


@pytest.mark.parametrize("frames", ["base", 5])
def test_what_is_no_list_of_frames_is_refused(frames) -> None:
    with pytest.raises(ModelError, match=r"expected a list of names of frames, such as \['base'\]"):
        parts_of(condyle.load("iiwa14"), frames)


def test_triangles_of_a_file_stand_on_the_body_of_their_link() -> None:
    robot = condyle.load("iiwa14")
    turn = Placement.from_rpy((1.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2))
    vertices, faces = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0)]), np.array([(0, 1, 2)])
    data = b"v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"
    for shape, scale in ((Triangles(vertices, faces), 1.0), (MeshFile("obj", "a.obj", data, np.full(3, 2.0)), 2.0)):
        (found,) = shells([Visual("iiwa_link_3", turn, shape)], robot.frames)
        assert found.body == robot.frames["iiwa_link_3"].body == 2 and found.faces.tolist() == [[0, 1, 2]]
        expected = scale * np.array([(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-2.0, 0.0, 0.0)]) + (1.0, 0.0, 0.0)
        place = robot.frames["iiwa_link_3"].placement
        np.testing.assert_allclose(found.vertices, expected @ place.rotation.T + place.translation, atol=1e-12)
    assert shells([Visual("world", turn, Triangles(vertices, faces))], {}) == ()
    with pytest.raises(ModelError, match="the robot has no link 'nobody'"):
        shells([Visual("nobody", turn, Triangles(vertices, faces))], robot.frames)


def limited(slides: bool, lower: float, upper: float) -> Range:
    centre, pointer = (Point(k, np.array((float(k), 0.0, 0.0))) for k in (1, 2))
    return Range("j", slides, lower, upper, centre, np.eye(3), pointer, np.array((0.0, 1.0, 0.0)))


def test_a_range_is_a_sector_or_a_line_with_its_ends_across() -> None:
    sliding = limited(True, -1.0, 3.0)
    ends = [(-0.3, -1), (0.3, -1), (0, -1), (0, 3), (0.3, 3), (-0.3, 3)]
    corners = [point.position.tolist() for point in sliding.outline(2.0)]
    assert corners == [pytest.approx((1.0 + 2.0 * k, 0.0, q)) for k, q in ends]
    assert [point.position.tolist() for point in sliding.pointing(2.0)] == [[2.0, -1.0, 0.0], [2.0, 1.0, 0.0]]
    turning = limited(False, 0.0, np.pi / 2)
    points = turning.outline(2.0)
    assert len(points) == 35 and {point.body for point in points} == {1}
    places = np.array([point.position for point in points]) - (1.0, 0.0, 0.0)
    expected = [(0, 0, 0), (2, 0, 0), (2**0.5, 2**0.5, 0), (0, 2, 0), (0, 0, 0)]
    np.testing.assert_allclose(places[[0, 1, 17, 33, 34]], expected, atol=1e-12)
    hand = [point.position for point in turning.pointing(2.0)]
    np.testing.assert_allclose(hand, [(2.0, 0.0, 0.0), (2.0, 2.4, 0.0)])
    for upper in (2.0 * np.pi, 9.0):
        whole = limited(False, 0.0, upper).outline(1.0)
        np.testing.assert_allclose(whole[33].position, (2.0, 0.0, 0.0), atol=1e-12)
        np.testing.assert_allclose(whole[17].position, (0.0, 0.0, 0.0), atol=1e-12)


def test_links_shorter_than_a_millimetre_are_not_drawn() -> None:
    for length, count in ((0.0009, 0), (0.0011, 1)):
        build = condyle.Builder()
        for k, name in enumerate("ab"):
            build.body(name, mass=1.0, inertia=1e-3 * np.eye(3))
            build.joint(f"j{name}", parent="a" if k else "world", child=name, type="revolute", xyz=(k * length, 0, 0))
        assert len(parts_of(build.build()).links) == count


def test_a_last_link_ends_at_its_farthest_frame_or_at_its_com() -> None:
    for places, end in ((((0.2, 0, 0), (0.5, 0, 0), (0.3, 0, 0)), (0.5, 0, 0)), ((), (0, 0, 0.4))):
        build = condyle.Builder().body("a", mass=1.0, com=(0, 0, 0.4), inertia=1e-2 * np.eye(3))
        build.joint("j", parent="world", child="a", type="revolute", xyz=(0, 1, 0))
        frames = {str(k): Frame(0, Placement.from_rpy(place)) for k, place in enumerate(places)}
        first, second = parts_of(replace(build.build(), frames=frames)).links
        assert (first.start.body, first.end.body, second.name, second.start.body) == (0, 0, "world", WORLD)
        np.testing.assert_allclose(first.end.position, end)
        np.testing.assert_allclose(second.end.position, (0, 1, 0))
