"""The box that a user says: what it bounds, what is flagged, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.export import Facts, Sheet
from condyle.fpga.rtl.report import report, said_box
from condyle.fpga.rtl.vectors import dense, errors_of, task_errors, task_of
from tests.zoo import every_joint

ROBOT = condyle.chain(3, 4)
SECOND = ROBOT.joints[1].name


def box_of(said: object, robot: condyle.Robot = ROBOT, f_ext: float | None = None) -> dict[str, object]:
    return {name: np.asarray(x).tolist() for name, x in fpga.box_of(robot, said, f_ext).items()}


def test_what_is_left_out_has_its_default() -> None:
    default = {"q": np.pi, "v": 10.0, "a": 100.0}
    assert box_of({}) == default
    assert box_of({"v": 2}) == default | {"v": 2.0, "a": 20.0}
    assert box_of({"a": 5}) == default | {"a": 5.0}
    assert box_of({"tau": 300.0}, f_ext=50.0) == default | {"tau": 300.0, "f_ext": 50.0}


def test_velocity_limits_of_the_model_are_the_default_where_they_are_of_use() -> None:
    builder = condyle.Builder("limits").body("base")
    speeds = (3.0, 0.0, 1000.0, np.inf)
    for k, speed in enumerate(speeds):
        builder.body(f"b{k}", mass=1.0, inertia=1e-3 * np.eye(3))
        parent = "base" if k == 0 else f"b{k - 1}"
        builder.joint(f"j{k}", parent=parent, child=f"b{k}", type="revolute", axis=(0, 0, 1), velocity=speed)
    robot = builder.build()
    assert box_of({}, robot)["v"] == [3.0, 10.0, 10.0, 10.0]
    assert box_of({}, robot)["a"] == [30.0, 100.0, 100.0, 100.0]
    said = box_of({"v": {"j2": 20.0}}, robot)
    assert said["v"] == [3.0, 10.0, 20.0, 10.0] and said["a"] == [30.0, 100.0, 200.0, 100.0]
    assert box_of({"v": 1e6}, robot)["a"] == 1e6  # the largest number of a box
    assert box_of({}, condyle.load("hyq"))["v"] == 12.0


def test_joints_go_before_all_in_any_order() -> None:
    for said in ({f"v.{SECOND}": 3, "v": 10}, {"v": 10, f"v.{SECOND}": 3}, {"v": np.array((10, 3, 10))}):
        assert box_of(said)["v"] == [10.0, 3.0, 10.0]
    assert box_of({"a": {SECOND: 3}})["a"] == [100.0, 3.0, 100.0]
    assert box_of({"tau": {SECOND: 3}})["tau"] == [np.inf, 3.0, np.inf]


def test_options_with_arrays_compare() -> None:
    one, same, other = (fpga.Options(box={"v": np.array(x), "a": {SECOND: 3}}) for x in ([1, 2], [1, 2], [1, 3]))
    assert one == same != other and hash(one) == hash(same)


def test_a_joint_has_all_its_entries() -> None:
    robot = every_joint()
    joint = next(joint for joint in robot.joints if joint.nv > 1)
    found = np.asarray(box_of({"v": {joint.name: 0.5}}, robot)["v"])
    assert np.flatnonzero(found == 0.5).tolist() == list(range(joint.v_index, joint.v_index + joint.nv))


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"w": 1}, "box: there is no 'w' in a box: give q, v, a or tau"),
        ({"q": 31.1}, r"box: q_0=31.1 is out of range: an angle is at most 31 rad: subtract whole turns on the host"),
        ({"q": {SECOND: 40.0}}, "box: q_1=40 is out of range"),
        ({"q": [1.0, 2.0, 3.0]}, "is not a number"),
        ({"q": 0}, "box: q=0 is out of range"),
        ({"f_ext": 1}, "the option f_ext is for external forces"),
        ({"v": {"nobody": 1}}, f"'v.nobody' names no moving joint: the joints are .*{SECOND}"),
        ({"v": {SECOND: [1.0, 2.0]}}, "is not a number: "),
        ({"v": [1.0, 2.0]}, "is not a number or a list of 3"),
        ({"v": [[1], [1, 2]]}, "is not a number or a list of 3"),
        ({"v": "10"}, "is not a number"),
        ({"a": None}, "is not a number"),
        ({"a": True}, "is not a number"),
        (7, "not a mapping such as"),
        *(({"a": x}, "box: a=.* is out of range: .* from 1e-06 to 1e\\+06") for x in (0, -1, np.nan, np.inf, 1e7)),
    ],
)
def test_what_is_no_box_is_refused(said: object, match: str) -> None:
    with pytest.raises(UnsupportedError, match=match):
        box_of(said)


def test_angles_have_a_range_of_their_own() -> None:
    assert box_of({"q": 6.3})["q"] == 6.3
    assert box_of({"q": {SECOND: 6.3}})["q"] == [np.pi, 6.3, np.pi]
    assert box_of({"q": 6.3, f"q.{SECOND}": 1})["q"] == [6.3, 1.0, 6.3]
    robot = every_joint()
    by_type = {joint.type: joint for joint in robot.joints if joint.mimic is None}
    slide, plane, free = (by_type[name] for name in ("prismatic", "planar", "spherical"))
    said = {"q": {slide.name: 40.0, plane.name: [2.0, 3.0, 4.0]}}
    bounds, usual = (np.asarray(box_of(said, robot)["q"]), fpga.bounds_of_q(robot, np.pi))
    assert bounds[slide.q_slice].tolist() == [40.0] and bounds[plane.q_slice].tolist() == [2.0, 3.0, 4.0]
    rest = np.setdiff1d(np.arange(robot.nq), [*range(robot.nq)[slide.q_slice], *range(robot.nq)[plane.q_slice]])
    assert np.array_equal(bounds[rest], usual[rest])
    states = fpga.sampled(robot, 1000, 0, fpga.box_of(robot, said, None))
    largest = np.abs(states["q"]).max(axis=0)
    assert (
        (largest <= bounds).all() and largest[slide.q_index] > 39.0 and (largest[plane.q_slice] > [1.9, 2.9, 3.9]).all()
    )
    with pytest.raises(UnsupportedError, match=f"'q.{free.name}': the orientation of this spherical joint is a unit"):
        box_of({"q": {free.name: 1.0}}, robot)


def test_a_joint_that_follows_another_has_no_box() -> None:
    robot = every_joint()
    follower = next(joint.name for joint in robot.joints if joint.mimic is not None)
    with pytest.raises(UnsupportedError, match="follows another joint"):
        box_of({"v": {follower: 1.0}}, robot)


@pytest.mark.parametrize(
    ("box", "word", "match"),
    [
        ({"v": 4e4}, "q16.16", "v_0 may be 40000, but word 'q16.16' ends at 32768"),
        ({"tau": 4e4}, "q16.16", "tau_0 may be 40000, but"),
        ({"v": 1e6, "a": 1e-6}, "27x18", "a_. is at most 1e-06, but one unit"),
    ],
)
def test_what_no_word_holds_is_refused_before_anything_is_written(
    box: Mapping[str, object], word: str, match: str, tmp_path: Path
) -> None:
    with pytest.raises(UnsupportedError, match=match):
        condyle.export(ROBOT, "verilog", tmp_path / "out", ("fd",), word=word, box=box)
    assert not (tmp_path / "out").exists()


def plan_of(**box: object) -> Plan:
    return fpga.planned(ROBOT, fpga.Options(box=box))


@pytest.mark.parametrize("name", ["v", "a", "tau"])
def test_a_word_beyond_the_box_raises_the_flag_of_those_that_take_it(name: str) -> None:
    plan = plan_of(v={SECOND: 20.0}, a=100.0, tau=[400.0, 50.0, 400.0])
    inside = fpga.consistent(ROBOT, fpga.sampled(ROBOT, 20, 4, plan.box), plan.box)
    corner = np.broadcast_to(plan.box[name], ROBOT.nv)
    states = {**inside, name: inside[name].copy()}
    states[name][2], states[name][3] = 0.0, 0.0
    states[name][2, 1], states[name][3, 1] = corner[1], 1.001 * corner[1]
    for function, task in plan.tasks.items():
        if name == "v" or not task.is_fed_back:  # what is fed back may leave the box: the next test
            found = evaluate(plan, function, task_of(plan, function, states)).over
            assert found[3] == (name in task.inputs) and not found[:3].any(), function


@pytest.mark.parametrize("wide", [{"v": 2.0, "a": 5.0}, {"v": 10.0, "a": 100.0}, {"v": 10.0, "a": 1000.0}])
def test_without_torque_a_task_is_flagged_only_where_its_acceleration_leaves_the_box(wide: dict[str, float]) -> None:
    robot = condyle.load("iiwa14")
    plan = fpga.planned(robot, fpga.Options(("fd", "dfd"), box=wide))
    states = fpga.consistent(robot, fpga.sampled(robot, 1000, 5, plan.box), plan.box)
    states["tau"] *= 0.0
    (a,) = fpga.answer_of(robot, fpga.functions()["fd"], states, 0.0)
    left = (np.abs(a) > plan.box["a"]).any(axis=1)
    for function in ("fd", "dfd"):
        flagged = evaluate(plan, function, task_of(plan, function, states)).over
        assert not (flagged & ~left).any()
    assert flagged.mean() < (0.01 if plan.box["a"] == 1000.0 else 0.99)  # 0.03 % and 98 % of 100 000 states


def test_torques_are_held_to_their_box() -> None:
    free, held = plan_of(), plan_of(tau=[1e3, 2.0, 1e3])
    assert held.torques[1] == 2.0 < free.torques[1]
    assert held.limits[Word("tau", 1)] == 2.0 and Word("tau", 1) not in free.limits
    assert held.formats[Word("tau", 1)].frac > free.formats[Word("tau", 1)].frac
    assert held.formats[Word("tau", 0)].frac < free.formats[Word("tau", 0)].frac


@pytest.mark.slow
def test_a_wide_box_costs_neither_accuracy_nor_units() -> None:
    robot = condyle.load("iiwa14")
    boxes = ({"v": 2, "a": 5}, {"v": 10, "a": 100})
    small, wide = (fpga.accelerator(robot, fpga.Options(box=box)) for box in boxes)
    assert (small.dsp, small.ii) == (wide.dsp, wide.ii)
    assert all(small.latency(name) == wide.latency(name) for name in small.plan.functions)
    found, known = (fpga.errors(robot, acc.plan, 1000) for acc in (wide, small))
    for function, row in found.items():
        assert row["clamped"] == 0.0
        for name, error in row.items():
            if name.endswith("relative"):
                assert error <= 1.3 * known[function][name], (function, name)


@pytest.mark.slow
def test_the_verilog_is_right_in_a_box_of_ones_own(bench) -> None:
    options = fpga.Options(box={"v": 30.0, f"v.{SECOND}": 0.1, "a": 200.0, "tau": {SECOND: 5.0}})
    assert bench(ROBOT, fpga.accelerator(ROBOT, options), 10).startswith("right")


@pytest.mark.slow
def test_silent_saturation_changes_the_flag_alone(bench) -> None:
    acc, silent = (fpga.accelerator(ROBOT, fpga.Options(overflow=how)) for how in ("flag", "silent"))
    states = fpga.consistent(ROBOT, fpga.sampled(ROBOT, 30, 6))
    states["v"][::3] *= 1e3
    for function in acc.plan.functions:
        given = task_of(acc.plan, function, states)
        found, known = (evaluate(one.plan, function, given) for one in (silent, acc))
        assert not found.over.any() and known.over.any() == ("v" in acc.plan.tasks[function].inputs)
        assert all((found.words[word] == known.words[word]).all() for word in known.words)
    assert bench(ROBOT, silent, 10).startswith("right")
    loud, quiet = (fpga.errors(ROBOT, one.plan, 50) for one in (acc, silent))
    assert loud == quiet


def test_the_report_names_what_happens_at_the_edge_and_the_echo() -> None:
    for how, echo in (("flag", False), ("silent", True)):
        acc = fpga.accelerator(ROBOT, fpga.Options(overflow=how))
        facts = Facts("r", "", "", 1.0, "27x18", Boundary(echo=echo))
        found = report(acc, facts, Sheet({name: {} for name in acc.plan.functions}, 0, {}))
        assert found["overflow"] == how
        assert found["boundary"]["echo"] is echo


def test_an_overflow_that_is_none_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"overflow='wrap'.*flag.*silent"):
        fpga.Options(overflow="wrap")


def test_the_folder_says_its_box(tmp_path: Path) -> None:
    box = {"v": {SECOND: 2.0}, "tau": {SECOND: 20.0}}
    condyle.export(ROBOT, "verilog", tmp_path, ("fd",), box=box)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "README.md").read_text()
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["box"]["v"] == [10.0, 2.0, 10.0] and found["box"]["tau"] == [None, 20.0, None]
    assert len(found["torques_sampled"]) == 3
    said = said_box(found)
    assert "|v| ≤ (10, 2, 10)" in said and "|tau| ≤ (-, 20, -)" in said and "tau as these states need it" in said
    assert said in text and said in unescape(page)
    row = found["functions"]["fd"]
    assert row["relative_quantiles"]["p50"] == row["errors"]["a_relative_p50"] < row["worst_relative"]
    shown = " | ".join(f"{x:.1e}" for x in (*row["relative_quantiles"].values(), row["worst_relative"]))
    assert shown in text and "maximum of 1000 samples" in text
    assert "<td>fd<td>a<td>" in page and all(f"<th>{head}" in page for head in ("median", "99 %", "maximum"))
    assert "not a bound" in page


def test_errors_are_quantiles_and_maxima_of_tasks_without_a_flag() -> None:
    plan = fpga.planned(ROBOT, fpga.Options(("m", "id")))
    states = fpga.consistent(ROBOT, fpga.sampled(ROBOT, 40, 3))
    states["a"][7] = 1e3
    for function, flagged in (("id", [k == 7 for k in range(40)]), ("m", [False] * 40)):
        answer = evaluate(plan, function, task_of(plan, function, states))
        (truth,) = fpga.answer_of(ROBOT, plan.tasks[function], states, 0.0)
        each = task_errors(plan, function, answer, [truth])
        name, port = next(iter(each)), plan.tasks[function].function.outputs[0].name
        far = np.abs(dense(plan, function, port, answer, truth) - truth).max(axis=1)
        assert np.isnan(each[name]).tolist() == flagged
        kept = far[~np.array(flagged)]
        found = errors_of(each)
        assert found["clamped"] == np.mean(flagged)
        assert found[name] == kept.max() > 0.0
        for part, x in ((50, "p50"), (90, "p90"), (99, "p99")):
            assert found[f"{name}_{x}"] == np.percentile(kept, part)


def test_what_is_zero_but_for_rounding_has_no_relative_error() -> None:
    """A column up to 1e-9; a larger one is compared with its largest entry over the tasks."""
    robot = condyle.chain(2, 0)
    plan = fpga.planned(robot, fpga.Options(("id",)))
    states = fpga.consistent(robot, fpga.sampled(robot, 20, 3))
    answer = evaluate(plan, "id", task_of(plan, "id", states))
    (truth,) = fpga.answer_of(robot, plan.tasks["id"], states, 0.0)
    far = np.abs(dense(plan, "id", "tau", answer, truth) - truth)
    for size, counts in ((1e-9, False), (2e-9, True)):
        small = np.stack([truth[:, 0], np.full(20, size)], axis=1)
        gap = np.abs(dense(plan, "id", "tau", answer, truth) - small)
        found = task_errors(plan, "id", answer, [small])
        own = far[:, 0] / np.abs(truth[:, 0]).max()
        np.testing.assert_array_equal(found["tau_absolute"], gap.max(axis=1))
        np.testing.assert_array_equal(found["tau_relative"], np.maximum(own, gap[:, 1] / size) if counts else own)


def test_all_tasks_flagged_have_no_error() -> None:
    assert errors_of({"x": np.full(3, np.nan)}) == {"clamped": 1.0, "x": 0.0, "x_p50": 0.0, "x_p90": 0.0, "x_p99": 0.0}


def test_quantiles_hardly_depend_on_the_count_of_samples() -> None:
    plan = fpga.planned(ROBOT, fpga.Options(("id",)))
    few, many = (fpga.errors(ROBOT, plan, n)["id"] for n in (300, 3000))
    assert many["tau_absolute_p50"] == pytest.approx(few["tau_absolute_p50"], rel=0.3)  # a median of 300
    assert many["tau_absolute_p50"] <= many["tau_absolute_p90"] <= many["tau_absolute_p99"] <= many["tau_absolute"]
