"""What mechanics says of kinematics, momentum, energy and the parts of the equation of motion.

Of the reference in NumPy; that every target computes the same is the law of `test_specification`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from condyle import Dynamics, Robot
from condyle.model.builder import random_body
from condyle.specification.integrators import REFERENCE_FRAMES
from tests.accuracies import DIFFERENCES, ROUNDING
from tests.laws.robots import NAMES, Array, relative, robot_named, states
from tests.laws.test_specification import frames_of
from tests.model.kinematics import centre_of_mass, frames_at
from tests.processor import slow

QUICK = ("zoo", "floating-3")
ALL = [*QUICK, *(slow(name) for name in NAMES if name not in QUICK)]
ALIGNED = "local_world_aligned"
STEP = 1e-5

robots = pytest.mark.parametrize("name", ALL)
seen_from = pytest.mark.parametrize("reference_frame", REFERENCE_FRAMES)


@cache
def dynamics(name: str, reference_frame: str = ALIGNED) -> Dynamics:
    robot = robot_named(name)
    return robot.compile(target="numpy", frames=frames_of(robot), reference_frame=reference_frame)


def rate(robot: Robot, f: Callable[[Array, Array], Array], q: Array, v: Array, a: Array | None = None) -> Array:
    """d f(q, v) / dt where q moves with v, and v with a: central differences."""
    a = np.zeros_like(v) if a is None else a
    ahead, behind = (f(robot.integrate(q, h * v), v + h * a) for h in (STEP, -STEP))
    return (ahead - behind) / (2 * STEP)


def of(q: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """A function of q alone."""
    return lambda at, _: q(at)


def times(matrix: Array, x: Array) -> Array:
    return (matrix @ x[..., None])[..., 0]


def vector(skew: Array) -> Array:
    """x of [x]x."""
    return np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)


def swapped(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


@robots
def test_frames_stand_at_the_end_of_a_chain_of_transforms(name: str) -> None:
    robot = robot_named(name)
    q = states(robot).q
    rotation, translation = dynamics(name).frame_placements(q)
    for k, state in enumerate(q):
        placed = frames_at(robot, state)
        for i, frame in enumerate(frames_of(robot)):
            assert np.abs(rotation[k, i] - placed[frame].rotation).max() < ROUNDING
            assert np.abs(translation[k, i] - placed[frame].translation).max() < ROUNDING


@robots
@seen_from
def test_a_jacobian_times_v_is_the_velocity(name: str, reference_frame: str) -> None:
    q, v, _, _ = states(robot_named(name))
    dyn = dynamics(name, reference_frame)
    assert relative(times(dyn.frame_jacobians(q), v[:, None]), dyn.frame_velocities(q, v)) < ROUNDING


@robots
@seen_from
def test_a_velocity_is_how_the_frame_moves(name: str, reference_frame: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    dyn = dynamics(name, reference_frame)
    rotation, at = dyn.frame_placements(q)
    linear = rate(robot, of(lambda q: dyn.frame_placements(q)[1]), q, v)
    angular = vector(rate(robot, of(lambda q: dyn.frame_placements(q)[0]), q, v) @ swapped(rotation))
    if reference_frame == "world":
        linear = linear - np.cross(angular, at)
    if reference_frame == "local":
        linear, angular = times(swapped(rotation), linear), times(swapped(rotation), angular)
    assert relative(dyn.frame_velocities(q, v), np.concatenate((linear, angular), axis=-1)) < DIFFERENCES


@robots
def test_an_acceleration_is_how_the_velocity_of_the_origin_changes(name: str) -> None:
    robot = robot_named(name)
    q, v, a, _ = states(robot)
    dyn = dynamics(name)
    found = dyn.frame_accelerations(q, v, a)
    assert relative(found, rate(robot, dyn.frame_velocities, q, v, a)) < DIFFERENCES
    sum_of_both = times(dyn.frame_jacobians(q), a[:, None])
    sum_of_both = sum_of_both + times(dyn.frame_jacobians_time_derivative(q, v), v[:, None])
    assert relative(found, sum_of_both) < ROUNDING
    rotation = swapped(dyn.frame_placements(q).rotation)
    turned = np.concatenate([times(rotation, found[..., k : k + 3]) for k in (0, 3)], axis=-1)
    assert relative(dynamics(name, "local").frame_accelerations(q, v, a), turned) < ROUNDING


@robots
@seen_from
def test_the_rate_of_a_jacobian_is_that_of_its_entries(name: str, reference_frame: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    dyn = dynamics(name, reference_frame)
    by_differences = rate(robot, of(dyn.frame_jacobians), q, v)
    assert relative(dyn.frame_jacobians_time_derivative(q, v), by_differences) < DIFFERENCES


@robots
def test_the_centre_of_mass_is_that_of_the_bodies_and_moves_with_its_jacobian(name: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    dyn = dynamics(name)
    moving = Robot.from_data(replace(robot, base=None))
    want = np.stack([centre_of_mass(moving, state)[1] for state in q])
    assert relative(dyn.center_of_mass(q), want) < ROUNDING
    along = rate(robot, of(dyn.center_of_mass), q, v)
    assert relative(times(dyn.center_of_mass_jacobian(q), v), along) < DIFFERENCES


@robots
def test_momentum_is_the_sum_over_bodies(name: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    dyn = robot.compile(target="numpy", frames=robot.body_names, reference_frame=ALIGNED)
    rotation, at = dyn.frame_placements(q)
    velocity = dyn.frame_velocities(q, v)
    total, centre = np.zeros((len(q), 6)), dyn.center_of_mass(q)
    for i, body in enumerate(robot.bodies):
        R, w = rotation[:, i], velocity[:, i, 3:]
        arm = times(R, body.com[None])
        p = body.mass * (velocity[:, i, :3] + np.cross(w, arm))
        total[:, :3] += p
        total[:, 3:] += np.cross(at[:, i] + arm - centre, p) + times(R @ body.inertia @ swapped(R), w)
    assert relative(dyn.centroidal_momentum(q, v), total) < ROUNDING
    assert relative(times(dyn.centroidal_momentum_matrix(q), v), total) < ROUNDING
    assert relative(total[:, :3] / robot.mass, times(dyn.center_of_mass_jacobian(q), v)) < ROUNDING


@robots
def test_the_rate_of_momentum(name: str) -> None:
    robot = robot_named(name)
    q, v, a, _ = states(robot)
    dyn = dynamics(name)
    found = dyn.centroidal_momentum_rate(q, v, a)
    assert relative(found, rate(robot, dyn.centroidal_momentum, q, v, a)) < DIFFERENCES
    matrix, turning = dyn.centroidal_momentum_matrix(q), rate(robot, of(dyn.centroidal_momentum_matrix), q, v)
    assert relative(times(matrix, a) + times(turning, v), found) < DIFFERENCES


@robots
def test_the_coriolis_matrix(name: str) -> None:
    """C v + g = c, and dM/dt - 2 C is skew, which says dM/dt = C + Cᵀ."""
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    dyn = dynamics(name)
    C, g, c = dyn.coriolis_matrix(q, v), dyn.generalized_gravity(q), dyn.nonlinear_effects(q, v)
    assert relative(times(C, v) + g, c) < ROUNDING
    assert relative(C + swapped(C), rate(robot, of(dyn.mass_matrix), q, v)) < DIFFERENCES
    rest = np.zeros_like(v)
    assert relative(g, dyn.inverse_dynamics(q, rest, rest)) < ROUNDING
    assert relative(c, dyn.inverse_dynamics(q, v, rest)) < ROUNDING


@robots
def test_energy(name: str) -> None:
    """Kinetic energy is half of v . M v, gravity what potential energy changes by, and power is work done."""
    robot = robot_named(name)
    q, v, a, _ = states(robot)
    dyn = dynamics(name)
    assert relative(dyn.kinetic_energy(q, v), 0.5 * np.sum(v * times(dyn.mass_matrix(q), v), axis=-1)) < ROUNDING
    power = np.sum(v * dyn.generalized_gravity(q), axis=-1)
    assert relative(rate(robot, of(dyn.potential_energy), q, v), power, 1.0) < DIFFERENCES
    total = rate(robot, lambda q, v: dyn.kinetic_energy(q, v) + dyn.potential_energy(q), q, v, a)
    assert relative(total, np.sum(v * dyn.inverse_dynamics(q, v, a), axis=-1), 1.0) < DIFFERENCES


@robots
def test_potential_energy_is_zero_at_the_origin_of_the_world(name: str) -> None:
    robot = robot_named(name)
    q = states(robot).q
    dyn = dynamics(name)
    want = -robot.mass * dyn.center_of_mass(q) @ robot.gravity
    assert relative(dyn.potential_energy(q), want) < ROUNDING


@pytest.mark.parametrize("name", ["floating-2", slow("zoo"), slow("hyq_floating"), slow("floating-3")])
def test_energy_stays_where_nothing_drives(name: str) -> None:
    """Forward dynamics with tau = 0 and `integrate`: RK4 of Munthe-Kaas, so that only the fourth order is left."""
    robot = robot_named(name)
    dyn = robot.compile()
    q, v, _, _ = states(robot)
    h, still = 5e-4, np.zeros_like(v)

    def slope(u: Array, v: Array) -> tuple[Array, Array]:
        """Of the displacement u from q, and of v."""
        return np.linalg.solve(robot.integrate_derivatives(u).ddv, v[..., None])[..., 0], dyn.forward_dynamics(
            dyn.integrate(q, u), v, still
        )

    def energy() -> Array:
        return dyn.kinetic_energy(q, v) + dyn.potential_energy(q)

    before, moved = energy(), np.zeros(len(q))
    for _ in range(100):
        one = slope(still, v)
        two = slope(0.5 * h * one[0], v + 0.5 * h * one[1])
        three = slope(0.5 * h * two[0], v + 0.5 * h * two[1])
        four = slope(h * three[0], v + h * three[1])
        u, dv = (h / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in zip(one, two, three, four, strict=True))
        q, v = dyn.integrate(q, u), v + dv
        moved = np.maximum(moved, np.abs(dyn.kinetic_energy(q, v) - before))
    assert np.all(np.abs(energy() - before) < 1e-7 * moved)


@robots
def test_torques_are_the_regressor_times_inertial_parameters(name: str) -> None:
    """Of the robot's own bodies and of others; armature apart."""
    robot = robot_named(name)
    bare = Robot.from_data(replace(robot, joints=tuple(replace(j, armature=0.0 * j.armature) for j in robot.joints)))
    q, v, a, _ = states(robot)
    rng = np.random.default_rng(7)
    others = replace(robot, bodies=tuple(random_body(body.name, rng) for body in robot.bodies))
    Y = dynamics(name).inverse_dynamics_regressor(q, v, a)
    for pi in (robot.inertias, Robot.from_data(others).inertias):
        tau = bare.with_inertias(pi).compile(target="numpy").inverse_dynamics(q, v, a)
        assert relative(Y @ pi.reshape(-1), tau) < ROUNDING


