"""When two accelerators have the same integers, what the model answers in pieces, and tasks for a simulation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.fpga import integers
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import answer_lines, refused_lines, task_lines, task_of
from condyle.functions import FUNCTIONS

ROBOT = condyle.chain(1, 0)
FORCED = {"f_ext": 50.0, "functions": ("id",), "target": "numpy"}


def plan_of(stages: tuple[int, ...] = (0, 1), **other: Any) -> Plan:
    """A task of two passes through an array of three operations, of which it uses two."""
    first = SimpleNamespace(kind="mul", format="f1", value=1.0, factor=2, drop=3, note="not a number")
    ops = [SimpleNamespace(**{**vars(first), **other}), first, SimpleNamespace(**{**vars(first), "kind": "far"})]
    leaf = ("mass", "M")
    task = SimpleNamespace(takes=lambda word, base: word == "q", passes=[[leaf], [leaf]], stages=stages)
    weights = {"h": SimpleNamespace(values=(0.5, 0.25, 0.125), format="w")}
    return cast(
        Plan,
        SimpleNamespace(
            tasks={"m": task},
            formats={"q": "f2", "v": "f3"},
            base=0,
            datapaths={"mass": SimpleNamespace(ops=ops, cones={"M": {1, 0}})},
            weights=weights,
        ),
    )


def test_integers_depend_on_formats_operations_and_the_weights_of_stages() -> None:
    want = [("q", "f2"), ("mul", "f1", 1.0, 2, 3), ("mul", "f1", 1.0, 2, 3)]
    assert integers._said(plan_of(), "m") == [*want, ("h", [0.5, 0.25], "w")]
    assert integers._said(plan_of(stages=()), "m") == want
    for name, value in (("kind", "add"), ("format", "f"), ("value", 0.0), ("factor", 1), ("drop", 0)):
        assert integers._said(plan_of(**{name: value}), "m") != integers._said(plan_of(), "m")
    assert integers._said(plan_of(note="other"), "m") == integers._said(plan_of(), "m")


def test_a_simulation_has_one_function_where_its_integers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = condyle.fixed_point(ROBOT, functions=("id", "m"))._compiled
    mass = FUNCTIONS["m"]
    asked: list[tuple[tuple[str, ...], str]] = []

    def said(plan: Plan, name: str) -> list[object]:
        asked.append((tuple(plan.functions), name))
        return [name]

    monkeypatch.setattr(integers, "_said", said)
    assert compiled.smallest(mass).functions == ("m",)
    assert sorted(asked) == [(("id", "m"), "m"), (("m",), "m")]
    monkeypatch.setattr(integers, "_said", lambda plan, name: [len(plan.functions)])
    assert compiled.smallest(mass) == compiled.options_of(mass) and len(compiled.smallest(mass).functions) == 2


def test_each_kernel_of_a_function_is_said() -> None:
    fx = condyle.fixed_point(ROBOT, **FORCED)  # type: ignore[arg-type]
    zero = np.zeros(1)
    fx.inverse_dynamics(zero, zero, zero)
    assert fx.explain() == "id         NumPy, as asked for"
    fx.inverse_dynamics(zero, zero, zero, f_ext=np.zeros((1, 6)))
    assert fx.explain() == "id         NumPy, as asked for; NumPy, as asked for, with f_ext"


def test_the_model_answers_in_pieces_with_one_row_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fx = condyle.fixed_point(ROBOT, functions=("id",), target="numpy")
    rng = np.random.default_rng(0)
    q, (v, a) = rng.uniform(-3.0, 3.0, 1), rng.uniform(-12.0, 12.0, (2, 7, 1))
    whole = fx.inverse_dynamics(q, v, a)
    monkeypatch.setattr(integers, "CHUNK", 3)
    parts = fx.inverse_dynamics(q, v, a)
    each = [fx.inverse_dynamics(q, v[k], a[k]) for k in range(7)]
    for one, other, rows in zip(whole, parts, zip(*each, strict=True), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, np.stack(rows))
    assert whole[1].tolist() == (np.abs(v[:, 0]) > 10.0).tolist()


@pytest.mark.parametrize(
    ("each", "far"),
    [
        (1, [("v", 4.0)]),
        (7, [("v", 4.0)]),
        (8, [("v", 4.0), ("v", 1e3)]),
        (30, [("v", 4.0), ("v", 1e3), ("a", 1e3), ("q", 3.0)]),
    ],
)
def test_the_last_tasks_are_outside_the_box(each: int, far: list[tuple[str, float]]) -> None:
    """A quarter of them, at least one, at most as many as there are ways to be outside."""
    acc = fpga.accelerator(ROBOT, fpga.Options(("id", "m")))
    states = fpga.sampled(ROBOT, each, 3, acc.plan.box)
    for k, (name, factor) in enumerate(far):
        states[name][each - 1 - k] *= factor
    states = fpga.consistent(ROBOT, states, acc.plan.box)
    pairs = refused_lines(acc, 2, np.random.default_rng(3))
    for function in ("id", "m"):
        inputs = task_of(acc.plan, function, states)
        sent = task_lines(acc, function, inputs, each)
        pairs += zip(sent, answer_lines(acc, function, evaluate(acc.plan, function, inputs), each), strict=True)
    found = fpga.tasks(ROBOT, acc, each, 3, refused=2)
    assert sorted(zip(found.tasks, found.answers, strict=True)) == sorted(pairs) and found.packets == ()
    assert found.tasks != tuple(task for task, _ in pairs)
    assert len(fpga.tasks(ROBOT, acc, each).tasks) == 2 * each  # none of an unknown code
