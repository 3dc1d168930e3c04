"""Operations on numbers of either type, a row as it is by default, and keys of random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.operations import ARITY, MEANING, OPERATIONS, TRACED, Operation, uniforms


def test_a_row_is_one_operation_on_floats_unless_it_says_otherwise() -> None:
    row = Operation("x", 1, np.negative)
    assert (row.mul, row.add, row.div, row.size, row.depth) == (0, 0, 0, 1, 1)
    assert (row.parity, row.commutes, row.source, row.ufunc, row.c) == ("", False, TRACED, "", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", OPERATIONS)
def test_an_operation_keeps_the_number_type(op: str, dtype: type[np.floating]) -> None:
    answer = MEANING[op](*[np.full(2, 1.0 + k, dtype) for k in range(ARITY[op])])
    assert answer.dtype == dtype and answer.shape == (2,)


def test_a_select_of_two_number_types_takes_the_wider_one() -> None:
    single, double = np.ones(2, np.float32), np.ones(2)
    for operands in ((single, double, single), (single, single, double), (double, single, single)):
        assert MEANING["select"](*operands).dtype == np.float64


def test_random_numbers_are_of_whole_keys_modulo_eight_million() -> None:
    """Halves go to the even number; a word that is no number makes all four NaN."""
    key, counter = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]

    def draws(*words: float) -> list[float]:
        return [float(x) for x in uniforms(words[:4], words[4:])]

    found = draws(*key, *counter)
    assert found == draws(1.4, 2.5, 3.0, 3.5, *counter) == draws(*key, 5.0 + 2.0**23, 6.0 - 2.0**23, 7.0, 8.5)
    assert all(0.0 <= x < 1.0 and (x * 2**23).is_integer() for x in found) and len(set(found)) == 4
    for k in range(8):
        words = [*key, *counter]
        words[k] += 1.0
        assert draws(*words) != found
        words[k] = np.inf if k % 2 else np.nan
        assert np.isnan(draws(*words)).all()
