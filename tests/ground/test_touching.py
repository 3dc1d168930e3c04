"""Shapes on hard grounds: where they touch, and how they fall, stand, slide, roll and tip over."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Grid, Plane, Terrain
from condyle.model.contact import HERE
from condyle.model.placement import Placement
from tests.ground.robots import MASS, SIZES, about, height_of, solid, turn_of

DT, G = 1e-3, 9.81
NONE = np.zeros(6)
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
LYING = about((1.0, 0.0, 0.0), 0.5 * np.pi)


@cache
def step(kind: str, size: tuple[float, ...] | None = None) -> Any:
    """q, v, tau, dt, friction, normal -> ... of a solid on a plane."""
    robot, contacts = solid(kind, size)
    return Plane().step(robot, contacts, inputs=("normal",)).compile()


def energy(kind: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    moments = np.diagonal(solid(kind)[0].bodies[0].inertia)
    return 0.5 * MASS * (v[..., :3] ** 2).sum(-1) + 0.5 * (moments * v[..., 3:] ** 2).sum(-1) + MASS * G * q[..., 2]


def in_world(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", turn_of(q[..., 3:]), x)


@pytest.mark.parametrize("kind", SIZES)
def test_the_deepest_point_is_that_of_the_shape(kind: str) -> None:
    """By its support function, in random poses and on random planes."""
    robot, contacts = solid(kind)

    def gaps(at: Any, normal: Any) -> Any:
        return Plane(normal=normal, offset=0.3).gaps(at)

    q, normals = robot.random_state(200, 0).q, np.random.default_rng(1).normal(size=(200, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    found = robot.function(gaps, {"q": "nq", "normal": 3}, contacts=contacts).compile()(q, normals)
    want = [n @ x[:3] - 0.3 - height_of(kind, x[3:], n) for n, x in zip(normals, q, strict=True)]
    # what is added to the tilt of a cylinder, 1e-4, moves its lowest point by its square
    np.testing.assert_allclose(found.min(axis=1), want, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", [pytest.param("sphere", marks=pytest.mark.smoke), "capsule", "box", "cylinder"])
def test_random_drops_keep_the_laws(kind: str) -> None:
    """Momentum changes by gravity and impulses, no impulse leaves its cone, energy falls, nothing sinks in."""
    n, steps, rng = 20, 1000, np.random.default_rng(0)
    q = solid(kind)[0].random_state(n, 0).q
    q[:, :3] = 0.0, 0.0, 0.5
    v, mu = rng.normal(size=(n, 6)) * [1.0, 1.0, 1.0, 3.0, 3.0, 3.0], rng.uniform(0.1, 1.0, n)
    path = step(kind).rollout(q, v, NONE, DT, mu, [0.0, 0.0, 1.0], steps=steps)
    qs, vs = np.concatenate([q[:, None], path.q], 1), np.concatenate([v[:, None], path.v], 1)
    change = MASS * np.diff(in_world(qs, vs[..., :3]), axis=1)
    np.testing.assert_allclose(change, path.impulse.sum(axis=2) - [0.0, 0.0, MASS * G * DT], rtol=0, atol=1e-12)
    push, grip = path.impulse[..., 2], np.linalg.norm(path.impulse[..., :2], axis=-1)
    assert push.min() >= 0.0 and np.all(grip <= mu[:, None, None] * push * (1.0 + 1e-12) + 1e-15)
    energies = energy(kind, qs, vs)
    # of the depth that is taken back, below 1 mm of 500, and of steps of first order
    assert np.maximum(np.diff(energies, axis=1), 0.0).sum(axis=1).max() < 1e-3 * energies[:, 0].min()
    assert np.all(energies[:, -1] < 0.8 * energies[:, 0])
    depth = height_of(kind, qs[..., 3:]) - qs[..., 2]
    assert depth.max() < 1e-3 and np.abs(depth[:, -1]).max() < 1e-4
    assert np.quantile(path.residual, 0.99) < 1e-4 and path.residual.max() < 1e-2


@pytest.mark.parametrize("kind", ["box", "cylinder"])
@pytest.mark.parametrize("degrees", [0.0, 15.0])
def test_what_stands_is_pushed_by_its_weight(kind: str, degrees: float) -> None:
    """On a plane, and on heights that are a plane; each point of a box on level ground by a quarter."""
    robot, contacts = solid(kind)
    angle = np.radians(degrees)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    q = np.array([*SIZES[kind][-1] * normal, *about((0.0, 1.0, 0.0), angle)])
    grid = Grid((6, 6), 0.4, (-1.0, -1.0))
    heights = np.repeat(-np.tan(angle) * grid.nodes[0][:, None], 6, axis=1)
    over = Terrain(grid, heights).step(robot, contacts).compile()
    for path in (
        step(kind).rollout(q, NONE, NONE, DT, 0.6, normal, steps=500),
        over.rollout(q, NONE, NONE, DT, 0.6, steps=500),
    ):
        force = path.impulse[-1] / DT
        np.testing.assert_allclose(force.sum(axis=0), [0.0, 0.0, MASS * G], rtol=0, atol=1e-6)
        assert np.abs(path.q[-1] - q).max() < 1e-9 and path.residual.max() < 1e-9
        if not degrees:
            np.testing.assert_allclose(force[:, 2], MASS * G / 4.0, rtol=2e-3)  # by the start's mu of 1e-3


@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_what_slides_stops_after_its_way(kind: str) -> None:
    """v^2 / (2 mu g)."""
    mu, speed = np.array([0.15, 0.3, 0.5])[: 3 if kind == "box" else 2], 1.5
    q = np.array([0.0, 0.0, SIZES[kind][-1], *LEVEL])
    path = step(kind).rollout(q, [speed, *NONE[1:]], NONE, DT, mu, [0.0, 0.0, 1.0], steps=1200)
    np.testing.assert_allclose(path.q[:, -1, 0], speed**2 / (2.0 * mu * G) - 0.5 * speed * DT, rtol=1e-5)
    assert np.abs(path.v[:, -1]).max() < 1e-9


@pytest.mark.parametrize("kind", ["sphere", "cylinder", "capsule"])
def test_what_is_thrown_begins_to_roll_and_rolls_on(kind: str) -> None:
    """v / (1 + I / m r^2) after it has slid; then without slip, at one height and one speed. Downhill it speeds up by
    g sin / (1 + I / m r^2)."""
    robot, radius = solid(kind)[0], SIZES[kind][0]
    pose = LEVEL if kind == "sphere" else LYING
    share = 1.0 / (1.0 + robot.bodies[0].inertia[2, 2] / (MASS * radius**2))
    q = np.array([0.0, 0.0, radius, *pose])
    v = np.array([*turn_of(pose).T @ [2.0, 0.0, 0.0], 0.0, 0.0, 0.0])
    path = step(kind).rollout(q, v, NONE, DT, 0.5, [0.0, 0.0, 1.0], steps=1500)
    linear, angular = in_world(path.q, path.v[:, :3]), in_world(path.q, path.v[:, 3:])
    slip = linear[:, 0] - radius * angular[:, 1]
    assert slip[50] > 0.5 and np.abs(slip[400:]).max() < 1e-9
    np.testing.assert_allclose(linear[400:, 0], 2.0 * share, rtol=1e-9)
    assert np.abs(path.q[:, 2] - radius).max() < 1e-9 and np.abs(path.q[:, 1]).max() < 1e-6
    angle = np.radians(20.0)
    normal, down = np.array([np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle), 0.0, -np.sin(angle)])
    path = step(kind).rollout([*radius * normal, *pose], NONE, NONE, DT, 0.8, normal, steps=1000)
    way = path.q[-1, :3] @ down
    np.testing.assert_allclose(way, 0.5 * G * np.sin(angle) * share * 1.001, rtol=1e-6)  # of 1000 steps


@pytest.mark.parametrize(("kind", "size"), [("box", (0.1, 0.3, 0.2)), ("cylinder", (0.1, 0.2))])
def test_it_tips_over_where_it_must(kind: str, size: tuple[float, ...]) -> None:
    """On a slope above atan(radius / half height), half a degree on either side."""
    critical = np.degrees(np.arctan(0.5))
    for degrees, end in ((critical - 0.5, 0.0), (critical + 0.5, 90.0)):
        angle = np.radians(degrees)
        normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
        q = np.array([*0.2 * normal, *about((0.0, 1.0, 0.0), angle)])
        path = step(kind, size).rollout(q, NONE, NONE, DT, 2.0, normal, steps=1500)
        upright = in_world(path.q[-1], np.array([0.0, 0.0, 1.0])) @ normal
        assert abs(np.degrees(np.arccos(min(upright, 1.0))) - end) < 0.1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("kind", "metres"), [("sphere", 1e-3), ("capsule", 0.02), ("box", 0.02), ("cylinder", 0.03)])
def test_mujoco_lands_at_about_the_same_place(kind: str, metres: float) -> None:
    """After 0.5 s, thrown from 5 cm with a turn: its contacts are soft, so that a tumbling body differs by more."""
    mujoco = pytest.importorskip("mujoco")
    robot, _ = solid(kind)
    words = [" ".join(map(str, x)) for x in (SIZES[kind], np.diagonal(robot.bodies[0].inertia))]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option cone="elliptic" timestep="0.0005" iterations="100" impratio="100" tolerance="1e-12"/>
        <worldbody><geom type="plane" size="5 5 1" friction="0.5 0 0" solref="0.002 1" solimp="0.99 0.999 1e-4"/>
        <body><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{words[1]}"/>
        <geom type="{kind}" size="{words[0]}" friction="0.5 0 0"/></body></worldbody></mujoco>"""
    )
    rng, misses = np.random.default_rng(1), list[float]()
    for _ in range(6):
        axis = rng.normal(size=3)
        pose = about(axis / np.linalg.norm(axis), rng.uniform(0.05, 0.6))
        q = np.array([0.0, 0.0, float(height_of(kind, pose)) + 0.05, *pose])
        linear, angular = np.array([*0.5 * rng.normal(size=2), 0.0]), rng.normal(size=3)
        v = np.array([*turn_of(pose).T @ linear, *angular])
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = [*q[:3], pose[3], *pose[:3]], [*linear, *angular]
        mujoco.mj_step(model, data, 1000)
        path = step(kind).rollout(q, v, NONE, 2.5e-4, 0.5, [0.0, 0.0, 1.0], steps=2000, last=True)
        misses.append(float(np.linalg.norm(path.q[:3] - data.qpos[:3])))
    assert max(misses) < metres


