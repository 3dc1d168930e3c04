"""The table of operations: what each row says is true of its meaning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from condyle.operations import (
    AMOUNTS,
    ARITY,
    DEPTH,
    DRAWN,
    EVEN,
    FUSED,
    FUSING,
    LEAVES,
    MACHINE,
    MEANING,
    ODD,
    OPERATIONS,
    TRACED,
    TRIGONOMETRIC,
)

pytestmark = pytest.mark.smoke
PLAIN = [op for op, row in OPERATIONS.items() if row.source in (TRACED, FUSING) or op == "div"]
POINTS = np.array([0.25, -0.25, 1.5, -1.5, 2.5, -2.5, 0.7, -0.7])
BITS = np.array([0x123456789ABCDEF0, 0x3FF0000000000000, 0x00000000FFFFFFFF], np.uint64)


def answer(op: str, *operands: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(MEANING[op](*operands))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=True)


@pytest.mark.parametrize("op", PLAIN)
def test_parity_is_that_of_the_first_operand(op: str) -> None:
    """Of odd and even operations, and of no others; a sum is odd of no single operand."""
    row = OPERATIONS[op]
    x, *others = (np.array(part) for part in zip(*itertools.product(POINTS, repeat=row.arity), strict=True))
    plus, minus = answer(op, x, *others), answer(op, -x, *others)
    parity = ODD if equal(minus, -plus) else EVEN if equal(minus, plus) else ""
    if op in ("neg", "mul", "div"):  # odd too, where rules of their own move signs
        assert (parity, row.parity) == (ODD, "")
    elif op == "atan2":  # of y, for numbers behind x too
        assert row.parity == parity == ODD
    else:
        assert row.parity == parity, op


@pytest.mark.parametrize("op", [op for op, row in OPERATIONS.items() if row.arity == 2])
def test_operands_are_swapped_where_that_changes_nothing(op: str) -> None:
    points = POINTS if op in PLAIN else BITS.view(np.float64)
    a, b = (np.array(part) for part in zip(*itertools.product(points, repeat=2), strict=True))
    one, other = (answer(op, x, y).view(np.uint64) for x, y in ((a, b), (b, a)))
    assert np.array_equal(one, other) == OPERATIONS[op].commutes


def test_what_an_operation_counts_as() -> None:
    """(multiplications, additions, reciprocals or roots) of those that are not expanded; each is one operation."""
    counts = {
        "neg": (0, 1, 0), "add": (0, 1, 0), "sub": (0, 1, 0), "mul": (1, 0, 0), "rcp": (0, 0, 1), "sqrt": (0, 0, 1),
        "sin": (0, 0, 0), "cos": (0, 0, 0), "fma": (1, 1, 0), "fms": (1, 1, 0), "fnma": (1, 1, 0), "fnms": (1, 1, 0),
        "div": (0, 0, 1),
    }  # fmt: skip
    one = ("abs", "min", "max", "floor", "rint", "select", "and", "or", "xor", "shl", "shr", "iadd")
    counts |= dict.fromkeys((*one, *(f"rotl{amount}" for amount in AMOUNTS)), (0, 1, 0))
    plain = {op: row for op, row in OPERATIONS.items() if row.size == 1}
    assert {op: (row.mul, row.add, row.div) for op, row in plain.items()} == counts


def test_latencies_in_additions() -> None:
    long = {
        "rcp": 4,
        "div": 4,
        "sqrt": 5,
        "sin": 11,
        "cos": 11,
        "floor": 2,
        "rint": 2,
        "exp": 25,
        "log": 30,
        "tanh": 35,
    }
    long |= {"atan2": 35, **{f"random{k}": 80 for k in range(4)}, "const": 0, "input": 0}
    assert {op: long.get(op, 1) for op in (*OPERATIONS, *LEAVES)} == DEPTH


def test_kinds_of_operations() -> None:
    assert {"fma", "fms", "fnma", "fnms"} == FUSED and {"sin", "cos"} == TRIGONOMETRIC
    assert [op for op, row in OPERATIONS.items() if row.source == DRAWN] == [f"random{k}" for k in range(4)]
    machine = ("div", "and", "or", "xor", "shl", "shr", "iadd", *(f"rotl{amount}" for amount in AMOUNTS))
    assert tuple(op for op, row in OPERATIONS.items() if row.source == MACHINE) == machine
    assert AMOUNTS == (5, 6, 10, 11, 13, 17, 18, 20, 21, 23, 25, 26, 27)
    assert all(ARITY[op] == row.arity and MEANING[op] is row.meaning for op, row in OPERATIONS.items())


def test_functions_that_users_and_c_call() -> None:
    """Where a universal function or one of math.h has a name, it is the meaning."""
    users = {op: row.ufunc for op, row in OPERATIONS.items() if row.ufunc}
    assert users == {
        "sqrt": "numpy.sqrt", "sin": "numpy.sin", "cos": "numpy.cos", "abs": "numpy.absolute", "min": "numpy.minimum",
        "max": "numpy.maximum", "floor": "numpy.floor", "rint": "numpy.rint", "exp": "numpy.exp", "log": "numpy.log",
        "tanh": "numpy.tanh", "atan2": "numpy.arctan2",
    }  # fmt: skip
    c = {op: row.c for op, row in OPERATIONS.items() if row.c}
    assert c == {op: {"abs": "fabs"}.get(op, op) for op in users if op not in ("min", "max")}
    for op, name in users.items():
        operands = [np.abs(POINTS) + k for k in range(ARITY[op])]
        assert equal(answer(op, *operands), getattr(np, name.removeprefix("numpy."))(*operands))


def test_sums_of_products() -> None:
    a, b, c = 3.0, 5.0, 7.0
    assert [float(MEANING[op](a, b, c)) for op in ("fma", "fms", "fnma", "fnms")] == [22.0, 8.0, -8.0, -22.0]
    assert MEANING["rcp"](4.0) == 0.25 and MEANING["sub"](a, b) == -2.0 and MEANING["neg"](a) == -3.0


def test_a_choice_by_sign() -> None:
    """The first where x is 0 of either sign or above, the second of anything else; a number for numbers."""
    x = np.array([1.0, 0.0, -0.0, -1.0, np.nan])
    assert MEANING["select"](x, 2.0, 3.0).tolist() == [2.0, 2.0, 2.0, 3.0, 3.0]
    kinds = [np.float32(1.0), np.float32(2.0), np.float64(3.0)]
    assert MEANING["select"](*kinds).dtype == np.float64 and np.ndim(MEANING["select"](*kinds)) == 0
    assert MEANING["select"](*kinds[:2], np.float32(3.0)).dtype == np.float32


def test_float32_is_rounded_once() -> None:
    """Of what NumPy has in float64."""
    x = np.linspace(0.1, 3.0, 50).astype(np.float32)
    for op, f in (("exp", np.exp), ("log", np.log), ("tanh", np.tanh)):
        found = MEANING[op](x)
        assert found.dtype == np.float32 and np.array_equal(found, f(x.astype(np.float64)).astype(np.float32))
    long = np.longdouble(0.5)
    assert np.asarray(MEANING["exp"](long)).dtype == np.longdouble


def test_bits_move_as_those_of_whole_numbers() -> None:
    """By the bits of a mantissa, of 52 or 23; sums and turns are those of the lowest 32 bits."""
    x, y = BITS.view(np.float64), BITS[::-1].copy().view(np.float64)
    with np.errstate(over="ignore"):
        wanted = {
            "and": BITS & BITS[::-1], "or": BITS | BITS[::-1], "xor": BITS ^ BITS[::-1], "iadd": BITS + BITS[::-1],
        }  # fmt: skip
    assert {op: answer(op, x, y).view(np.uint64).tolist() for op in wanted} == {
        op: w.tolist() for op, w in wanted.items()
    }
    assert answer("shl", x).view(np.uint64).tolist() == (BITS << np.uint64(52)).tolist()
    assert answer("shr", x).view(np.uint64).tolist() == (BITS >> np.uint64(52)).tolist()
    short = np.array([0x12345678, 0x80000001], np.uint32)
    assert answer("shl", short.view(np.float32)).view(np.uint32).tolist() == (short << np.uint32(23)).tolist()
    assert answer("shr", short.view(np.float32)).view(np.uint32).tolist() == (short >> np.uint32(23)).tolist()
    for amount in AMOUNTS:
        for words in (short.view(np.float32), short.astype(np.uint64).view(np.float64)):
            turned = answer(f"rotl{amount}", words).view(f"u{words.itemsize}").astype(np.uint64) & np.uint64(0xFFFFFFFF)
            assert turned.tolist() == [(w << amount | w >> (32 - amount)) & 0xFFFFFFFF for w in short.tolist()]
