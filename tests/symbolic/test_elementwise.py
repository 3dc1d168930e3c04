"""Every universal function on symbols is NumPy's on numbers, special values among them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from condyle.symbolic.elementwise import (
    COMPARISONS,
    LOGIC,
    NUMBERS,
    OF_ONE,
    OF_ROWS,
    NotNegative,
    both,
    differ,
    either,
    negation,
    of_numbers,
)
from tests.symbolic.traced import check, traced

pytestmark = pytest.mark.smoke

SPECIAL = np.array(
    [-np.inf, -30.0, -2.5, -1.0, -0.6, -1e-9, -0.0, 0.0, 1e-16, 1e-9, 0.3, 1.0, 2.5, 40.0, np.inf, np.nan]
)
ONE = SPECIAL[:, None]
TWO = np.array([(x, y) for x in SPECIAL for y in SPECIAL])
ALIKE = np.isinf(TWO[:, 0]) & (TWO[:, 0] == TWO[:, 1])
POWERS = np.signbit(TWO[:, 0]) | ((TWO[:, 0] == 1) & ~np.isfinite(TWO[:, 1]))
INEXACT = {
    np.logaddexp: ALIKE,  # their difference is NaN
    np.hypot: np.isinf(TWO).any(1) & np.isnan(TWO).any(1),  # NumPy's is infinite
    # by a logarithm: not of negative bases, and 0 times infinity for 1
    np.power: POWERS,
    np.float_power: POWERS,
    **dict.fromkeys(COMPARISONS, ALIKE),
}


@pytest.mark.parametrize("ufunc", NUMBERS, ids=lambda ufunc: ufunc.__name__)
def test_a_function_of_numbers_is_numpys(ufunc: np.ufunc) -> None:
    if ufunc.nin == 1:
        check(lambda x: ufunc(x[0]), ONE)
        return
    kept = ~INEXACT.get(ufunc, np.zeros(len(TWO), bool))
    check(lambda x: ufunc(x[0], x[1]), TWO[kept])


def test_an_operation_may_be_one_of_scipys(monkeypatch: pytest.MonkeyPatch) -> None:
    """By module and name of its row, and by no other function of that name."""
    special = pytest.importorskip("scipy.special")
    assert of_numbers(special.exp2) is None and of_numbers(special.cbrt) is None
    monkeypatch.setitem(OF_ROWS, "scipy.special.cbrt", OF_ROWS["numpy.exp"])
    assert of_numbers(special.cbrt) is OF_ROWS["numpy.exp"] and of_numbers(np.cbrt) is None


@pytest.mark.parametrize("ufunc", COMPARISONS, ids=lambda ufunc: ufunc.__name__)
def test_a_comparison_is_numpys(ufunc: np.ufunc) -> None:
    if ufunc.nin == 1:
        check(lambda x: np.where(ufunc(x[0]), 1.0, 2.0), ONE)
        return
    check(lambda x: np.where(ufunc(x[0], x[1]), 1.0, 2.0), TWO[~ALIKE])
    check(lambda x: np.where(ufunc(x[0], x[0]), 1.0, 2.0), ONE)
    for number in (0.0, 0.3, -1.0):
        check(lambda x, k=number: np.where(ufunc(x[0], k), 1.0, 2.0), ONE)
        check(lambda x, k=number: np.where(ufunc(k, x[0]), 1.0, 2.0), ONE)


@pytest.mark.parametrize("ufunc", LOGIC, ids=lambda ufunc: ufunc.__name__)
def test_logic_is_numpys(ufunc: np.ufunc) -> None:
    if ufunc.nin == 1:
        check(lambda x: np.where(ufunc(x[0] > 0.3), 1.0, 2.0), ONE)
        return
    check(lambda x: np.where(ufunc(x[0] > 0.3, x[1] <= 1.0), 1.0, 2.0), TWO)
    check(lambda x: np.where(ufunc(x[0] != 1.0, x[1] < x[0]), x[0], 2.0), TWO[~ALIKE])
    for plain in (True, False):
        check(lambda x, k=plain: np.where(ufunc(np.bool_(k), x[0] > 0.3), 1.0, 2.0), ONE)
        check(lambda x, k=plain: np.where(ufunc(x[0] > 0.3, np.bool_(k)), 1.0, 2.0), ONE)


@pytest.mark.parametrize(
    "power", [0, 1, 2, 3, 7, 32, -1, -2, 0.5, 1.5, -0.5, 2.5, 0.3, -1.7, 33, 40, -33, -40, 255, 1001, 1e300, 33.5, 40.3]
)
def test_a_power_by_a_number_is_numpys(power: float) -> None:
    whole = float(power).is_integer()
    states = ONE if whole else ONE[~np.signbit(ONE[:, 0])]  # NumPy says inf of (-inf) ** 0.5, and of (-0.0) ** -0.5
    check(lambda x: x**power, states, rtol=1e-12)


@pytest.mark.parametrize("base", [0.5, 1.0, 2.0, 10.0])
def test_a_number_to_the_power_of_a_symbol(base: float) -> None:
    check(lambda x: base**x, ONE, rtol=1e-12)


def test_functions_near_zero_keep_their_digits() -> None:
    small = np.concatenate([10.0 ** -np.arange(1, 17), -(10.0 ** -np.arange(1, 17))])[:, None]
    for f in (np.expm1, np.log1p, np.sinh, np.arcsin, np.arctan, np.tan):
        check(f, small, rtol=4e-15, atol=0.0)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@pytest.mark.parametrize("of", OPERATORS, ids=lambda of: of.__name__)
def test_operators_take_arrays_and_numbers_on_either_side(of: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    x, y, c = rng.uniform(0.5, 2.0, (6, 2, 3)), rng.uniform(0.5, 2.0, (6, 3)), rng.uniform(0.5, 2.0, (2, 3))
    check(of, x, y)
    check(lambda x, y: of(x, c) + of(c, y) + of(2, x) + of(y, 3) + of(np.float64(1.5), y) + of(y, [1.0, 2, 3]), x, y)


def test_operators_of_one_array() -> None:
    check(lambda x: abs(-x) + (+x) - (-x), np.array([[1.0, -2.0, 0.0]]))
    check(lambda x: np.where(~(x > 0), 1.0, 2.0) + np.where((x > 0) & (x < 3) | (x < -1), 5.0, 6.0), np.eye(3) * 4 - 2)
    check(lambda x: np.where((x > 0) ^ (x > 1), x, 0.0), np.array([[0.5, -2.0, 2.0]]))
    check(lambda x: np.where(x, x + 1, 7.0), np.array([[0.5, 0.0, -0.0, np.nan]]))


OTHERS = """
trunc mod remainder floor_divide fmod copysign signbit isfinite isinf nextafter cbrt arcsinh arccosh
arctanh spacing gcd ldexp logaddexp2
"""


@pytest.mark.parametrize("ufunc", OTHERS.split())
def test_other_universal_functions_are_refused_by_name(ufunc: str) -> None:
    function = getattr(np, ufunc)
    with pytest.raises(
        UnsupportedError, match=rf"np\.{function.__name__} takes no symbols: (write|test|docs|the nearest)"
    ):
        traced(lambda x: function(*[x] * function.nin), [(2,)])


def test_methods_of_universal_functions() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 2, 3))
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        check(ufunc.reduce, x)
        check(lambda x, f=ufunc: f.reduce(x, axis=1, keepdims=True), x)
    check(lambda x: np.where(np.logical_and.reduce(x > -0.5) & ~np.logical_or.reduce(x > 2.0), 1.0, 0.0), x)
    check(lambda x: np.subtract.outer(x[0], x), x)
    for method, more in (("accumulate", ()), ("reduceat", ([0],)), ("at", ([0], 1.0))):
        with pytest.raises(UnsupportedError, match=rf"np\.add\.{method}"):
            traced(lambda x, m=method, more=more: getattr(np.add, m)(x, *more), [(2,)])
    with pytest.raises(UnsupportedError, match="option where"):
        traced(lambda x: np.add(x, x, where=[True, False]), [(2,)])


DENSE = np.concatenate([np.linspace(-3.0, 3.0, 121), [-0.5, -1.0]])


@pytest.mark.parametrize("ufunc", OF_ONE, ids=lambda ufunc: ufunc.__name__)
def test_functions_of_one_number_are_numpys_everywhere(ufunc: np.ufunc) -> None:
    """Where they are put together from two, on both sides of the seam and between."""
    check(lambda x: ufunc(x), DENSE[:, None], rtol=1e-14, atol=1e-14)


def test_steps_at_zero_have_the_value_that_is_given() -> None:
    x = np.array([[-1.5], [0.0], [2.0], [np.nan]])
    for first in (-1.0, 0.0, -0.0, 2.0):
        check(lambda x, k=first: np.heaviside(k, x), x)
        check(lambda x, k=first: np.heaviside(x, k), x)


def test_a_symbol_and_itself() -> None:
    x = np.array([[-1.5], [0.0], [700.0]])
    check(lambda x: np.logaddexp(x, x), x, rtol=1e-15)
    check(lambda x: np.fmax(x, x) + np.fmin(x, x) + np.maximum(x, x), x)


@pytest.mark.parametrize(
    ("power", "by_logarithm"),
    [
        (31.5, False),
        (32.0, False),
        (32.5, True),
        (-31.5, False),
        (-32.5, True),
        (0.5, False),
        (0.25, True),
        (33.0, False),
    ],
)
def test_half_powers_up_to_32_are_products_and_a_root(power: float, by_logarithm: bool) -> None:
    program, _ = traced(lambda x: x**power, [(1,)])
    ops = {node[0] for node in program.nodes}
    assert ("exp" in ops) == by_logarithm and ("sqrt" in ops) == (power % 1.0 == 0.5 and not by_logarithm)


def test_a_power_by_squares_has_a_product_for_each_digit() -> None:
    """Of n in binary: one for each digit behind the first, one more for each 1 among them."""
    for n in (2, 3, 5, 8, 15, 33):
        program, _ = traced(lambda x, n=n: x**n, [(1,)])
        digits = f"{n:b}"[1:]
        assert sum(node[0] == "mul" for node in program.nodes) == len(digits) + digits.count("1")


def test_a_base_that_is_not_positive_has_no_power_of_a_symbol() -> None:
    for base in (0.0, -1.0):
        with pytest.raises(UnsupportedError, match="to the power of a symbol; the base must be positive"):
            traced(lambda x, base=base: base**x, [(1,)])


def test_truths_that_are_known_stay_known() -> None:
    assert [both(x, y) for x in (True, False) for y in (True, False)] == [True, False, False, False]
    assert [either(x, y) for x in (True, False) for y in (True, False)] == [True, True, True, False]
    assert [differ(x, y) for x in (True, False) for y in (True, False)] == [False, True, True, False]
    holds: Any = NotNegative(object())  # type: ignore[arg-type]
    assert both(True, holds) is holds is both(holds, True) and both(False, holds) is False is both(holds, False)
    assert either(True, holds) is True is either(holds, True) and negation(negation(holds)) is holds
