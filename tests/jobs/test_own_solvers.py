"""Solvers that a user writes: a fit by Gauss-Newton in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle

ROBOT, FLANGE, POSES = condyle.load("iiwa14"), "iiwa_link_7", 12


def calibration() -> Any:
    """A step of Gauss-Newton for the offsets of the encoders: positions of the flange were measured in some poses."""

    def improve(at: Any, offsets: Any, poses: Any, measured: Any) -> dict[str, Any]:
        misses, rows = [], []
        for pose, position in zip(poses, measured, strict=True):
            flange = at.moved_to(pose + offsets, 0.0 * pose).frame(FLANGE)
            misses.append(position - flange.translation)
            rows.append(flange.jacobian[:3])
        miss, J = np.concatenate(misses), np.concatenate(rows)
        change = condyle.solve_symmetric(J.T @ J + 1e-9 * np.eye(7), J.T @ miss)
        return {
            "offsets": offsets + change,
            "miss": miss @ miss,
            "done": np.where(change @ change < 1e-20, 1.0, 0.0),
        }

    sizes = {"q": "nq", "offsets": 7, "poses": (POSES, 7), "measured": (POSES, 3)}
    return ROBOT.function(improve, sizes, reference_frame="local_world_aligned")


@pytest.fixture(scope="module")
def measured() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses, positions and true offsets of 50 arms."""
    random = np.random.default_rng(20261127)
    poses = random.uniform(-1.5, 1.5, (50, POSES, 7))
    offsets = random.uniform(-0.1, 0.1, (50, 7))
    placements = ROBOT.compile("numpy", frames=(FLANGE,)).frame_placements(poses + offsets[:, None])
    return poses, placements.translation[:, :, 0], offsets


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_gauss_newton_finds_the_offsets(measured: Any, target: str) -> None:
    poses, positions, offsets = measured
    fit = calibration().compile(target).iterate(np.zeros(7), np.zeros(7), poses, positions, most=20)
    # the last joint turns the flange about its own origin: no position says its offset, and the damping leaves it at 0
    np.testing.assert_allclose(fit.offsets[:, :6], offsets[:, :6], atol=1e-7)
    assert np.abs(fit.offsets[:, 6]).max() < 1e-6
    assert (fit.done > 0.0).all() and fit.miss.max() < 1e-14
    assert 3 <= fit.iterations.min() and fit.iterations.max() <= 10
