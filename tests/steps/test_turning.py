"""Steps of bodies that turn: what free and planar bodies keep, and how far it drifts where it is not kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.cli.rivals.mujoco_c import MujocoRollout
from condyle.ground import Plane
from condyle.model.joints import JOINT_TYPES
from condyle.model.joints.base import JointType
from tests.derivatives.differences import DIFFERENCES, FOURTH, State, first
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
EULERS = ("semi_implicit_euler", "euler")
STILL = (0.0, 0.0, 0.0)
LENGTHS = ((1e-3, 2000), (5e-3, 400))
"""dt [s], and how many of them are two seconds."""
SPIN = np.array([3.0, -11.0, 27.7])
"""rad/s, about 30."""


def body(kind: str, com: float = 0.0, gravity: tuple[float, ...] = STILL) -> Robot:
    """One body of 1 kg on a joint to the world. com: how far its centre of mass is from its frame [m]."""
    builder = condyle.Builder(gravity=gravity).body("b", mass=1.0, com=(com, 0.0, 0.0), inertia=np.diag(INERTIA))
    axis = (0, 0, 1) if kind == "planar" else None
    return builder.joint("j", parent="world", child="b", type=kind, axis=axis).build()


INERTIA = (0.02, 0.03, 0.04)
START = {"free": np.array([1.0, 0.0, 0.0, *SPIN]), "planar": np.array([1.0, 0.0, 30.0])}
"""Velocities of 1 m/s along x."""


def after(robot: Robot, v: Array, h: float, steps: int, integrator: str, target: str = "cpu") -> tuple[Array, Array]:
    """The last state of steps from the neutral configuration, without torques."""
    dyn = robot.compile(target=target, integrator=integrator)
    return tuple(dyn.rollout(robot.neutral(), v, np.zeros((steps, robot.nv)), h, last=True))


@pytest.mark.parametrize("target", ["cpu", slow("numpy"), slow("c")])
@pytest.mark.parametrize("integrator", EULERS)
@pytest.mark.parametrize(("h", "steps"), LENGTHS)
@pytest.mark.parametrize("kind", START)
def test_a_body_without_forces_keeps_its_speed_and_its_path(
    kind: str, h: float, steps: int, integrator: str, target: str
) -> None:
    """Its frame is at its centre of mass. What is lost is rounding, some units in the last place in each step."""
    q, v = after(body(kind), START[kind], h, steps, integrator, target)
    lines = 3 if kind == "free" else 2
    assert abs(np.linalg.norm(v[:lines]) - 1.0) < 1e-12
    assert np.abs(q[:lines] - np.eye(3)[0, :lines] * h * steps).max() < 1e-11  # theta of 60 rad is rounded to 1e-14


def test_a_body_of_equal_inertia_keeps_its_angular_momentum() -> None:
    builder = condyle.Builder(gravity=STILL).body("b", mass=1.0, inertia=0.02 * np.eye(3))
    robot = builder.joint("j", parent="world", child="b", type="free").build()
    for integrator in EULERS:
        q, v = after(robot, START["free"], 5e-3, 400, integrator)
        found = robot.compile().centroidal_momentum(q, v)
        assert np.abs(found - [1.0, 0.0, 0.0, *0.02 * SPIN]).max() < 1e-12


@pytest.mark.parametrize("integrator", EULERS)
@pytest.mark.parametrize("what", ["angular momentum", "momentum off the centre", "path off the centre"])
def test_what_is_not_kept_drifts_to_first_order(what: str, integrator: str) -> None:
    """As docs/how-to/steps.md states: half the step, half the drift."""
    robot = body("free", 0.0 if what == "angular momentum" else 0.1)
    dyn, drifts = robot.compile(), list[float]()
    v = np.array([1.0, 0.5, -0.3, 1.0, 2.0, 0.5])
    begin = dyn.centroidal_momentum(robot.neutral(), v)
    for steps in (200, 400, 800):
        q, end = after(robot, v, 1.0 / steps, steps, integrator)
        moved = dyn.centroidal_momentum(q, end) - begin
        path = dyn.center_of_mass(q) - dyn.center_of_mass(robot.neutral()) - begin[:3]
        drifts.append(float(np.linalg.norm({"a": moved[3:], "m": moved[:3], "p": path}[what[0]])))
    for coarse, half in pairwise(drifts):
        assert abs(np.log2(coarse / half) - 1.0) < 0.1  # terms of higher order; another order is 1 off
    assert drifts[-1] < 2e-2


def test_a_robot_in_free_fall_follows_its_parabola_to_first_order() -> None:
    """The centre of mass of HyQ with spinning base and moving legs; rk4's is exact to 1e-9."""
    robot, g = robot_named("hyq_floating"), np.array([0.0, 0.0, -9.81])
    v = np.concatenate([[1.0, 0.0, 2.0], [1.0, 3.0, -2.0], np.random.default_rng(0).uniform(-2.0, 2.0, 12)])
    dyn, drifts = robot.compile(), list[float]()
    begin = dyn.centroidal_momentum(robot.neutral(), v)[:3] / robot.mass
    wanted = dyn.center_of_mass(robot.neutral()) + 0.5 * begin + 0.125 * g
    for integrator, count in (("semi_implicit_euler", 500), ("semi_implicit_euler", 1000), ("rk4", 500)):
        q, _ = after(robot, v, 0.5 / count, count, integrator)
        drifts.append(float(np.linalg.norm(dyn.center_of_mass(q) - wanted)))
    assert drifts[0] < 5e-3 and abs(np.log2(drifts[0] / drifts[1]) - 1.0) < 0.1
    assert drifts[2] < 1e-9


