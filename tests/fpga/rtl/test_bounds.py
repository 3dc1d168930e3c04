"""Bounds by norms: on states of the box, its corners and its edge, against the words that the hardware computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, cast

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.algorithms import rnea
from condyle.algorithms.joint import Joint, Wrench
from condyle.algorithms.normal_form import normal_form
from condyle.errors import BuildError
from condyle.fpga import magnitudes
from condyle.fpga.magnitudes import GAIN, MagnitudeBounds, upper_bounds
from condyle.fpga.rtl import evaluate as model
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Datapath, Op, Word
from condyle.fpga.rtl.export import Facts, Sheet
from condyle.fpga.rtl.operators import Arrays
from condyle.fpga.rtl.page import page
from condyle.fpga.rtl.report import bounds, proven, report
from condyle.fpga.rtl.target import Format, Integers, Reals, values_of
from condyle.fpga.rtl.vectors import task_of
from condyle.fpga.staged import Staged, pivot_bounds, trace_staged
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.spatial import vector as vec
from condyle.specification.ports import F_EXT
from condyle.trace.loops import Moving
from tests.processor import slow
from tests.zoo import every_joint

from .conftest import accelerator

Rows: TypeAlias = dict[str, dict[str, dict[str, int]]]
CORNERS = 500


def with_rotors(robot: condyle.Robot) -> condyle.Robot:
    """The robot with armature on its base, ten times the base's mass along its linear axes."""
    rotors = replace(robot.joints[0], armature=np.array((500.0, 500.0, 500.0, 1.0, 2.0, 3.0)))
    return replace(robot, joints=(rotors, *robot.joints[1:]))


TURNING = {"q": np.pi, "v": 2.0, "a": 5.0}

ROBOTS: dict[str, Callable[[], condyle.Robot]] = {
    "iiwa14": lambda: condyle.load("iiwa14"),
    "hyq": lambda: condyle.load("hyq", floating_base=True),
    "every_joint": lambda: cast(condyle.Robot, every_joint()),
    "tree": lambda: condyle.random_tree(6, 3),
    "rotors": lambda: with_rotors(condyle.load("hyq", floating_base=True)),
}


def states(robot: Robot, box: Mapping[str, float]) -> dict[str, Reals]:
    """2000 states of the box; then rates at its corners, angles at quarter turns and at its ends."""
    found = fpga.sampled(robot, 2000 + CORNERS, 23, box)
    rng = np.random.default_rng(24)
    for name in ("v", "a", "f_ext"):
        if name in found:
            found[name][2000:] = box[name] * rng.choice([-1.0, 1.0], found[name][2000:].shape)
    for joint in robot.joints:
        if joint.type in ("revolute", "continuous") and joint.mimic is None:
            found["q"][2000:, joint.q_index] = rng.integers(-2, 3, CORNERS) * np.pi / 2
    found["v"][-2:], found["a"][-2:] = box["v"], box["a"]  # all joints turn the same way, arms stretched
    for joint in robot.joints:
        if joint.type in ("revolute", "continuous") and joint.mimic is None:
            found["q"][-2:, joint.q_index] = 0.0
    return found


def traced(robot: Robot, f_ext: float | None = None) -> tuple[Staged, dict[int, float], Mapping[str, float]]:
    tree = tree_of(robot)
    box = fpga.box_of(robot, {}, f_ext)
    edges = {(word.name, word.index): x for word, x in fpga.limits(robot, box).items()}
    forces = () if f_ext is None else (F_EXT,)
    routes = [(letter, function.taking(*forces), route) for letter, function, route in fpga.ROUTES]
    staged = trace_staged(normal_form(tree, "joint_space"), routes)
    found = upper_bounds(staged, [link.parent for link in tree.links], math.hypot(*tree.gravity), edges)
    return staged, found, box


@pytest.mark.parametrize("name", ROBOTS)
def test_no_vector_is_longer_than_its_bound(name: str) -> None:
    robot = ROBOTS[name]()
    staged, found, box = traced(robot, 100.0 if name == "every_joint" else None)
    exact = values_of(staged.program, states(robot, box))
    assert len(found) > 20 * robot.nv
    for node, bound in found.items():
        assert np.isfinite(bound)
        assert np.abs(exact[node]).max() * 0.999 <= bound / GAIN, (node, staged.program.note(node))


def test_bounds_belong_to_steps_not_to_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = condyle.random_tree(4, 3)
    _, found, _ = traced(robot)
    monkeypatch.setattr(rnea.newton_euler, "__name__", "forces")
    assert traced(robot)[1] == found


