"""Solvers that a user writes, each one call: a fit by Gauss-Newton, feet on the ground by a quadratic program."""

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
    assert fit.iterations.min() >= 3 and fit.iterations.max() <= 10


DOG, FEET, FRICTION = (
    condyle.load("hyq", floating_base=True),
    tuple(f"{leg}_foot" for leg in ("lf", "rf", "lh", "rh")),
    0.8,
)


def landing() -> Any:
    """A step of time with four feet on the ground: the least energy that impulses within friction pyramids leave."""
    pyramid, lower = np.zeros((16, 12)), np.full(12, -np.inf)
    for k in range(4):
        lower[3 * k + 2] = 0.0
        for row, (axis, sign) in enumerate(((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0))):
            pyramid[4 * k + row, [3 * k + axis, 3 * k + 2]] = sign, -FRICTION

    def step(at: Any, tau: Any, dt: Any) -> dict[str, Any]:
        J = np.concatenate([at.frame(foot).jacobian[:3] for foot in FEET])
        moved = at.mass_matrix_inverse() @ J.T
        free = at.v + dt * at.forward_dynamics(tau)
        push = condyle.qp(J @ moved + 1e-9 * np.eye(12), J @ free, pyramid, upper=0.0, box=(lower, None))
        v = free + moved @ push.x
        return {"v_next": v, "impulses": push.x, "slips": J @ v, "status": push.status}

    return DOG.function(step, {"q": "nq", "v": "nv", "tau": "nv", "dt": ()}, reference_frame="local_world_aligned")


def test_feet_by_a_quadratic_program() -> None:
    """Where all feet stick, pyramids and cones are the same: the impulses are those of `contact_solve`."""
    random = np.random.default_rng(20261127)
    q = np.tile(DOG.neutral(), (200, 1))
    q[:, 7:] = np.tile([0.0, 0.75, -1.5, 0.0, -0.75, 1.5], 2) + random.uniform(-0.2, 0.2, (200, 12))
    v, tau = random.normal(0.0, 0.2, (200, DOG.nv)), random.normal(0.0, 5.0, (200, DOG.nv))
    v[:, 2], tau[:, :6] = -1.0, 0.0
    answer = landing().compile()(q, v, tau, 0.01)
    assert (answer.status == 1.0).all()
    dyn = DOG.compile(contacts=tuple(map(condyle.Contact, FEET)))
    other = dyn.contact_solve(q, v, tau, np.ones(4), 0.01, np.full(4, FRICTION))
    impulses = answer.impulses.reshape(200, 4, 3)
    sideways, normal = np.linalg.norm(impulses[..., :2], axis=-1), impulses[..., 2]
    sticks = ((normal > 1e-3) & (sideways < 0.99 * FRICTION * normal)).all(axis=1)
    assert 15 <= sticks.sum() < 200
    np.testing.assert_allclose(answer.slips[sticks], 0.0, atol=1e-6)
    np.testing.assert_allclose(answer.v_next[sticks], other[0][sticks], atol=1e-5)
    assert normal.min() > -1e-9 and answer.slips[:, 2::3].min() > -1e-6