@pytest.mark.parametrize("com", [0.0, 0.1])
def test_mujocos_euler_moves_a_spinning_body_alike(com: float) -> None:
    """Also where momentum drifts, off the centre of mass."""
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    robot, steps = body("free", com), 400
    q, v = (x[None] for x in (robot.neutral(), START["free"]))
    tau, wanted = np.zeros((1, steps, 6)), after(robot, START["free"], 1e-3, steps, "semi_implicit_euler")
    found = [np.zeros((1, 7)), np.zeros((1, 6))]
    MujocoRollout(robot).answers("rollout", [q, v, tau, np.array([1e-3])], found)
    for have, want in zip(found, wanted, strict=True):
        assert np.allclose(have[0], want, rtol=0, atol=1e-10 * np.abs(want).max())


@pytest.mark.parametrize("kind", START)
def test_rk4_keeps_them_to_fourth_order(kind: str) -> None:
    robot, errors = body(kind), list[float]()
    lines = 3 if kind == "free" else 2
    for steps in (400, 800):
        q, v = after(robot, START[kind], 2.0 / steps, steps, "rk4")
        path = np.linalg.norm(q[:lines] - 2.0 * np.eye(3)[0, :lines])
        errors.append(float(path + abs(np.linalg.norm(v[:lines]) - 1.0)))
    assert errors[1] < 2e-5 and np.log2(errors[0] / errors[1]) > 3.5


def test_a_plane_that_is_far_away_changes_nothing() -> None:
    robot = robot_named("hyq_floating")
    dyn, feet = robot.compile(), [condyle.Contact("lf_lowerleg")]
    q, v = robot.random_state(5, 0)
    v[:, 3:6] = SPIN
    tau = np.random.default_rng(1).uniform(-1.0, 1.0, v.shape)
    found = Plane(offset=-100.0).step(robot, feet).compile()(q, v, tau, 1e-2, 0.5)
    wanted = dyn.step(q, v, tau, 1e-2)
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-12)
    assert np.allclose(found.v, wanted.v, rtol=0, atol=1e-11 * np.abs(wanted.v).max())