def test_a_step_without_a_bound_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def newton_euler(joint: Joint, moved: rnea.Motion) -> Wrench:
        return Wrench(vec.scale(joint.inertia.mass, moved.a), moved.dw)

    monkeypatch.setattr(rnea, "newton_euler", newton_euler)
    with pytest.raises(BuildError, match=r"no bound of what .*newton_euler makes"):
        traced(condyle.chain(2, 0))
    monkeypatch.setattr(magnitudes, "UNBOUNDED", (*magnitudes.UNBOUNDED, newton_euler))
    with pytest.raises(KeyError):  # what follows rests on it
        traced(condyle.chain(2, 0))


def words(path: Datapath, given: dict[Word, Integers]) -> dict[int, Integers]:
    """The word of every operation."""
    every = tuple((Word("op", k), k) for k, op in enumerate(path.ops) if op.kind != "sincos")
    found = model.run(Arrays(), replace(path, groups=(("all", every),)), "all", given)
    return {word.index: value for word, value in found.items()}


def computed(acc: Accelerator, given: dict[str, Reals]) -> dict[str, dict[int, Integers]]:
    """All words of the arrays that have bounds."""
    n = len(given["q"])
    task = task_of(acc.plan, "did", given) | {
        word: np.zeros(n, np.int64) for word in acc.plan.formats if word.name == "tau"
    }
    trig = words(acc.plan.datapaths["trig"], task)
    passed = {word: trig[k] for word, k in acc.plan.datapaths["trig"].outputs}
    return {name: words(acc.plan.datapaths[name], passed) for name in ("dynamics", "mass")}


@pytest.mark.parametrize(
    ("name", "word"), [("iiwa14", "27x18"), slow("iiwa14", "32"), slow("hyq", "27x18"), ("tree", "27x18")]
)
def test_no_word_leaves_its_bound_rounding_included(name: str, word: str) -> None:
    robot = ROBOTS[name]()
    acc = accelerator(robot, "id", "m", "minv", "did", word=word)
    for array, found in computed(acc, states(robot, acc.plan.box)).items():
        path = acc.plan.datapaths[array]
        there = bounds(path, acc.plan.limits)
        for k, bound in enumerate(there):
            if path.ops[k].kind != "sincos" and math.isfinite(bound.size):
                assert np.abs(path.ops[k].format.to_real(found[k])).max() <= bound.size, (array, k)
        capped = [k for k, op in enumerate(path.ops) if math.isfinite(op.upper)]
        # where numbers nearly cancel, rounding does not fit the room of a small norm: such a cap is not used
        assert sum(there[k].error == 0.0 for k in capped) > 0.95 * len(capped)
        held = proven(path, acc.plan.limits)
        assert sum(held.values()) > len(held) / 5
        for k in (k for k, good in held.items() if good):
            assert np.abs(found[k]).max() <= path.ops[k].format.limit


@pytest.mark.parametrize("name", [*ROBOTS, "atlas"])
def test_no_pivot_is_smaller_than_its_floor(name: str) -> None:
    """The coordinates of one joint are eliminated from the last on, as M = L^T D L is."""
    robot = condyle.load("atlas") if name == "atlas" else ROBOTS[name]()
    below = np.array(pivot_bounds(tree_of(robot)))
    if name == "every_joint":
        assert not below.any()  # its mimic joints share coordinates
        return
    if name == "atlas":  # its upper torso and its feet have inertias of no body: arms and neck alone have floors
        assert 10 <= (below > 0.0).sum() < robot.nv
    else:
        assert (below > 0.0).all()
    (mass,) = fpga.answer_of(robot, fpga.functions()["m"], fpga.sampled(robot, 300, 5), 0.0)
    left = mass.reshape(-1, robot.nv, robot.nv).copy()
    for k in reversed(range(robot.nv)):
        assert left[:, k, k].min() > 0.999999 * below[k], k
        row = left[:, k, :k].copy()
        left[:, :k, :k] -= row[:, :, None] * row[:, None, :] / left[:, k, k, None, None]


def test_an_inertia_of_no_body_gives_no_floor_to_what_carries_it() -> None:
    tree = tree_of(condyle.load("iiwa14"))
    wrong = replace(tree.links[3], numbers=tree.links[3].numbers._replace(mass=-1.0))
    links = (*tree.links[:3], wrong, *tree.links[4:])
    assert [x > 0.0 for x in pivot_bounds(replace(tree, links=links))] == [k > 3 for k in range(7)]


