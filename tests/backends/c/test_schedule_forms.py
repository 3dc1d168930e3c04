"""How a kernel of a schedule reads and writes, what may be said of it in a comment, and how often it is called."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from condyle.backends.c.schedule import Entry, Form, Meaning, _said, form_of
from condyle.ir.loops import Code
from condyle.ir.program import Array, Output, Program
from condyle.ir.schedule import Call, Operand, Schedule, Slab

TWICE = Program(
    "twice", (Array("x", (1,)), Array("c", (1,))), (Array("y", (1,)),), (("input", 0, 0),), (Output(0, 0, 0),)
)
SHARED, MOVING = Operand("c", 0, 0), Operand("x", 0, 1)


def call(count: int, columns: bool) -> Call:
    return Call("twice", count, (MOVING, SHARED), (Operand("y"),), columns)


@pytest.mark.parametrize(
    ("count", "columns", "embedded", "form"),
    [
        (1, False, False, Form(False, (False, False))),
        (2, False, False, None),
        (2, False, True, Form(False, (False, False))),
        (1, True, False, Form(True, (True, False))),
        (9, True, False, Form(True, (True, False))),
        (9, True, True, Form(False, (False, False))),
    ],
)
def test_columns_are_panels_and_one_state_is_plain(
    count: int, columns: bool, embedded: bool, form: Form | None
) -> None:
    """Panels have a column for each state, but for what all states have; embedded code has no vectors."""
    assert form_of(call(count, columns), TWICE, embedded) == form


def test_loops_are_called_by_tiles_and_never_over_columns() -> None:
    loops = cast(Code, object())
    assert form_of(call(1, False), loops) is None and form_of(call(1, False), loops, True) is None
    with pytest.raises(AssertionError, match="twice: columns are computed by straight-line code"):
        form_of(call(1, True), loops)


@pytest.mark.parametrize(("name", "said"), [("cost", ": cost"), ("a b", ""), ("*/", ""), ("", ""), ("int", "")])
def test_only_a_plain_word_is_said_in_a_comment(name: str, said: str) -> None:
    assert _said(name) == said


def test_arguments_are_inputs_that_are_not_fixed_then_outputs() -> None:
    """An argument has the name of its meaning, else that of its slab, else a new one."""
    slabs = tuple(Slab(name, 1, 1) for name in ("x", "c", "y", "int"))
    schedule = Schedule("f", slabs, ("x", "c"), ("y", "int"), ())
    meanings = {slab.name: Meaning((1,), "m", "") for slab in slabs} | {"y": Meaning((1,), "m", "", "answer")}
    found = Entry(schedule, "", meanings, fixed={"c": np.zeros(1)}).arguments
    assert found == [("in", "x", "x"), ("out", "answer", "y"), ("out", "array2", "int")]
