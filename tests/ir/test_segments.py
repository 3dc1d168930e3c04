"""Matrices in arrays, the blocks of a product, and the rules of segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.ir.program import Array, Output, Program
from condyle.ir.segments import Constant, Iteration, Product, Segmented, View, gives, reads, verify_segments, whole


def test_entries_of_a_view() -> None:
    view = View("A", 5, 100, 10)
    assert [view.entry(i, j) for i, j in ((0, 0), (1, 0), (0, 1), (2, 3))] == [5, 105, 15, 235]
    assert whole("A", 7) == View("A", 0, 7, 1)


def product_of(left: np.ndarray, right: np.ndarray) -> Product:
    """Of matrices of which only ones can differ from zero."""
    rows = tuple(tuple(np.flatnonzero(column).tolist()) for column in right.T)
    across = tuple(tuple(np.flatnonzero(row).tolist()) for row in left)
    return Product(whole("L", left.shape[1]), whole("R", right.shape[1]), "LR", rows, across)


def test_sizes_of_a_product() -> None:
    made = product_of(np.array([[1, 0, 1, 1], [0, 1, 0, 0]]), np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]]))
    assert made.shape == (2, 3) and made.array == Array("LR", (2, 3))
    assert made.inner == 3  # the last row of the right one is zero
    assert made.terms() == 3
    assert made.entries_of_right() == {0, 6, 5}
    assert replace(made, rows=((), (), ())).inner == 0


@pytest.mark.parametrize("seed", range(8))
def test_blocks_compute_every_entry_from_all_its_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, 9, 3)
    left, right = (rng.uniform(size=shape) < 0.5 for shape in ((m, k), (k, n)))
    right[:, n // 2 :] = right[:, [n // 2]]  # columns with the same rows
    at_once = {1: 4, 2: 3, 3: 2}
    result, times = np.full((m, n), np.nan), np.zeros((m, n), int)
    x, y = left * rng.uniform(1, 2, (m, k)), right * rng.uniform(1, 2, (k, n))
    for block in product_of(left, right).blocks(at_once):
        lines = at_once[len(block.columns)] if at_once[len(block.columns)] <= m else 1
        for first in block.first:
            here = np.ix_(range(first, first + lines), block.columns)
            result[here] = x[first : first + lines][:, list(block.terms)] @ y[np.ix_(list(block.terms), block.columns)]
            times[here] += 1
            assert set(block.terms) == set(
                np.flatnonzero(left[first : first + lines].any(0) & right[:, block.columns[0]])
            )
    np.testing.assert_allclose(result, x @ y, rtol=1e-13)
    assert times.min() == 1 and times.max() <= 2


def test_the_last_lines_of_a_product_may_be_in_two_blocks() -> None:
    full = product_of(np.ones((5, 2)), np.ones((2, 4)))
    assert [tuple(block) for block in full.blocks({1: 4, 2: 2, 3: 2})] == [
        ((0, 2, 3), (0, 1, 2), (0, 1)),
        ((0, 1), (3,), (0, 1)),
    ]
    assert full.blocks({1: 8})[0].first == (0, 1, 2, 3, 4)
    assert full.blocks({1: 5})[0].first == (0,)


X, S, W, Y = (Array(name, shape) for name, shape in (("x", (2,)), ("s", (2, 2)), ("w", (2, 1)), ("y", (2, 1))))
HEAD = Program("head", (X,), (S,), (("input", 0, 0), ("input", 0, 1)), (Output(0, 0, 0), Output(0, 3, 1)))
PRODUCT = Product(whole("s", 2), whole("w", 1), "y", ((0, 1),), ((0,), (1,)))
BODY = Program("body", (Array("z", (2,)), Y), (Array("z", (2,)),), (("input", 0, 0),), (Output(0, 0, 0),))
LOOP = Iteration(BODY, ("x",), 3)
CODE = Segmented("code", (X, W), (Y, Array("z", (2,))), (Constant("C", (1.0, 2.0)),), (HEAD, PRODUCT, LOOP))


def test_parts_of_segments() -> None:
    assert verify_segments(CODE) is CODE and verify_segments(replace(CODE, held=frozenset({"w"})))
    assert [gives(part) for part in CODE.segments] == [(S,), (Y,), (Array("z", (2,)),)]
    assert [reads(part) for part in CODE.segments] == [("x",), ("s", "w"), ("x", "y")]
    assert ([*CODE.programs], [*CODE.products], [*CODE.iterations]) == ([HEAD], [PRODUCT], [LOOP])
    assert LOOP.carried == (Array("z", (2,)),) and LOOP.held == (Y,)
    other = CODE.rewritten(lambda program: replace(program, name=program.name + "!"))
    assert [part.name for part in other.programs] == ["head!"] and [*other.products] == [PRODUCT]
    assert [loop.body.name for loop in other.iterations] == ["body!"]


PRODUCTS = {
    "no columns": replace(PRODUCT, rows=()),
    "no rows": replace(PRODUCT, across=()),
    "nothing is read": replace(PRODUCT, rows=((),)),
    "left of an unknown array": replace(PRODUCT, left=whole("t", 2)),
    "left beyond its array": replace(PRODUCT, left=View("s", 1, 2, 1)),
    "left with a negative place": replace(PRODUCT, left=View("s", -1, 2, 1)),
    "left with a negative step": replace(PRODUCT, left=View("s", 2, -1, 1)),
    "right beyond its array": replace(PRODUCT, right=View("w", 1, 1, 1)),
    "right with a negative step": replace(PRODUCT, right=View("w", 1, 1, -1)),
    "right that is a constant": replace(PRODUCT, right=whole("C", 1)),
    "rows that descend": replace(PRODUCT, rows=((1, 0),)),
    "a row twice": replace(PRODUCT, rows=((0, 0, 1),)),
    "a negative row": replace(PRODUCT, rows=((-1, 0),)),
    "columns that descend": replace(PRODUCT, across=((1, 0), (1,))),
    "a result that is there": replace(PRODUCT, result="s"),
    "a result that is an input": replace(PRODUCT, result="x"),
    "a result that is a constant": replace(PRODUCT, result="C"),
}


@pytest.mark.parametrize("fault", PRODUCTS)
def test_a_product_keeps_its_rules(fault: str) -> None:
    with pytest.raises(AssertionError):
        verify_segments(replace(CODE, segments=(HEAD, PRODUCTS[fault]), arrays=(S,)))


def test_the_left_matrix_may_be_a_constant_and_end_where_its_array_does() -> None:
    for left in (whole("C", 1), View("s", 0, 2, 1), View("s", 1, 1, 1), View("s", 3, 0, 0), View("s", 0, 0, 0)):
        product = replace(PRODUCT, left=left, right=whole("w", 1))
        if left.array == "C":
            product = replace(product, rows=((0,),), across=((0,), (0,)))
        verify_segments(replace(CODE, segments=(HEAD, product), arrays=(S,)))


LONG = Array("z", (3,))
LOOPS = {
    "no times": LOOP._replace(most=0),
    "a start too many": LOOP._replace(starts=("x", "x")),
    "a start too few": LOOP._replace(starts=()),
    "a start that is not there": LOOP._replace(starts=("t",)),
    "a start of another size": LOOP._replace(starts=("s",)),
    "an answer of another size": LOOP._replace(body=replace(BODY, arrays=(LONG,))),
    "an input of another size": LOOP._replace(body=replace(BODY, inputs=(LONG, Y))),
    "what is held is of another size": LOOP._replace(body=replace(BODY, inputs=(BODY.inputs[0], Array("y", (3,))))),
    "what is held is not there": LOOP._replace(body=replace(BODY, inputs=(BODY.inputs[0], Array("t", (2,))))),
    "a flag of two entries": LOOP._replace(until=0),
}


@pytest.mark.parametrize("fault", LOOPS)
def test_an_iteration_keeps_its_rules(fault: str) -> None:
    arrays = LOOPS[fault].body.arrays
    with pytest.raises(AssertionError):
        verify_segments(replace(CODE, segments=(HEAD, PRODUCT, LOOPS[fault]), arrays=arrays))


def test_code_keeps_its_rules() -> None:
    small = replace(HEAD, inputs=(Array("x", (1,)),))
    for wrong in (
        replace(CODE, held=frozenset({"y"})),
        replace(CODE, arrays=(Array("t", (1,)),)),
        replace(CODE, arrays=(Array("y", (3,)),)),
        replace(CODE, segments=(small, PRODUCT, LOOP)),
        replace(CODE, segments=(PRODUCT, HEAD, LOOP)),
        replace(CODE, segments=(HEAD, replace(HEAD, name="again"), PRODUCT, LOOP)),
    ):
        with pytest.raises(AssertionError):
            verify_segments(wrong)