def test_bounds_of_each_operation_by_hand() -> None:
    """|v| <= 2 in units of 1/16, |a| <= 5 in units of 1/8: (size, error in its step, error since the inputs)."""
    words = [Word("v", 0), Word("a", 0), Word("sin", 0), Word("cos", 0), Word("floats", 0), Word("tau", 0)]
    wide, half = Format(10, 4), Format(10, 3)
    trig = Format(18, 17)
    ops = [Op("input", one) for one in (wide, half, trig, trig, Format(2, 0), half)]
    ops += [
        Op("add", half, (0, 1)),
        Op("sub", half, (0, 1), drop=2),
        Op("mul", Format(12, 2), (0, 1), factor=6),
        Op("const", Format(8, 4), value=-24),
        Op("wire", Format(10, 6), (0,)),
        Op("rcp", Format(12, 6), (1,), lower=3.0),
        Op("rcp", Format(12, 6), (1,), lower=0.375),
        Op("add", half, (0, 1), value=-5, shifts=2),
        Op("mul", Format(20, 12), (2, 0), factor=10),
        Op("mul", Format(20, 12), (3, 1), factor=10),
        Op("add", Format(20, 12), (14, 15)),
        Op("add", Format(20, 12), (14, 14)),
        Op("sub", Format(20, 12), (14, 15), upper=5.0, noise=1.0),
        Op("sincos", trig, (0,)),
    ]
    inputs = tuple((word, k) for k, word in enumerate(words))
    path = Datapath("by_hand", tuple(ops), inputs, (("out", ((Word("y", 0), 18),)),))
    found = bounds(path, {words[0]: 2.0, words[1]: 5.0})
    x, dx, y, dy = 2.0625, 1 / 16, 5.125, 1 / 8
    turn, nothing = (1.0, 2e-5, 2e-5), (math.inf,) * 3
    assert found[:6] == [(x, dx, dx), (y, dy, dy), turn, turn, (1.0, 0.0, 0.0), nothing]
    sum_lost, drop_lost, cut_lost = 1 / 4, 1 / 16 + 1 / 8, 2.0 * x + 1.0  # a cut to six bits has units of 2
    least = 3.0 - 3 / 8
    inverse_lost = 5e-7 / least + 1 / 64
    inverse_error = (1 / 4) / least**2 + inverse_lost
    sized = sum_lost + (x + y) / 5.0
    want = [
        (x + y + sum_lost, dx + dy + sum_lost),
        (x + y + drop_lost, dx + dy + drop_lost),
        (x * y + cut_lost, x * dy + y * dx + dx * dy + cut_lost),
        (1.5, 1 / 16),
        (x / 4, dx / 4),
        (1.0 / least + inverse_lost, inverse_error),
        (math.inf, math.inf),
        (x + y + sized, dx + dy + sized),
    ]
    for bound, (size, error) in zip(found[6:14], want, strict=True):
        assert bound == pytest.approx((size, error, error), rel=1e-12)
    by_sine, by_cosine = 1 / 16 + 4 / 4096, 1 / 8 + 4 / 4096
    turned = math.hypot(x, y) * (1.0 + 2e-5) + by_sine + by_cosine
    assert found[16].size == pytest.approx(turned + 2 / 4096, rel=1e-12)
    assert found[17].size == pytest.approx(2.0 * (x + by_sine) + 2 / 4096, rel=1e-12)  # no sine and cosine
    assert found[18].size == found[16].size and found[18].error == found[16].error > 5.0 / 512.0
    assert found[19] == nothing
    small = replace(path, ops=(*ops[:18], replace(ops[18], upper=512.0 * found[18].error), ops[19]))
    assert bounds(small, {words[0]: 2.0, words[1]: 5.0})[18] == (found[18].size, 0.0, found[18].drift)


@pytest.mark.parametrize("above", [False, True])
def test_a_format_holds_its_largest_number_and_no_more(above: bool) -> None:
    end = Format(20, 12).limit / 4096.0
    upper = math.nextafter(end, math.inf) if above else end
    ops = (Op("input", Format(30, 20)), Op("add", Format(20, 12), (0, 0), noise=1.0, upper=upper))
    path = Datapath("edge", ops, ((Word("v", 0), 0),), (("out", ((Word("y", 0), 1),)),))
    assert proven(path, {Word("v", 0): 100.0}) == {1: not above}
    silent = replace(path, ops=(ops[0], replace(ops[1], noise=0.0)))
    assert not proven(silent, {Word("v", 0): 100.0})


def test_reciprocals_of_short_limbs_are_proven() -> None:
    path = fpga.planned(condyle.load("hyq"), fpga.Options(("minv",)))
    mass = path.datapaths["mass"]
    held = proven(mass, path.limits)
    assert all(held[k] for k, op in enumerate(mass.ops) if op.kind == "rcp")
    assert sum(held.values()) > 0.9 * len(held)
    bare = replace(mass, ops=tuple(replace(op, lower=0.0) for op in mass.ops))
    assert not any(proven(bare, path.limits)[k] for k, op in enumerate(mass.ops) if op.kind == "rcp")


