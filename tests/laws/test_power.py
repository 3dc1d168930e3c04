"""Energy: what the joints and the external forces give is what the bodies gain, bodies seen by their poses alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.accuracies import DIFFERENCES
from tests.laws.evaluated import reference
from tests.laws.motion import STEP, body_twists, kinetic_energy, potential_energy
from tests.laws.robots import NAMES, robot_named, states

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_is_that_of_the_kinetic_energy(name: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot, 1)
    M = reference(robot, "m", q)[0]
    assert 0.5 * v[0] @ M @ v[0] == pytest.approx(kinetic_energy(robot, q[0], v[0]), rel=DIFFERENCES)


@pytest.mark.parametrize("name", NAMES)
def test_power_balance(name: str) -> None:
    """d/dt (kinetic + potential) = v tau + power of the external forces, along q ⊕ v t, v + a t."""
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 1)
    tau = reference(robot, "id", q, v, a, f_ext=f_ext)[0]
    energy = [
        0.5 * (v[0] + t * a[0]) @ reference(robot, "m", robot.integrate(q, t * v))[0] @ (v[0] + t * a[0])
        + potential_energy(robot, robot.integrate(q[0], t * v[0]))
        for t in (-STEP, STEP)
    ]
    gained = (energy[1] - energy[0]) / (2.0 * STEP)
    from_outside = float(np.sum(f_ext[0] * body_twists(robot, q[0], v[0])))
    scale = float(np.sum(np.abs(v[0] * tau)) + np.sum(np.abs(f_ext)) + np.abs(energy).max())
    assert gained == pytest.approx(float(v[0] @ tau) + from_outside, abs=DIFFERENCES * scale)


@pytest.mark.parametrize("name", NAMES)
def test_external_forces_do_the_work_of_their_bodies(name: str) -> None:
    """tau gives up J^T f: its power on any motion is that of the wrenches on the bodies."""
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 1)
    given = reference(robot, "id", q, v, a)[0] - reference(robot, "id", q, v, a, f_ext=f_ext)[0]
    power = f_ext[0] * body_twists(robot, q[0], v[0])
    assert float(v[0] @ given) == pytest.approx(float(power.sum()), abs=DIFFERENCES * float(np.abs(power).sum()))


@pytest.mark.parametrize("name", ["hyq_floating", "floating-2"])
def test_a_floating_robot_at_rest_is_held_up_by_its_weight(name: str) -> None:
    robot = robot_named(name)
    q, v, a, _ = states(robot, 1)
    tau = reference(robot, "id", q, 0 * v, 0 * a)[0]
    weight = -sum(body.mass for body in robot.bodies) * robot.gravity
    assert np.linalg.norm(tau[:3]) == pytest.approx(float(np.linalg.norm(weight)), rel=1e-13)
