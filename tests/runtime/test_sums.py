"""Sums over batch dimensions: NumPy's, in an order that depends on shapes alone."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.runtime.arrays import summed


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 1000])
def test_sums(n: int) -> None:
    """Of every set of dimensions, as NumPy has them; errors grow with the logarithm of the number of terms."""
    rng = np.random.default_rng(n)
    for batch, own in (((n,), ()), ((2, n), (1,)), ((n, 2), (1, 2)), ((3, n, 2), (3, 1, 1)), ((n,), (n,))):
        array = rng.normal(size=(*batch, 3))
        over = tuple(k for k in range(len(batch)) if k < len(batch) - len(own) or batch[k] != own[k - len(batch)])
        want = np.sum(array, axis=over).reshape(*own, 3)
        np.testing.assert_allclose(summed(array.copy(), (*own, 3)), want, rtol=0, atol=1e-12)
    many = np.full((1 << 16, 1), 0.1, "f4")
    assert abs(float(summed(many, (1,))[0]) / 6553.6 - 1.0) < 1e-6


def test_sums_over_what_was_broadcast_keep_what_was_not() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    assert summed(array, (2, 3, 4)) is array
    for shape in ((3, 4), (1, 3, 4), (2, 1, 4), (1, 4), (4,), (2, 3, 1), (1, 1, 1), ()):
        axes = tuple(k for k in range(3) if k < 3 - len(shape) or shape[k - 3 + len(shape)] == 1)
        want = np.reshape(array.sum(axis=axes), shape)
        np.testing.assert_array_equal(summed(array.copy(), shape), want)
    assert np.array_equal(summed(np.zeros((0, 4)), (4,)), np.zeros(4)) and summed(np.ones((0,)), ()).shape == ()
