"""One step with friction cones: cones, complementarity, energy, flags, axes; the same on every target; derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.model.placement import Placement
from tests.ground.robots import CORNERS, box, quadruped, standing

FEET = tuple(
    condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy((0.35, 0.0, 0.0)))
    for leg in ("lf", "rf", "lh", "rh")
)
EDGES = tuple(condyle.Contact(corner.frame, placement=Placement.from_rpy(corner.point)) for corner in CORNERS)
N, DT, MU = 60, 1e-3, 0.7
OPEN = ("normals", "gaps", "impulse0")


def states(n: int = N, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A quadruped about its stand that comes down."""
    robot, rng = quadruped(), np.random.default_rng(5)
    q = robot.integrate(np.tile(standing(), (n, 1)), noise * rng.normal(size=(n, robot.nv)))
    v = 0.3 * rng.normal(size=(n, robot.nv))
    v[:, 2] -= 0.3
    return q, v, 10.0 * rng.normal(size=(n, robot.nv))


@pytest.fixture(scope="module")
def dyn() -> condyle.Dynamics:
    return quadruped().compile(contacts=FEET)


@pytest.fixture(scope="module")
def opened() -> condyle.Dynamics:
    return quadruped().compile(contacts=FEET, inputs=OPEN)


@pytest.fixture(scope="module")
def jacobians() -> np.ndarray:
    """(N, 12, nv): of the feet, along the world's axes."""
    return world_jacobian(*states()[:1])


def world_jacobian(q: np.ndarray) -> np.ndarray:
    """By frames, which know nothing of contacts."""
    names = tuple(foot.frame for foot in FEET)
    of = quadruped().compile("numpy", frames=names, reference_frame="local_world_aligned")
    J, arms = of.frame_jacobians(q), of.frame_placements(q).rotation @ [0.35, 0.0, 0.0]
    rows = J[:, :, :3] + np.cross(J[:, :, 3:].swapaxes(2, 3), arms[:, :, None]).swapaxes(2, 3)
    return rows.reshape(len(q), 12, -1)


def given(n: int = N, mu: float = MU) -> list[Any]:
    return [*states(n), np.ones((n, 4)), np.full(n, DT), np.full((n, 4), mu)]


def excess(impulse: np.ndarray, mu: float = MU) -> float:
    """How far impulses are out of their cones."""
    return float(np.max(np.linalg.norm(impulse[..., :2], axis=-1) - mu * impulse[..., 2]))


def test_momentum_changes_by_the_impulses(dyn: condyle.Dynamics, jacobians: np.ndarray) -> None:
    q, v, tau, *rest = given()
    found, robot = dyn.contact_solve(q, v, tau, *rest), quadruped().compile("numpy")
    change = robot.mass_matrix(q) @ (found.v - v)[..., None]
    force = DT * (tau - robot.nonlinear_effects(q, v))
    pushed = np.einsum("nij,ni->nj", jacobians, found.impulse.reshape(N, 12))
    np.testing.assert_allclose(change[..., 0], force + pushed, rtol=0, atol=1e-10 * np.abs(pushed).max())


def test_cones_are_never_left_and_nothing_pulls(dyn: condyle.Dynamics) -> None:
    """Also where sweeps do not suffice: at random postures, with random frictions."""
    robot, rng = quadruped(), np.random.default_rng(1)
    q, v = robot.random_state(500, 2)
    mu = rng.uniform(0.0, 2.0, (500, 4))
    found = dyn.contact_solve(q, v, 50.0 * rng.normal(size=v.shape), np.ones((500, 4)), DT, mu)
    push, grip = found.impulse[..., 2], np.linalg.norm(found.impulse[..., :2], axis=-1)
    assert np.all(push >= 0.0) and np.all(grip <= mu * push * (1.0 + 1e-12) + 1e-15)
    assert found.residual.max() > 1e-3 > np.median(found.residual) > 0.0  # some are not solved, and it is said


