"""A and B of a step, against differences in the tangent space, and what is zero or one in them."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.functions import FUNCTIONS
from condyle.model.joints import JOINT_TYPES
from condyle.specification.integrators import METHODS
from tests.derivatives.differences import DIFFERENCES, FOURTH, State, error, first
from tests.laws.robots import relative, robot_named
from tests.processor import slow
from tests.steps.test_step import BY_COST, drawn

ROBOTS = ("chain", "zoo", "tree-0", slow("hyq_floating"), slow("zoo_floating"), slow("floating-3"))


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_they_are_differences_of_the_step(name: str, integrator: str) -> None:
    """In long double numbers; the tangent of dt is zero."""
    robot = robot_named(name)
    state, h, n = State(robot, "step", integrator=integrator), 1e-4, robot.nv
    state.point[3][...] = 0.05
    state.tangent[3][...] = 0.0
    expected = np.concatenate(first(state.along(h * FOURTH[0]), h), axis=1)
    A, B = (np.reshape(x, (2 * n, -1)) for x in state.call("dstep", state.point))
    dq, dv, dtau, _ = state.tangent
    found = A @ np.concatenate([dq, dv], axis=1)[0] + B @ dtau[0]
    assert error([found[None]], [expected]) < FUNCTIONS["dstep"].accuracy.float64 + DIFFERENCES


@pytest.mark.parametrize("target", ["cpu", slow("c")])
@pytest.mark.parametrize(
    ("name", "integrator"),
    [("small", "rk4"), *(slow(name, integrator) for name in ("zoo", "hyq_floating") for integrator in METHODS)],
)
def test_targets_agree_with_the_reference(name: str, integrator: str, target: str) -> None:
    robot = condyle.random_tree(3, 0) if name == "small" else robot_named(name)
    q, v, tau = drawn(robot, 5)
    want = robot.compile(target="numpy", integrator=integrator).step_derivatives(q, v, tau, 0.01)
    for dtype, bound in (("float64", 1e-8), ("float32", 5e-4)):
        dyn = robot.compile(target=target, integrator=integrator, dtype=dtype)
        given = [np.asarray(x, dtype) for x in (q, v, tau)]
        found = dyn.step_derivatives(*given, 0.01)
        assert all(relative(x, y) < bound for x, y in zip(found, want, strict=True))
        packed = dyn.step_derivatives(*(dyn.pack(x) for x in given), 0.01)
        assert all(np.array_equal(x.dense(), y) for x, y in zip(packed, found, strict=True))


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_the_jacobian_of_step_has_the_same_blocks(kind: str) -> None:
    robot = condyle.random_tree(2, 3, types=(kind,) if kind == "free" else (kind, "prismatic"))
    q, v, tau = drawn(robot, 3)
    for integrator in METHODS:
        dyn = robot.compile(target="numpy", integrator=integrator)
        A, B = dyn.step_derivatives(q, v, tau, 0.02)
        j = dyn.jacobian("step")(q, v, tau, 0.02)
        blocks = np.block([[j.dq_dq, j.dq_dv, j.dq_dtau], [j.dv_dq, j.dv_dv, j.dv_dtau]])
        assert relative(np.concatenate([A, B], axis=2), blocks) < 1e-12
        moved = [dyn.step(q, v, tau, 0.02 + x) for x in (1e-6, -1e-6)]
        assert relative(j.dv_ddt, (moved[0].v - moved[1].v) / 2e-6) < 1e-6
        assert relative(j.dq_ddt, robot.difference(moved[1].q, moved[0].q) / 2e-6) < 1e-6


@pytest.mark.parametrize("integrator", BY_COST)
def test_what_is_known_before_is_exact(hyq: Robot, integrator: str) -> None:
    """Where the base is does not matter; Euler's q depends on no torque; flat joints have ones and the step."""
    q, v, tau = drawn(hyq, 4)
    n, h = hyq.nv, 0.01
    A, B = hyq.compile(integrator=integrator).step_derivatives(q, v, tau, h)
    assert not A[:, n:, :3].any() and not A[:, 6:n, :3].any()
    turn = A[:, :3, :3]
    assert np.abs(turn @ np.swapaxes(turn, 1, 2) - np.eye(3)).max() < 1e-12
    if integrator == "euler":
        assert not B[:, :n].any()
        assert np.array_equal(A[:, 6:n, :n], np.broadcast_to(np.eye(n)[6:], (4, n - 6, n)))
        assert np.array_equal(A[:, 6:n, n:], np.broadcast_to(h * np.eye(n)[6:], (4, n - 6, n)))


@pytest.fixture(scope="module")
def hyq() -> Robot:
    return robot_named("hyq_floating")


def test_one_state_and_no_number() -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile(integrator="rk4")
    q, v, tau = drawn(robot, 6)
    want = dyn.step_derivatives(q, v, tau, 0.01)
    one = dyn.step_derivatives(q[2], v[2], tau[2], 0.01)
    assert all(relative(x[None], y[2:3]) < 1e-12 for x, y in zip(one, want, strict=True))
    tau[1, 3] = np.nan
    spoilt = dyn.step_derivatives(q, v, tau, 0.01)
    assert np.isnan(spoilt.A[1]).any()
    assert all(np.array_equal(np.delete(x, 1, 0), np.delete(y, 1, 0)) for x, y in zip(spoilt, want, strict=True))
