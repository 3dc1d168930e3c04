"""benchmarks.steps measures what it says, and its page says what is met and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks import results, steps, steps_ground, steps_parts, steps_rollouts, steps_table
from benchmarks.linearised import rk4
from benchmarks.robots import CASES, chosen
from benchmarks.steps_common import Plan, Timed, beside
from condyle.cli.bound import Sampling
from condyle.cli.rivals.mujoco_c import MujocoRollout

BRIEF = Sampling(samples=2, sample_s=1e-5, longest_s=0.1)
ARM = next(case for case in CASES if case.name == "iiwa14")


def spread(least: float) -> dict[str, float]:
    return {"median": least + 1.0, "minimum": least, "low": least, "high": least + 2.0}


def test_numpys_slopes_are_those_of_a_step() -> None:
    robot = condyle.load("iiwa14")
    q, v = robot.random_state(3, 0)
    dynamics = robot.compile(target="numpy", integrator="rk4")
    for ours, theirs in zip(dynamics.step_derivatives(q, v, v, 0.01), rk4(dynamics, q, v, v, 0.01), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-10 * np.abs(ours).max())


@pytest.mark.parametrize(
    "part", [steps_parts.derivatives, steps_parts.linearisation, steps_rollouts.gradient, steps_rollouts.few]
)
def test_a_part_measures(part: Any) -> None:
    found = part(Plan(ARM, BRIEF, quick=True))
    assert len(found["ns"]) >= 2
    assert all(0 < ns["minimum"] <= ns["median"] for ns in found["ns"].values())
    assert set(found["absent"]) <= {"crocoddyl"}


def test_a_quadruped_on_the_ground_is_measured_beside_mujocos() -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    dog = next(case for case in CASES if case.name == "hyq-floating")
    found = steps_ground.ground(Plan(dog, BRIEF, quick=True))
    assert not found["absent"] and {"ground", "rollout", "mujoco, contacts"} <= found["ns"].keys()
    assert all(0 < ns["minimum"] <= ns["median"] for ns in found["ns"].values())


def test_a_ground_that_does_not_carry_the_robot_is_not_timed() -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    plan = Plan(next(case for case in CASES if case.name == "hyq-floating"), BRIEF, quick=True)
    q, v, tau = steps_ground.standing(plan)
    q[:, 2] += 1.0
    with pytest.raises(condyle.BuildError, match=r"0\.0 feet touch; nothing was timed"):
        steps_ground._theirs(plan, q, v, tau, batch=False)


def test_a_rival_that_differs_is_not_timed() -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    plan = Plan(ARM, BRIEF, quick=True)
    q, v, tau = plan.rolled()
    ours, dt = plan.rollout(plan.dynamics()), np.full(len(q), 1e-3)
    beside(plan, MujocoRollout(plan.robot), "rollout", [q, v, tau, dt], ours)()
    with pytest.raises(condyle.BuildError, match=r"differ by .* in rollout; nothing was timed"):
        beside(plan, MujocoRollout(plan.robot), "rollout", [q, v, tau, dt], lambda q, v, tau, dt: ours(q, v, -tau, dt))


def test_what_is_not_there_is_said() -> None:
    def missing() -> Any:
        raise condyle.UnsupportedError("not here: pip install it\nmore")

    timed = Timed.of({"there": (lambda: lambda: None, 3), "missing": (missing, 1)})
    assert timed.absent == {"missing": "not here: pip install it"} and timed.per == {"there": 3}
    assert Timed.of({"missing": (missing, 1)}).measured(Plan(ARM, BRIEF)) == {"absent": timed.absent}


def test_every_goal_is_of_calls_and_robots_that_are_measured() -> None:
    assert set(steps_table.GOALS) < set(steps.PARTS) == set(steps_table.TITLES)
    for part, goals in steps_table.GOALS.items():
        assert {robot for goal in goals for robot in goal.robots} <= set(steps.PARTS[part][1])
    assert all(chosen([name]) or name != "iiwa14" for _, robots in steps.PARTS.values() for name in robots)


def test_the_page_says_what_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "steps.json"
    ns = {name: spread(ns) for name, ns in {"fd": 50.0, "rollout": 54.0, "mujoco": 2700.0}.items()}
    found = {"rollouts": 1000, "steps": 50, "ns": ns, "absent": {"rk4": "there is none"}}
    results.merge("rollout", "panda", found, path)
    results.merge("memory", "panda", {"rollouts": 8, "steps": 2, "own_bytes": 1 << 20, "peak_bytes": 3 << 20}, path)
    monkeypatch.setattr(steps_table, "SOURCE", path)
    text = steps_table.page()
    assert "| rollout over fd | 1.08 | at most 1.1 | yes |" in text
    assert "| mujoco over rollout | 50.0 | at least 65 | no |" in text
    assert "rk4 was not timed: there is none" in text and "rk4 over" not in text
    assert "| 3 MiB used, over 1 MiB of inputs and answers | 3.00 | at most 1.2 | no |" in text
    assert "panda, 1000 rollouts of 50 steps." in text