def mixed() -> tuple[condyle.Robot, tuple[condyle.Contact, ...]]:
    """Every shape on one body, one of them not at its frame, and a point."""
    robot, _ = solid("box")
    place = Placement.from_rpy((0.1, -0.2, 0.05), (0.3, 0.2, -0.5))
    shapes = [condyle.Shape(kind, size, "solid", place if kind == "cylinder" else HERE) for kind, size in SIZES.items()]
    return robot, (*robot.shape_contacts(shapes)[:9], condyle.Contact("solid", placement=place))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_compiled_is_as_the_reference(target: str) -> None:
    """Of some shapes together, on a height field and on a plane; the axes of the velocities of frames do not matter."""
    robot, contacts = solid("cylinder")
    q, v = robot.random_state(8, 0)
    q[:, :3], heights = [0.0, 0.0, 0.1], 0.05 * np.random.default_rng(2).normal(size=(4, 4))
    f = Terrain(Grid((4, 4), 0.5, (-0.8, -0.7))).step(robot, contacts, inputs=("heights",))
    inputs = q, v, NONE, DT, 0.5, heights
    found, want = f.compile(target)(*inputs), f.reference(*inputs)
    assert want.impulse.any()
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-7)


def test_axes_of_frames_and_placements_do_not_matter() -> None:
    robot, contacts = mixed()
    q, v = robot.random_state(20, 0)
    q[:, :3] = 0.0, 0.0, 0.15

    def gap_solve(at: Any, tau: Any, dt: Any) -> Any:
        solved = Plane((0.1, 0.2, 1.0)).contact_solve(at, tau, dt, 0.4)
        return {"v": solved.v, "impulse": solved.impulse}

    sizes = {"q": "nq", "v": "nv", "tau": "nv", "dt": ()}
    first, other = (
        robot.function(gap_solve, sizes, contacts=contacts, reference_frame=axes).compile("numpy")(q, v, NONE, DT)
        for axes in ("local", "local_world_aligned")
    )
    assert first.impulse[:, :9].any()
    np.testing.assert_allclose(other.v, first.v, rtol=0, atol=1e-9)


