"""A function that is another one each time it is run is refused: the compiled one would keep its first numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError

pytestmark = pytest.mark.smoke

DRAWN, NUMBERS = np.random.default_rng(0), count()
CHANGING: dict[str, Callable[[Any], Any]] = {
    "NumPy's numbers": lambda x: x + np.random.rand(),
    "a generator's numbers": lambda x: x * DRAWN.normal(size=3),
    "a clock": lambda x: x + time.perf_counter(),
    "a counter": lambda x: {f"y{next(NUMBERS)}": x},
    "another operation": lambda x: np.sin(x) if next(NUMBERS) % 2 else np.cos(x),
}


@pytest.mark.parametrize("f", CHANGING.values(), ids=CHANGING.keys())
def test_what_changes_from_run_to_run_is_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedError, match="not the same when it is run again: it has random numbers, the time"):
        condyle.function(f, {"x": 3})


def test_numbers_that_are_the_same_in_every_run_are_constants() -> None:
    f = condyle.function(lambda x: x * np.random.default_rng(3).normal(size=3), {"x": 3})
    np.testing.assert_array_equal(f.compile("numpy")(np.ones(3)), np.random.default_rng(3).normal(size=3))
