"""What the forces of a ground obey: no pull, no energy out of nothing, Coulomb's cone, the weight that is carried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Foot, Grid, Ground
from condyle.ground.surface import ramp, ramp_integral
from tests.ground.robots import CORNERS, FEET, MASS, ball, box, quadruped, standing

G = 9.81
BALL = Ground(["ball"], stiffness=2e4, damping=0.5, friction=0.6, slip=0.05, blend=2e-3)
GRID = Grid((6, 5), (0.3, 0.4), (-0.7, -0.9))
HEIGHTS = 0.1 * np.random.default_rng(3).normal(size=GRID.shape)
ROUGH = Ground(["ball"], stiffness=2e4, height=GRID)


def probe(ground: Ground, robot: condyle.Robot = ball(), **options: Any) -> Any:
    """Forces, energy and power of a ground at a state."""

    def found(at: Any, heights: Any = None) -> dict[str, Any]:
        forces = ground.forces(at, heights)
        power = (at.inverse_dynamics(0.0 * at.v) - at.inverse_dynamics(0.0 * at.v, ground.f_ext(at, heights))) @ at.v
        return {"forces": forces, "energy": ground.energy(at, heights), "power": power}

    inputs: dict[str, Any] = {"q": "nq", "v": "nv"}
    inputs |= {} if ground.height is None else {"heights": ground.height.shape}
    return robot.function(found, inputs, **options)


def test_a_ramp_is_smooth_and_its_integral_is_one() -> None:
    x, w, h = np.linspace(-1.0, 3.0, 4001), 0.7, 1e-4
    y = ramp(x, w)
    assert not y[x <= 0].any() and np.allclose(y[x >= w], x[x >= w] - w / 2) and (np.diff(y) >= 0).all()
    assert np.allclose((ramp_integral(x + h, w) - ramp_integral(x - h, w)) / (2 * h), y, atol=1e-7)
    slope = (ramp(x + h, w) - ramp(x - h, w)) / (2 * h)
    bend = (ramp(x + h, w) - 2 * y + ramp(x - h, w)) / h**2
    assert np.abs(np.diff(slope)).max() < 3e-3 and np.abs(np.diff(bend)).max() < 2e-2  # steps of 1e-3: no jump


def states(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Of the ball, about the ground."""
    rng = np.random.default_rng(seed)
    q = rng.uniform((-1.5, -1.5, -0.2), (1.5, 1.5, 0.2), (n, 3))
    return q, rng.normal(size=(n, 3)) * 2.0


