"""Whole powers on every target: products, so that they and their slopes are numbers below zero and at zero."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.target import Form
from condyle.compile.gpu import GpuFunction
from condyle.user import UserFunction
from tests.backends.cuda.simulate import simulate
from tests.processor import slow

UPWARDS, DOWNWARDS = (2, 33, 40, 101), (-2, -33, -40)
X = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
TOLERANCE = 3e-14
"""A product of n numbers errs by n roundings, and a reciprocal by one more."""


def function(powers: tuple[int, ...]) -> UserFunction:
    return condyle.function(lambda x: np.stack([x**n for n in powers]), {"x": ()})


def values(powers: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    return np.stack([np.power(x, float(n)) for n in powers], axis=-1)


def slopes(powers: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    return np.stack([n * np.power(x, n - 1.0) for n in powers], axis=-1)


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
@pytest.mark.parametrize(("powers", "x"), [(UPWARDS, X), (DOWNWARDS, X[X != 0])], ids=["upwards", "downwards"])
def test_whole_powers_are_numbers_at_every_base(powers: tuple[int, ...], x: np.ndarray, target: str) -> None:
    f = function(powers).compile(target)
    np.testing.assert_allclose(f(x), values(powers, x), TOLERANCE)
    np.testing.assert_allclose(f.jacobian()(x), slopes(powers, x), TOLERANCE)
    np.testing.assert_allclose(f.jvp()(x, np.ones_like(x)), slopes(powers, x), TOLERANCE)
    np.testing.assert_allclose(f.vjp()(x, np.ones((len(x), len(powers)))), slopes(powers, x).sum(-1), 1e-13)


def test_whole_powers_on_a_gpu() -> None:
    f = function(UPWARDS)
    kernels = f.compile(target="cuda")._dynamics._compiler.gpu_kernels
    gpu = GpuFunction(kernels, f.specification, "float64", 132)
    parts = gpu.launches(Form(1, kernels.usual(f.specification)))
    (found,) = simulate(parts, [X[:, None]])
    np.testing.assert_allclose(found, values(UPWARDS, X), TOLERANCE)