DISPLACEMENTS = {"large": 1.0, "small": 1e-9, "nothing": 0.0}


@cache
def moving(name: str, target: str, dtype: str) -> Dynamics:
    return robot_named(name).compile(target=target, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
@robots
def test_integrate_and_difference_are_those_of_the_robot(name: str, target: str, dtype: str) -> None:
    robot, dyn = robot_named(name), moving(name, target, dtype)
    rounding = 1e-13 if dtype == "float64" else 2e-5
    given = states(robot, 9)
    q = given.q.astype(dtype)
    for size in DISPLACEMENTS.values():
        dv = (size * given.v).astype(dtype)
        ahead = dyn.integrate(q, dv)
        assert ahead.dtype == dtype
        assert np.abs(ahead - robot.integrate(q.astype(float), dv.astype(float))).max() < rounding
        between = dyn.difference(q, ahead)
        assert np.abs(between - robot.difference(q.astype(float), ahead.astype(float))).max() < 10 * rounding
        assert np.abs(between - dv).max() < 10 * rounding
        assert np.array_equal(dyn.integrate(q[:1], dv[:1])[0], dyn.integrate(q[0], dv[0]))
        assert np.array_equal(dyn.difference(q[:1], ahead[:1])[0], dyn.difference(q[0], ahead[0]))
    assert np.abs(dyn.difference(q, q)).max() < rounding


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("short", [1e-2, 1e-6])
def test_turns_of_nearly_half_a_circle(short: float, target: str) -> None:
    """Where the logarithm of a rotation jumps, it still is that of the robot, and goes back and forth."""
    robot, dyn = robot_named("zoo"), moving("zoo", target, "float64")
    q, v, _, _ = states(robot, 5)
    for joint in robot.joints:
        if joint.type in ("spherical", "free"):
            turn = v[:, joint.v_slice][:, -3:]
            turn *= (np.pi - short) / np.linalg.norm(turn, axis=-1, keepdims=True)
    ahead = dyn.integrate(q, v)
    assert np.abs(ahead - robot.integrate(q, v)).max() < 1e-13
    found = dyn.difference(q, ahead)
    assert np.abs(found - robot.difference(q, ahead)).max() < 1e-12
    assert np.abs(found - v).max() < 1e-12
