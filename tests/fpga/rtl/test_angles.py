"""Angles of more than half a turn: right to 31 rad in every word, in the model and in the Verilog."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import task_of, worst
from tests.processor import slow


def two_turns(robot: condyle.Robot, plan: Plan, n: int) -> dict[str, np.ndarray]:
    """States of the box whose angles are within two turns."""
    states = fpga.sampled(robot, n, 8, plan.box)
    q = np.random.default_rng(9).uniform(-2.0 * np.pi, 2.0 * np.pi, (n, robot.nq))
    return fpga.consistent(robot, {**states, "q": q})


@pytest.mark.slow
@pytest.mark.parametrize("word", ["27x18", slow("32"), slow("q16.16")])
def test_angles_of_two_turns_are_right_without_a_flag(word: str) -> None:
    robot = condyle.load("ur5e")
    wide, plain = (fpga.planned(robot, fpga.Options(word=word, box=box)) for box in ({"q": 6.3}, {}))
    states = two_turns(robot, wide, 300)
    for function in wide.functions:
        given = task_of(wide, function, states)
        assert not evaluate(wide, function, given).over.any() or word == "q16.16", function
        assert evaluate(plain, function, task_of(plain, function, states)).over.mean() > 0.9
    if word != "q16.16":
        found, known = (fpga.errors(robot, plan, 300) for plan in (wide, plain))
        assert all(worst(found[name]) < 2.0 * worst(known[name]) for name in found)  # an angle has one bit less


def follower(ratio: float) -> condyle.Robot:
    """A joint that turns `ratio` times as far as another."""
    builder = condyle.Builder("follower")
    for name in "ab":
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1 * np.eye(3))
    builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0))
    return builder.joint("k", parent="a", child="b", type="revolute", axis=(0, 1, 0), mimic=("j", ratio, 0.0)).build()


@pytest.mark.parametrize("word", ["27x18", "32", "q16.16", "q8.24"])
def test_angles_of_more_than_eight_radians_are_right(word: str) -> None:
    """Of a joint that follows another, and of a box; words of more than 27 bits lost the upper bits of such angles."""
    for robot, box in ((follower(9.0), {}), (follower(1.0), {"q": 31.0})):
        plan = fpga.planned(robot, fpga.Options(("m",), word=word, box=box))
        found = fpga.errors(robot, plan, 300)["m"]
        assert found["clamped"] == 0.0 and found["M_absolute"] < 5e-5, word


def test_an_angle_that_loses_upper_bits_is_refused() -> None:
    for word in ("32", "q8.24"):
        with pytest.raises(
            UnsupportedError, match=rf"reaches 37.\d* rad, but in word '{word}' sines are right below 32"
        ):
            fpga.planned(follower(12.0), fpga.Options(("m",), word=word))
    assert worst(fpga.errors(follower(12.0), fpga.planned(follower(12.0), fpga.Options(("m",))), 300)["m"]) < 1e-4


@pytest.mark.parametrize("word", ["27x18", slow("32"), "q8.24"])
def test_the_verilog_is_right_where_angles_have_many_turns(bench, word: str) -> None:
    acc = fpga.accelerator(condyle.chain(3, 4), fpga.Options(("id",), word=word, box={"q": 31.0, "v": 1.0, "a": 10.0}))
    assert bench(condyle.chain(3, 4), acc, 40).startswith("right")