@pytest.mark.parametrize("ground", [BALL, ROUGH], ids=["plane", "grid"])
def test_the_ground_never_pulls_and_grips_within_the_cone(ground: Ground) -> None:
    q, v = states(400)
    heights = () if ground.height is None else (HEIGHTS,)
    forces = probe(ground).compile(target="numpy")(q, v, *heights).forces[:, 0]
    normal = np.tile([0.0, 0.0, 1.0], (400, 1))
    depth = -q[:, 2]
    if ground.height is not None:
        height, by_x, by_y = (np.array(x) for x in zip(*(GRID.height(HEIGHTS, *p[:2]) for p in q), strict=True))
        normal, depth = np.stack([-by_x, -by_y, np.ones(400)], axis=1), height - q[:, 2]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    push = (forces * normal).sum(axis=1)
    along = forces - push[:, None] * normal
    slip = v - (v * normal).sum(axis=1, keepdims=True) * normal
    assert not forces[depth <= 0].any() and (push[depth > 0] >= 0).all() and (push > 0).sum() > 100
    assert (np.linalg.norm(along, axis=1) <= ground.friction * push + 1e-12).all()
    speed = np.linalg.norm(slip, axis=1, keepdims=True)
    wanted = -ground.friction * push[:, None] * slip / np.sqrt(speed**2 + ground.slip**2)
    assert np.allclose(along, wanted, rtol=1e-9, atol=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize("ground", [BALL, ROUGH], ids=["plane", "grid"])
def test_no_motion_takes_more_out_of_the_ground_than_its_springs_hold(ground: Ground) -> None:
    """Power of the forces <= the rate at which the springs' energy falls, in every state."""
    q, v = states(400, 1)
    heights = () if ground.height is None else (HEIGHTS,)
    f, h = probe(ground).compile(), 1e-6
    found = f(q, v, *heights)
    falls = -(f(q + h * v, v, *heights).energy - f(q - h * v, v, *heights).energy) / (2 * h)
    assert np.allclose(found.power, (found.forces[:, 0] * v).sum(axis=1), rtol=1e-9, atol=1e-9)
    assert (found.power <= falls + 1e-4).all() and found.power.min() < -1.0


def test_without_damping_and_friction_energy_stays() -> None:
    ground = Ground(["ball"], stiffness=2e4, damping=0.0, friction=0.0)
    f, q, v = ground.step(ball()).compile(), np.array([0.0, 0.0, 0.05]), np.array([0.3, 0.0, 0.0])
    path = f.rollout(q, v, np.zeros(3), 1e-5, steps=20000)
    energy = MASS * (G * path.q[:, 2] + 0.5 * (path.v**2).sum(axis=1)) + probe(ground).compile()(path.q, path.v).energy
    assert np.abs(energy / energy[0] - 1.0).max() < 2e-3 and path.q[:, 2].min() < -1e-3


def test_what_rests_gains_no_energy() -> None:
    """A box that falls flat: energy never rises by more than rounding once it lies, and it comes to rest."""
    ground = Ground(CORNERS, stiffness=2e4, damping=2.0, slip=0.1)
    robot = box()
    f, q = ground.step(robot).compile(), robot.neutral()
    q[2] = 0.06
    path = f.rollout(q, np.zeros(6), np.zeros(6), 1e-4, steps=20000)
    kinetic = robot.compile().kinetic_energy(path.q, path.v)
    energy = kinetic + MASS * G * path.q[:, 2] + probe(ground, robot).compile()(path.q, path.v).energy
    assert (np.diff(energy[15000:]) < 1e-9).all() and kinetic[-1] < 1e-9 * kinetic.max()


@pytest.mark.parametrize(("robot", "feet"), [(box(), CORNERS), (ball(), (Foot("ball"),))], ids=["box", "ball"])
def test_at_rest_the_feet_carry_the_weight(robot: condyle.Robot, feet: tuple[Foot, ...]) -> None:
    ground = Ground(feet, stiffness=2e4, damping=2.0, blend=1e-3)
    q = robot.neutral()
    q[2] = 0.06
    end = ground.step(robot).compile().rollout(q, np.zeros(robot.nv), np.zeros(robot.nv), 2e-4, steps=20000, last=True)
    forces = probe(ground, robot).compile()(end.q, end.v).forces
    assert np.allclose(forces.sum(axis=0), [0.0, 0.0, MASS * G], atol=1e-6)
    depth = (0.05 if robot is box() else 0.0) - end.q[2]
    assert np.isclose(len(feet) * 2e4 * ramp(depth, 1e-3), MASS * G, rtol=1e-6)


@pytest.mark.parametrize("by", ["gravity", "grid"])
@pytest.mark.parametrize("slope", [0.2, 0.4, 0.8])
def test_a_foot_on_a_slope_creeps_or_slips(slope: float, by: str) -> None:
    """Below mu it creeps at the speed where the grip holds; above, it speeds up by g (sin - mu cos)."""
    mu, eps, angle = 0.5, 0.05, np.arctan(slope)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    more: dict[str, Any] = {"stiffness": 2e4, "damping": 5.0, "friction": mu, "slip": eps}
    if by == "gravity":
        robot, ground, heights = ball((G * np.sin(angle), 0.0, -G * np.cos(angle))), Ground(["ball"], **more), ()
        down = np.array([1.0, 0.0, 0.0])
    else:
        grid = Grid((4, 3), 20.0, (-30.0, -20.0))
        heights = (np.repeat(-slope * grid.nodes[0][:, None], 3, axis=1),)
        robot, ground = ball(), Ground(["ball"], height=grid, **more)
    f, dt, still = ground.step(robot).compile(), 2e-4, np.zeros(3)
    path = f.rollout(still, still, still, dt, *heights, steps=10000)
    speed = path.v @ down
    if slope < mu:
        share = slope / mu
        assert np.isclose(speed[-1], eps * share / np.sqrt(1.0 - share**2), rtol=1e-6)
    else:
        rate = (speed[-1] - speed[-1001]) / (1000 * dt)
        assert np.isclose(rate, G * (np.sin(angle) - mu * np.cos(angle)), rtol=1e-3)


@pytest.mark.parametrize("what", ["stiffness", "damping", "friction"])
def test_steps_are_stable_up_to_the_longest_one(what: str) -> None:
    """A ball at rest in the ground, touched: at 0.97 of that dt it comes back, at 1.03 it does not."""
    more = {"damping": 0.0, "friction": 0.0} if what == "stiffness" else {what: 5.0 if what == "damping" else 0.8}
    ground = Ground(["ball"], **{"stiffness": 2e4, "slip": 1e-2, **more})
    q = np.array([0.0, 0.0, -(MASS * G / 2e4 + 0.5e-3)])
    longest = ground.longest_step(ball(), q)
    if what == "stiffness":
        assert np.isclose(longest, np.sqrt(4.0 * MASS / 2e4))  # k = 4 m / dt^2
    if what == "friction":
        assert np.isclose(longest, 2.0 * MASS * 1e-2 / (0.8 * MASS * G))
    f, touched = ground.step(ball()).compile(), np.array([1e-6, 0.0, -1e-6])
    most = [np.abs(f.rollout(q, touched, 0.0 * q, x * longest, steps=400).v).max() for x in (0.97, 1.03)]
    assert most[0] < 2e-5 and most[1] > 1e-4


def test_the_longest_step_of_a_quadruped_is_stable() -> None:
    ground = Ground(FEET, stiffness=5e4, damping=0.2, friction=0.0)
    robot, q = quadruped(), standing()
    longest = ground.longest_step(robot, q, load=0.0)
    assert np.isclose(longest, Ground(FEET, 5e4, 0.0, 0.0).longest_step(robot, q))
    assert ground.longest_step(robot, q) < longest < np.sqrt(4.0 * robot.mass / 5e4)
    assert Ground(FEET, 2e5, 0.0, 0.0).longest_step(robot, q) == pytest.approx(longest / 2)


@pytest.mark.parametrize("angle", [0.0, 0.5, -1.2])
def test_the_longest_step_of_a_lever(angle: float) -> None:
    """With x and z of the foot from the axis, h^2 k x^2 + 2 h (c x^2 + grip z^2) = 4 I / n for each of n feet."""
    inertia, x, z, k, c, load = 0.3, 0.7, -0.2, 3e3, 0.4, 5.0
    builder = condyle.Builder().body("lever", mass=1.0, inertia=inertia * np.eye(3))
    builder.joint("axle", parent="world", child="lever", type="revolute", axis=(0.0, 1.0, 0.0), xyz=(1.0, 2.0, 3.0))
    builder.body("shoe", mass=1e-9, inertia=1e-12 * np.eye(3))
    builder.joint("fixed", parent="lever", child="shoe", type="fixed", xyz=(0.5, 0.0, -0.3))
    robot, q = builder.build(), np.array([angle])
    cos, sin = np.cos(angle), np.sin(angle)
    along, up = cos * x + sin * z, cos * z - sin * x
    for feet in ([Foot("shoe", (0.2, 0.0, 0.1))], [Foot("shoe", (0.2, y, 0.1)) for y in (0.0, 0.1)]):
        n = len(feet)
        ground = Ground(feet, stiffness=k, damping=c, friction=0.6, slip=0.3)
        b = c * load * along**2 + 0.6 * load / 0.3 * up**2
        wanted = (-b + np.sqrt(b * b + 4.0 * inertia * k * along**2 / n)) / (k * along**2)
        assert np.isclose(ground.longest_step(robot, q, load), wanted, rtol=1e-6)
        own = ground.longest_step(robot, q, (1.0 + 1e-9) * 9.81 / n)
        assert ground.longest_step(robot, q) == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("reference_frame", ["local", "world", "local_world_aligned"])
@pytest.mark.parametrize("force_frame", ["local", "local_world_aligned"])
def test_forces_do_not_depend_on_how_a_function_refers_to_them(reference_frame: str, force_frame: str) -> None:
    """Their generalised forces are J^T f, J by differences of nothing: of the frames' own Jacobians."""
    robot = quadruped()
    rng = np.random.default_rng(0)
    q, v = robot.random_state(6, rng)
    q[:, 2] = rng.uniform(0.2, 0.6, 6)
    ground = Ground((*FEET, Foot("base_link_0", (0.1, 0.2, -0.1)), Foot("lf_lowerleg")))

    def found(at: Any) -> dict[str, Any]:
        given = {"tau": at.inverse_dynamics(0.0 * at.v) - at.inverse_dynamics(0.0 * at.v, ground.f_ext(at))}
        return {"forces": ground.forces(at), **given}

    inputs: dict[str, Any] = {"q": "nq", "v": "nv"}
    made = robot.function(found, inputs, reference_frame=reference_frame, force_frame=force_frame)
    forces, tau = made.compile(target="numpy")(q, v)
    names = [foot.frame for foot in ground.feet]
    dynamics = robot.compile("numpy", frames=tuple(dict.fromkeys(names)), reference_frame="local_world_aligned")
    J, turns = dynamics.frame_jacobians(q), dynamics.frame_placements(q).rotation
    wanted = np.zeros((6, robot.nv))
    for k, foot in enumerate(ground.feet):
        i = names.index(foot.frame)
        arm = turns[:, i] @ np.asarray(foot.point)
        at_foot = J[:, i, :3] + np.cross(J[:, i, 3:].swapaxes(1, 2), arm[:, None]).swapaxes(1, 2)
        wanted += (at_foot.swapaxes(1, 2) @ forces[:, k, :, None])[..., 0]
    assert np.abs(forces).max() > 100.0
    assert np.allclose(tau, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("reference_frame", ["local_world_aligned", "world"])
def test_forces_do_not_depend_on_the_reference_frame(reference_frame: str) -> None:
    """A foot beside its frame's origin, on a turning body away from the world's origin."""
    robot, ground = quadruped(), Ground(FEET)
    q, v = robot.random_state(5, 3)
    q[:, :3] += (4.0, -3.0, -0.5)
    local = probe(ground, robot).compile(target="numpy")(q, v)
    found = probe(ground, robot, reference_frame=reference_frame).compile(target="numpy")(q, v)
    assert np.abs(local.forces).max() > 1.0
    for one, other in zip(found, local, strict=True):
        assert np.abs(one - other).max() < 1e-11 * np.abs(other).max()
