"""Random expressions: the same NumPy on symbols and on numbers, values and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.symbolic.traced import check

# Of arrays that are moderate; what comes out is clipped, so that it stays so.
ONE: list[Callable[[Any], Any]] = [
    np.sin,
    np.tanh,
    np.abs,
    np.sign,
    lambda x: np.sqrt(np.abs(x) + 1.0),
    lambda x: np.log1p(x * x),
    lambda x: np.exp(-np.abs(x)),
    lambda x: -x,
    lambda x: x**2,
    lambda x: np.cumsum(x, axis=-1),
    lambda x: x[::-1] if x.ndim else x,
    lambda x: x[..., None] if x.ndim < 2 else x.T,
    lambda x: np.sum(x, axis=0, keepdims=True) if x.ndim else x,
    lambda x: np.max(x, axis=-1, keepdims=True) if x.ndim else x,
    lambda x: x.mean(),
    lambda x: np.where((x > 0.25) & ~(x >= 1.0), 2.0 * x, 0.5),
    lambda x: np.stack([x[0], 0.5 * x[-1]]) if x.ndim else x,
]
TWO: list[Callable[[Any, Any], Any]] = [
    np.add,
    np.subtract,
    np.multiply,
    np.minimum,
    np.maximum,
    np.arctan2,
    lambda x, y: x / (1.0 + y * y),
    lambda x, y: np.where(x < y, x, y * 0.5),
    lambda x, y: np.where(x == y, 1.0, x),
    lambda x, y: np.where((x <= y) | (y > 0), x, y),
    lambda x, y: np.where(np.any(x > y), x, y),
]
STEP = st.tuples(st.booleans(), st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
NUMBERS = [0.5, np.array([1.0, -2.0, 0.25]), np.array([[1.0], [-1.0]])]


def run(steps: list[tuple[bool, int, int, int]], inputs: tuple[Any, ...]) -> Any:
    """All steps, each of earlier values; values that do not broadcast are left out."""
    values: list[Any] = [*inputs, *NUMBERS]
    for pair, op, i, j in steps:
        x, y = values[i % len(values)], values[j % len(values)]
        if pair:
            try:
                np.broadcast_shapes(np.shape(x), np.shape(y))
            except ValueError:
                continue
            made = TWO[op % len(TWO)](x, y)
        else:
            made = ONE[op % len(ONE)](np.asarray(x) if isinstance(x, float) else x)
        values.append(np.clip(made, -8.0, 8.0))
    return sum(np.sum(value * value) for value in values[len(inputs) :]) + inputs[0].sum()


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=12), st.integers(0, 1 << 30))
def test_random_expressions_are_numpys(steps: list[tuple[bool, int, int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, A = rng.integers(-8, 9, (6, 3)) / 4.0, rng.integers(-8, 9, (6, 2, 3)) / 4.0
    check(lambda x, A: run(steps, (x, A)), x, A, rtol=1e-11)
