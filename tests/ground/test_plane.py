"""Robots on a hard plane: blocks that stick and slide, things that fall and rest, a quadruped that stands."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Plane
from condyle.model.placement import Placement
from tests.ground.robots import CORNERS, MASS, ball, box, quadruped, standing
from tests.processor import slow
from tests.programs import needs

EDGES = tuple(condyle.Contact(corner.frame, placement=Placement.from_rpy(corner.point)) for corner in CORNERS)
FEET = tuple(
    condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy((0.35, 0.0, 0.0)))
    for leg in ("lf", "rf", "lh", "rh")
)
DT, G = 1e-3, 9.81
STILL = np.zeros(6)


@pytest.fixture(scope="module")
def slope() -> Any:
    """A box on planes of any normal."""
    return Plane().step(box(), EDGES, inputs=("normal",)).compile()


def on_slope(angle: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q of the box that lies on a slope, the slope's normal, and downhill."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    turn = [0.0, np.sin(0.5 * angle), 0.0, np.cos(0.5 * angle)]
    return np.array([*0.05 * normal, *turn]), normal, np.array([np.cos(angle), 0.0, -np.sin(angle)])


@pytest.mark.parametrize("degrees", [0.0, 15.0, 26.0, 27.0, 40.0])
def test_a_box_sticks_up_to_the_angle_of_friction_and_slides_beyond(slope: Any, degrees: float) -> None:
    """mu = 1/2: tan(26.57 degrees). Down goes g (sin - mu cos) t^2 / 2."""
    angle, mu, steps = np.radians(degrees), 0.5, 500
    q, normal, down = on_slope(angle)
    path = slope.rollout(q, STILL, STILL, DT, mu, normal, steps=steps)
    way = path.q[:, :3] - q[:3]
    pull = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)))
    wanted = 0.5 * pull * DT * DT * steps * (steps + 1)  # of semi-implicit steps
    np.testing.assert_allclose(way[-1] @ down, wanted, rtol=1e-6, atol=1e-6)
    assert np.abs(way @ normal).max() < 1e-8 and np.abs(way[:, 1]).max() < 1e-6
    force = path.impulse[-1].sum(axis=0) / DT
    np.testing.assert_allclose(force @ normal, MASS * G * np.cos(angle), rtol=1e-6)
    np.testing.assert_allclose(force @ down, -MASS * (G * np.sin(angle) - pull), rtol=1e-5, atol=1e-6)
    assert path.residual.max() < 1e-5


def test_a_box_that_is_thrown_stops(slope: Any) -> None:
    """After v^2 / (2 mu g), for many frictions at once."""
    mu, speed = np.array([0.2, 0.5, 0.8]), 1.5
    q, normal, _ = on_slope(0.0)
    path = slope.rollout(q, [speed, 0.0, 0.0, 0.0, 0.0, 0.0], STILL, DT, mu, normal, steps=1000)
    way = path.q[:, -1, 0]
    np.testing.assert_allclose(way, speed**2 / (2.0 * mu * G) - 0.5 * speed * DT, rtol=1e-3)
    assert np.abs(path.v[:, -1]).max() < 1e-6 and path.residual.max() < 1e-4


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mujoco_slides_about_as_far() -> None:
    """An elliptic cone, made stiff: another model of contact, so that 3 % are allowed."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option cone="elliptic" timestep="0.001" iterations="200" impratio="100" tolerance="1e-12"/>
        <worldbody><geom type="plane" size="5 5 1" friction="0.5 0 0" solref="0.004 1" solimp="0.99 0.999 1e-4"/>
        <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="2" friction="0.5 0 0"/></body>
        </worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[:2] = 1.2, 0.6
    for _ in range(600):
        mujoco.mj_step(model, data)
    q, v = on_slope(0.0)[0], np.array([1.2, 0.6, 0.0, 0.0, 0.0, 0.0])
    path = Plane().step(box(), EDGES).compile().rollout(q, v, STILL, DT, 0.5, steps=600, last=True)
    np.testing.assert_allclose(path.q[:2], data.qpos[:2], rtol=0.03)


