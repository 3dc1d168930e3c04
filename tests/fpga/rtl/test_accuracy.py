"""The integer model against the reference, in the units that users have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga import box as states
from condyle.fpga import plans
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import dense, task_of, worst
from condyle.functions import FUNCTIONS
from condyle.model.rooted import Rooted
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate as reference
from tests.processor import slow
from tests.zoo import every_joint

from .conftest import accelerator, ball_and_plane, free_body

SLOW = {"v": 2.0, "a": 5.0}


@pytest.fixture(scope="module")
def iiwa() -> condyle.Robot:
    return condyle.load("iiwa14")


def test_errors_are_over_as_many_states_as_asked_for_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of other states; those whose numbers were clamped are counted without a flag in results too."""
    robot, drawn = condyle.chain(2, 0), list[tuple[int, int]]()

    def sampled(_: condyle.Robot, n: int, seed: int, box: Any) -> Any:
        drawn.append((n, seed))
        return states.sampled(robot, n, seed, box | {"v": 4.0 * box["v"]})

    plan = replace(accelerator(robot, "id").plan, flags=False)
    monkeypatch.setattr(plans, "CHUNK", 10)
    monkeypatch.setattr(plans, "sampled", sampled)
    assert fpga.errors(robot, plan, 25, seed=3)["id"]["clamped"] > 0.1
    assert drawn == [(10, 3), (10, 4), (5, 5)]


@pytest.mark.parametrize("word", ["27x18", slow("27"), slow("32")])
def test_iiwa14_stays_within_the_stated_errors(iiwa, word: str) -> None:
    found = fpga.errors(iiwa, accelerator(iiwa, word=word, box=SLOW).plan, 1000, seed=11)
    assert found["id"]["tau_absolute"] < 5e-3  # N m
    assert found["id"]["tau_relative"] < 5e-4  # of each joint's range
    for function, row in found.items():
        # the inverse loses what the conditioning of M costs; 18-bit factors are the worst of it
        allowed = 1e-2 if function in ("fd", "minv", "dfd") else 1e-3
        assert max(value for name, value in row.items() if name.endswith("relative")) < allowed, function
        assert row["clamped"] == 0.0, function


def test_the_papers_format_is_less_accurate_where_entries_are_small(iiwa) -> None:
    """Small entries have few bits in it; large torques have as many as in words that scale each signal."""
    ours = fpga.errors(iiwa, accelerator(iiwa, "id", "m", "minv").plan, 500)
    theirs = fpga.errors(iiwa, accelerator(iiwa, "id", "m", "minv", word="q16.16").plan, 500)
    assert theirs["id"]["tau_absolute"] < ours["id"]["tau_absolute"]
    assert theirs["m"]["M_relative"] > 5.0 * ours["m"]["M_relative"]
    assert theirs["minv"]["Minv_relative"] > 5.0 * ours["minv"]["Minv_relative"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "robot", [every_joint(), slow(condyle.load("hyq", floating_base=True))], ids=["every_joint", "hyq"]
)
def test_free_joints_and_all_others_are_done(robot) -> None:
    found = fpga.errors(robot, accelerator(robot, "id", "m", "did", word="27").plan, 300)
    for row in found.values():
        assert max(value for name, value in row.items() if name.endswith("relative")) < 1e-2


@pytest.mark.parametrize("robot", [slow(every_joint()), slow(condyle.load("hyq"))], ids=["every_joint", "hyq"])
def test_external_forces_count(robot) -> None:
    acc = accelerator(robot, "id", "fd", "dfd", word="27", f_ext=100.0)
    found = fpga.errors(robot, acc.plan, 300)
    for row in found.values():
        assert max(value for name, value in row.items() if name.endswith("relative")) < 2e-2
    loaded = fpga.sampled(robot, 300, 1, acc.plan.box)
    (bare,) = reference(tree_of(robot), FUNCTIONS["id"], "rnea", {name: loaded[name] for name in ("q", "v", "a")})
    tau = fpga.consistent(robot, loaded)["tau"]
    assert np.abs(tau - bare).max() > 100.0 * found["id"]["tau_absolute"]


def test_inputs_inside_the_box_raise_no_flag(iiwa) -> None:
    acc = accelerator(iiwa)
    inside = fpga.consistent(iiwa, fpga.sampled(iiwa, 20, 4))
    for function in acc.plan.functions:
        assert not evaluate(acc.plan, function, task_of(acc.plan, function, inside)).over.any()


