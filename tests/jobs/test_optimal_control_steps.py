"""Steps of predictive control: a plan follows what moves, and comes back to its way after a push."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.jobs.optimal_control import OptimalControl, Solver
from condyle.jobs.optimal_control.iteration import BARRIER
from tests.jobs.robots import chain

KNOTS, DT = 32, 0.02


def running(at: Any, u: Any, goal: Any) -> Any:
    return {"residual": [10.0 * (at.frame("tip").translation[:2] - goal), 0.1 * at.v, 1e-2 * u]}


def goals(time: float) -> np.ndarray:
    """On a circle within reach."""
    phase = time + DT * np.arange(KNOTS + 1)
    return 0.6 * np.stack([np.cos(phase), np.sin(phase)], axis=-1)


@pytest.fixture(scope="module", params=["semi_implicit_euler", "rk4"])
def solver(request: Any) -> Solver:
    """Accelerations are the variables with the first integrator, torques with the second one."""
    robot = chain([("revolute", (0, 0, 1))] * 3, 0.3, lower=-3.0, upper=3.0, effort=30.0, velocity=20.0)
    limits: Any = {"u": True, "q": True}
    return OptimalControl(
        robot,
        running,
        knots=KNOTS,
        dt=DT,
        integrator=request.param,
        inputs={"goal": 2},
        by_knot=("goal",),
        bounds=limits,
    ).compile(threads=1)


def test_steps_come_back_after_a_push(solver: Solver) -> None:
    """Without gains a push of 10 rad/s moves the plan by 6 rad at its end. Costs: 2 % of those without a push."""
    push = np.random.default_rng(0).normal(0.0, 1.0, (8, 3))
    push *= 10.0 / np.linalg.norm(push, axis=1)[:, None]
    q, v = np.tile([-0.9, 1.2, 0.6], (9, 1)), np.zeros((9, 3))
    plan = solver.solve(q, v, goal=goals(0.0))
    assert plan.solved.all()
    for k in range(1, 80):
        q, v = plan.q[:, 1], plan.v[:, 1].copy()
        if k == 20:
            v[1:] += push
        plan = solver.step(plan, q, v, goal=goals(k * DT))
        assert np.array_equal(plan.q[:, 0], q) and np.array_equal(plan.v[:, 0], v)
    assert np.all(plan.violation < 1e-2)
    assert np.allclose(plan.cost[1:], plan.cost[0], rtol=0.02)


def test_steps_in_still_time_come_to_the_solution(solver: Solver) -> None:
    q, v, goal = np.array([-0.9, 1.2, 0.6]), np.array([3.0, -2.0, 1.0]), goals(0.0)
    exact = solver.solve(q, v, goal=goal)
    plan = solver.step(solver.solve(q, 0 * v, goal=goal), q, v, shift=0, goal=goal)
    for _ in range(20):
        plan = solver.step(plan, q, v, shift=0, goal=goal)
    assert plan.cost == pytest.approx(exact.cost, rel=1e-5)


def test_a_plan_that_is_moved_on_keeps_its_motion(solver: Solver) -> None:
    """The last interval is repeated; an iteration from a solved plan changes little of the others."""
    q, v, goal = np.array([-0.9, 1.2, 0.6]), np.zeros(3), goals(0.0)
    plan = solver.solve(q, v, goal=goal)
    after = solver.step(plan, plan.q[3], plan.v[3], shift=3, goal=np.concatenate([goal[3:], goal[-3:]]))
    assert np.allclose(after.q[:10], plan.q[3:13], atol=0.02)


def test_a_list_is_an_array_of_the_same_numbers(solver: Solver) -> None:
    """And a plan keeps the state that it was made from, whatever callers do with theirs."""
    q, v, goal = np.array([-0.9, 1.2, 0.6]), np.zeros(3), goals(0.0)
    plan, same = solver.solve(q, v, goal=goal), solver.solve(q.tolist(), v.tolist(), goal=goal.tolist())
    assert np.array_equal(plan.u, same.u)
    first = plan.inputs["q"].copy()
    q += 1.0
    goal[:] = 0.0
    assert np.array_equal(plan.inputs["q"], first) and plan.inputs["goal"].any()
    with pytest.raises(condyle.CondyleError, match="goal"):
        solver.solve(q, v, goal=[[1.0, 2.0], [3.0]])


def test_steps_of_float32_in_still_time_stay_what_they_are() -> None:
    """With torques at their limits a factorisation may fail: the plan waits with damping. 1e-3: mu has a floor."""
    robot = chain([("revolute", (0, 0, 1))] * 3, 0.3, lower=-3.0, upper=3.0, effort=2.0, velocity=2.0)
    problem = OptimalControl(
        robot, running, knots=KNOTS, dt=DT, inputs={"goal": 2}, by_knot=("goal",), bounds={"u": True, "v": True}
    )
    q, v, goal = np.array([-0.9, 1.2, 0.6]), np.zeros(3), goals(0.0)
    exact = problem.compile(threads=1).solve(q, v, goal=goal)
    solver = problem.compile(dtype="float32", threads=1)
    q, v, goal = (x.astype(np.float32) for x in (q, v, goal))
    plan = solver.solve(q, v, goal=goal, most=1)
    for _ in range(60):
        plan = solver.step(plan, q, v, shift=0, goal=goal)
        assert np.isfinite(plan.K).all()
    assert plan.violation < 1e-4
    assert plan.cost == pytest.approx(exact.cost, rel=1e-3)


def test_no_cost_at_the_last_knot_is_a_cost_of_none() -> None:
    robot = condyle.load("iiwa14")
    problem = OptimalControl(robot, lambda at, u: {"residual": [at.v, 1e-2 * u]}, knots=4, dt=0.01)
    last = OptimalControl(
        robot, lambda at, u: {"residual": [at.v, 1e-2 * u]}, lambda at: {"residual": 1e-9 * at.v}, knots=4, dt=0.01
    )
    q, v = robot.neutral(), np.ones(7)
    assert problem.compile().solve(q, v).cost == pytest.approx(last.compile().solve(q, v).cost, rel=1e-9)


def test_the_barrier_of_a_step_is_at_least_what_is_asked(solver: Solver) -> None:
    q, v = np.array([-0.9, 1.2, 0.6]), np.zeros(3)
    plan = solver.solve(q, v, goal=goals(0.0))
    assert solver.step(plan, q, v, shift=0, goal=goals(0.0)).answers.state[BARRIER] < 1e-4
    assert solver.step(plan, q, v, shift=0, barrier=1e-3, goal=goals(0.0)).answers.state[BARRIER] >= 1e-3
    with pytest.raises(UnsupportedError, match=r"barrier=-1\.0"):
        solver.step(plan, q, v, barrier=-1.0, goal=goals(0.0))


def test_gains_of_a_contact_stop_what_lands_within_a_step() -> None:
    """J v = 0 behind the step but for the change of J in it, which is as small as dt."""
    robot = chain([("revolute", (0, 0, 1))] * 3, 0.3, lower=-3.0, upper=3.0, effort=30.0, velocity=20.0)
    problem = OptimalControl(
        robot,
        lambda at, u: {"residual": [0.1 * at.v, 1e-2 * u]},
        knots=4,
        dt=DT,
        inputs={"active": "n_contacts"},
        by_knot=("active",),
        contacts=[condyle.Contact("tip", gains=(0.0, 1.0 / DT))],
        impacts=False,
    )
    active = np.array([[0.0], [0.0], [1.0], [1.0]])
    plan = problem.compile(threads=1).solve(np.array([-0.9, 1.2, 0.6]), np.ones(3), active=active)
    assert plan.solved and problem.names == ("active",)
    speed = robot.compile(frames=("tip",)).frame_velocities(plan.q, plan.v)[:, 0, :3]
    assert np.linalg.norm(speed[2]) > 0.3
    assert np.linalg.norm(speed[3]) < 0.05 * np.linalg.norm(speed[2])


def test_dynamics_that_are_the_step_of_the_robot_are_taken_as_such() -> None:
    """Then half of the operations are left. Another dt, another state or another answer take the dense form."""
    robot = chain([("free", (0, 0, 1)), ("revolute", (0, 0, 1))], 0.3)
    force = np.eye(7)[:, [2, 6]] * [1.0, 0.5]

    def moved(at: Any, u: Any) -> Any:
        after = at.step(force @ u, DT)
        return {"q": after.q, "v": after.v}

    def slower(at: Any, u: Any) -> Any:
        after = at.step(force @ u, 0.5 * DT)
        return {"q": after.q, "v": after.v}

    def beside(at: Any, u: Any) -> Any:
        return {**moved(at, u), "v": at.step(force @ u, DT).v + 1e-12 * at.v}

    def twice(at: Any, u: Any) -> Any:
        after = at.step(force @ u, DT)
        after = at.moved_to(after.q, after.v).step(force @ u, DT)
        return {"q": after.q, "v": after.v}

    def cost(at: Any, u: Any) -> Any:
        return {"residual": [3.0 * (at.v - np.eye(7)[6]), 0.1 * u]}

    def problem(f: Any, **options: Any) -> OptimalControl:
        return OptimalControl(robot, cost, knots=6, dt=DT, dynamics=f, controls=2, bounds={"u": False}, **options)

    plans = list[Any]()
    for f, steps in ((moved, True), (beside, False), (slower, False), (twice, False)):
        assert problem(f).job("float64", 8).running.turning == (((0, 6),) if steps else None)
        if len(plans) < 2:
            plans.append(problem(f).compile().solve(robot.neutral(), np.zeros(7)))
    assert problem(moved, integrator="rk4").job("float64", 8).running.turning is None
    assert all(plan.solved for plan in plans)
    assert np.allclose(plans[0].u, plans[1].u, rtol=0.0, atol=1e-5)  # both to a tolerance of 1e-6 of the cost