def test_what_is_no_number_spoils_its_own_state_only() -> None:
    q, v = solid("box")[0].random_state(5, 0)
    q[:, :3] = 0.0, 0.0, 0.1
    inputs = [q, v, np.zeros((5, 6)), DT, 0.5, [0.0, 0.0, 1.0]]
    whole = step("box")(*inputs)
    spoiled = v.copy()
    spoiled[2, 1] = np.nan
    found = step("box")(inputs[0], spoiled, *inputs[2:])
    assert np.isnan(found.v[2]).any() and np.isnan(found.residual[2])
    for x, y in zip(found, whole, strict=True):
        assert np.array_equal(np.delete(x, 2, 0), np.delete(y, 2, 0))


@pytest.mark.slow
def test_derivatives_see_arms_and_gaps() -> None:
    """Of a ball that slips, and of a capsule that falls on one end, against differences."""
    for kind, pose, height in (("sphere", LEVEL, 0.1), ("capsule", about((0.0, 1.0, 0.0), 1.2), 0.104)):
        robot, contacts = solid(kind)
        f = Plane((0.05, 0.0, 1.0)).step(robot, contacts).compile("numpy")
        q, v = np.array([0.0, 0.0, height, *pose]), np.array([0.6, 0.2, -1.0, 0.3, 1.0, -0.5])
        found, ways, rest = f.jacobian()(q, v, NONE, 5e-3, 0.3), 1e-6 * np.eye(6), (NONE, 5e-3, 0.3)
        assert f(q, v, *rest).impulse.any()
        ahead, behind = (f(robot.integrate(q, way), v, *rest).v for way in (ways, -ways))
        np.testing.assert_allclose(found.dv_dq, (ahead - behind).T / 2e-6, rtol=0, atol=1e-4)
        faster, slower = (f(q, v + way, *rest).v for way in (ways, -ways))
        np.testing.assert_allclose(found.dv_dv, (faster - slower).T / 2e-6, rtol=0, atol=1e-4)