def test_the_residual_is_that_of_complementarity(dyn: condyle.Dynamics, jacobians: np.ndarray) -> None:
    """Every condition, to what the residual says; it is small near the stand."""
    found = dyn.contact_solve(*given())
    u = np.einsum("nij,nj->ni", jacobians, found.v).reshape(N, 4, 3)
    push, grip, slip = found.impulse[..., 2], found.impulse[..., :2], u[..., :2]
    miss = found.residual[:, None]
    assert found.residual.max() < 1e-9
    assert np.all(u[..., 2] >= -2.0 * miss - 1e-11)
    assert np.all(np.minimum(push / push.max(), u[..., 2]) <= 10.0 * miss + 1e-11)
    speed, size = np.linalg.norm(slip, axis=-1), np.linalg.norm(grip, axis=-1)
    slides = (speed > 1e-2) & (push > 1e-3)
    assert 20 < slides.sum() < 4 * N - 20
    np.testing.assert_allclose(size[slides], MU * push[slides], rtol=1e-3)
    np.testing.assert_allclose((grip * slip).sum(axis=-1)[slides], -(size * speed)[slides], rtol=1e-3)
    stuck = size < 0.9 * MU * push
    assert stuck.sum() > 20 and np.all((speed - 10.0 * miss)[stuck] < 1e-9)


def test_energy_never_rises_by_impulses(dyn: condyle.Dynamics) -> None:
    """Of 500 random states; some are far from solved."""
    robot, rng = quadruped(), np.random.default_rng(3)
    q, v = robot.random_state(500, 4)
    tau, on, off = 50.0 * rng.normal(size=v.shape), np.ones((500, 4)), np.zeros((500, 4))
    before = dyn.contact_solve(q, v, tau, off, DT, 0.5 + off).v
    after = dyn.contact_solve(q, v, tau, on, DT, 0.5 + off).v
    energy = quadruped().compile("numpy").kinetic_energy
    assert np.all(energy(q, after) <= energy(q, before) * (1.0 + 1e-12))


def test_contacts_that_are_off_do_nothing(opened: condyle.Dynamics) -> None:
    """Whatever their gaps and the impulses that were given; other states of the batch do not change by them."""
    q, v, tau, on, dt, mu = given()
    flags = np.random.default_rng(0).integers(0, 2, (N, 4)).astype(float)
    flags[:5] = 0.0
    more = {"gaps": np.full(4, -1e-3), "impulse0": np.full((4, 3), 2.0)}
    found = opened.contact_solve(q, v, tau, flags, dt, mu, **more)
    assert not found.impulse[flags == 0.0].any() and found.impulse[flags == 1.0, 2].any()
    free = v[:5] + DT * quadruped().compile("numpy").forward_dynamics(q[:5], v[:5], tau[:5])
    np.testing.assert_allclose(found.v[:5], free, rtol=0, atol=1e-12 * np.abs(free).max())
    assert not found.residual[:5].any()
    some = np.flatnonzero((flags == [1, 0, 1, 0]).all(axis=1))
    two = quadruped().compile(contacts=FEET[::2], inputs=OPEN)
    rest = {name: value[::2] for name, value in more.items()}
    alone = two.contact_solve(q[some], v[some], tau[some], on[some, :2], DT, mu[some, :2], **rest)
    np.testing.assert_allclose(found.impulse[some][:, ::2], alone.impulse, rtol=1e-4, atol=1e-4)
    same = opened.contact_solve(q[9:10], v[9:10], tau[9:10], flags[9:10], DT, mu[9:10], **more)
    assert np.array_equal(same.v[0], found.v[9])


def test_gaps_let_points_come_down(opened: condyle.Dynamics, jacobians: np.ndarray) -> None:
    q, v, tau, on, dt, mu = given()
    free = np.einsum("nij,nj->ni", jacobians, opened.contact_solve(q, v, tau, 0.0 * on, dt, mu).v)[:, 2::3]
    far = opened.contact_solve(q, v, tau, on, dt, mu, gaps=np.full(4, 0.1))
    assert not far.impulse.any()
    gaps = 0.5e-3 * np.abs(free) * (free < 0.0)
    some = opened.contact_solve(q, v, tau, on, dt, mu, gaps=gaps)
    down = np.einsum("nij,nj->ni", jacobians, some.v)[:, 2::3]
    assert np.all(down >= -gaps / DT - 2.0 * some.residual[:, None] - 1e-11) and down.min() < -0.1
    deep = opened.contact_solve(q, v, tau, on, dt, mu, gaps=np.full(4, -1e-4))
    assert np.all(np.einsum("nij,nj->ni", jacobians, deep.v)[:, 2::3] >= 0.1 - 2.0 * deep.residual[:, None])