@pytest.mark.smoke
def test_a_ball_falls_and_stays() -> None:
    f = Plane(offset=0.1).step(ball(), [condyle.Contact("ball")]).compile()
    path = f.rollout([0.0, 0.0, 0.6], [0.3, 0.0, 0.0], np.zeros(3), DT, 0.5, steps=800)
    landed = int(np.argmax(path.impulse[:, 0, 2] > 0.0))
    assert abs(landed * DT - np.sqrt(2.0 * 0.5 / G)) < 2 * DT
    assert path.q[:, 2].min() > 0.1 - 1e-12 and np.abs(path.q[landed + 1 :, 2] - 0.1).max() < 1e-12
    assert not path.v[-1].any()  # the impulse of the landing stops it: 0.5 * 3.13 m/s > 0.3 m/s


def test_a_box_tumbles_and_rests() -> None:
    f = Plane().step(box(), EDGES).compile()
    q = np.array([0.0, 0.0, 0.3, 0.2, 0.1, 0.05, 1.0])
    q[3:] /= np.linalg.norm(q[3:])
    path = f.rollout(q, [0.5, 0.2, 0.0, 0.5, -1.0, 2.0], STILL, DT, 0.6, steps=2000)
    corners = np.array([corner.point for corner in CORNERS])
    dyn = box().compile("numpy", frames=("box",))
    pose = dyn.frame_placements(path.q)
    heights = (np.einsum("nij,kj->nki", pose.rotation[:, 0], corners) + pose.translation)[..., 2]
    assert heights.min() > -2e-3 and np.abs(heights[-1]).max() < 1e-6
    assert np.abs(path.v[-1]).max() < 1e-9 and abs(path.q[-1, 2] - 0.05) < 1e-6
    energy = dyn.kinetic_energy(path.q, path.v) + dyn.potential_energy(path.q)
    assert np.all(np.diff(energy) < 2e-3 * energy[0]) and energy[-1] < 0.2 * energy[0]


def test_a_quadruped_lands_and_stands() -> None:
    """For 2 s, its joints held by springs: on its feet, under its weight, without a slip at the end."""
    robot, q, plane = quadruped(), standing(0.65), Plane()

    def held(at: Any, dt: Any, friction: Any) -> dict[str, Any]:
        springs = 300.0 * (q[7:] - at.q[7:]) - 15.0 * at.v[6:]
        solved = plane.contact_solve(at, np.concatenate([np.zeros(6), springs]), dt, friction)
        return {"q": at.integrate(dt * solved.v), "v": solved.v, "impulse": solved.impulse, "residual": solved.residual}

    f = robot.function(held, {"q": "nq", "v": "nv", "dt": (), "friction": ()}, contacts=FEET).compile()
    path = f.rollout(q, np.zeros(18), DT, [0.4, 0.8], steps=2000)
    force = path.impulse.sum(axis=2) / DT
    np.testing.assert_allclose(force[:, -1, 2], robot.mass * G, rtol=5e-3)
    assert np.all(path.q[:, -1, 2] > 0.5) and np.abs(path.v[:, -1]).max() < 0.05
    assert path.residual.max() < 1e-6 and np.abs(force[:, -1, :2]).max() < 0.05 * robot.mass * G
    frames = robot.compile("numpy", frames=tuple(foot.frame for foot in FEET))
    feet = [
        pose.translation + pose.rotation @ [0.35, 0.0, 0.0]
        for pose in (frames.frame_placements(path.q[:, k]) for k in (1000, 1999))
    ]
    assert np.abs(feet[1] - feet[0]).max() < 1e-4 and np.abs(feet[1][..., 2]).max() < 1e-5


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
def test_targets_agree(target: str) -> None:
    """With all that a plane may be given."""
    f = Plane().step(box(), EDGES[:2], inputs=("normal", "offset", "recovery"))
    rng = np.random.default_rng(0)
    q, v = box().random_state(10, 1)
    given = [q, v, rng.normal(size=(10, 6)), np.full(10, DT), rng.uniform(0.2, 1.0, 10), rng.normal(size=(10, 3))]
    given += [(given[5] * q[:, :3]).sum(axis=1) / np.linalg.norm(given[5], axis=1), rng.uniform(0.0, 2000.0, 10)]
    found, want = f.compile(target)(*given), f.reference(*given)
    assert found._fields == ("q", "v", "impulse", "residual") and want.impulse.any()
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-7 * max(1.0, np.abs(y).max()))


