"""Height fields as hard grounds: they are planes where their heights are, and hold what rolls and stands on them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Grid, Plane, Terrain
from tests.ground.robots import SIZES, about, ball, solid

DT, G = 1e-3, 9.81
GRID = Grid((8, 8), 0.5, (-1.75, -1.75))
POINT = [condyle.Contact("ball")]


def plane_heights(slope_x: float, slope_y: float) -> np.ndarray:
    x, y = GRID.nodes
    return slope_x * x[:, None] + slope_y * y[None, :] + 0.1


@pytest.mark.smoke
def test_heights_of_a_plane_are_that_plane() -> None:
    """For points, and for a capsule; of one node inside the border on, to rounding."""
    normal = np.array([-0.2, 0.1, 1.0]) / np.sqrt(1.05)
    for robot, contacts in ((ball(), POINT), solid("capsule")):
        terrain = Terrain(GRID, plane_heights(0.2, -0.1)).step(robot, contacts).compile("numpy")
        plane = Plane(normal, 0.1 * normal[2]).step(robot, contacts).compile("numpy")
        q, v = robot.random_state(20, 0)
        q[:, :2] = np.clip(q[:, :2], -0.8, 0.8)
        q[:, 2] = 0.15
        for x, y in zip(terrain(q, v, 0 * v, DT, 0.5), plane(q, v, 0 * v, DT, 0.5), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-10)


def test_a_ball_in_a_bowl_comes_to_its_bottom() -> None:
    """Heights c r^2 / 2: without friction it slides with the period 2 pi / sqrt(g c); with it, it rests at the end."""
    x, y = GRID.nodes
    robot, contacts = solid("sphere")
    curvature, radius = 0.4, SIZES["sphere"][0]
    heights = 0.5 * curvature * (x[:, None] ** 2 + y[None, :] ** 2)
    grid = GRID.height(heights, 0.0, 0.0)[0]  # a spline's bottom is a little higher than its control values
    step = Terrain(GRID).step(robot, contacts, inputs=("heights",)).compile()
    q = np.array([0.1, 0.0, grid + radius + 0.5 * curvature * 0.01, 0.0, 0.0, 0.0, 1.0])
    path = step.rollout(q, np.zeros(6), np.zeros(6), DT, 0.0, heights, steps=2000)
    turns = np.flatnonzero(np.diff(np.sign(path.q[:, 0]))) * DT
    effective = curvature / (1.0 - curvature * radius)  # the centre is a radius above the bowl
    np.testing.assert_allclose(np.diff(turns), np.pi / np.sqrt(G * effective), rtol=0.02)
    assert 0.09 < np.abs(path.q[-1000:, 0]).max() < 0.1005
    assert np.abs(path.residual).max() < 1e-9
    rest = step.rollout([*q[:2], 0.5, *q[3:]], np.zeros(6), np.zeros(6), 5e-3, 0.5, heights, steps=200, last=True)
    height, by_x, by_y = GRID.height(heights, rest.q[0], rest.q[1])
    gap = (rest.q[2] - height) / np.sqrt(1.0 + by_x**2 + by_y**2) - radius
    assert abs(gap) < 1e-3


def test_a_box_rests_on_bumps() -> None:
    """On three of its corners or more, in balance."""
    robot, contacts = solid("box")
    heights = 0.1 * np.random.default_rng(0).normal(size=GRID.shape)
    terrain = Terrain(GRID, heights)
    step = terrain.step(robot, contacts).compile()
    q = np.array([0.1, 0.2, 0.4, *about((0.0, 0.0, 1.0), 0.4)])
    path = step.rollout(q, np.zeros(6), np.zeros(6), 2e-3, 1.0, steps=1500)
    np.testing.assert_allclose(path.impulse[-1].sum(axis=0) / 2e-3, [0.0, 0.0, 2.0 * G], rtol=0, atol=1e-3)
    assert np.abs(path.v[-1]).max() < 1e-6 and path.q[-1, 2] > 0.0


def test_heights_may_differ_in_each_state() -> None:
    robot, contacts = solid("sphere")
    step = Terrain(GRID).step(robot, contacts, inputs=("heights", "recovery")).compile("numpy")
    q = np.array([0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0])
    heights = np.stack([plane_heights(0.0, 0.0), plane_heights(0.0, 0.0) - 1.0])
    found = step(q, np.zeros(6), np.zeros(6), DT, 0.5, heights, 20.0)
    assert found.impulse[0, 0, 2] > 0.0 == found.impulse[1, 0, 2]  # 5 cm deep, and in the air
    again = pickle.loads(pickle.dumps(Terrain(GRID, heights[0])))
    assert np.array_equal(again.heights, heights[0])


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((3,), condyle.UnsupportedError, "Terrain: grid=3; give a Grid of condyle.ground"),
        ((GRID, np.zeros((3, 3))), condyle.ShapeError, r"heights have shape \(3, 3\), expected \(8, 8\) of the grid"),
        ((GRID, np.full((8, 8), np.nan)), condyle.UnsupportedError, "Terrain: a height is not finite"),
        ((GRID, None, -1.0), condyle.UnsupportedError, "Terrain: recovery=-1.0; give zero or a positive number"),
    ],
)
def test_what_a_terrain_cannot_be(arguments: tuple[Any, ...], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Terrain(*arguments)


def test_what_its_step_cannot_be() -> None:
    with pytest.raises(condyle.ShapeError, match=r"heights are missing; give an array \(8, 8\) \[m\], or inputs="):
        Terrain(GRID).step(ball(), POINT)
    with pytest.raises(condyle.UnsupportedError, match="inputs: 'normal'; allowed is 'heights', 'recovery'"):
        Terrain(GRID).step(ball(), POINT, inputs=("normal",))
    with pytest.raises(condyle.UnsupportedError, match="Terrain: the function has no contacts"):
        Terrain(GRID, np.zeros((8, 8))).step(ball(), [])
