"""Steps with external forces: their derivative E, and A and B beside it."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from tests.laws.robots import relative, robot_named
from tests.processor import slow
from tests.steps.test_step import METHODS, drawn

QUICK = {("euler", "local"), ("semi_implicit_euler", "local_world_aligned")}


@pytest.mark.parametrize(
    ("integrator", "force_frame"),
    [
        (pytest.param if (integrator, force_frame) in QUICK else slow)(integrator, force_frame)
        for integrator in METHODS
        for force_frame in ("local", "local_world_aligned")
    ],
)
def test_e_is_the_difference_by_forces(integrator: str, force_frame: str) -> None:
    robot = robot_named("chain") if force_frame == "local" else condyle.random_tree(2, 2, floating_base=True)
    q, v, tau = drawn(robot, 3)
    f_ext = np.random.default_rng(2).uniform(-1.0, 1.0, (3, len(robot.bodies), 6))
    dyn = robot.compile(integrator=integrator, force_frame=force_frame)
    A, B, E = dyn.step_derivatives(q, v, tau, 0.02, f_ext=f_ext)
    h, n = 1e-5, robot.nv
    found = np.zeros_like(E)
    for k in range(E.shape[2]):
        change = np.zeros(f_ext[0].size)
        change[k] = h
        ends = [dyn.step(q, v, tau, 0.02, f_ext=f_ext + x * change.reshape(f_ext[0].shape)) for x in (-1.0, 1.0)]
        found[:, :n, k] = robot.difference(ends[0].q, ends[1].q) / (2.0 * h)
        found[:, n:, k] = (ends[1].v - ends[0].v) / (2.0 * h)
    assert relative(E, found) < 1e-7
    want = robot.compile(target="numpy", integrator=integrator, force_frame=force_frame)
    for x, y in zip((A, B, E), want.step_derivatives(q, v, tau, 0.02, f_ext=f_ext), strict=True):
        assert relative(x, y) < 1e-8


def test_no_forces_give_what_is_given_without() -> None:
    robot = condyle.chain(3, rng=1)
    q, v, tau = drawn(robot, 3)
    dyn = robot.compile(integrator="rk4")
    none = np.zeros((len(robot.bodies), 6))
    with_forces, without = (dyn.step_derivatives(q, v, tau, 0.02, f_ext=x) for x in (none, None))
    assert len(with_forces) == 3 and len(without) == 2
    for x, y in zip(with_forces[:2], without, strict=True):
        assert relative(x, y) < 1e-12
