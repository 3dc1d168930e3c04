"""All joint forces of an arm, within and beyond its limits, fast and nearly at rest, against their equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Actuator, Drive, Robot
from tests.drives.equations import Equations, Reals, differences, quiet, relative

BOUND = 1e-7  # as in test_derivatives.py
H, W, STOPS = 0.004, 0.02, (3e3, 0.01, 0.005)
FORCES = ("damping", "friction", "springs", "limits")


@pytest.fixture(scope="module", params=[np.inf, 70.0], ids=["force range", "effort"])
def robot(request: pytest.FixtureRequest) -> Robot:
    """iiwa14 with drives and motors that damp, whose force is clipped before the gear, or by effort at the joint."""
    bare = condyle.load("iiwa14")
    drives = {
        name: Drive(2.0, 0.05, 0.5 + i, 3.0 - 0.3 * i, 4.0 * (i % 3), 0.1 * i, request.param)
        for i, name in enumerate(bare.joint_names)
    }
    motors = [Actuator(name, {name: 2.0}, "general", 50.0, (1.0, -20.0, -3.0), force=(-60.0, 80.0)) for name in drives]
    return bare.with_drives(drives).with_actuators(motors)


def states(robot: Robot, n: int) -> tuple[Reals, Reals, Reals]:
    """Up to 1.2 times the limits; every other state is slow."""
    rng = np.random.default_rng(2)
    q = 1.2 * rng.uniform(robot.lower, robot.upper, (n, robot.nq))
    v = rng.uniform(-1.0, 1.0, (n, robot.nv)) * np.where(np.arange(n) % 2, 1.0, 0.02)[:, None]
    return q, v, rng.uniform(-3.0, 3.0, (n, robot.nv))


def compiled(robot: Robot, target: str = "cpu", **options: Any) -> Any:
    with quiet():
        return robot.compile(
            target=target, joint_forces=FORCES, actuators=True, friction_velocity=W, stops=STOPS, **options
        )


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_forces_accelerations_and_steps(robot: Robot, target: str) -> None:
    dyn, equations, explicit = compiled(robot, target), Equations(robot, W, STOPS), compiled(robot, implicit=False)
    stopped = clipped = 0
    for q, v, u in zip(*states(robot, 12), strict=True):
        stopped += np.count_nonzero(equations.stop(q, v)[0])
        clipped += np.count_nonzero(np.isin(equations.actuator_forces(q, v, u), (-120.0, 160.0, -70.0, 70.0)))
        assert relative(dyn.joint_forces(q, v), equations.joint_forces(q, v)) < 1e-13
        assert relative(dyn.actuator_forces(q, v, u), equations.actuator_forces(q, v, u)) < 1e-13
        a = equations.forward_dynamics(q, v, u)
        assert relative(dyn.forward_dynamics(q, v, u), a) < 1e-10
        assert relative(dyn.inverse_dynamics(q, v, a), equations.actuator_forces(q, v, u)) < 1e-10
        wanted = equations.step(q, v, u, H)
        assert relative(dyn.step(q, v, u, H)[1], wanted[1]) < 1e-10
        assert relative(dyn.step(q, v, u, H)[0], wanted[0]) < 1e-12
        assert relative(explicit.step(q, v, u, H)[1], v + H * a) < 1e-10
    assert stopped > 3 and clipped > 3


def test_derivatives(robot: Robot) -> None:
    """Friction bends most at w = 0.02, which differences of 1e-5 still see to 1e-10."""
    dyn, equations, n = compiled(robot), Equations(robot, W, STOPS), robot.nv

    def step(x: Reals) -> Reals:
        return np.concatenate(equations.step(*np.split(x, [n, 2 * n]), H))

    def acceleration(x: Reals) -> Reals:
        return equations.forward_dynamics(*np.split(x, [n, 2 * n]))

    for q, v, u in zip(*states(robot, 6), strict=True):
        x = np.concatenate([q, v, u])
        assert relative(np.concatenate(dyn.step_derivatives(q, v, u, H), axis=1), differences(step, x)) < BOUND
        answer = np.concatenate(dyn.forward_dynamics_derivatives(q, v, u), axis=1)
        assert relative(answer, differences(acceleration, x)) < BOUND
