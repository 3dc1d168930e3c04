"""Sine and cosine: within a unit in the last place where vectors compute them, the library's beyond."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import scalar
from condyle.backends.c.build import build
from condyle.backends.common.facts import Facts
from condyle.ir.expr import Graph
from condyle.ir.program import Array
from condyle.runtime.native import Kernel


@pytest.fixture(scope="module", params=["float64", "float32"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    graph = Graph()
    x = graph.input(0, 0)
    arrays = (Array("s", (1,)), Array("c", (1,)))
    program = graph.program("circle", (Array("x", (1,)),), arrays, [(0, 0, scalar.sin(x)), (1, 0, scalar.cos(x))])
    return build(program, Facts(1, 1), request.param)


def sincos(kernel: Kernel, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, c = np.empty((len(x), 1), kernel.dtype), np.empty((len(x), 1), kernel.dtype)
    kernel(len(x), [x.reshape(-1, 1)], [s, c], 1)
    return s[:, 0], c[:, 0]


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    spacing = np.spacing(np.abs(exact).astype(got.dtype)).astype(np.longdouble)
    return float(np.max(np.abs(got.astype(np.longdouble) - exact) / spacing))


def sweep(dtype: np.dtype[np.floating]) -> np.ndarray:
    rng = np.random.default_rng(0)
    quarter = np.pi / 2 * rng.integers(-60_000, 60_000, 100_000)
    parts = [
        rng.uniform(-7.0, 7.0, 400_000),
        rng.uniform(-1e5, 1e5, 200_000),
        quarter,
        quarter * (1 + rng.normal(size=quarter.size) * 1e-15),
        np.ldexp(rng.uniform(-1, 1, 100_000), rng.integers(-40, 1, 100_000)),
        np.pi / 4 * np.arange(-3000, 3000),
    ]
    return np.concatenate(parts).astype(dtype)


def test_accuracy(kernel: Kernel) -> None:
    x = sweep(kernel.dtype)
    s, c = sincos(kernel, x)
    assert ulps(s, np.sin(x.astype(np.longdouble))) < 1.1
    assert ulps(c, np.cos(x.astype(np.longdouble))) < 1.1


def test_beyond_reach_the_answer_is_still_right(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    top = 300 if kernel.dtype == np.float64 else 38
    x = (10.0 ** rng.uniform(4, top, 20_000) * rng.choice([-1, 1], 20_000)).astype(kernel.dtype)
    s, c = sincos(kernel, x)
    wide = np.float64 if kernel.dtype == np.float32 else np.longdouble
    assert ulps(s, np.sin(x.astype(wide)).astype(np.longdouble)) < 1.1
    assert ulps(c, np.cos(x.astype(wide)).astype(np.longdouble)) < 1.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_infinities_and_nan_are_nan_and_neighbours_do_not_notice(kernel: Kernel, bad: float) -> None:
    x = np.linspace(-3, 3, 64).astype(kernel.dtype)
    s, c = sincos(kernel, x)
    spoilt = x.copy()
    spoilt[[0, 13, 63]] = bad
    t, d = sincos(kernel, spoilt)
    mask = np.isin(np.arange(64), [0, 13, 63])
    assert np.isnan(t[mask]).all()
    assert np.isnan(d[mask]).all()
    np.testing.assert_array_equal(t[~mask], s[~mask])
    np.testing.assert_array_equal(d[~mask], c[~mask])


def test_zero_is_exact(kernel: Kernel) -> None:
    s, c = sincos(kernel, np.zeros(3, kernel.dtype))
    assert (s == 0).all()
    assert (c == 1).all()