@pytest.mark.parametrize("name", ["q", "v", "a", "tau", "Minv"])
@pytest.mark.parametrize("factor", [1.01, slow(1e6)])
def test_each_input_outside_the_box_raises_the_flag_of_those_that_take_it(iiwa, name: str, factor: float) -> None:
    acc = accelerator(iiwa)
    inside = fpga.consistent(iiwa, fpga.sampled(iiwa, 20, 4))
    corner = {"q": np.pi, "v": -10.0, "a": 100.0}
    far = {**inside, name: inside[name].copy()}
    far[name][3] = factor * corner[name] if name in corner else 1e6  # these two have no bound but their word's
    for function in acc.plan.functions:
        flagged = evaluate(acc.plan, function, task_of(acc.plan, function, far)).over
        assert flagged.tolist() == [k == 3 and name in acc.plan.tasks[function].inputs for k in range(20)], function


def test_steps_in_a_row_follow_the_floats() -> None:
    """Each step's result is the next one's task; the torques are those that hold the first state's speed."""
    robot, h, count = condyle.chain(2, 4), 2e-3, 20
    acc = fpga.accelerator(robot, fpga.Options(("rk4",), step=h, box=SLOW))
    states = fpga.sampled(robot, 8, 5, acc.plan.box)
    states["v"] *= 0.25
    states = fpga.consistent(robot, {**states, "a": 0.0 * states["a"]})
    given, exact = task_of(acc.plan, "rk4", states), states
    for _ in range(count):
        answer = evaluate(acc.plan, "rk4", given).words
        for word, format in acc.plan.results["rk4"]:
            like = Word(word.name[0], word.index)
            assert format == acc.plan.formats[like]
            given[like] = answer[word]
        q, v = fpga.answer_of(robot, fpga.functions()["rk4"], exact, h)
        exact = {**exact, "q": q, "v": v}
    for word, format in acc.plan.results["rk4"]:
        name = word.name[0]
        moved = np.abs(exact[name] - states[name]).max()
        error = np.abs(format.to_real(answer[word]) - exact[name][:, word.index]).max()
        assert error < 5e-3 * moved, word  # what fd errs


@pytest.mark.parametrize("robot", [ball_and_plane(), free_body()], ids=lambda robot: robot.name)
def test_steps_along_curves_follow_the_floats_and_keep_quaternions_unit(robot) -> None:
    """Euler's q is `integrate` to a few units; 20 steps of rk4 in a row err by what fd errs."""
    h = 2e-3
    plan = fpga.planned(robot, fpga.Options(("rk4", "euler"), word="27", step=h, box=SLOW))
    states = fpga.sampled(robot, 100, 5, plan.box)
    states["v"] *= 0.25
    states = fpga.consistent(robot, {**states, "a": 0.0 * states["a"]})
    once = dense(plan, "euler", "q_next", evaluate(plan, "euler", task_of(plan, "euler", states)), states["q"])
    assert np.abs(once - robot.integrate(states["q"], h * states["v"])).max() < 2.5e-7  # four units of 2^-24
    given, exact, inside = task_of(plan, "rk4", states), states, np.ones(100, np.bool_)
    for _ in range(20):
        answer = evaluate(plan, "rk4", given)
        inside &= ~answer.over
        given |= {Word(word.name[0], word.index): value for word, value in answer.words.items()}
        q, v = fpga.answer_of(robot, fpga.functions()["rk4"], exact, h)
        exact = {**exact, "q": q, "v": v}
    assert inside.mean() > 0.7  # others became faster than the box allows
    found = {name: dense(plan, "rk4", f"{name}_next", answer, exact[name])[inside] for name in "qv"}
    exact = {name: exact[name][inside] for name in "qv"}
    assert np.abs(found["v"] - exact["v"]).max() < 5e-3 * np.abs(exact["v"] - states["v"][inside]).max()
    assert np.abs(robot.difference(exact["q"], found["q"])).max() < 5e-3 * 20 * h
    for joint in robot.joints:
        assert (
            joint.kind.defect(found["q"][:, joint.q_slice]).max() < 2e-7
        )  # however many steps: 20 would drift by 6e-7
    for word, format in plan.results["rk4"]:
        assert format == plan.formats[Word(word.name[0], word.index)]


def test_a_quaternion_that_is_not_unit_raises_the_flag_of_a_step() -> None:
    robot = ball_and_plane()
    plan = fpga.planned(robot, fpga.Options(("euler", "fd")))
    states = fpga.consistent(robot, fpga.sampled(robot, 3, 5))
    states["q"][1, :4] *= 0.99
    assert evaluate(plan, "euler", task_of(plan, "euler", states)).over.tolist() == [False, True, False]
    assert not evaluate(plan, "fd", task_of(plan, "fd", states)).over.any()