def test_two_links_by_hand() -> None:
    """Point masses at the ends of two bars, |v| <= 2, |a| <= 5: to first order in the room for rounding.

    w1 = 2, w2 = 4; dw1 = 5, dw2 = 10 + 2 2 = 14; a1 = g, a2 = g + (5 + 4) l1.
    Regrouped, the second mass counts with the first link, and its first moment stays:
    force2 = m2 (14 + 16) l2, torque2 = m2 l2 a2 + m2 l2^2 (14 + 16 / 2): a bar turns about two axes alike.
    """
    g, m2, l1, l2 = 9.81, 0.8, 0.6, 0.4
    builder = condyle.Builder("two", gravity=(0, -g, 0))
    builder.body("base").body("one", mass=1.5, com=(l1, 0, 0), inertia=1e-9 * np.eye(3))
    builder.body("two", mass=m2, com=(l2, 0, 0), inertia=1e-9 * np.eye(3))
    for name, parent, child, x in (("j1", "base", "one", 0.0), ("j2", "one", "two", l1)):
        builder.joint(name, parent=parent, child=child, type="continuous", axis=(0, 0, 1), xyz=(x, 0, 0))
    staged, _, _ = traced(builder.build())
    edges = {(name, k): bound for name, bound in TURNING.items() for k in (0, 1)}
    known = MagnitudeBounds(staged, [-1, 0], Moving(0.0, 0.0, g, 0.0, 0.0), edges)
    for step in staged.steps:
        known.take(step)
    a2 = g + (5.0 + 4.0) * l1
    for found, exact in (
        (known.moving[1].w, 4.0),
        (known.moving[1].dw, 14.0),
        (known.moving[1].a, a2),
        (known.force[1][0], m2 * 30.0 * l2),
        (known.force[1][1], m2 * l2 * a2 + m2 * l2**2 * (14.0 + 16.0 / 2.0)),
    ):
        assert exact < found < GAIN**12 * exact


def test_a_format_too_narrow_is_not_proven() -> None:
    acc = accelerator(condyle.load("iiwa14"), "id")
    path = acc.plan.datapaths["dynamics"]
    before = proven(path, acc.plan.limits)
    twice = {word: 4.0 * x if word.name in "va" else x for word, x in acc.plan.limits.items()}
    fast = proven(path, twice)
    assert sum(fast.values()) < sum(before.values())
    k = next(k for k, good in before.items() if good)
    narrow = replace(path.ops[k], format=replace(path.ops[k].format, frac=path.ops[k].format.frac + 8))
    ops = (*path.ops[:k], narrow, *path.ops[k + 1 :])
    assert not proven(replace(path, ops=ops), acc.plan.limits)[k]


def test_report_and_page_count_them() -> None:
    acc = accelerator(condyle.load("iiwa14"))
    found = report(acc, Facts("r", "", "", 1.0, "27x18"), Sheet({f: {} for f in acc.plan.functions}, 0, {}))
    rows = {name: row["signals"] for name, row in cast("Rows", found["functions"]).items()}
    assert rows["m"]["proven"] > 10 * rows["m"]["sampled"]
    assert rows["id"]["proven"] > rows["id"]["sampled"] > 0
    assert cast("Rows", found["arrays"])["solve"]["signals"]["proven"] == 0  # products with the inverse have no bound
    assert f"<td>id<td>{rows['id']['proven']}<td>{rows['id']['sampled']}" in page(acc, found)


def test_a_slide_on_a_turning_link_by_hand() -> None:
    """Coriolis: |w| <= 2, |s| <= 3, no acceleration of the joints, at the axis: a2 = 2 w s = 12, without gravity."""
    builder = condyle.Builder("slide", gravity=(0, 0, 0))
    builder.body("base").body("turn", mass=1.0, inertia=0.1 * np.eye(3)).body(
        "slide", mass=2.0, inertia=0.1 * np.eye(3)
    )
    builder.joint("j1", parent="base", child="turn", type="continuous", axis=(0, 0, 1))
    builder.joint("j2", parent="turn", child="slide", type="prismatic", axis=(1, 0, 0))
    staged, _, _ = traced(builder.build())
    edges = {("q", 0): np.pi, ("q", 1): 1e-9, ("v", 0): 2.0, ("v", 1): 3.0, ("a", 0): 1e-9, ("a", 1): 1e-9}
    known = MagnitudeBounds(staged, [-1, 0], Moving(0.0, 0.0, 0.0, 0.0, 0.0), edges)
    for step in staged.steps:
        known.take(step)
    for found, exact in ((known.moving[1].w, 2.0), (known.moving[1].a, 12.0), (known.force[1][0], 24.0)):
        assert exact < found < GAIN**12 * exact
