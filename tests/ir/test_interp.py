"""The values of Programs in floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from condyle.ir.interp import run, run_segments
from condyle.ir.program import Array, Output, Program
from condyle.ir.segments import Iteration, Product, Segmented, verify_segments, whole
from condyle.operations import AMOUNTS, ARITY, OPERATIONS


def one(op: str) -> Program:
    """x[0] op x[1] op x[2], with as many operands as the operation has."""
    n = ARITY[op]
    nodes = (*(("input", 0, k) for k in range(3)), (op, *range(n)))
    return Program("one", (Array("x", (3,)),), (Array("y", (1,)),), nodes, (Output(0, 0, 3),))


@pytest.mark.parametrize("op", [op for op, n in ARITY.items() if n <= 3])
def test_every_operation(op: str) -> None:
    a, b, c = 1.5, 0.75, -2.25
    expected = {
        "neg": -a,
        "add": a + b,
        "sub": a - b,
        "mul": a * b,
        "rcp": 1 / a,
        "fma": a * b + c,
        "fms": a * b - c,
        "fnma": c - a * b,
        "fnms": -a * b - c,
    }
    expected |= {"min": b, "max": a, "rint": 2.0, "select": b, "div": a / b}
    # 1.5 is 0x3FF8..., 0.75 is 0x3FE8...
    expected["and"] = np.uint64(0x3FE8 << 48).view(np.float64)
    expected["or"] = np.uint64(0x3FF8 << 48).view(np.float64)
    expected["xor"] = np.uint64(0x0010 << 48).view(np.float64)
    expected["shl"] = np.uint64(0).view(np.float64)
    expected["shr"] = np.uint64(0x3FF).view(np.float64)
    expected["iadd"] = np.uint64(0x7FE0 << 48).view(np.float64)
    expected |= {f"rotl{n}": np.uint64((0x3FF8 << 48 + n) & (1 << 64) - 1).view(np.float64) for n in AMOUNTS}
    (y,) = run(one(op), [np.array([[a, b, c]])])
    if op in expected:
        assert y.item() == expected[op]
        return
    of_c = getattr(math, OPERATIONS[op].c)(*(a, b, c)[: ARITY[op]])
    assert abs(y.item() - of_c) <= np.spacing(abs(of_c))  # NumPy and C's library may round to neighbours


def test_one_row_serves_a_batch() -> None:
    program = Program(
        "p",
        (Array("x", (1,)), Array("y", (1,))),
        (Array("z", (1,)),),
        (("input", 0, 0), ("input", 1, 0), ("add", 0, 1)),
        (Output(0, 0, 2),),
    )
    (z,) = run(program, [np.array([[1.0]]), np.array([[1.0], [2.0], [3.0]])])
    assert z.tolist() == [[2.0], [3.0], [4.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_computes_in_the_dtype_asked_for(dtype: type[np.floating]) -> None:
    (y,) = run(one("add"), [np.array([[1.0, 1e-9, 0.0]])], dtype)
    assert y.dtype == dtype
    assert (y.item() == 1.0) == (dtype is np.float32)


def test_no_warning_for_numbers_that_are_none() -> None:
    (y,) = run(one("rcp"), [np.zeros((1, 3))])
    assert np.isinf(y.item())


def test_a_program_without_inputs_has_one_row() -> None:
    program = Program("p", (), (Array("y", (2,)),), (("const", 2.5),), (Output(0, 1, 0),))
    (y,) = run(program, [])
    assert y.tolist() == [[0.0, 2.5]]
    code = Segmented("s", (), program.arrays, (), (program,))
    assert [found.tolist() for found in run_segments(code, [])] == [[[0.0, 2.5]]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_segments_without_inputs_serve_a_batch(dtype: type[np.floating]) -> None:
    """A constant answer has a row for each state, as an answer that is one row for all."""
    program = Program("p", (), (Array("c", (2,)),), (("const", 2.5),), (Output(0, 1, 0),))
    inputs = (Array("x", (1,)), Array("w", (2, 1)))
    product = Product(whole("w", 1), whole("c", 2), "y", ((0,), (0,)), ((0,), (0,)))
    code = verify_segments(Segmented("s", inputs, (Array("c", (2,)), product.array), (), (program, product)))
    c, y = run_segments(code, [np.ones((3, 1)), np.array([[[2.0], [4.0]]])], dtype)
    assert c.tolist() == [[0.0, 2.5]] * 3 and y.tolist() == [[[0.0, 5.0], [0.0, 10.0]]] * 3
    assert c.dtype == y.dtype == dtype


def doubled(until: int, *starts: float) -> list[float]:
    """x after four iterations at most, each of which doubles it; the flag is what it had minus 2."""
    nodes = (("input", 1, 0), ("const", 2.0), ("mul", 1, 0), ("sub", 0, 1))
    arrays = (Array("flag", (1,)), Array("x", (1,)))
    body = Program("body", arrays, arrays, nodes, (Output(1, 0, 2), Output(0, 0, 3)))
    loop = Iteration(body, ("f", "s"), 4, until)
    code = verify_segments(Segmented("s", (Array("f", (1,)), Array("s", (1,))), (Array("x", (1,)),), (), (loop,)))
    (x,) = run_segments(code, [np.zeros((1, 1)), np.array(starts)[:, None]])
    return x[:, 0].tolist()


@pytest.mark.parametrize(
    ("until", "start", "answer"), [(-1, 1.0, 16.0), (0, 1.0, 8.0), (0, 100.0, 200.0), (0, 0.1, 1.6)]
)
def test_an_iteration_ends_by_its_flag_or_by_most(until: int, start: float, answer: float) -> None:
    """A flag of 0 does not end it."""
    assert doubled(until, start) == [answer]


def test_an_iteration_goes_on_until_the_flags_of_all_states_are_above_0() -> None:
    assert doubled(0, 100.0, 0.001) == [1600.0, 0.016]
    assert doubled(0, 100.0, 1.0) == [800.0, 8.0]
