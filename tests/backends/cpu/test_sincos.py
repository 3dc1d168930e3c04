"""Sine and cosine inside a kernel: 1.2 units in the last place within reach, one rounding of the angle beyond."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import scalar
from condyle.backends.c.build import build as build_c
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.assemble import REACH as REACH_STEP
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.operations import inline_angles
from condyle.backends.cpu.target import AVX512, ISAS
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.passes.dce import dce
from condyle.runtime.native import Kernel
from tests.backends.c.test_sincos import sweep, ulps

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
REACH = {"float64": 1e5, "float32": 3200.0}


def program_of(angle: str = "input") -> Program:
    graph = Graph()
    x = graph.input(0, 0)
    values: dict[str, tuple[Expr | float, Expr | float]] = {
        "input": (scalar.sin(x), scalar.cos(x)),
        "sine only": (scalar.sin(x), 1.0),
        "cosine only": (0.0, scalar.cos(x)),
        "used elsewhere": (scalar.sin(x) + x, scalar.cos(x)),
        "computed": (scalar.sin(x * 2.0), scalar.cos(x * 2.0)),  # type: ignore[union-attr]
    }
    arrays = (Array("s", (1,)), Array("c", (1,)))
    outputs = [(k, 0, value) for k, value in enumerate(values[angle])]
    return dce(graph.program("circle", (Array("x", (1,)),), arrays, outputs))


def sincos(kernel: Kernel, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, c = np.empty((len(x), 1), kernel.dtype), np.empty((len(x), 1), kernel.dtype)
    kernel(len(x), [x.reshape(-1, 1)], [s, c], 1)
    return s[:, 0], c[:, 0]


@pytest.fixture(params=[(name, dtype) for name in ISAS for dtype in REACH], ids=lambda p: f"{p[0]}-{p[1]}")
def kernel(request: pytest.FixtureRequest) -> Kernel:
    name, dtype = request.param
    if ISAS[name] not in supported():
        pytest.skip(f"this processor has no {name}")
    return build(program_of(), dtype, ISAS[name])


def test_accuracy(kernel: Kernel) -> None:
    x = sweep(kernel.dtype)
    x = x[np.abs(x) <= REACH[str(kernel.dtype)]]
    s, c = sincos(kernel, x)
    assert ulps(s, np.sin(x.astype(np.longdouble))) < 1.2
    assert ulps(c, np.cos(x.astype(np.longdouble))) < 1.2


def test_beyond_reach_the_angle_is_rounded_once(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    top = 308 if kernel.dtype == np.float64 else 38
    x = (10.0 ** rng.uniform(3, top, 20_000) * rng.choice([-1, 1], 20_000)).astype(kernel.dtype)
    s, c = sincos(kernel, x)
    eps = float(np.finfo(kernel.dtype).eps)  # half a unit of pi, and one of the answer
    exact = x.astype(np.float64)
    assert np.abs(s - np.sin(exact)).max() < 2 * eps
    assert np.abs(c - np.cos(exact)).max() < 2 * eps


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_neighbours_do_not_notice(kernel: Kernel, bad: float) -> None:
    """Not what is no number, nor what takes the slow way; a state's place in the batch does not count either."""
    x = np.linspace(-3, 3, 64).astype(kernel.dtype)
    s, c = sincos(kernel, x)
    spoilt = x.copy()
    spoilt[[0, 13, 63]] = bad
    t, d = sincos(kernel, spoilt)
    mask = np.isin(np.arange(64), [0, 13, 63])
    assert np.isnan(t[mask]).all() == np.isnan(d[mask]).all() == (not np.isfinite(bad))
    np.testing.assert_array_equal(t[~mask], s[~mask])
    np.testing.assert_array_equal(d[~mask], c[~mask])
    for shift in (1, 5):
        np.testing.assert_array_equal(sincos(kernel, x[shift:])[0], s[shift:])


def test_zero_is_exact(kernel: Kernel) -> None:
    s, c = sincos(kernel, np.zeros(3, kernel.dtype))
    assert (s == 0).all()
    assert (c == 1).all()


@pytest.mark.parametrize(
    ("angle", "inline"),
    [("input", 1), ("sine only", 1), ("cosine only", 1), ("used elsewhere", 0), ("computed", 0)],
)
def test_either_way(angle: str, inline: int) -> None:
    """An angle that is used elsewhere, or computed, is left to the driver; beyond reach both ways are right."""
    program = program_of(angle)
    assert len(inline_angles(program)) == inline
    x = np.concatenate([np.random.default_rng(2).uniform(-9, 9, 50), [1e4, 1e6, -1e9]])
    ours, theirs = build(program), build_c(program, Facts(1, 1), "float64")
    for a, b in zip(sincos(ours, x), sincos(theirs, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15, atol=5e-16)


def test_the_driver_takes_no_sines_of_a_plain_joint() -> None:
    """It only brings the angle within reach; it takes those of an angle that is computed."""
    assert REACH_STEP in assemble(program_of(), AVX512, 64).numbers
    assert len(assemble(program_of(), AVX512, 64).kernels) == 1
    assert REACH_STEP not in assemble(program_of("computed"), AVX512, 64).numbers