@pytest.mark.parametrize("kind", START)
def test_a_joint_says_the_same_as_its_group(kind: str) -> None:
    """The motion that a joint's file writes out, and the one that every type has."""
    of, rng = JOINT_TYPES[kind], np.random.default_rng(4)
    for size in (1e-9, 0.1, 3.0):
        q, (shift, turn, line) = of.random(rng, 1)[0], rng.uniform(-size, size, (3, of.nv))
        is_line = np.isin(np.arange(of.nv), of.turning_entries)
        given = (q.tolist(), np.where(is_line, shift, 0.0), np.where(is_line, 0.0, turn), np.where(is_line, line, 0.0))
        for have, want in zip(of.shift_and_turn(*given), JointType.shift_and_turn(of, *given), strict=True):
            assert np.allclose(np.array(have, float), np.array(want, float), rtol=0, atol=1e-14 * max(1.0, size))


def test_which_joints_have_axes_that_turn() -> None:
    found = {name: kind.turning_entries for name, kind in JOINT_TYPES.items() if kind.turning_entries}
    assert found == {"free": (0, 1, 2), "planar": (0, 1)}


@pytest.mark.parametrize("integrator", EULERS)
@pytest.mark.parametrize("kind", START)
def test_derivatives_of_a_body_that_spins(kind: str, integrator: str) -> None:
    """A and B against differences in long double numbers."""
    robot, h = body(kind, 0.1, (0.0, 0.0, -9.81) if kind == "free" else (0.0, -9.81, 0.0)), 1e-4
    state, n = State(robot, "step", integrator=integrator), robot.nv
    state.point[1][...], state.point[3][...] = 0.1 * START[kind], 0.05
    state.tangent[3][...] = 0.0
    expected = np.concatenate(first(state.along(h * FOURTH[0]), h), axis=1)[0]
    A, B = (np.reshape(x, (2 * n, -1)) for x in state.call("dstep", state.point))
    dq, dv, dtau, _ = state.tangent
    found = A @ np.concatenate([dq, dv], axis=1)[0] + B @ dtau[0]
    assert np.abs(found - expected).max() < 1e-12 + DIFFERENCES * np.abs(expected).max()


def test_steps_in_float32() -> None:
    """A second of a spinning body: 1000 steps of a unit of 6e-8 each at most."""
    robot = body("free")
    dyn = robot.compile(dtype="float32")
    state = [x.astype(np.float32) for x in (robot.neutral(), START["free"])]
    end = dyn.rollout(*state, np.zeros((1000, 6), np.float32), np.float32(1e-3), last=True)
    assert abs(np.linalg.norm(end.v[:3].astype(float)) - 1.0) < 6e-5


@pytest.mark.parametrize(
    ("kind", "integrator"),
    [
        slow(kind, name) if (kind, name) == ("free", "semi_implicit_euler") else (kind, name)
        for kind in START
        for name in EULERS
    ],
)
def test_second_derivatives_of_a_body_that_spins(kind: str, integrator: str) -> None:
    """eᵀ H e is the second derivative of lamᵀ step along e, by central differences."""
    robot, rng, small = body(kind, 0.1), np.random.default_rng(4), 1e-4
    dyn = robot.compile(target="numpy", integrator=integrator)
    q, _ = robot.random_state(1, 0)
    x = (q[0], START[kind], rng.normal(size=robot.nv), np.float64(0.01))
    lams = rng.normal(size=(2, robot.nv))
    H = dyn.hessian("step")(*x, *lams)
    base = dyn.step(*x)

    def along(e: Array) -> float:
        by_q, by_v, by_tau, by_dt = np.split(e, [robot.nv, 2 * robot.nv, 3 * robot.nv])
        end = dyn.step(robot.integrate(x[0], by_q), x[1] + by_v, x[2] + by_tau, x[3] + by_dt[0])
        return float(lams[0] @ robot.difference(base.q, end.q) + lams[1] @ (end.v - base.v))

    for e in rng.normal(size=(5, 3 * robot.nv + 1)) * ([1.0] * (3 * robot.nv) + [0.01]):
        second = (along(small * e) + along(-small * e)) / small**2
        assert e @ H @ e == pytest.approx(second, rel=1e-5, abs=1e-5 * np.abs(H).max())  # rounding is 1e-16 / small²
