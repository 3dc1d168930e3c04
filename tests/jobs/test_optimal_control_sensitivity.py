"""Derivatives of plans: against differences of plans that were solved again, alone and in batches."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.optimal_control import OptimalControl

Array = Any
KNOTS = 8
GOAL = np.array([0.8, -1.1])


def running(at: Any, u: Any, goal: Any, weights: Any) -> dict[str, Any]:
    """Its residuals are far from 0 at the optimum, so that second derivatives count."""
    tip = at.frame("link1").translation
    return {
        "residual": [weights[0] * (at.q - goal), weights[1] * at.v, weights[2] * u, np.sin(at.q) - 1.0],
        "cost": 0.1 * (at.v @ at.v) + 0.2 * tip[2] * tip[2],
    }


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [3.0 * (at.q - goal), at.v]}


def limited(at: Any, u: Any, goal: Any, weights: Any) -> dict[str, Any]:
    return {**running(at, u, goal, weights), "below": [at.v[0] - 0.36 * goal[0], 2.0 * at.q[0] - u[1] - 0.85]}


def held(at: Any, goal: Any) -> dict[str, Any]:
    return {**last(at, goal), "equal": at.q[0] - 0.3 * goal[0]}


@cache
def solver(integrator: str, is_limited: bool) -> Any:
    f, end, bounds = (limited, held, {"u": (-0.5, 0.5)}) if is_limited else (running, last, {"u": False})
    inputs = {"goal": 2, "weights": 3}
    robot = condyle.chain(2, 3)
    job = OptimalControl(
        robot, f, end, knots=KNOTS, dt=0.1, inputs=inputs, by_knot=("goal",), bounds=bounds, integrator=integrator
    )
    return job.compile(threads=1)


def state() -> dict[str, Array]:
    goal = GOAL + 0.1 * np.sin(np.arange(2.0 * KNOTS + 2.0)).reshape(-1, 2)
    return {"q": np.array([0.1, -0.2]), "v": np.array([0.2, 0.1]), "goal": goal, "weights": np.array([1.0, 0.3, 0.8])}


def converged(job: Any, values: dict[str, Array]) -> Any:
    """Steps go on to converge where `solve` ends: differences need every digit."""
    plan = job.solve(**values, tolerance=1e-10)
    assert np.all(plan.solved)
    for _ in range(60):
        plan = job.step(plan, shift=0, **values)
    return plan


def bars_of(plan: Any, nv: int, rng: np.random.Generator) -> dict[str, Array]:
    q = (*plan.q.shape[:-1], nv)
    shapes = {"q_bar": q, "v_bar": plan.v.shape, "u_bar": plan.u.shape, "cost_bar": plan.cost.shape}
    return {name: np.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}


def number(plan: Any, bars: dict[str, Array], q: Array) -> float:
    """What is differentiated. q: steps of tangent spaces to the configurations."""
    parts = q, plan.v, plan.u, plan.cost
    return float(sum((bar * part).sum() for bar, part in zip(bars.values(), parts, strict=True)))


@pytest.mark.parametrize("is_limited", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "euler"])  # accelerations, and torques, as variables
def test_derivatives_agree_with_differences_of_plans(integrator: str, is_limited: bool) -> None:
    job, values, rng = solver(integrator, is_limited), state(), np.random.default_rng(0)
    plan = converged(job, values)
    bars = bars_of(plan, 2, rng)
    found = job.vjp(plan, **bars)
    if is_limited:  # a bound, a limit of state and controls, and one of the state press
        pressing = [plan.multipliers[name] for name in ("below", "u")]
        assert sum((np.abs(rows) > 1e-3).any(axis=0).sum() for rows in pressing) >= 3
    h = 1e-4
    for name, value in values.items():
        along = rng.normal(size=value.shape)
        sides = [converged(job, {**values, name: value + sign * h * along}) for sign in (1.0, -1.0)]
        want = np.diff([number(side, bars, side.q) for side in reversed(sides)])[0] / (2.0 * h)
        # h^2, the rounding of plans by h, and mu, 1e-7 of the cost in steps, which changes with it
        assert (getattr(found, name) * along).sum() == pytest.approx(want, rel=1e-4, abs=1e-5), name


def test_derivatives_of_configurations_with_quaternions_are_those_of_tangent_spaces() -> None:
    robot = condyle.random_tree(2, 7, types=("spherical",))

    def costs(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [at.frame(tip).translation - goal, 0.3 * at.v, 0.3 * u]}

    tip, dyn, rng = list(robot.frames)[-1], robot.compile(threads=1), np.random.default_rng(1)
    job = OptimalControl(robot, costs, knots=4, dt=0.05, inputs={"goal": 3}, bounds={"u": False}).compile(threads=1)
    q, v = robot.random_state(1, 2)
    values = {"q": q[0], "v": 0.1 * v[0], "goal": np.array([0.2, -0.3, 0.1])}
    plan = converged(job, values)
    bars = bars_of(plan, robot.nv, rng)
    found, h = job.vjp(plan, **bars), 1e-4
    for name in values:
        along = rng.normal(size=getattr(found, name).shape)
        moved = dyn.integrate if name == "q" else np.add
        sides = [converged(job, {**values, name: moved(values[name], sign * h * along)}) for sign in (1.0, -1.0)]
        want = np.diff([number(side, bars, dyn.difference(plan.q, side.q)) for side in reversed(sides)])[0] / (2.0 * h)
        assert getattr(found, name) @ along == pytest.approx(want, rel=2e-5, abs=1e-5), name


def test_each_problem_of_a_batch_has_its_derivatives_and_what_is_shared_their_sum() -> None:
    job, values, rng = solver("semi_implicit_euler", True), state(), np.random.default_rng(2)
    q = values["q"] + 0.05 * rng.normal(size=(3, 2))
    plan = job.solve(**{**values, "q": q})
    bars = bars_of(plan, 2, rng)
    found = job.vjp(plan, **bars)
    alone = []
    for k in range(3):
        part = job.solve(**{**values, "q": q[k]})
        alone.append(job.vjp(part, **{name: bar[k] for name, bar in bars.items()}))
    assert np.array_equal(found.q, [each.q for each in alone])
    for name in ("v", "goal", "weights"):
        assert getattr(found, name).shape == values[name].shape
        want = np.sum([getattr(each, name) for each in alone], axis=0)
        assert np.allclose(getattr(found, name), want, rtol=1e-12)  # sums in another order


def test_the_derivative_of_the_cost_alone_is_that_of_lagrange() -> None:
    """At an optimum d cost / dp is the part that is not by the plan: here by the weights of residuals."""
    job, values = solver("euler", False), state()
    plan = converged(job, values)
    found = job.vjp(plan, cost_bar=1.0)
    moves = plan.q[:-1] - values["goal"][:-1], plan.v[:-1], plan.u
    want = [weight * (part**2).sum() for weight, part in zip(values["weights"], moves, strict=True)]
    assert np.allclose(found.weights, want, rtol=1e-8)


def test_single_precision_has_its_digits() -> None:
    job, values = solver("semi_implicit_euler", False), state()
    narrow = job.problem.compile(dtype="float32", threads=1)
    plan = narrow.solve(**{name: x.astype(np.float32) for name, x in values.items()}, tolerance=1e-5)
    found = narrow.vjp(plan, u_bar=np.ones(plan.u.shape, np.float32), cost_bar=2.0)
    want = job.vjp(job.solve(**values), u_bar=np.ones(plan.u.shape), cost_bar=2.0)
    for name in values:
        assert getattr(found, name).dtype == np.float32
        assert np.allclose(getattr(found, name), getattr(want, name), rtol=5e-3, atol=5e-3), name  # of plans to 1e-5


def test_problems_without_inputs_and_with_contacts_have_derivatives() -> None:
    robot = condyle.chain(3, 3)

    def costs(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [at.q - 0.5, 0.3 * at.v, 0.1 * u]}

    options: dict[str, Any] = {"inputs": {"active": 1}, "by_knot": ("active",), "contacts": [Contact("link2")]}
    job = OptimalControl(robot, costs, knots=3, dt=0.05, bounds={"u": False}, **options).compile(threads=1)
    values = {"q": np.array([0.2, 0.5, -0.4]), "v": 0.2 * np.ones(3), "active": np.array([[0.0], [1.0], [1.0]])}
    plan = converged(job, values)
    bars = bars_of(plan, 3, np.random.default_rng(3))
    found, h, along = job.vjp(plan, **bars), 1e-4, np.array([0.3, -1.0, 0.5])
    assert found._fields == ("q", "v")
    for name in found._fields:
        sides = [converged(job, {**values, name: values[name] + sign * h * along}) for sign in (1.0, -1.0)]
        want = np.diff([number(side, bars, side.q) for side in reversed(sides)])[0] / (2.0 * h)
        assert getattr(found, name) @ along == pytest.approx(want, rel=2e-5, abs=1e-5), name


def test_what_does_not_fit_is_refused() -> None:
    job, values = solver("semi_implicit_euler", False), state()
    plan = job.solve(**values)
    with pytest.raises(ShapeError, match=r"vjp.*u_bar"):
        job.vjp(plan, u_bar=np.zeros((KNOTS + 1, 2)))
    with pytest.raises(UnsupportedError, match="plan of another problem"):
        solver("euler", True).vjp(plan, cost_bar=1.0)
    with pytest.raises(UnsupportedError, match="'next_q' is taken"):
        OptimalControl(condyle.chain(2, 3), running, knots=2, dt=0.1, inputs={"next_q": 2})
