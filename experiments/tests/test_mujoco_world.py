"""Bundled robots in MuJoCo: they stand by servos and by torques, fall without, and have Condyle's state and forces."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from experiments.environments.mujoco_world import HEIGHTS, World, gains, stance

NAMES = pytest.mark.parametrize("name", HEIGHTS)
FEET = {
    "go2": {f"{leg}_calf" for leg in ("FL", "FR", "RL", "RR")},
    "g1": {"left_ankle_roll_link", "right_ankle_roll_link"},
}


@NAMES
def test_it_stands_on_its_feet_by_servos(name: str) -> None:
    """The humanoid with stiffer ankles than its source has: by 20 N m/rad it tips over within a second."""
    world = World(name, gains=gains(name) if name == "go2" else (400.0, 10.0))
    for _ in range(50):
        world.step(stance(name)[7:], 10)
    assert not world.has_fallen()
    assert world.touching() == FEET[name]
    assert np.abs(world.v).max() < 0.05


@NAMES
def test_torques_of_the_same_law_do_the_same(name: str) -> None:
    kp, kd = gains(name)
    servos, motors, wanted = (
        World(name, gains=(kp, kd), integrator="euler"),
        World(name, integrator="euler"),
        stance(name)[7:],
    )
    for _ in range(20):
        servos.step(wanted)
        motors.step(kp * (wanted - motors.q[7:]) - kd * motors.v[6:])
    assert np.abs(servos.q - motors.q).max() < 1e-9


@NAMES
def test_without_torques_it_falls(name: str) -> None:
    world = World(name, passive=False)
    world.step(np.zeros(world.robot.nv - 6), 500)
    assert world.has_fallen()


@NAMES
def test_the_free_robot_moves_as_condyle_says(name: str) -> None:
    """No ground in reach: MuJoCo's acceleration, from one small step, is that of forward dynamics."""
    world, rng = (
        World(name, timestep=1e-7, passive=False, self_collision=False, integrator="euler"),
        np.random.default_rng(1),
    )
    robot = world.robot
    dynamics = robot.compile(target="numpy")
    q, v = robot.integrate(stance(name), 0.1 * rng.standard_normal(robot.nv)), rng.standard_normal(robot.nv)
    q[2] += 5.0
    tau = np.concatenate([np.zeros(6), 0.5 * robot.effort[6:] * rng.uniform(-1.0, 1.0, robot.nv - 6)])
    world.reset(q, v)
    assert np.abs(world.q - q).max() < 1e-15 and np.abs(world.v - v).max() < 1e-14
    world.step(tau[6:])
    acceleration = dynamics.forward_dynamics(q, v, tau)
    assert np.abs((world.v - v) / 1e-7 - acceleration).max() < 1e-5 * np.abs(acceleration).max()  # the step's own error


def test_a_push_moves_the_base_along_the_world() -> None:
    world = World("go2", gains=gains("go2"))
    turned = stance("go2")
    turned[3:7] = 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)
    world.reset(turned)
    world.push(np.array([0.5, 0.0, 0.0]))
    assert np.abs(world.v[:3] - [0.0, -0.5, 0.0]).max() < 1e-12
