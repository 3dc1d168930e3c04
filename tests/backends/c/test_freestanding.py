"""Freestanding code: sines of any angle, and square roots, against the libraries of this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from condyle import scalar
from condyle.backends.c.embedded import single
from condyle.backends.common.facts import Facts
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array
from tests.backends.c.test_sincos import sweep, ulps
from tests.programs import call, tool

pytestmark = pytest.mark.skipif(not tool("gcc"), reason="gcc is not installed")
Reals = np.ndarray
BITS = {np.float32: 32, np.float64: 64}
FLAGS = ["-O2", "-ffreestanding", "-fno-stack-protector", "-ffp-contract=off", "-fPIC", "-shared"]


def on_each(
    folder: Path, dtype: type, functions: list[Callable[[Expr], Expr]], flags: list[str]
) -> Callable[[Reals], Reals]:
    """What calls the freestanding code of these functions on each number: (functions, numbers)."""
    graph, size = Graph(), len(functions)
    x = graph.input(0, 0)
    answers: list[tuple[int, int, Expr | float]] = [(0, k, function(x)) for k, function in enumerate(functions)]
    program = graph.program("each", (Array("x", (1,)),), (Array("y", (size,)),), answers)
    real = "float" if dtype is np.float32 else "double"
    (folder / "robot.h").write_text(f"void robot_each(const {real} x[1], {real} y[{size}]);\n")
    loop = f"void loop(long n, const {real} *x, {real} *y)\n{{\n    long k;\n"
    loop += f"    for (k = 0; k < n; k++) {{\n        robot_each(x + k, y + {size} * k);\n    }}\n}}\n"
    (folder / "each.c").write_text(single(program, Facts(1, 1), BITS[dtype], libm=False).text + loop)
    call(["gcc", *FLAGS, *flags, "each.c", "-o", "each.so"], folder)
    library = ctypes.CDLL(str(folder / "each.so"))

    def run(numbers: Reals) -> Reals:
        numbers, got = np.ascontiguousarray(numbers, dtype), np.empty((len(numbers), size), dtype)
        library.loop(
            ctypes.c_long(len(numbers)), numbers.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(got.ctypes.data)
        )
        return got.T

    return run


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("contract", ["off", "fast"])
def test_sines_of_any_angle(tmp_path: Path, dtype: type, contract: str) -> None:
    """Within 1.1 units in the last place: near zero, at multiples of pi / 2, and up to the largest number. The numbers
    nearest to multiples of pi / 2 are among them. The tolerance is that of the vectors (test_sincos), whose polynomials
    are the same."""
    run = on_each(tmp_path, dtype, [scalar.sin, scalar.cos], ["-march=native", f"-ffp-contract={contract}"])
    rng, most = np.random.default_rng(0), np.finfo(dtype).maxexp
    wide = np.ldexp(rng.uniform(0.5, 1.0, 100_000), rng.integers(-60, most + 1, 100_000)) * rng.choice([-1, 1], 100_000)
    nearest = [16367173.0 * 2.0**72, 6381956970095103.0 * 2.0 ** min(797, most - 54), 5.0, 11.0, 22.0, 3200.5, 100001.0]
    quarters = np.pi / 2 * np.ldexp(rng.uniform(0.5, 1.0, 20_000), rng.integers(1, 40, 20_000)).round()
    x = np.concatenate([sweep(np.dtype(dtype))[::4], wide, nearest, quarters, [np.finfo(dtype).max]]).astype(dtype)
    sine, cosine = run(x)
    exact = x.astype(np.longdouble)
    assert ulps(sine, np.sin(exact)) < 1.1
    assert ulps(cosine, np.cos(exact)) < 1.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sines_of_infinities_and_zeros(tmp_path: Path, dtype: type) -> None:
    run = on_each(tmp_path, dtype, [scalar.sin, scalar.cos], [])
    assert np.isnan(run(np.array([np.nan, np.inf, -np.inf]))).all()
    np.testing.assert_array_equal(run(np.array([0.0, -0.0])), [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", [[], ["-DCD_SOFT_SQRT"]])
def test_square_roots_are_rounded_correctly(tmp_path: Path, dtype: type, way: list[str]) -> None:
    """Equal bits: numbers of any exponent, subnormal ones, squares and their neighbours, and what has no root."""
    run = on_each(tmp_path, dtype, [scalar.sqrt], way)
    word, rng = np.dtype(f"u{np.dtype(dtype).itemsize}"), np.random.default_rng(1)
    any_bits = rng.integers(0, np.iinfo(word).max, 300_000, word, endpoint=True).view(dtype)
    least = np.finfo(dtype).smallest_subnormal * np.arange(2_000).astype(dtype)
    squares = np.arange(4_000).astype(dtype) ** 2
    edges = np.array([np.inf, -np.inf, np.nan, -0.0, -1.0, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    x = np.concatenate(
        [any_bits, least, squares, np.nextafter(squares, dtype(0)), np.nextafter(squares, dtype(np.inf)), edges]
    )
    (got,) = run(x)
    with np.errstate(invalid="ignore"):
        wanted = np.sqrt(x)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), ~numbers)
    np.testing.assert_array_equal(got[numbers].view(word), wanted[numbers].view(word))
