"""Optimal control on a GPU: the plans of the processor, each problem for itself, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import DeviceError, UnsupportedError
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.bench import Bench
from tests.gpu.calls import on_gpu

GOAL = np.array([0.5, -0.7])
Q = np.array([[0.3, -0.2], [1.0, 1.0]])
KNOTS = 3
LAUNCHES = 14 + 4
ANSWERS = ("q", "v", "u", "K", "cost", "iterations")


def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [at.q - goal, 0.1 * at.v, 0.01 * u]}


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [10.0 * (at.q - goal), at.v]}


def problem(**options: Any) -> condyle.OptimalControl:
    settings = {"knots": KNOTS, "dt": 0.1, "inputs": {"goal": 2}, "bounds": {"u": (-20.0, 20.0)}}
    return condyle.OptimalControl(condyle.chain(2, 3), running, last, **{**settings, **options})


def near(plan: Any, other: Any, tolerance: float) -> None:
    """Lanes of panels are others, so sums have another order; the numbers are of order 10."""
    for name in ANSWERS:
        np.testing.assert_allclose(getattr(plan, name), getattr(other, name), tolerance, 10.0 * tolerance, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="by acceleration"),
        pytest.param({"integrator": "rk4"}, id="by torque", marks=pytest.mark.slow),
        pytest.param({"bounds": {"u": (-20.0, 20.0), "v": (-1.0, 1.0)}}, id="limits of v", marks=pytest.mark.slow),
    ],
)
def test_plans_are_those_of_the_processor(bench: Bench, options: dict[str, Any]) -> None:
    """Of problems that need other numbers of iterations, alone too, of a step after them, and their derivatives."""
    job, v = problem(**options), np.zeros(2)
    solver, other = job.compile("cuda"), job.compile(threads=1)
    plan, wanted = solver.solve(Q, v, goal=GOAL), other.solve(Q, v, goal=GOAL)
    near(plan, wanted, 1e-9)
    assert list(plan.status) == ["solved"] * 2
    alone = solver.solve(Q[1], v, goal=GOAL)
    assert all(np.array_equal(getattr(alone, name), getattr(plan, name)[1]) for name in ANSWERS)
    near(solver.step(plan, Q + 0.01, v, goal=GOAL), other.step(wanted, Q + 0.01, v, goal=GOAL), 1e-9)
    derivatives = solver.vjp(plan, u_bar=np.ones((2, KNOTS, 2)))
    for derivative, want in zip(derivatives, other.vjp(wanted, u_bar=np.ones((2, KNOTS, 2))), strict=True):
        np.testing.assert_allclose(derivative, want, 1e-9, 1e-8)


def test_a_step_in_float32_by_launches(fake: FakeDriver) -> None:
    """Of one more iteration: 5 for each knot and 14 others, 4 for a trial. Nothing is allocated but once."""
    job, v, goal = problem(), np.zeros(2, np.float32), GOAL.astype(np.float32)
    solver, q = job.compile("cuda", "float32"), Q.astype(np.float32)
    plans, launches = list[Any](), [0]
    for most in (1, 2):
        plans.append(solver.solve(q, v, goal=goal, most=most))
        launches.append(fake.calls.count("cuLaunchKernel"))
        assert fake.calls.count("cuMemAlloc") == 1
    assert launches[2] - 2 * launches[1] == 5 * KNOTS + LAUNCHES
    # float32 has 7 digits, of which some go in two iterations
    near(plans[1], job.compile(dtype="float32", threads=1).solve(q, v, goal=goal, most=2), 1e-5)


def test_what_cannot_be_is_said(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    job, v = problem(), np.zeros(2)
    with pytest.raises(UnsupportedError, match="q is on a GPU"):
        job.compile("cuda").solve(on_gpu(fake, Q), v, goal=GOAL)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"start\[0\] is on a GPU"):
        job.compile("cuda").solve(Q, v, start=(on_gpu(fake, Q), v, v), goal=GOAL)  # type: ignore[arg-type]

    def none() -> drivers.Driver:
        raise DeviceError("no driver")

    monkeypatch.setattr(drivers, "driver", none)
    drivers.gpu.cache_clear()
    with pytest.raises(DeviceError, match="no driver"):
        job.compile("cuda").solve(Q, v, goal=GOAL)
