"""Symbols simplify as they are built, without a change of value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.ir.expr import Expr, Graph
from condyle.ir.interp import run
from condyle.ir.program import Array, constant_of, verify
from condyle.operations import OPERATIONS
from tests.ir.programs import POINTS, STEPS, built, exactly

pytestmark = pytest.mark.smoke


@settings(max_examples=200, deadline=None)
@given(STEPS, POINTS)
def test_symbols_mean_what_numbers_do(steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> None:
    program, values = built(steps, point)
    assert exactly(verify(program), point) == values


@settings(max_examples=100, deadline=None)
@given(STEPS, POINTS)
def test_equal_computations_are_one_node(steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> None:
    program, _ = built(steps, point)
    assert len(set(program.nodes)) == len(program.nodes)
    twice, _ = built([*steps], point)
    assert twice == program


def test_rules() -> None:
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    same = lambda a, b: isinstance(a, Expr) and isinstance(b, Expr) and a.index == b.index  # noqa: E731
    assert same(x + 0.0, x) and same(0.0 + x, x) and same(x * 1.0, x) and same(x - 0.0, x)
    assert x * 0.0 == 0.0 and 0.0 * x == 0.0 and x - x == 0.0
    assert same(x + y, y + x) and same(x * y, y * x)
    assert same(-(-x), x) and same((-x) * (-y), x * y) and same(-(x - y), -(x - y))
    assert same(x + (-y), x - y) and same((-x) + y, y - x) and same(x - (-y), x + y)
    assert same(x + x, 2.0 * x) and same(2.0 * (3.0 * x), 6.0 * x) and same(0.5 * (2.0 * x), x)
    assert same(scalar.sin(-x), -(scalar.sin(x))) and same(scalar.cos(-x), scalar.cos(x))
    assert same(y - x, -(x - y))
    for one in (x, y):
        assert same(2.0 * (-one), -(2.0 * one)) and same((-2.0) * (-one), 2.0 * one)
    assert same(x / 2.0, 0.5 * x) and same(1.0 / (-x), -(1.0 / x))


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_signs_move_outwards_in_any_order(first: int, second: int) -> None:
    """The first node of a graph is a symbol like any other."""
    g = Graph()
    symbols = g.input(0, 0), g.input(0, 1)
    x, y = symbols[first], symbols[second]
    number = lambda value: value.index  # noqa: E731
    assert number(-(-x)) == number(x)
    assert number((-x) * y) == number(x * (-y)) == number(-(x * y)) and number((-x) * (-y)) == number(x * y)
    assert number(x + (-y)) == number((-y) + x) == number(x - y)
    assert number(x - (-y)) == number(x + y) and number((-x) - y) == number(-(x + y))
    assert number((-x) - (-y)) == number(y - x) and number((-x) + (-y)) == number(-(x + y))
    assert number((-3.0) * (-x)) == number(3.0 * x) and number((-x) * 3.0) == number(-(3.0 * x))
    assert number(0.0 - x) == number(-x) != number(1.0 - x)
    assert number(3.0 * x - 2.0 * x) == number(x) and 2.0 * x - 2.0 * x == 0.0
    for op in ("rcp", "sin", "tanh", "rint"):
        assert number(g.function(op, (-x,))) == number(-g.function(op, (x,)))  # type: ignore[operator]
    for op in ("cos", "abs"):
        assert number(g.function(op, (-x,))) == number(g.function(op, (x,)))
    assert number(g.function("atan2", (-x, y))) == number(-g.function("atan2", (x, y)))  # type: ignore[operator]
    for op in ("exp", "sqrt", "floor"):
        assert number(g.function(op, (-x,))) not in (number(g.function(op, (x,))), number(-g.function(op, (x,))))  # type: ignore[operator]


def test_a_choice_between_equals_is_no_operation() -> None:
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    for op in ("min", "max"):
        assert scalar.operation(op, (x, x)).index == x.index  # type: ignore[attr-defined, list-item]
        assert g.function(op, (x, y)).index == g.function(op, (y, x)).index  # type: ignore[union-attr]
        assert isinstance(g.function(op, (x, 0.0)), Expr) and isinstance(g.function(op, (0.0, x)), Expr)
    assert g.function("select", (x, y, y)).index == y.index  # type: ignore[union-attr]
    assert g.function("select", (x, 2.5, float("2.5"))) == 2.5
    for a, b in ((x, y), (x, 1.0), (1.0, x), (1.0, 2.0)):
        assert isinstance(g.function("select", (y, a, b)), Expr)
    for condition, k in ((1.0, 0), (0.0, 0), (-0.0, 0), (-1.0, 1), (float("nan"), 1)):
        assert g.function("select", (condition, x, y)).index == (x, y)[k].index  # type: ignore[union-attr]


@pytest.mark.parametrize("op", OPERATIONS)
def test_an_operation_on_numbers_is_a_number_and_no_node(op: str) -> None:
    g, row = Graph(), OPERATIONS[op]
    numbers = (0.5, -0.25, 2.0, *[3.0] * 5)[: row.arity]
    value = g.function(op, numbers)
    assert type(value) is float and not g.nodes
    assert np.float64(value).tobytes() == np.float64(row.meaning(*map(np.float64, numbers))).tobytes()


def test_an_operation_on_numbers_never_warns() -> None:
    g = Graph()
    assert g.function("log", (0.0,)) == -np.inf and np.isnan(g.function("sqrt", (-1.0,)))  # type: ignore[arg-type]


def test_there_is_one_zero() -> None:
    g = Graph()
    minus = g.constant(-0.0)
    assert np.signbit(constant_of(g.nodes[minus.index])) == 0
    assert g.constant(0.0).index == minus.index and g.value(minus.index) == 0.0
    assert g.rcp(4.0) == 0.25


def test_a_product_sum_or_difference_that_is_there_is_found() -> None:
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    i, j = x.index, y.index
    assert all(g.find(op, i, j) is g.find(op, j, i) is None for op in ("mul", "add", "sub"))
    made = {"mul": x * y, "add": x + y, "sub": x - y}
    for op, value in made.items():
        assert isinstance(value, Expr)
        forward, back = g.find(op, i, j), g.find(op, j, i)
        assert forward is not None and back is not None
        assert forward.index == value.index
        assert back.index == ((-value).index if op == "sub" else value.index)


def test_a_division_by_nothing_is_no_number_and_is_refused() -> None:
    g = Graph()
    value = g.input(0, 0) * g.rcp(0.0)
    program = g.program("p", (Array("x", (1,)),), (Array("y", (1,)),), [(0, 0, value)])
    with pytest.raises(UnsupportedError, match="divided by what is zero in every state"):
        verify(program)


def test_zero_outputs_are_left_out_and_read_back_as_zero() -> None:
    g = Graph()
    program = g.program("p", (Array("x", (2,)),), (Array("y", (2, 2)),), [(0, 0, g.input(0, 1)), (0, 3, 0.0)])
    assert len(program.outputs) == 1
    (y,) = run(program, [np.array([[5.0, 6.0], [7.0, 8.0]])])
    assert y.tolist() == [[[6.0, 0.0], [0.0, 0.0]], [[8.0, 0.0], [0.0, 0.0]]]
