"""The table of operations: what each counts as, and what simplification may use of it."""

from __future__ import annotations

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
    Operation,
    uniforms,
)

ROTATIONS = tuple(f"rotl{amount}" for amount in AMOUNTS)
FUNCTIONS = ("exp", "log", "tanh", "atan2")
DRAWS = tuple(f"random{k}" for k in range(4))
COUNTED: dict[tuple[int, int, int], tuple[str, ...]] = {
    (1, 0, 0): ("mul",),
    (0, 1, 0): (
        *("neg", "add", "sub", "abs", "min", "max", "floor", "rint", "select"),
        *("and", "or", "xor", "shl", "shr", "iadd", *ROTATIONS),
    ),
    (0, 0, 1): ("rcp", "sqrt", "div"),
    (1, 1, 0): ("fma", "fms", "fnma", "fnms"),
    (0, 0, 0): ("sin", "cos"),
}
"""Operations that are one instruction or a pair, by multiplications, additions, and reciprocals or roots."""
LATENCY = {"rcp": 4, "div": 4, "sqrt": 5, "sin": 11, "cos": 11, "floor": 2, "rint": 2}
LATENCY |= {"exp": 25, "log": 30, "tanh": 35, "atan2": 35, **dict.fromkeys(DRAWS, 80)}
"""In additions, where it is more than one."""
OPERANDS: dict[int, tuple[str, ...]] = {
    1: (
        *("neg", "rcp", "sqrt", "sin", "cos", "abs", "floor", "rint", "exp", "log", "tanh", "shl", "shr"),
        *ROTATIONS,
    ),
    2: ("add", "sub", "mul", "min", "max", "atan2", "div", "and", "or", "xor", "iadd"),
    3: ("select", "fma", "fms", "fnma", "fnms"),
    8: DRAWS,
}


def test_every_operation_counts_as_what_it_is() -> None:
    plain = {op: kinds for kinds, ops in COUNTED.items() for op in ops}
    assert {*plain, *FUNCTIONS, *DRAWS} == {*OPERATIONS}
    for op, kinds in plain.items():
        row = OPERATIONS[op]
        assert (row.mul, row.add, row.div, row.size) == (*kinds, 1), op
    assert {op: row.depth for op, row in OPERATIONS.items()} == {**dict.fromkeys(OPERATIONS, 1), **LATENCY}
    assert {op: DEPTH[op] for op in LEAVES} == {"const": 0, "input": 0} and DEPTH["mul"] == 1
    assert {op: n for n, ops in OPERANDS.items() for op in ops} == ARITY


def test_where_operations_are_from() -> None:
    fusing = {op for op, row in OPERATIONS.items() if row.source == FUSING}
    assert fusing == FUSED == {"fma", "fms", "fnma", "fnms"}
    assert {op for op, row in OPERATIONS.items() if row.source == DRAWN} == {*DRAWS}
    machine = {"div", "and", "or", "xor", "shl", "shr", "iadd", *ROTATIONS}
    assert {op for op, row in OPERATIONS.items() if row.source == MACHINE} == machine
    rest = {op for op, row in OPERATIONS.items() if row.source == TRACED}
    assert rest == {*OPERATIONS} - fusing - machine - {*DRAWS}
    assert len({TRACED, DRAWN, FUSING, MACHINE}) == 4


def test_a_row_is_one_operation_on_floats_unless_it_says_otherwise() -> None:
    row = Operation("x", 1, np.negative)
    assert (row.mul, row.add, row.div, row.size, row.depth) == (0, 0, 0, 1, 1)
    assert (row.parity, row.commutes, row.source, row.ufunc, row.c) == ("", False, TRACED, "", "")


@pytest.mark.parametrize("op", [op for op, row in OPERATIONS.items() if row.source == TRACED])
def test_an_operation_is_odd_or_even_where_the_table_says_so(op: str) -> None:
    """Arithmetic handles its signs by itself."""
    x, others = np.array([0.3, 0.75, 1.4]), [np.full(3, 0.6), np.full(3, -0.2)][: ARITY[op] - 1]
    with np.errstate(all="ignore"):
        here, there = MEANING[op](x, *others), MEANING[op](-x, *others)
    odd, even = np.array_equal(there, -here), np.array_equal(there, here)
    if op in ("neg", "add", "sub", "mul"):
        assert OPERATIONS[op].parity == ""
    else:
        assert OPERATIONS[op].parity == (ODD if odd else EVEN if even else ""), op


@pytest.mark.parametrize("op", OPERATIONS)
def test_operands_are_swapped_only_where_that_changes_nothing(op: str) -> None:
    rows = np.random.default_rng(1).uniform(1.0, 9.0, (ARITY[op], 20))
    swapped = MEANING[op](*rows[::-1])
    same = ARITY[op] == 2 and np.array_equal(MEANING[op](*rows).view(np.uint64), swapped.view(np.uint64))
    assert OPERATIONS[op].commutes == same


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", OPERATIONS)
def test_an_operation_keeps_the_number_type(op: str, dtype: type[np.floating]) -> None:
    answer = MEANING[op](*[np.full(2, 1.0 + k, dtype) for k in range(ARITY[op])])
    assert answer.dtype == dtype and answer.shape == (2,)


def test_a_select_of_two_number_types_takes_the_wider_one() -> None:
    single, double = np.ones(2, np.float32), np.ones(2)
    for operands in ((single, double, single), (single, single, double), (double, single, single)):
        assert MEANING["select"](*operands).dtype == np.float64


def test_functions_of_float32_are_rounded_once() -> None:
    x = np.random.default_rng(2).uniform(0.1, 5.0, 500).astype(np.float32)
    wide = x.astype(np.float64)
    for op, of_numbers in (("exp", np.exp), ("log", np.log), ("tanh", np.tanh)):
        assert np.array_equal(MEANING[op](x), of_numbers(wide).astype(np.float32))
    assert np.array_equal(MEANING["atan2"](x, x[::-1]), np.arctan2(wide, wide[::-1]).astype(np.float32))


def test_random_numbers_are_of_whole_keys_modulo_eight_million() -> None:
    """Halves go to the even number; a word that is no number makes all four NaN."""
    key, counter = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    of = lambda *words: [float(x) for x in uniforms(words[:4], words[4:])]  # noqa: E731
    found = of(*key, *counter)
    assert found == of(1.4, 2.5, 3.0, 3.5, *counter) == of(*key, 5.0 + 2.0**23, 6.0 - 2.0**23, 7.0, 8.5)
    assert all(0.0 <= x < 1.0 and (x * 2**23).is_integer() for x in found) and len(set(found)) == 4
    for k in range(8):
        words = [*key, *counter]
        words[k] += 1.0
        assert of(*words) != found
        words[k] = np.inf if k % 2 else np.nan
        assert np.isnan(of(*words)).all()
