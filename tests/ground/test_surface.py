"""Heights of a grid: those of a bicubic B-spline, smooth everywhere, on numbers and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Grid, Ground
from condyle.ground.surface import weights
from tests.ground.robots import MASS, ball


def bspline(t: float) -> float:
    """The uniform cubic B-spline as the textbook has it."""
    t = abs(t)
    return (4 - 6 * t**2 + 3 * t**3) / 6 if t < 1 else (2 - t) ** 3 / 6 if t < 2 else 0.0


@pytest.mark.parametrize("n", [2, 3, 7])
def test_weights_are_those_of_the_textbook_with_the_ends_repeated(n: int) -> None:
    for place in np.linspace(-1.0, n, 40):
        wanted = np.zeros(n)
        for k in range(-3, n + 3):
            wanted[min(max(k, 0), n - 1)] += bspline(place - k)
        found, slope = weights(place, n)
        assert np.allclose(found, wanted, atol=1e-14) and np.isclose(found.sum(), 1.0)
        h = 1e-6
        assert np.allclose((weights(place + h, n)[0] - weights(place - h, n)[0]) / (2 * h), slope, atol=1e-6)


def test_far_outside_the_ground_is_flat() -> None:
    for place, k in ((-1.0, 0), (-7.0, 0), (5.0, 4), (40.0, 4)):
        found, slope = weights(place, 5)
        assert found[k] == pytest.approx(1.0) and not np.abs(slope).max() > 1e-15


def test_planes_are_exact_inside_and_slopes_are_those_of_heights() -> None:
    grid = Grid((7, 9), (0.3, 0.2), (-0.5, 1.0))
    x, y = grid.nodes
    plane = 0.1 + 0.4 * x[:, None] - 0.7 * y
    rough = np.random.default_rng(0).normal(size=grid.shape)
    rng, h = np.random.default_rng(1), 1e-6
    for px, py in zip(rng.uniform(x[1], x[-2], 20), rng.uniform(y[1], y[-2], 20), strict=True):
        assert np.allclose(grid.height(plane, px, py), (0.1 + 0.4 * px - 0.7 * py, 0.4, -0.7))
        by_x = (grid.height(rough, px + h, py)[0] - grid.height(rough, px - h, py)[0]) / (2 * h)
        by_y = (grid.height(rough, px, py + h)[0] - grid.height(rough, px, py - h)[0]) / (2 * h)
        assert np.allclose(grid.height(rough, px, py)[1:], (by_x, by_y), atol=1e-6)


def test_a_bump_of_one_node_has_four_ninths_of_its_height() -> None:
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.9
    assert np.allclose(Grid((5, 5)).height(heights, 2.0, 2.0), (0.4, 0.0, 0.0))


def test_a_foot_comes_to_rest_on_the_bump_and_elsewhere_on_the_plane() -> None:
    """One compiled function: heights differ from state to state."""
    grid = Grid((5, 5), 0.5, (-1.0, -1.0))
    ground = Ground(["ball"], stiffness=2e4, damping=5.0, height=grid)
    f = ground.step(ball()).compile()
    bump = np.zeros((2, 5, 5))
    bump[1, 2, 2] = 0.9
    q = np.array([[[0.0, 0.0, 0.45], [3.0, 0.0, 0.45]]] * 2)
    end = f.rollout(q, np.zeros(3), np.zeros(3), 5e-4, bump[:, None], steps=4000, last=True)
    sunk = MASS * 9.81 / 2e4 + 0.5e-3
    assert np.allclose(end.q[..., 2], [[-sunk, -sunk], [0.4 - sunk, -sunk]], atol=1e-6)
    assert np.allclose(end.q[..., :2], q[..., :2], atol=1e-9)


def test_compiled_heights_are_those_of_numbers() -> None:
    grid = Grid((4, 6), 0.3, (-0.4, -0.6))

    def at_place(p: Any, heights: Any) -> dict[str, Any]:
        height, by_x, by_y = grid.height(heights, p[0], p[1])
        return {"height": height, "slope": np.stack([by_x, by_y])}

    f = condyle.function(at_place, inputs={"p": 2, "heights": grid.shape})
    rng = np.random.default_rng(2)
    p, heights = rng.uniform(-1.5, 1.5, (50, 2)), rng.normal(size=(50, *grid.shape))
    found = f.compile()(p, heights)
    for k in range(50):
        height, *slope = grid.height(heights[k], *p[k])
        assert np.isclose(found.height[k], height, atol=1e-13) and np.allclose(found.slope[k], slope, atol=1e-12)
    by_p = f.compile().jacobian(by=("p",))(p, heights)
    assert np.allclose(by_p.dheight_dp, found.slope, atol=1e-12)
