"""Numbers of the pages' tables."""

from __future__ import annotations

import pytest

from experiments.numbers import digits


@pytest.mark.parametrize(
    ("x", "text"), [(1450.4, "1450"), (312_345.0, "312000"), (35.31, "35.3"), (0.1234, "0.123"), (7.0, "7")]
)
def test_three_digits_without_an_exponent(x: float, text: str) -> None:
    assert digits(x) == text