@pytest.mark.slow
def test_a_given_base_moves_as_told() -> None:
    """The joints alone are solved for, and what is said of the base's own force counts for nothing."""
    robot = condyle.random_tree(3, 3, types=("revolute",), floating_base=True)
    names = ("minv_given", "fd_given", "dfd_given", "difd")
    plan = fpga.planned(robot, fpga.Options(names, word="27"))
    for function, row in fpga.errors(robot, plan, 200).items():
        assert row["clamped"] == 0.0
        assert worst(row) < 1e-3, function
    states = fpga.consistent(robot, fpga.sampled(robot, 20, 3))
    (a,) = fpga.answer_of(robot, fpga.functions()["fd_given"], states, 0.0)
    assert np.abs(a[:, 6:] - states["a"][:, 6:]).max() < 1e-9  # tau was made of this motion
    far = {**states, "tau": np.where(np.arange(robot.nv) < 6, 1e6, states["tau"])}
    told = {**states, "a": np.where(np.arange(robot.nv) < 6, states["a"], 1e6)}
    answers = [evaluate(plan, "fd_given", task_of(plan, "fd_given", given)) for given in (states, far, told)]
    for answer in answers:
        assert not answer.over.any()
        assert all((answer.words[word] == answers[0].words[word]).all() for word in answer.words)
    wild = {**states, "a": states["a"].copy()}
    wild["a"][4, 2] = 101.0
    assert evaluate(plan, "fd_given", task_of(plan, "fd_given", wild)).over.tolist() == [k == 4 for k in range(20)]
    # difd with this inverse: the derivatives of the same joints
    (inverse,) = fpga.answer_of(robot, fpga.functions()["minv_given"], states, 0.0)
    by = dense(
        plan, "difd", "da_dq", evaluate(plan, "difd", task_of(plan, "difd", {**states, "Minv": inverse})), inverse
    )
    exact = fpga.answer_of(robot, fpga.functions()["dfd_given"], states, 0.0)[0]
    assert np.abs(by - exact).max() < 1e-3 * np.abs(exact).max()


def test_a_fixed_base_has_no_motion_to_give() -> None:
    with pytest.raises(UnsupportedError, match="fd_given: only a robot with a floating base"):
        fpga.planned(condyle.chain(2, 0), fpga.Options(("fd_given",)))


def test_a_chosen_root_answers_for_the_users() -> None:
    robot = condyle.random_tree(5, 2, types=("revolute",), floating_base=True)
    both = Rooted.of(robot, robot.bodies[3].name)
    acc = accelerator(both.turned, "id", "m", word="27")
    states = fpga.sampled(robot, 50, 3)
    states["q"][:, :3] *= 0.5  # the new root stands and moves beyond the old one
    states["v"] *= 0.1
    states["a"] *= 0.1
    names = dict(zip("qva", both.state(*(states[name] for name in "qva")), strict=True))
    answers = {
        name: evaluate(acc.plan, name, task_of(acc.plan, name, fpga.consistent(both.turned, names)))
        for name in ("id", "m")
    }
    assert not any(answer.over.any() for answer in answers.values())
    n = robot.nv
    tau = both.force(states["q"], dense(acc.plan, "id", "tau", answers["id"], np.zeros((50, n))))
    mass = both.mass(states["q"], dense(acc.plan, "m", "M", answers["m"], np.zeros((50, n * n))).reshape(50, n, n))
    for found, name, route in ((tau, "id", "rnea"), (mass.reshape(50, -1), "m", "crba")):
        (exact,) = reference(tree_of(robot), FUNCTIONS[name], route, states)
        assert np.abs(found - exact).max() < 1e-3 * np.abs(exact).max(), name


def test_the_balanced_root_is_found() -> None:
    atlas, hyq = (condyle.load(name, floating_base=True) for name in ("atlas", "hyq"))
    assert fpga.held(atlas, "auto").bodies[0].name == "utorso"
    assert fpga.held(hyq, "auto") is hyq
    assert fpga.held(atlas, None) is atlas
    with pytest.raises(UnsupportedError, match="floating_base=True"):
        fpga.held(condyle.load("atlas"), "auto")


def test_states_outside_the_box_are_clamped_and_said(iiwa) -> None:
    acc = accelerator(iiwa, "id")
    states = fpga.consistent(iiwa, {"q": np.ones((1, 7)), "v": np.full((1, 7), 30.0), "a": np.zeros((1, 7))})
    given = task_of(acc.plan, "id", states)
    given.update({word: np.full_like(value, 2**26 - 1) for word, value in given.items() if word.name == "v"})
    assert evaluate(acc.plan, "id", given).over.all()
