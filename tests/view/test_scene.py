"""Scenes: bodies, centres of mass and axes where the library's own functions and known robots have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.model.placement import Placement
from condyle.view.robot_parts import Point
from condyle.view.scene import _layout
from tests.view.scenes import scene

pytestmark = pytest.mark.smoke


def two_links() -> condyle.Robot:
    """A planar arm of two rods of 1 m and 2 m, each 1 kg with its com in the middle, turning about y; x is forwards."""
    build = condyle.Builder().body("base")
    for k, (length, parent) in enumerate(((1.0, "base"), (2.0, "rod0"))):
        rod = np.diag([1e-3, length**2 / 12.0, length**2 / 12.0])
        build.body(f"rod{k}", mass=1.0, com=(length / 2, 0, 0), inertia=rod)
        build.joint(f"turn{k}", parent=parent, child=f"rod{k}", type="continuous", axis=(0, 1, 0), xyz=(k * 1.0, 0, 0))
    return build.build()


def test_two_rods_stand_where_trigonometry_says() -> None:
    # about y by -90 degrees: x goes up
    made = scene(two_links(), [-np.pi / 2, np.pi / 2])
    np.testing.assert_allclose(made.origins[0, 0, 1], (0, 0, 1), atol=1e-12)
    np.testing.assert_allclose(made.points([Point(1, np.array((2.0, 0, 0)))])[0, 0, 0], (2, 0, 1), atol=1e-12)
    np.testing.assert_allclose(made.com[0, 0], (0.5, 0, 0.75), atol=1e-12)
    np.testing.assert_allclose(made.turned(1, np.eye(3))[0, 0], np.eye(3), atol=1e-12)


@pytest.mark.parametrize("name", ["hyq", "atlas"])
def test_the_centre_of_mass_and_axes_are_the_library_s(name) -> None:
    robot = condyle.load(name, floating_base=True)
    q = robot.random_state(5, 3).q
    made = scene(robot, q, spacing=0.0)
    dyn = robot.compile("numpy", frames=tuple(robot.frames))
    np.testing.assert_allclose(made.com[0], dyn.center_of_mass(q), atol=1e-12)
    placements = dyn.frame_placements(q)
    marks = made.points([mark.origin for mark in made.parts.marks])[0]
    np.testing.assert_allclose(marks, placements.translation, atol=1e-12)
    for k, mark in enumerate(made.parts.marks):
        np.testing.assert_allclose(made.turned(mark.origin.body, mark.axes)[0], placements.rotation[:, k], atol=1e-12)


def test_a_joint_s_axis_does_not_move_with_its_own_joint() -> None:
    robot = condyle.random_tree(5, 2, types=["universal"])
    q = robot.random_state(1, 0).q[0]
    turned = np.array(q)
    turned[-2:] += 0.7
    before, after = scene(robot, q), scene(robot, turned)
    first, second = before.parts.axes[-2:]
    for axis, moves in ((first, False), (second, True)):
        one, other = (s.turned(axis.point.body, axis.direction[:, None])[0, 0, :, 0] for s in (before, after))
        assert np.allclose(one, other) is not moves


def test_the_second_axis_of_a_universal_joint_stays_when_it_turns() -> None:
    robot = condyle.random_tree(3, 2, types=["universal"])
    q = robot.random_state(1, 0).q[0]
    turned = np.array(q)
    turned[-1] += 0.7
    axis = scene(robot, q).parts.axes[-1]
    one, other = (scene(robot, x).turned(axis.point.body, axis.direction[:, None])[0, 0] for x in (q, turned))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_robots_stand_beside_each_other() -> None:
    robot = condyle.load("iiwa14")
    q = np.zeros((5, 7))
    apart, over = scene(robot, q, spacing=2.0), scene(robot, q, spacing=0.0)
    moved = apart.origins[0, :, -1]
    np.testing.assert_array_equal(moved, [(0, 0, 0), (0, 2, 0), (0, 4, 0), (2, 0, 0), (2, 2, 0)])
    np.testing.assert_allclose(apart.origins[0] - over.origins[0], np.broadcast_to(moved[:, None], (5, 8, 3)))
    assert (apart.robots, apart.times) == (5, 1)


def test_trajectories_are_by_time_first() -> None:
    robot = condyle.load("iiwa14")
    q = robot.random_state(6, 0).q.reshape(2, 3, 7)
    made = scene(robot, trajectory=q, spacing=0.0, dt=0.5)
    assert (made.times, made.robots, made.dt) == (3, 2, 0.5)
    np.testing.assert_allclose(made.origins[2, 1], scene(robot, q[1, 2]).origins[0, 0])


def test_forces_act_on_frames() -> None:
    robot = condyle.load("hyq", floating_base=True)
    force = {"lf_lowerleg": (0.0, 0.0, 100.0)}
    made = scene(robot, robot.neutral(), forces=force, points={"lf_lowerleg": (0.35, 0, 0)})
    expected = made.points([Point(robot.frames["lf_lowerleg"].body, np.array((0.35, 0, 0)))])[:, :, 0]
    np.testing.assert_allclose(made.force_points["lf_lowerleg"], expected)
    assert made.weight == pytest.approx(robot.mass * 9.81)
    with pytest.raises(UnsupportedError, match="no force on 'rf_lowerleg'; there are lf_lowerleg"):
        scene(robot, robot.neutral(), forces=force, points={"rf_lowerleg": (0, 0, 0)})


@pytest.mark.parametrize("spacing", [-1.0, np.nan, np.inf])
def test_a_spacing_that_is_none(spacing) -> None:
    with pytest.raises(UnsupportedError, match="expected metres between robots"):
        scene(condyle.load("iiwa14"), np.zeros((2, 7)), spacing=spacing)


def test_nothing_is_a_scene_too() -> None:
    nothing = condyle.Builder().body("world").build()
    made = scene(nothing)
    assert made.origins.shape == (1, 1, 1, 3) and made.size == 0.1


def test_a_robot_with_closures_is_a_scene() -> None:
    at = Placement.from_rpy((0.5, 0.0, 0.0))
    build = condyle.Builder("pair")
    for name in ("left", "right"):
        build.body(name, mass=1.0, inertia=1e-3 * np.eye(3))
        build.joint(f"{name}_turns", parent="world", child=name, type="continuous", axis=(0, 0, 1))
    robot = build.contact("left", other="right", placement=at, anchor=at).build()
    assert len(robot.contacts) == 1
    assert scene(robot).origins.shape == (1, 1, 3, 3)


def test_robots_stand_in_rows_along_y() -> None:
    """So many in a row as there are rows at most; by default 1.2 times the size of one apart."""
    expected = [(0, 0, 0), (0, 2, 0), (0, 4, 0), (2, 0, 0), (2, 2, 0)]
    np.testing.assert_allclose(_layout(5, 2.0), expected)
    np.testing.assert_allclose(_layout(4, 1.0), [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)])
    made = scene(two_links(), np.zeros((2, 2)))
    assert made.size == pytest.approx(2.0), "from the first joint to the last centre"
    np.testing.assert_allclose(made.origins[0, 1, -1] - made.origins[0, 0, -1], (0.0, 1.2 * made.size, 0.0))


@pytest.mark.parametrize(
    ("q", "floor"),
    [
        ((-0.1, 0.0), 0.0),
        ((np.pi / 2, -np.pi / 2), -0.5 - np.sqrt(2.5 * (1 / 6 - 1e-3))),
    ],
)
def test_the_floor_is_below_the_lowest_body(q, floor) -> None:
    """The first rod hangs down; the half-axis along it is sqrt(5 (I_yy + I_zz - I_xx) / 2m)."""
    made = scene(two_links(), q)
    assert made.floor == pytest.approx(floor)


def test_a_robot_in_the_plane_of_the_world_stands_on_it() -> None:
    for depth, floor in ((0.0009, 0.0), (0.0011, -0.0011 - 0.05)):
        build = condyle.Builder().body("a", mass=1.0, com=(0, 0, -depth), inertia=1e-3 * np.eye(3))
        made = scene(build.joint("j", parent="world", child="a", type="revolute", axis=(0, 0, 1)).build())
        assert made.floor == pytest.approx(floor)


def test_a_scene_at_some_times_keeps_what_acts_then() -> None:
    robot = two_links()
    q = np.linspace(0.0, 1.0, 12).reshape(6, 2)
    force = np.arange(18.0).reshape(6, 3)
    made = scene(robot, trajectory=q, forces={"rod1": force}, points={"rod1": (2.0, 0.0, 0.0)})
    some = made.taken([1, 4])
    assert (made.times, some.times, some.robots, some.dt) == (6, 2, 1, 0.01)
    np.testing.assert_array_equal(some.forces["rod1"][:, 0], force[[1, 4]])
    np.testing.assert_array_equal(some.force_points["rod1"], made.force_points["rod1"][[1, 4]])
    np.testing.assert_array_equal(some.com, made.com[[1, 4]])
    tip = [Point(1, np.array((2.0, 0.0, 0.0)))]
    np.testing.assert_array_equal(some.points(tip), made.points(tip)[[1, 4]])
    np.testing.assert_array_equal(made.points_at(4, tip), made.points(tip)[4])
    np.testing.assert_array_equal(made.points(tip)[:, :, 0], made.force_points["rod1"])


def test_normals_are_up_without_a_ground() -> None:
    robot = two_links()
    made = scene(robot, contacts=[condyle.Contact("rod1")])
    (mark,) = made.contacts
    assert made.normal(0, 0, mark).tolist() == [0.0, 0.0, 1.0]
    assert made.opening(0, 0, mark) is None and made.nets() == []
    assert made.surface is None and made.floor == 0.0


def test_what_has_no_weight_is_as_heavy_as_a_newton() -> None:
    light = replace(two_links(), gravity=np.zeros(3))
    assert scene(light).weight == 1.0
    assert scene(two_links()).weight == pytest.approx(2.0 * 9.81)
