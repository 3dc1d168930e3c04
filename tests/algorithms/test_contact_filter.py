"""Proximal iterations and the matrix that stands for them are the same."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.algorithms.contact_forces import Regular, proximal, proximal_inverse
from condyle.algorithms.ltl import ltl
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import number

SIZE = 4


@pytest.mark.parametrize("times", [1, 2, 4])
def test_the_matrix_of_proximal_iterations_is_what_they_do(times: int) -> None:
    """mu is as large as G: iterations are far from their limit, and each one counts."""
    rng = np.random.default_rng(0)
    half, b = rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE)
    G, mu = half @ half.T, 2.0
    matrix = SparseMatrix.from_entries(SIZE, [(i, j, number(x)) for (i, j), x in np.ndenumerate(G + mu * np.eye(SIZE))])
    regular = Regular(ltl(matrix), [number(mu)] * SIZE)
    f = np.zeros(SIZE)
    for _ in range(times):
        f = np.linalg.solve(G + mu * np.eye(SIZE), b + mu * f)
    np.testing.assert_allclose(proximal(regular, [number(x) for x in b], times), f, rtol=1e-12)
    inverse = np.zeros((SIZE, SIZE))
    for i, j, x in proximal_inverse(regular, times):
        inverse[i, j] = x
    np.testing.assert_allclose(inverse @ b, f, rtol=1e-12)
