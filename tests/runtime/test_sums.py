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
