"""Schedules on a GPU: which rows a statement reads and writes, and loops inside each other."""

from __future__ import annotations

import re
from typing import Any

import pytest

from condyle.compile.kernels.scheduled_gpu import _depth, _meet, check_apart
from condyle.ir.schedule import Move, Operand, Schedule, Slab, Sweep, Until

SLABS = (Slab("a", 9, 2), Slab("b", 9, 2), Slab("over", 9, 2, over="a"))
SCHEDULE: Any = Schedule("s", SLABS, (), (), ())


def rows(slab: str, row: int = 0, step: int = 1, turn: int = 0) -> Operand:
    return Operand(slab, row, step, turn)


@pytest.mark.parametrize(
    ("a", "b", "count", "turns", "meet"),
    [
        (rows("a"), rows("b"), 3, 1, False),
        (rows("a"), rows("over"), 3, 1, True),
        (rows("a", 0), rows("a", 3), 3, 1, False),
        (rows("a", 0), rows("a", 2), 3, 1, True),
        (rows("a", 0, 2), rows("a", 1, 2), 3, 1, False),
        (rows("a", 0, 0), rows("a", 1, 0), 3, 1, False),
        (rows("a", 0, 1, 1), rows("a", 1, 1, 0), 1, 1, False),
        (rows("a", 0, 1, 1), rows("a", 1, 1, 0), 1, 2, True),
        (rows("a", 0, 1, 1), rows("a", 1, 1, 1), 1, 5, False),
    ],
)
def test_rows_that_two_operands_have_in_common(a: Operand, b: Operand, count: int, turns: int, meet: bool) -> None:
    """At some turn of a sweep, under any name of a slab."""
    assert _meet(SCHEDULE, a, b, count, turns) is _meet(SCHEDULE, b, a, count, turns) is meet


def test_moves_that_write_what_they_read_are_a_bug() -> None:
    apart, meets = Move(rows("a", 0, 1, 1), rows("a", 2, 1, 1), 2), Move(rows("a", 0), rows("a", 2), 3)
    later = Move(rows("a", 0, 1, 1), rows("a", 3), 1)
    check_apart(SCHEDULE, [apart, later])
    check_apart(SCHEDULE, [Sweep(3, (later,), False)])
    inside = Until("b", 2, (later,))
    for body, wrong in (
        ([meets], meets),
        ([Sweep(4, (later,), False)], later),
        ([Until("b", 2, (meets,))], meets),
        ([Sweep(4, (inside,), False)], later),
    ):
        with pytest.raises(AssertionError, match=f"^{re.escape(str(wrong))}$"):
            check_apart(SCHEDULE, body)


def test_loops_inside_each_other_are_counted() -> None:
    move = Move(rows("a"), rows("b"), 1)
    once = Until("b", 2, (move,))
    bodies: Any = [], [move], [once], [Sweep(3, (move,), False)], [Sweep(3, (once,), False)]
    assert [_depth(body) for body in bodies] == [0, 0, 1, 0, 1]
    assert _depth([Until("b", 2, (once,)), once]) == 2 and _depth([once, once]) == 1
