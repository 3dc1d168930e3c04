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
from condyle.ir.program import Array, verify
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
