"""Schedules on a GPU: which rows a statement reads and writes, loops inside each other, and forms that are chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import condyle
from condyle.api import compiler_of
from condyle.backends.cuda.target import TARGET, WHOLE, Form
from condyle.compile.gpu import GpuFunction, GpuKernels, GpuRollout, partitions_of, requests
from condyle.compile.kernels.scheduled_gpu import _depth, _meet, check_apart
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, function_of
from condyle.ir.schedule import Move, Operand, Schedule, Slab, Sweep, Until
from condyle.specification import Call

SLABS = (Slab("a", 9, 2), Slab("b", 9, 2), Slab("over", 9, 2, over="a"))
OF: Any = Schedule("s", SLABS, (), (), ())


def at(slab: str, row: int = 0, step: int = 1, turn: int = 0) -> Operand:
    return Operand(slab, row, step, turn)


@pytest.mark.parametrize(
    ("a", "b", "count", "turns", "meet"),
    [
        (at("a"), at("b"), 3, 1, False),
        (at("a"), at("over"), 3, 1, True),
        (at("a", 0), at("a", 3), 3, 1, False),
        (at("a", 0), at("a", 2), 3, 1, True),
        (at("a", 0, 2), at("a", 1, 2), 3, 1, False),
        (at("a", 0, 0), at("a", 1, 0), 3, 1, False),
        (at("a", 0, 1, 1), at("a", 1, 1, 0), 1, 1, False),
        (at("a", 0, 1, 1), at("a", 1, 1, 0), 1, 2, True),
        (at("a", 0, 1, 1), at("a", 1, 1, 1), 1, 5, False),
    ],
)
def test_rows_that_two_operands_have_in_common(a: Operand, b: Operand, count: int, turns: int, meet: bool) -> None:
    """At some turn of a sweep, under any name of a slab."""
    assert _meet(OF, a, b, count, turns) is _meet(OF, b, a, count, turns) is meet


def test_moves_that_write_what_they_read_are_a_bug() -> None:
    apart, meets = Move(at("a", 0, 1, 1), at("a", 2, 1, 1), 2), Move(at("a", 0), at("a", 2), 3)
    later = Move(at("a", 0, 1, 1), at("a", 3), 1)
    check_apart(OF, [apart, later])
    check_apart(OF, [Sweep(3, (later,), False)])
    inside = Until("b", 2, (later,))
    for body in ([meets], [Sweep(4, (later,), False)], [Until("b", 2, (meets,))], [Sweep(4, (inside,), False)]):
        with pytest.raises(AssertionError):
            check_apart(OF, body)


def test_loops_inside_each_other_are_counted() -> None:
    move = Move(at("a"), at("b"), 1)
    once = Until("b", 2, (move,))
    bodies: Any = [], [move], [once], [Sweep(3, (move,), False)], [Sweep(3, (once,), False)]
    assert [_depth(body) for body in bodies] == [0, 0, 1, 0, 1]
    assert _depth([Until("b", 2, (once,)), once]) == 2 and _depth([once, once]) == 1


def test_words_for_kernels_are_said_for_functions() -> None:
    assert requests({"fd": "group32"}) == {FUNCTIONS["fd"]: "group32"} and set(requests("auto")) == set(
        FUNCTIONS.values()
    )
    for wrong, said in (
        (3, r"^kernels=3: give words such as 'group32', or \{'dfd': 'group32 split'\}$"),
        ({"ik": "auto"}, r"^kernels: there is no function 'ik'; there are id, fd"),
        ({"fd": 3}, r"^kernels: 'fd' is 3, expected words such as 'group32 split'$"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            requests(wrong)  # type: ignore[arg-type]


def test_what_a_function_is_launched_as_takes_forces_if_it_does() -> None:
    plain, forced = (partitions_of(function_of(name)) for name in ("dfd", "dfd_f_ext"))
    assert plain.keys() == forced.keys() and len(plain) == 3
    for name, steps in forced.items():
        pairs = [(a.function, b.function) for a, b in zip(plain[name], steps, strict=True) if isinstance(a, Call)]
        assert pairs and all(b is a.taking("f_ext") for a, b in pairs)
        assert any(b.has_forces and not a.has_forces for a, b in pairs)


def test_forms_are_chosen_by_the_estimate_and_named_with_it() -> None:
    """Of all that fit; of equals the one with fewer lanes."""
    kernels = GpuKernels(compiler_of(condyle.load("iiwa14")))
    found = GpuFunction(kernels, FUNCTIONS["fd"], "float64", 132)
    for n in (1, 10**6):
        form = found.form(n)
        assert found.line(n) == f", {form}, estimated {found.us(form, n):.0f} us (unmeasured)"
    single = GpuFunction(kernels, FUNCTIONS["fd"], "float64", 132, "group8")
    assert single.form(10).lanes == 8
    assert found.us(found.form(10**6), 10**6) <= found.us(single.form(10**6), 10**6)
    few = GpuFunction(GpuKernels(kernels.router, replace(TARGET, shared=0)), FUNCTIONS["fd"], "float64", 132, "group8")
    assert few.form(10).lanes == 8, "none fits: the first says why"
    with pytest.raises(UnsupportedError):
        few.launches(few.form(10))
    assert not kernels.iterates(FUNCTIONS["fd"]) and kernels.usual(FUNCTIONS["dfd"], 8) == WHOLE
    rollout = GpuRollout(found, None)  # type: ignore[arg-type]
    assert rollout.repeated(None) is None and rollout.form(7) == Form()  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"^target 'cuda': a rollout of fd is no part of a schedule$"):
        rollout.over_rows()
