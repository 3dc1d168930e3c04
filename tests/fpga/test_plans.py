"""What is advised about errors, what words are compared by, and which interval fits a part."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Robot, fpga
from condyle.errors import BuildError, UnsupportedError
from condyle.fpga import Options, plans
from condyle.fpga.plans import advice, stepping_of
from condyle.fpga.rtl.build import build
from condyle.fpga.rtl.constants import widest
from condyle.fpga.rtl.datapath import Incoming, Word
from condyle.fpga.rtl.lower import Source, lower
from condyle.fpga.rtl.planner import LARGEST_II, fit, fitted
from condyle.fpga.rtl.report import array_dsp
from condyle.fpga.rtl.target import PARTS, Format, word_of
from condyle.fpga.rtl.vectors import worst
from condyle.ir.expr import Graph
from condyle.ir.program import Array
from condyle.model.joints.lie import LARGEST_TURN
from tests.fpga.rtl.conftest import ball_and_plane

ARM = condyle.chain(2, 0)
AT_THE_GOAL = {"clamped": 0.01, "x_absolute": 5.0, "x_relative": 0.01}
FAR = {**AT_THE_GOAL, "x_relative": 0.02}


def test_what_reaches_a_limit_is_not_beyond_it() -> None:
    assert advice(ARM, Options(), {"id": AT_THE_GOAL}, 100) == []


def test_a_function_that_clamps_is_told_of_other_words() -> None:
    (said,) = advice(ARM, Options(word="q16.16"), {"id": {**AT_THE_GOAL, "clamped": 0.02}, "fd": AT_THE_GOAL}, 100)
    assert said == (
        "id: a signal is clamped in 2% of 100 states of the box, because it does not fit word 'q16.16': choose one "
        "with more bits before the point, or with a scale for each signal, such as 27x18"
    )


@pytest.mark.parametrize(
    ("word", "wider"),
    [
        ("12", ["16", "18", "20x18", "25x18", "27x18", "27", "32"]),
        ("25x18", ["27x18", "27", "32"]),
        ("26x13", ["27x18", "27", "32"]),
        ("q16.16", ["27x18", "27", "32"]),
        ("27", ["32"]),
        ("32", []),
    ],
)
def test_wider_words_are_tried_from_the_narrowest_on(
    monkeypatch: pytest.MonkeyPatch, word: str, wider: list[str]
) -> None:
    """Each for the functions that none before has helped."""
    tried: list[tuple[str, tuple[str, ...], int]] = []

    def within(_: Robot, options: Options, other: str, states: int) -> dict[str, str]:
        tried.append((other, options.functions, states))
        return {"id": f"word {other!r} does"} if len(tried) == 1 else {}

    monkeypatch.setattr(plans, "_within", within)
    said = advice(ARM, Options(("id", "fd", "m"), word=word), {"id": FAR, "fd": FAR, "m": AT_THE_GOAL}, 50)
    assert tried == [(other, ("fd",) if k else ("id", "fd"), 50) for k, other in enumerate(wider)]
    cure = f"word {wider[0]!r} does" if wider else "no other word was better: choose a smaller box, or"
    assert said[0].startswith(f"id: errors reach 0.02 of the range over 50 states, more than 0.01; {cure}")
    assert said[1].startswith("fd: errors reach 0.02") and "no other word was better" in said[1] and len(said) == 2


def test_words_are_compared_by_what_they_cost_and_err() -> None:
    options, acc = Options(("id", "fd"), word="27x18"), fpga.accelerator(ARM, Options(("id", "fd"), word="18"))
    rows, errors = fpga.compared(ARM, options, "18", 40), fpga.errors(ARM, acc.plan, 40)
    used = {"id": ("trig", "dynamics"), "fd": ("trig", "dynamics", "mass", "solve")}
    for row, (name, arrays) in zip(rows, used.items(), strict=True):
        one = errors[name]
        port = {"id": "tau", "fd": "a"}[name]
        quantiles = {part: one[f"{port}_relative_{part}"] for part in ("p50", "p90", "p99")}
        bits = sum(map(acc.register_bits_of, arrays))
        assert row == {
            "word": "18",
            "function": name,
            "dsp": sum(array_dsp(acc, array) for array in arrays),
            "register_bits": bits,
            "ii": acc.interval(name),
            **quantiles,
            "max": one[f"{port}_relative"],
            "flagged": one["clamped"],
        }
    assert 0 < rows[0]["dsp"] < rows[1]["dsp"] == acc.dsp


def test_an_export_has_ten_tasks_of_each_function_and_one_of_each_unknown_code(tmp_path: Path) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("id", "fd"), name="arm")
    assert len((tmp_path / "tasks.hex").read_text().splitlines()) == 10 * 2 + (2**4 - 2)


def test_sums_between_registers_are_as_wide_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words with a fixed point saturate, whatever their pieces have."""
    scaled, fixed = (fpga.planned(ARM, Options(("id",), word=word)) for word in ("32", "q16.16"))
    most = max(map(widest, scaled.datapaths.values()))
    assert 26 < most <= 32 and max(map(widest, fixed.datapaths.values())) >= most
    monkeypatch.setattr("condyle.fpga.rtl.build.ADDER", most)
    assert build(scaled, 2).ii == 2
    monkeypatch.setattr("condyle.fpga.rtl.build.ADDER", most - 1)
    with pytest.raises(BuildError, match=f"sums of .*{most}.* bits between two registers, allowed are {most - 1}"):
        build(scaled, 2)
    assert build(fixed, 2).ii == 2