def test_normals_turn_all(opened: condyle.Dynamics) -> None:
    """A turned robot in turned gravity on a turned ground moves the same; a normal's length says nothing."""
    robot = box()
    rng = np.random.default_rng(7)
    v, tau = rng.normal(size=(20, 6)), rng.normal(size=(20, 6))
    q = robot.random_state(20, 0).q
    q[:, 3:] = [0.0, 0.0, 0.0, 1.0]
    level = robot.compile("numpy", contacts=EDGES).contact_solve(q, v, tau, np.ones(4), DT, np.full(4, MU))
    half = np.array([0.3, -0.2, 0.5, 0.8]) / np.linalg.norm([0.3, -0.2, 0.5, 0.8])
    x, y, z, w = half
    turn = np.eye(3) + 2.0 * w * cross(half[:3]) + 2.0 * cross(half[:3]) @ cross(half[:3])
    tilted = robot.compile("numpy", contacts=EDGES, inputs=("normals", "gravity"))
    turned = np.column_stack([q[:, :3] @ turn.T, np.tile([x, y, z, w], (20, 1))])
    options = {"normals": np.tile(3.0 * turn[:, 2], (4, 1)), "gravity": turn @ robot.gravity}
    found = tilted.contact_solve(turned, v, tau, np.ones(4), DT, np.full(4, MU), **options)
    np.testing.assert_allclose(found.v, level.v, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.impulse @ turn, level.impulse, rtol=0, atol=1e-9)
    down = -np.tile([0.0, 0.0, 1.0], (4, 1))
    assert not np.isnan(opened.contact_solve(*given(3), normals=down).v).any()


def test_arms_move_the_point_that_touches() -> None:
    """A contact with an arm is a contact at the end of the arm, whatever the pose; no arm is an arm of zero."""
    robot, rng = box(), np.random.default_rng(3)
    q, v = robot.random_state(20, 0)
    x, y, z, w = q[:, 3:].T
    ways = [np.stack([x * x - y * y - z * z + w * w, 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)], -1)]
    ways += [np.stack([2.0 * (x * y - z * w), y * y - x * x - z * z + w * w, 2.0 * (y * z + x * w)], -1)]
    turn = np.stack([*ways, np.cross(*ways)], -1)
    corners = np.array([corner.point for corner in CORNERS])
    places = 0.1 * rng.normal(size=(4, 3))
    inside = [condyle.Contact("box", placement=Placement.from_rpy(place, rng.normal(size=3))) for place in places]
    rest = rng.normal(size=(20, 6)), np.ones(4), DT, np.full(4, MU)
    at_ends = robot.compile("numpy", contacts=EDGES).contact_solve(q, v, *rest)
    armed = robot.compile("numpy", contacts=inside, inputs=("arms",))
    found = armed.contact_solve(q, v, *rest, arms=np.einsum("nij,kj->nki", turn, corners - places))
    solved = np.maximum(found.residual, at_ends.residual) < 1e-9
    assert at_ends.impulse[solved].any() and solved.sum() > 15
    # how four points share a body that turns goes by the start, whose mu is of the scale at the origins of contacts
    np.testing.assert_allclose(found.v[solved], at_ends.v[solved], rtol=0, atol=1e-5)
    none = robot.compile("numpy", contacts=inside).contact_solve(q, v, *rest)
    assert np.array_equal(armed.contact_solve(q, v, *rest).v, none.v)


def cross(a: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), a)


