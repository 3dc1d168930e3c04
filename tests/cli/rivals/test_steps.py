"""Adapters of steps and rollouts, held to steps of the reference."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.cli import rivals
from condyle.cli.rivals.mujoco_c import MujocoRollout
from condyle.cli.rivals.rival import Array, Rival
from tests.processor import slow
from tests.programs import skip_without

DT, STEPS, N = 1e-3, 50, 6
WITHOUT_MUJOCO = "needs the mujoco package: pip install 'condyle[bench]'"
ARMS = [("iiwa14", False, 1e-10), ("hyq", False, 1e-10), ("hyq", True, 1e-10)]


def given(robot: condyle.Robot) -> list[Array]:
    """q, v, tau by time, dt; nobody holds a floating base."""
    rng = np.random.default_rng(0)
    q, v = robot.random_state(N, rng)
    tau = rng.uniform(-1.0, 1.0, (N, STEPS, robot.nv))
    for joint in robot.joints:
        if joint.type == "free":
            tau[..., joint.v_index : joint.v_index + 6] = 0.0
    return [q, v, tau, np.full(N, DT)]


def semi_implicit(robot: condyle.Robot, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """The state after all rows of tau (n, T, nv)."""
    dynamics = robot.compile(target="numpy")
    for row in np.moveaxis(tau, 1, 0):
        q, v = dynamics.step(q, v, row, DT)
    return q, v


def in_turning_axes(robot: condyle.Robot, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """The same by v + dt a and q moved by dt times that, in the axes of a base too, as Pinocchio and crocoddyl do."""
    dynamics = robot.compile(target="numpy")
    for row in np.moveaxis(tau, 1, 0):
        v = v + DT * dynamics.forward_dynamics(q, v, row)
        q = robot.integrate(q, DT * v)
    return q, v


def worst(rival: Rival, function: str, arrays: list[Array], expected: tuple[Array, Array]) -> float:
    out = [np.zeros_like(array) for array in expected]
    rival.answers(function, arrays, out)
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(out, expected, strict=True))


@pytest.mark.parametrize("name", ["mujoco", "mujoco-batch"])
def test_a_robot_that_mujoco_refuses_is_an_error_with_its_words(name: str) -> None:
    """An inertia of atlas is below what MuJoCo takes for positive."""
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    with pytest.raises(UnsupportedError, match=r"MuJoCo refuses 'atlas': .*positive eigenvalues"):
        rivals.opened(name, condyle.load("atlas"))


@pytest.mark.parametrize(("name", "floating", "allowed"), ARMS)
def test_mujoco_steps_as_we_do(name: str, floating: bool, allowed: float) -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    robot = condyle.load(name, floating_base=floating)
    q, v, tau, dt = given(robot)
    rival, once = rivals.opened("mujoco", robot), semi_implicit(robot, q, v, tau[:, :1])
    assert worst(rival, "step", [q, v, tau[:, 0], dt], once) < min(allowed, 1e-4)
    assert rival.tolerance("rollout") >= allowed
    after = semi_implicit(robot, q, v, tau)
    assert worst(rival, "rollout", [q, v, tau, dt], after) < allowed
    for other in (MujocoRollout(robot, threads=2), MujocoRollout(robot, batch=True)):
        assert worst(other, "rollout", [q, v, tau, dt], after) < allowed
        other.call("rollout", [q, v, tau, dt])()


def test_mujoco_turns_balls_as_we_do() -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    robot = condyle.random_tree(5, rng=3, types=("revolute", "prismatic", "spherical"))
    arrays = given(robot)
    assert worst(MujocoRollout(robot), "rollout", arrays, semi_implicit(robot, *arrays[:3])) < 1e-9


def test_mujocos_differences_are_those_of_its_step() -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    robot = condyle.load("iiwa14")
    q, v, tau, dt = given(robot)
    n, rival = robot.nv, rivals.opened("mujoco", robot)
    found = [np.zeros((N, 2 * n, 2 * n)), np.zeros((N, 2 * n, n))]
    rival.answers("dstep", [q, v, tau[:, 0], dt], found)
    slopes = robot.compile(target="numpy").forward_dynamics_derivatives(q, v, tau[:, 0])
    dv = DT * np.concatenate(slopes, axis=-1)
    dv[..., n : 2 * n] += np.eye(n)
    dq = DT * dv
    dq[..., :n] += np.eye(n)
    both = np.concatenate((dq, dv), axis=-2)
    np.testing.assert_allclose(found[0], both[..., : 2 * n], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[1], both[..., 2 * n :], rtol=0, atol=1e-6 * np.abs(both[..., 2 * n :]).max())


@pytest.mark.parametrize(("name", "floating"), [slow("hyq", True)])
def test_pinocchio_steps_as_we_do(name: str, floating: bool) -> None:
    pytest.importorskip("pinocchio", reason="needs the pin package: pip install 'condyle[bench]'")
    skip_without("g++")
    robot = condyle.load(name, floating_base=floating)
    q, v, tau, dt = given(robot)
    try:
        rival, first = rivals.opened("pinocchio-gcc", robot), np.ascontiguousarray(tau[:, 0])
    except UnsupportedError as error:
        pytest.skip(str(error))  # Eigen's headers come with the extra "bench"
    assert worst(rival, "step", [q, v, first, dt], in_turning_axes(robot, q, v, tau[:, :1])) < 1e-10
    assert worst(rival, "rollout", [q, v, tau, dt], in_turning_axes(robot, q, v, tau)) < 1e-8
    assert worst(rival, "step", [q, v, first, dt], semi_implicit(robot, q, v, tau[:, :1])) < rival.tolerance("step")
    assert rival.tolerance("fd") < rival.tolerance("step")


def slopes_in_turning_axes(robot: condyle.Robot, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """A and B of one step `in_turning_axes`, by the chain rule."""
    dyn, n = robot.compile(target="numpy"), robot.nv
    by = DT * np.concatenate(dyn.forward_dynamics_derivatives(q, v, tau), axis=-1)
    by[..., n : 2 * n] += np.eye(n)
    by_q, by_dv = dyn.jacobian("integrate")(q, DT * (v + DT * dyn.forward_dynamics(q, v, tau)))
    moved = DT * by_dv @ by
    moved[..., :n] += by_q
    both = np.concatenate((moved, by), axis=-2)
    return both[..., : 2 * n], both[..., 2 * n :]


@pytest.mark.parametrize(("name", "floating"), [("iiwa14", False), ("hyq", True)])
def test_crocoddyl_differentiates_steps_as_we_do(name: str, floating: bool) -> None:
    pytest.importorskip("crocoddyl", reason="needs the crocoddyl package: pip install crocoddyl")
    from condyle.cli.rivals.crocoddyl_steps import MODELS, CrocoddylSteps

    for gravity in ((0.0, 0.0, 0.0), (0.0, 0.0, -9.81)):
        robot = condyle.load(name, floating_base=floating, gravity=gravity)
        q, v, tau, dt = given(robot)
        for integrator in MODELS if not floating else ["semi_implicit_euler"]:
            rival = CrocoddylSteps(robot, integrator)
            arrays = [q, v, np.ascontiguousarray(tau[:, 0]), dt]
            expected = robot.compile(target="numpy", integrator=integrator).step_derivatives(*arrays)
            assert worst(rival, "dstep", arrays, expected) < rival.tolerance("dstep")
            if floating and not any(gravity):
                assert worst(rival, "dstep", arrays, slopes_in_turning_axes(robot, *arrays[:3])) < 1e-8


@pytest.mark.slow
def test_mjx_steps_as_we_do() -> None:
    pytest.importorskip("mujoco.mjx", reason="needs MJX: pip install mujoco-mjx 'jax[cpu]'")
    robot = condyle.chain(3, rng=0)
    q, v, tau, dt = given(robot)
    expected = semi_implicit(robot, q, v, tau[:, :3])
    assert worst(rivals.opened("mjx", robot), "rollout", [q, v, tau[:, :3], dt], expected) < 1e-8


@pytest.mark.parametrize("name", ["crocoddyl", "mjx"])
def test_a_rival_that_is_not_there_says_how_to_install_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crocoddyl", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(condyle.UnsupportedError, match="is not installed: pip install"):
        rivals.opened(name, condyle.chain(2, rng=0))