def test_an_operation_that_hardware_has_not_is_refused() -> None:
    graph = Graph()
    root = graph.node(("sqrt", graph.input(0, 0).index))
    program = graph.program("root", (Array("x", (1,)),), (Array("y", (1,)),), [(0, 0, root)])
    incoming = {0: Incoming(Word("x", 0), Format(27, 20))}
    with pytest.raises(UnsupportedError, match="sqrt"):
        lower("root", Source(program, [1.0, 1.0]), word_of("27x18"), incoming, [("out", [(Word("y", 0), 1)])])


def test_a_step_may_turn_a_joint_as_far_as_the_series_reaches() -> None:
    """At twice the rate of the box, on each of three axes."""
    robot = ball_and_plane()
    near = LARGEST_TURN / (math.sqrt(3.0) * 2.0 * 10.0)
    steps = [math.nextafter(near, 0.0), near, math.nextafter(near, 1.0)]
    last = max(h for h in steps if math.sqrt(3.0) * 2.0 * 10.0 * h <= LARGEST_TURN)
    assert math.sqrt(3.0) * 2.0 * 10.0 * last == LARGEST_TURN
    assert stepping_of(robot, last, 10.0, 27).h == last
    for h, speed in ((1.0001 * last, 10.0), (last, 10.001)):
        with pytest.raises(UnsupportedError, match=r"ball \(spherical\), plane \(planar\) would turn by .* at most"):
            stepping_of(robot, h, speed, 27)


def test_a_root_that_is_named_is_the_first_body() -> None:
    """The farthest coordinates from it are those of the base and of all joints between."""
    robot = condyle.random_tree(4, 2, types=("revolute",), floating_base=True)
    for body in robot.bodies:
        assert fpga.held(robot, body.name).bodies[0].name == body.name
    chain = condyle.chain(3, 0)
    assert plans._depth(chain) == 3 and plans._depth(robot) > 6


def test_a_joint_that_follows_another_has_no_word_of_a_step() -> None:
    builder = condyle.Builder("follower")
    for name in "ab":
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1 * np.eye(3))
    builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0))
    builder.joint("k", parent="a", child="b", type="revolute", axis=(0, 1, 0), mimic=("j", 2.0, 0.0))
    robot = builder.build()
    plan = fpga.planned(robot, Options(("euler",)))
    assert [str(word) for word, _ in plan.results["euler"]] == ["q_next_0", "v_next_0"]
    assert worst(fpga.errors(robot, plan, 50)["euler"]) < 1e-3


def test_an_interval_is_at_least_that_of_the_link_and_at_most_half_of_the_longest() -> None:
    plan = fpga.planned(ARM, Options(("id",)))
    assert [fit(plan, 4000, least=n) for n in (1, 5, 32, 1000)] == [(n, 1) for n in (1, 5, 32, LARGEST_II // 2)]


def test_registers_that_just_fit_are_taken_and_else_the_interval_that_fits_is_said() -> None:
    """Of an ECP5, which has a flip-flop for each look-up table."""
    plan, part = fpga.planned(ARM, Options(("id", "minv"))), replace(PARTS["ecp5-85k"], dsp=80)
    ii, _ = fit(plan, part.dsp, device=part)
    bits = {n: build(plan, n, device=part).register_bits for n in range(ii, 6 * ii, ii)}
    assert fitted(plan, part.dsp, "dsp", None, replace(part, lut=bits[ii]), 1).ii == ii
    room = bits[ii] - 1
    longer = next(n for n, count in bits.items() if count <= room)
    with pytest.raises(UnsupportedError) as caught:
        fitted(plan, part.dsp, "dsp", None, replace(part, lut=room), 1)
    asked = f"take {bits[ii]} flip-flops, and it has {room}. The shortest interval that fits is {longer} cycles: --dsp "
    assert asked in str(caught.value) and f"with a task every {ii} cycles" in str(caught.value)
    (dsp,) = re.findall(r"--dsp (\d+)\.", str(caught.value))
    assert int(dsp) == build(plan, longer, device=part).dsp
