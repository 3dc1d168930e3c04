"""`contact_solve` ends when its residual is small: on thousands of states, from a start, on the edges of its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import algorithms
from condyle.compile.options import bound_of
from condyle.derivatives import derivative
from condyle.derivatives.recording import Recording
from condyle.functions.contact_steps import MOST, parts_of
from condyle.functions.contacts import CONTACT_SOLVE
from condyle.ground import Plane
from condyle.model.placement import Placement
from condyle.model.tree import tree_of
from tests.contacts.test_friction import DT, EDGES, FEET, OPEN, excess, given, states
from tests.ground.robots import box, quadruped

Array = np.ndarray
THERE = 1e-8
"""m/s, in float64: what docs/how-to/friction.md calls solved."""


def iterations(robot: condyle.Robot, contacts: Any, args: list[Array], **more: Array) -> Array:
    """How many each state takes."""
    tree = tree_of(robot, bound_of(robot, contacts=contacts))
    parts = parts_of(CONTACT_SOLVE, len(contacts), algorithms.contact_newton.shape_of(tree, False))
    problem = parts.problem.taking(*more)
    inputs = {
        port.name: list(np.reshape(x, (len(x), -1)).T)
        for port, x in zip(problem.inputs, [*args, *more.values()], strict=True)
    }

    def record(recording: Any, inputs: Any) -> list[Any]:
        p, *held = recording.call(problem, *inputs.values())
        return [recording.call(parts.loop, p, [0.0], *held)[-1]]

    counts: Any = Recording(tree, derivative).computed(record, inputs)[0][0]
    return np.broadcast_to(counts, len(args[0]))


def test_thousands_of_states_are_solved() -> None:
    """About a stand, coming down: all. At random postures with frictions up to 2: nearly all, and the others say so."""
    n = 2000
    dyn, rng, on = quadruped().compile(contacts=FEET), np.random.default_rng(2), np.ones((n, 4))
    assert dyn.contact_solve(*given(n)).residual.max() < 1e-9
    q, v = quadruped().random_state(n, 2)
    found = dyn.contact_solve(q, v, 50.0 * rng.normal(size=v.shape), on, DT, rng.uniform(0.0, 2.0, (n, 4)))
    there = found.residual < THERE
    assert 0.99 < there.mean() < 1.0 and found.residual[~there].min() > 1e-5  # none of them only just


def test_a_warm_start_takes_fewer_iterations() -> None:
    """A robot that has come down and bends its legs: from the impulses of the step before."""
    robot, n = quadruped(), 100
    q, v, tau = states(n)
    on, mu = np.ones((n, 4)), np.full((n, 4), 0.4)
    dyn: Any = robot.compile(contacts=FEET, inputs=OPEN[2:])
    impulse = np.zeros((n, 4, 3))
    for _ in range(10):
        found = dyn.contact_solve(q, v, 0.0 * tau, on, DT, mu, impulse0=impulse)
        q, v, impulse = robot.integrate(q, DT * found.v), found.v, found.impulse
    args = [q, v, 0.0 * tau, on, np.full((n, 1), DT), mu]
    cold, warm = iterations(robot, FEET, args), iterations(robot, FEET, args, impulse0=impulse)
    assert warm.mean() < cold.mean() - 0.3 and np.median(warm) == 1


def test_what_is_no_number_ends_at_once() -> None:
    n = 500
    q, v = quadruped().random_state(n, 2)
    args = [q, v, 0.0 * v, np.ones((n, 4)), np.full((n, 1), DT), np.full((n, 4), 2.0)]
    args[1][7, 3] = np.nan
    counts = iterations(quadruped(), FEET, args)
    assert counts[7] == 1 and 10 < counts.max() <= MOST and np.median(counts) <= 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_state_has_the_same_bits_in_any_batch(dtype: str) -> None:
    args = [x.astype(dtype) for x in given(41)]
    alone = quadruped().compile(dtype=dtype, contacts=FEET, threads=1)
    many = quadruped().compile(dtype=dtype, contacts=FEET, threads=2)
    whole = alone.contact_solve(*args)
    for dyn, part in ((many, slice(0, 41)), (alone, slice(3, 12)), (many, slice(40, 41)), (alone, slice(17, 18))):
        for some, every in zip(dyn.contact_solve(*(x[part] for x in args)), whole, strict=True):
            np.testing.assert_array_equal(some, every[part])


def test_the_edges_of_the_inputs() -> None:
    """No active contact, no friction, a friction of 10, steps of 1e-9 and 10 s, gaps that no motion fulfils."""
    dyn: Any = quadruped().compile(contacts=FEET, inputs=OPEN[1:2])
    q, v, tau, on, dt, mu = given(20)
    none = np.zeros((20, 4))
    for flags, step, friction, gaps in (
        (none, dt, mu, none),
        (on, dt, none, none),
        (on, dt, 10.0 + none, none),
        (on, 1e-6 * dt, mu, none),
        (on, 1e4 * dt, mu, none),
        (on, dt, mu, none - 0.1),
    ):
        found = dyn.contact_solve(q, v, tau, flags, step, friction, gaps=gaps)
        assert all(np.isfinite(x).all() for x in found)
        assert np.all(found.impulse[..., 2] >= 0.0)
        assert np.median(found.residual) < 1e-9 * max(1.0, np.abs(found.v).max())


@pytest.mark.parametrize("ratio", [1e-4, 1e4])
def test_a_heavy_body_on_a_light_one(ratio: float) -> None:
    """Two blocks on each other and the ground, one 1e4 times as heavy: the weight of both is carried."""
    builder = condyle.Builder(gravity=(0.0, 0.0, -9.81))
    for name, mass in (("low", 1.0), ("high", ratio)):
        builder.body(name, mass=mass, inertia=0.01 * mass * np.eye(3))
        builder.joint(f"{name}_way", parent="world", child=name, type="translation")
    contacts = [condyle.Contact("low"), condyle.Contact("high", other="low")]
    dyn = builder.build().compile(contacts=contacts)
    found = dyn.contact_solve(np.zeros(6), np.zeros(6), np.zeros(6), [1, 1], DT, [0.5, 0.5])
    np.testing.assert_allclose(found.impulse[:, 2], 9.81 * DT * np.array([1.0 + ratio, ratio]), rtol=1e-6)
    assert np.abs(found.v).max() < THERE and found.residual < THERE


@pytest.mark.slow
def test_a_box_on_many_points_moves_as_on_four() -> None:
    """Points between the corners change nothing: 8 points, and a body that slides, tilts and rests."""
    rng, n = np.random.default_rng(1), 50
    middle = [(x, y) for x, y in ((-0.2, 0.0), (0.2, 0.0), (0.0, -0.1), (0.0, 0.1))]
    more = [condyle.Contact("box", placement=Placement.from_rpy((x, y, -0.05))) for x, y in middle]
    q = np.tile([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0], (n, 1))
    v = 0.3 * rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.5)
    v[:, 2] -= 0.3
    found = [
        box().compile(contacts=points).contact_solve(q, v, 0 * v, np.ones(len(points)), DT, np.zeros(len(points)))
        for points in (EDGES, (*EDGES, *more))
    ]
    assert max(x.residual.max() for x in found) < 1e-8
    np.testing.assert_allclose(found[0].v, found[1].v, rtol=0, atol=1e-7)  # without friction it is unique


def test_single_precision_ends_too() -> None:
    """At its rounding: 1e-6 of the velocities."""
    args = [x.astype(np.float32) for x in given(500)]
    found = quadruped().compile(dtype="float32", contacts=FEET).contact_solve(*args)
    assert found.residual.max() < 1e-5 and excess(found.impulse) < 1e-6


def test_the_gradient_of_a_slide_on_four_corners() -> None:
    """Normal impulses are not unique, and one of them is zero in every step: it is on or off by rounding."""
    step = Plane().step(box(), EDGES).compile()
    q, v = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]), np.array([1.5, 0.2, 0.0, 0.0, 0.0, 0.0])
    still, friction, h = np.zeros(6), 0.45, 1e-6
    bars = np.eye(6)[0], still, np.zeros((4, 3)), 0.0
    along = step.vjp("rollout")(q, v, still, DT, friction, *bars, steps=200, last=True).friction
    ends = step.rollout(q, v, still, DT, friction + np.array([-h, h]), steps=200, last=True).q[:, 0]
    assert abs(along - (ends[1] - ends[0]) / (2.0 * h)) < 1e-6 * abs(along)
