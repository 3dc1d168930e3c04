"""Numbers of any type among symbols: the answer is that of the same numbers as float64."""

from __future__ import annotations

import operator
from array import array
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from condyle.ir.interp import run
from condyle.symbolic import Symbols
from tests.symbolic.traced import Source, traced

MIXED: dict[str, Any] = {
    "long whole number": 2**70,
    "long negative number": -(2**70),
    "truth": True,
    "fraction": Fraction(1, 3),
    "longdouble": np.longdouble("0.1"),
    "half": np.float16(0.5),
    "unsigned": np.uint64(2**64 - 1),
    "bytes": np.array([100, -100, 7], np.int8),
    "longdoubles": np.ones(3, np.longdouble) / 3,
    "objects": np.array([2**70, 2.5, True], object),
    "one object": np.array(2**70, object),
    "fractions": np.array([Fraction(1, 3)] * 3, object),
    "list": [2**70, Fraction(1, 7), np.float32(0.1)],
    "array of Python": array("d", [1.0, -2.0, 3.0]),
    "deque": deque([1.0, -2.0, 3.0]),
    "range": range(3),
}
OPERATIONS = {
    "times": operator.mul,
    "times from the left": lambda x, v: v * x,
    "plus": operator.add,
    "minus from the left": lambda x, v: v - x,
    "over": lambda x, v: x / (v + 0.5 * x * x),
    "power of": lambda x, v: (x * x) ** (v * 1e-25),
    "less": lambda x, v: np.where(x < v, x, 1.0),
    "maximum": np.maximum,
    "where": lambda x, v: np.where(x > 0.0, v, x),
    "stacked": lambda x, v: np.concatenate([np.ravel(x), np.ravel(v)]),
    "appended": np.append,
    "filled": lambda x, v: np.full_like(x, v) + x,
    "put": lambda x, v: _put(x, v),
    "outer": np.outer,
    "inner": lambda x, v: np.inner(x, v * np.ones(3)) if np.ndim(v) == 0 else np.inner(x, v),
    "clipped": lambda x, v: np.clip(x, v, None),
}
EXACT = ("times from the left", "minus from the left", "over", "power of", "inner")
"""Those that a list, a range or a deque has in another meaning, or not."""


def _put(x: Any, v: Any) -> Any:
    y = x.copy()
    y[:] = v
    return y + x


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", MIXED)
def test_any_real_number(name: str, operation: str) -> None:
    value, f = MIXED[name], OPERATIONS[operation]
    is_listed = not isinstance(value, (np.ndarray, np.generic, int, Fraction))
    given = np.asarray(value, object) if is_listed and operation in EXACT else value
    floats = np.vectorize(float, otypes=[np.float64])(np.asarray(value, object))
    point = np.array([[0.5, 1.5, -2.0]])
    program, shape = traced(lambda x: f(x, given), [(3,)])
    (found,) = run(program, [point])
    want = np.asarray(f(point[0], floats), np.float64)
    assert shape == want.shape
    np.testing.assert_allclose(found[0], want, rtol=1e-14, atol=0)


def test_values_between_which_is_interpolated() -> None:
    """Their differences are those of the numbers, whatever their type."""
    for fp in (np.array([100, -100], np.int8), [np.uint64(2**64 - 1), 1], [2**70, Fraction(1, 3)]):
        program, _ = traced(lambda x, fp=fp: np.interp(x, [0.0, 1.0], fp), [(3,)])
        (found,) = run(program, [np.array([[-1.0, 0.25, 2.0]])])
        want = np.interp([-1.0, 0.25, 2.0], [0.0, 1.0], [float(y) for y in fp])
        np.testing.assert_allclose(found[0], want, rtol=1e-15)


def test_a_power_that_is_no_number_is_none() -> None:
    """A function that answers it is told that a constant is no number."""
    source = Source()
    power = source.input((2,)) ** np.nan
    assert isinstance(power, Symbols) and all(np.isnan(entry) for entry in power.entries)


def test_an_empty_list_has_no_entries() -> None:
    program, shape = traced(lambda x: np.concatenate([x, []]), [(3,)])
    assert shape == (3,) and len(program.outputs) == 3
