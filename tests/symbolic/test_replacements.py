"""What messages say to write in place of a function of NumPy is possible, and equal where that is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from condyle.symbolic.arrays import FUNCTIONS, INSTEAD, SAME, _name, is_elementwise
from tests.symbolic.traced import check, traced

ABOVE_ONE = ("np.arccosh",)
BELOW_ONE = ("np.arctanh",)
OF_ONE = """
np.add.accumulate np.arccosh np.arcsinh np.arctanh np.around np.cbrt np.fix np.linalg.vector_norm np.multiply.accumulate
np.nan_to_num np.nansum np.ptp np.round np.signbit np.sinc np.trunc
"""
OF_MATRIX = "np.linalg.diagonal np.linalg.matrix_norm np.linalg.matrix_transpose np.linalg.trace"


def numpy_function(name: str) -> Any:
    """None where this NumPy has none: some are newer, trapz is older."""
    return reduce(lambda part, word: getattr(part, word, None), name.split(".")[1:], np)


def there(names: Iterable[str]) -> list[str]:
    return [name for name in names if numpy_function(name) is not None]


def written(text: str) -> Callable[..., Any]:
    """The text as a function; a condition as 1 and 0."""
    is_condition = any(word in text for word in ("<=", "==", "x < 0.0")) and "where" not in text
    whole = f"np.where({text}, 1.0, 0.0)" if is_condition else text
    return eval(f"lambda x, y, A: {whole}", {"np": np})


@pytest.mark.parametrize("name", there(SAME))
def test_it_is_the_same(name: str) -> None:
    function, instead = numpy_function(name), written(SAME[name])
    rng = np.random.default_rng(0)
    x, y, A = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), rng.normal(size=(20, 3, 3))
    x[0], y[0] = 0.0, 1.5
    x[1] = y[1]
    x = 1.5 + x * x if name in ABOVE_ONE else np.tanh(x) if name in BELOW_ONE else x
    check(instead, x, y, A)
    for k in range(20):
        if name == "np.linalg.tensordot":
            known = function(A[k], A[k])
        elif name == "np.linalg.matmul":
            known = function(A[k], x[k])
        elif name in ("np.trapezoid", "np.trapz"):
            known = function(y[k], x[k])
        else:
            given = [A[k]] if name in OF_MATRIX.split() else [x[k]] if name in OF_ONE.split() else [x[k], y[k]]
            known = function(*given)
        np.testing.assert_allclose(instead(x[k], y[k], A[k]), np.asarray(known, float), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", there([*SAME, *INSTEAD]))
def test_functions_that_are_replaced_take_no_symbols(name: str) -> None:
    """Else the message is never seen."""
    function = numpy_function(name)
    assert not isinstance(function, np.ufunc) or not is_elementwise(function)
    assert function not in FUNCTIONS
    assert (name.count(".") == 2 and "linalg" not in name) or name in (f"np.{function.__name__}", _name(function))


def test_what_sentences_say_can_be_written() -> None:
    """Every call of NumPy in a sentence takes symbols."""
    named = {word for text in INSTEAD.values() for word in re.findall(r"np\.[a-z.]+", text)}
    assert len(named) > 8
    supported = {_name(function) for function in FUNCTIONS} | {"np.eye"}
    assert {name for name in named if not is_elementwise(numpy_function(name))} <= supported


def test_a_pseudoinverse_and_least_squares() -> None:
    rng = np.random.default_rng(0)
    wide, b = rng.normal(size=(5, 2, 4)), rng.normal(size=(5, 4))
    check(lambda A: A.T @ np.linalg.inv(A @ A.T), wide, rtol=1e-9, atol=1e-12)
    for A, right in zip(wide, b, strict=True):
        np.testing.assert_allclose(A.T @ np.linalg.inv(A @ A.T), np.linalg.pinv(A), rtol=1e-9, atol=1e-12)
        least = np.linalg.solve(A @ A.T, A @ right)
        np.testing.assert_allclose(least, np.linalg.lstsq(A.T, right, rcond=None)[0], rtol=1e-9, atol=1e-12)


def test_no_message_is_a_list() -> None:
    for f in (np.linalg.qr, np.linalg.svd, np.sort, np.fft.fft, np.unwrap):
        with pytest.raises(UnsupportedError) as error:
            traced(lambda x, f=f: f(np.outer(x, x)), [(2,)])
        assert len(str(error.value)) < 260, str(error.value)
