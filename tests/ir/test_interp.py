"""The values of Programs in floating point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from condyle.ir.interp import run
from condyle.ir.program import Array, Output, Program
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