def test_a_gradient_goes_through_a_slide(slope: Any) -> None:
    """Of the way by the speed: 2 v / (2 mu g)."""
    q, normal, _ = on_slope(0.0)
    v = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    bars = np.eye(6)[0], STILL, np.zeros((4, 3)), 0.0
    back = slope.vjp("rollout")(q, v, STILL, DT, 0.5, normal, *bars, steps=300, last=True)
    assert abs(back.v[0] - 1.0 / (0.5 * G)) < 5e-3 and abs(back.friction + 1.0 / (2.0 * 0.25 * G)) < 2e-2


@needs("cc")
def test_it_is_exported(tmp_path: Path) -> None:
    f = Plane().step(box(), EDGES[:1])
    assert pickle.loads(pickle.dumps(f)).specification.name == f.specification.name
    f.export("c", tmp_path / "out")
    sources = sorted(str(path) for path in (tmp_path / "out").glob("*.c"))
    subprocess.run(["cc", "-O1", *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    subprocess.run([str(tmp_path / "check")], check=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"normal": (0.0, 0.0, 0.0)}, "normal=.*give three numbers, not all zero"),
        ({"normal": (0.0, 1.0)}, "normal=.*give three numbers, not all zero"),
        ({"offset": np.inf}, "offset=inf; give a number of metres"),
        ({"recovery": -1.0}, "recovery=-1.0; give zero or a positive number"),
    ],
)
def test_what_a_plane_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(condyle.UnsupportedError, match=said):
        Plane(**options)


def test_what_a_step_cannot_be() -> None:
    with pytest.raises(condyle.UnsupportedError, match="inputs: 'slip'; allowed is 'normal', 'offset', 'recovery'"):
        Plane().step(ball(), [condyle.Contact("ball")], inputs=("slip",))
    with pytest.raises(condyle.UnsupportedError, match="no contacts"):
        Plane().step(ball(), [])
    with pytest.raises(
        condyle.UnsupportedError, match=r"^plane_step: contact 0 is of kind 'plane', which has no friction cone"
    ):
        Plane().step(ball(), [condyle.Contact("ball", "plane")]).compile()(
            np.zeros(3), np.zeros(3), np.zeros(3), DT, 0.5
        )


def test_a_depth_is_given_back() -> None:
    """By exp(-recovery t), whatever the step; at most all of it in one."""
    for dt in (1e-3, 4e-3):
        f = Plane(recovery=10.0).step(ball(), [condyle.Contact("ball")]).compile()
        path = f.rollout([0.0, 0.0, -0.05], np.zeros(3), np.zeros(3), dt, 0.5, steps=round(0.2 / dt))
        assert abs(path.q[-1, 2] + 0.05 * np.exp(-2.0)) < 1e-3 and path.v[-1, 2] < 0.1
    f = Plane(recovery=0.0).step(ball(), [condyle.Contact("ball")]).compile()
    assert f(np.array([0.0, 0.0, -0.05]), np.zeros(3), np.zeros(3), DT, 0.5).q[2] == pytest.approx(-0.05, abs=1e-12)
    f = Plane(recovery=1e6).step(ball(), [condyle.Contact("ball")]).compile()
    assert abs(f(np.array([0.0, 0.0, -0.05]), np.zeros(3), np.zeros(3), DT, 0.5).q[2]) < 1e-12


@pytest.mark.parametrize(
    "normal", [(0.0, 0.0, 2.0), (0.0, 0.0, -1.0), (0.0, 0.4, 1.0), (-0.3, 0.0, 1.0), (0.3, -0.2, 0.7)]
)
def test_a_plane_in_numbers_is_that_of_an_input(normal: tuple[float, float, float]) -> None:
    q, v = np.array([0.0, 0.0, 0.0]), np.array([0.5, 0.3, -1.0]) * np.sign(normal[2])
    contact = [condyle.Contact("ball")]
    fixed = Plane(normal).step(ball(), contact).compile("numpy")(q, v, np.zeros(3), DT, 0.5)
    given = Plane().step(ball(), contact, inputs=("normal",)).compile("numpy")(q, v, np.zeros(3), DT, 0.5, normal)
    assert fixed.impulse.any()
    for x, y in zip(fixed, given, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
