"""The meaning of a schedule, on kernels of a line of NumPy, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from condyle.ir.schedule import (
    Call,
    Move,
    Operand,
    Reals,
    Run,
    Schedule,
    Slab,
    Statement,
    Sweep,
    Until,
    interpret,
    verify_schedule,
)


def kernel(f: Callable[..., Any]) -> Run:
    def run(n: int, inputs: Sequence[Reals], outputs: Sequence[Reals]) -> None:
        outputs[0][...] = np.broadcast_to(f(*inputs), (n, outputs[0].shape[1]))

    return run


KERNELS: Mapping[str, Run] = {
    "add": kernel(lambda x, y: x + y),
    "double": kernel(lambda x: 2.0 * x),
    "above": kernel(lambda x, limit: x[:, :1] - limit),
    "times": kernel(lambda x, y: x * y),
}
SLABS = (
    *(Slab("x", 4, 2), Slab("y", 4, 2, is_zero=True), Slab("limit", 1, 1), Slab("flag", 1, 1, is_zero=True)),
    *(Slab("unknown", 1, 1), Slab("first", 8, 1, "y"), Slab("panel", 1, 8, "y"), Slab("row", 1, 2)),
)


def schedule(*body: Statement, lanes: int = 2, slabs: tuple[Slab, ...] = SLABS) -> Schedule:
    return verify_schedule(Schedule("s", slabs, ("x", "limit", "row"), ("y",), body, lanes))


def answer(*body: Statement, limit: float = 0.0) -> Reals:
    """What y becomes; x has rows (1, 1), (2, 2), (3, 3), (4, 4), row is (1, 10)."""
    x = np.repeat(np.arange(1.0, 5.0)[:, None], 2, axis=1)
    inputs = {"x": x, "limit": np.full(1, limit), "row": np.array([1.0, 10.0])}
    return interpret(schedule(*body), KERNELS, inputs)["y"]


def test_a_sweep_carries_forward_and_backwards() -> None:
    forward = Call("add", 1, (Operand("x", 1, 1, 1), Operand("y", 0, 1, 1)), (Operand("y", 1, 1, 1),))
    assert answer(Sweep(3, (forward,)))[:, 1].tolist() == [0, 2, 5, 9]
    back = Call("add", 1, (Operand("x", 0, 1, 1), Operand("y", 1, 1, 1)), (Operand("y", 0, 1, 1),))
    assert answer(Sweep(3, (back,), backwards=True))[:, 0].tolist() == [6, 5, 3, 0]


def test_rows_are_states_and_one_row_may_serve_all() -> None:
    call = Call("add", 2, (Operand("x", 3, -2), Operand("x", 0, 0)), (Operand("y", 1, 2),))
    assert answer(call)[:, 0].tolist() == [0, 5, 0, 3]


def test_a_move_takes_the_rows_that_were() -> None:
    load = Move(Operand("x"), Operand("y"), 4)
    assert answer(load, Move(Operand("y", 1), Operand("y"), 3))[:, 0].tolist() == [2, 3, 4, 4]
    assert answer(load, Move(Operand("y"), Operand("y", 1), 3))[:, 0].tolist() == [1, 1, 2, 3]


def test_a_loop_ends_by_its_flag_or_by_most() -> None:
    """The flag is y - limit: 0 is not above 0, and NaN is not either."""
    load = Move(Operand("x"), Operand("y"), 1)
    double = Call("double", 1, (Operand("y"),), (Operand("y"),))
    flag = Call("above", 1, (Operand("y"), Operand("limit")), (Operand("flag"),))
    loop = Until("flag", 5, (double, flag))
    assert answer(load, loop, limit=4.0)[0, 0] == 8
    assert answer(load, loop, limit=100.0)[0, 0] == 32
    assert answer(load, Until("flag", 3, (loop,)), limit=100.0)[0, 0] == 128
    assert answer(load, Until("unknown", 4, (double,)))[0, 0] == 16
    assert answer(load, Sweep(2, (loop,)), limit=4.0)[0, 0] == 16


def test_columns_of_panels_and_one_memory_by_two_names() -> None:
    """Four columns in two groups of two lanes; times a row that all share."""
    load = Move(Operand("x"), Operand("y"), 4)
    call = Call("times", 4, (Operand("panel"), Operand("row", step=0)), (Operand("panel"),), True)
    assert np.ravel(answer(load, call)).tolist() == [1, 1, 20, 20, 3, 3, 40, 40]
    single = Call("double", 3, (Operand("first", 5),), (Operand("first", 5),))
    assert np.ravel(answer(load, single)).tolist() == [1, 1, 2, 2, 3, 6, 8, 8]


CALL = Call("double", 2, (Operand("x"),), (Operand("y"),))


@pytest.mark.parametrize(
    "statement",
    [
        Call("double", 2, (Operand("x", 3),), (Operand("y"),)),
        Call("double", 2, (Operand("x", 0, -1),), (Operand("y"),)),
        Call("double", 2, (Operand("x"),), (Operand("x"),)),
        Call("double", 2, (Operand("x"),), (Operand("y", 3),)),
        Until("flag", 1, (Call("double", 2, (Operand("x", 3),), (Operand("y"),)),)),
        Call("double", 2, (Operand("x"),), (Operand("y", step=0),)),
        Call("double", 3, (Operand("x"),), (Operand("y"),), True),
        Call("double", 0, (Operand("x", 1),), (Operand("y", 1),)),
        Call("double", 1, (Operand("x", 0, 0, -1),), (Operand("y", 4, 0),)),
        Sweep(3, (Call("double", 1, (Operand("x", 1, 1, -1),), (Operand("y"),)),)),
        Sweep(3, (Call("double", 2, (Operand("x", 0, 1, 1),), (Operand("y", 1, 1, 1),)),)),
        Call("double", 2, (Operand("panel", 1),), (Operand("panel"),), True),
        Move(Operand("x", 1), Operand("y"), 4),
        Move(Operand("x"), Operand("y", 1), 4),
        Move(Operand("x"), Operand("flag"), 1),
        Move(Operand("y"), Operand("x"), 1),
        Sweep(4, (Call("double", 1, (Operand("x", 1, 1, 1),), (Operand("y"),)),)),
        Sweep(2, (Sweep(2, (CALL,)),)),
        Sweep(1, (Until("flag", 1, (Sweep(1, (CALL,)),)),)),
        Sweep(0, (CALL,)),
        Until("nothing", 2, (CALL,)),
        Until("flag", 0, (CALL,)),
    ],
)
def test_what_leaves_its_slabs(statement: Statement) -> None:
    schedule(CALL, Sweep(1, (CALL,)), Until("flag", 1, (Sweep(2, (CALL,)),)))
    with pytest.raises(AssertionError):
        schedule(statement)


@pytest.mark.parametrize(
    "statement",
    [
        Call("double", 4, (Operand("x"),), (Operand("y"),)),
        Call("double", 4, (Operand("x", 3, -1),), (Operand("y", 3, -1),)),
        Call("double", 1, (Operand("x", 3, 1, 5),), (Operand("y", 3, 0, 5),)),
        Call("double", 2, (Operand("panel"),), (Operand("panel"),), True),
        Sweep(1, (Call("double", 1, (Operand("x", 3, 1, 1),), (Operand("y", 0, 1, -1),)),)),
        Sweep(4, (Call("double", 1, (Operand("x", 3, 1, -1),), (Operand("y", 0, 1, 1),)),)),
        Sweep(3, (Call("double", 2, (Operand("x", 0, 1, 1),), (Operand("y", 2, 1, -1),)),)),
        Sweep(2, (Until("flag", 1, (Call("double", 3, (Operand("x", 0, 1, 1),), (Operand("y", 1, 1, -1),)),)),)),
        Move(Operand("x"), Operand("y"), 4),
        Move(Operand("x", 3), Operand("y"), 1),
        Until("flag", 1, (Until("flag", 1, (CALL,)), Sweep(1, (CALL,)))),
    ],
)
def test_what_just_fits_its_slabs(statement: Statement) -> None:
    schedule(statement)


def test_calls_are_in_the_order_of_the_text() -> None:
    named = [Call(name, 1, (Operand("x"),), (Operand("y"),)) for name in "abcdef"]
    inner = Until("flag", 2, (named[1], Sweep(2, (named[2], named[3])), named[4]))
    made = schedule(named[0], inner, Move(Operand("x"), Operand("y"), 1), named[5])
    assert [call.kernel for call in made.calls()] == [*"abcdef"]
    assert made.slab("panel") == SLABS[6] and made.slab("panel").length == 8


def test_rows_that_nothing_was_written_to_are_nan() -> None:
    assert answer()[:, 0].tolist() == [0, 0, 0, 0]
    made = verify_schedule(Schedule("s", (Slab("x", 1, 1), Slab("y", 2, 3)), ("x",), ("y",), ()))
    found = interpret(made, {}, {"x": np.ones(1)}, np.float32)["y"]
    assert np.isnan(found).all() and found.shape == (2, 3) and found.dtype == np.float32


def test_entries_that_a_kernel_leaves_out_are_zero() -> None:
    """Of a row as of a panel."""
    kernels = {"first": kernel(lambda x: x), "nothing": lambda n, inputs, outputs: None}
    x = np.arange(1.0, 9.0).reshape(4, 2)
    for columns, operand in ((False, Operand("y")), (True, Operand("panel"))):
        fill = Move(Operand("x"), Operand("y"), 4)
        made = schedule(fill, Call("nothing", 4 if not columns else 2, (operand,), (operand,), columns))
        found = interpret(made, kernels, {"x": x, "limit": np.zeros(1), "row": np.zeros(2)})["y"]
        assert not found.any()


def test_slabs_that_do_not_fit() -> None:
    for inputs, outputs in ((("x", "first"), ("y",)), (("x",), ("first",)), (("x", "panel"), ("y",))):
        with pytest.raises(AssertionError, match="Slab"):
            verify_schedule(Schedule("s", SLABS, inputs, outputs, ()))
    for slab in (SLABS[0], Slab("z", 1, 7, "y"), Slab("z", 1, 8, "x")):
        with pytest.raises(AssertionError):
            schedule(CALL, slabs=(*SLABS, slab))
    for inputs, outputs in ((("x",), ("x",)), (("x",), ("z",)), (("z",), ("y",))):
        with pytest.raises(AssertionError):
            verify_schedule(Schedule("s", SLABS, inputs, outputs, ()))
    calls = schedule(CALL, Sweep(1, (CALL,)), Move(Operand("x"), Operand("y"), 1)).calls()
    assert [call.kernel for call in calls] == ["double"] * 2