def test_it_begins_where_it_is_told(opened: condyle.Dynamics, dyn: condyle.Dynamics) -> None:
    """At an answer it stays; from nothing it comes to the same."""
    q, v, tau, on, dt, mu = given()
    first = dyn.contact_solve(q, v, tau, on, dt, mu)
    cold = opened.contact_solve(q, v, tau, on, dt, mu)
    warm = opened.contact_solve(q, v, tau, on, dt, mu, impulse0=first.impulse)
    assert max(np.max(x.residual) for x in (first, cold, warm)) < 1e-10
    scale = np.abs(first.impulse).max()
    for x in (cold, warm):
        np.testing.assert_allclose(x.impulse, first.impulse, rtol=0, atol=1e-9 * scale)


def test_a_robot_at_rest_that_sticks_moves_as_with_held_contacts(dyn: condyle.Dynamics) -> None:
    q, v, tau, on, dt, mu = given()
    found = dyn.contact_solve(q, 0.0 * v, 0.1 * tau, on, dt, 5.0 * mu)
    held = dyn.constrained_forward_dynamics(q, 0.0 * v, 0.1 * tau, on)
    inside = np.linalg.norm(found.impulse[..., :2], axis=-1) < 4.9 * MU * found.impulse[..., 2]
    stuck = inside.all(axis=1)
    assert stuck.sum() > 30
    np.testing.assert_allclose(found.v[stuck], DT * held.a[stuck], rtol=0, atol=1e-7)


def test_without_friction_nothing_grips(dyn: condyle.Dynamics) -> None:
    for mu in (0.0, -0.5):
        found = dyn.contact_solve(*given(mu=mu))
        assert not found.impulse[..., :2].any() and found.impulse[..., 2].max() > 0.1


def test_more_points_than_are_needed_hold_a_box() -> None:
    """Four corners of one body: G is singular, and the answer is finite and that of the body."""
    dyn = box().compile(contacts=EDGES)
    q = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    found = dyn.contact_solve(q, np.zeros(6), np.zeros(6), np.ones(4), DT, np.full(4, MU))
    assert np.abs(found.v).max() < 1e-12 and found.residual < 1e-11
    weight = 2.0 * 9.81 * DT / 4.0  # the start is even to its mu of 1e-3, sweeps are not
    np.testing.assert_allclose(found.impulse, [[0.0, 0.0, weight]] * 4, rtol=0, atol=1e-3 * weight)


def test_external_forces_push(dyn: condyle.Dynamics) -> None:
    """A force on the trunk is a force of its floating joint, which is given in the trunk's axes."""
    q, v, tau, *rest = given(5)
    forces = np.zeros((5, len(quadruped().bodies), 6))
    forces[:, 0] = 100.0 * np.random.default_rng(0).normal(size=(5, 6))
    moved = tau + np.column_stack([forces[:, 0], np.zeros((5, 12))])
    by_force, by_torque = dyn.contact_solve(q, v, tau, *rest, f_ext=forces), dyn.contact_solve(q, v, moved, *rest)
    np.testing.assert_allclose(by_force.v, by_torque.v, rtol=0, atol=1e-10)


def test_two_bodies_push_each_other() -> None:
    """A block that is thrown on a sledge: it takes it along by friction; momentum and energy are those of both."""
    builder = condyle.Builder(gravity=(0.0, 0.0, -9.81))
    for name, mass, kind in (("block", 1.0, "translation"), ("sledge", 3.0, "prismatic")):
        builder.body(name, mass=mass, inertia=0.01 * np.eye(3))
        builder.joint(f"{name}_way", parent="world", child=name, type=kind, axis=(1.0, 0.0, 0.0))
    robot = builder.build()
    dyn = robot.compile("numpy", contacts=[condyle.Contact("block", other="sledge")])
    q, v, zeros = np.zeros(4), np.array([2.0, 0.0, -0.5, 0.0]), np.zeros(4)
    slid = dyn.contact_solve(q, v, zeros, [True], DT, [0.3])
    push = 0.5 + 9.81 * DT  # N s
    np.testing.assert_allclose(slid.impulse, [[-0.3 * push, 0.0, push]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(slid.v, [2.0 - 0.3 * push, 0.0, 0.0, 0.1 * push], rtol=0, atol=1e-9)
    stuck = dyn.contact_solve(q, v, zeros, [True], DT, [10.0])
    np.testing.assert_allclose(stuck.v, [0.5, 0.0, 0.0, 0.5], rtol=0, atol=1e-9)