def test_balls_at_feet_roll_and_carry_the_robot() -> None:
    """The bundled quadruped stands on the spheres of its file by springs, under its weight."""
    robot = condyle.load("go2", floating_base=True)
    feet = robot.shape_contacts(["FL", "FR", "RL", "RR"])
    assert [one.shape.size for one in feet if one.shape] == [(0.022,)] * 4
    posture = np.tile([0.0, 0.9, -1.8], 4)

    def held(at: Any, dt: Any) -> dict[str, Any]:
        springs = 60.0 * (posture - at.q[7:]) - 3.0 * at.v[6:]
        solved = Plane().contact_solve(at, np.concatenate([np.zeros(6), springs]), dt, 0.8)
        after = at.stepped(solved.v, dt)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse, "gaps": Plane().gaps(at)}

    f = robot.function(held, {"q": "nq", "v": "nv", "dt": ()}, contacts=feet).compile()
    q = robot.neutral()
    q[2], q[7:] = 0.35, posture
    path = f.rollout(q, np.zeros(18), 2e-3, steps=1500)
    np.testing.assert_allclose(path.impulse[-1, :, 2].sum() / 2e-3, robot.mass * G, rtol=1e-3)
    assert np.abs(path.gaps[-1]).max() < 1e-6 and path.gaps.min() > -1e-4 and np.abs(path.v[-1]).max() < 1e-3


@pytest.mark.slow
def test_twenty_four_points_run() -> None:
    """Feet, trunk and thighs of a quadruped that falls and lies, with twelve sweeps from the last impulses."""
    robot = condyle.load("go2", floating_base=True)
    boxes = [shape for shape in robot.shapes if shape.kind == "box"][:5]
    contacts = robot.shape_contacts(["FL", "FR", "RL", "RR", *boxes])
    assert len(contacts) == 24

    def fall(at: Any, impulse: Any) -> dict[str, Any]:
        solved = Plane().contact_solve(at, np.zeros(18), 4e-3, 0.6, impulse0=impulse)
        after = at.stepped(solved.v, 4e-3)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse, "residual": solved.residual}

    sizes = {"q": "nq", "v": "nv", "impulse": (24, 3)}
    f = robot.function(fall, sizes, contacts=contacts, sweeps=12).compile()
    q, v = robot.neutral(), 0.5 * np.random.default_rng(0).normal(size=(20, 18))
    q[2] = 0.4
    path = f.rollout(np.tile(q, (20, 1)), v, np.zeros((24, 3)), steps=500)
    assert np.isfinite(path.q).all() and np.quantile(path.residual, 0.9) < 1e-2
    force = path.impulse[:, -100:, :, 2].sum(axis=2).mean() / 4e-3
    np.testing.assert_allclose(force, robot.mass * G, rtol=0.05)
