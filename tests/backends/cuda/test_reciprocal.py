"""The reciprocal of generated PTX, for every approximation that PTX allows it to begin with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from condyle.backends.cuda.thread_kernel import write_compute
from condyle.text import Emitter
from tests.backends.cuda.interpret import run
from tests.backends.cuda.meaning import approximate_rcp
from tests.backends.cuda.memory import Memory
from tests.backends.cuda.simulate import Floats

BLOCK = 128
DOUBTFUL = 1 + np.array([0x7C3237, 0x7E01FF, 0x7FFFFF]) / 2.0**23
"""Significands whose float32 reciprocal is so near the middle of two numbers that the other one may come out."""


def reciprocal(x: Floats, start: Floats) -> Floats:
    """The lines of the operation, run on the interpreter with this approximation in place of the GPU's."""
    bits = 8 * x.itemsize
    lines = Emitter()
    write_compute(lines, "rcp", "%y", ["%x"], f"f{bits}")
    first, *rest = lines.text().splitlines()
    assert first.split()[0] == f"rcp.approx.ftz.f{bits}"
    n = -(-len(x) // BLOCK) * BLOCK
    memory = Memory()
    addresses = [
        memory.adopt(np.concatenate([given, np.ones(n - len(x), x.dtype)]).view(np.uint8)) for given in (x, start)
    ]
    addresses.append(memory.allocate(n * x.itemsize))
    head = ".version 7.0\n.target sm_80\n.visible .entry k(\n.param .u64 x,\n.param .u64 a,\n.param .u64 y\n)\n{\n"
    load = ["mov.u32 %k, %ctaid.x;", f"mul.lo.u32 %k, %k, {BLOCK};", "mov.u32 %t, %tid.x;", "add.u32 %k, %k, %t;"]
    for name, to in (("x", "%x"), ("a", "%na")):
        load += [f"ld.param.u64 %p, [{name}];", f"mul.wide.u32 %o, %k, {x.itemsize};", "add.u64 %p, %p, %o;"]
        load.append(f"ld.global.nc.f{bits} {to}, [%p];")
    store = ["ld.param.u64 %p, [y];", "add.u64 %p, %p, %o;", f"st.global.f{bits} [%p], %y;"]
    run(head + "\n".join([*load, *rest, *store]) + "\n}\n", n // BLOCK, BLOCK, 0, addresses, memory)
    return memory.blocks[addresses[-1]].view(x.dtype)[: len(x)]


def neighbours(x: Floats) -> list[Floats]:
    """Every float32 within one unit in the last place of 1 / x; the nearest instead of what is beyond."""
    exact = 1 / x.astype(np.float64)
    near = exact.astype(np.float32)
    beside = [np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf)]
    return [near, *(np.where(np.abs(one - exact) <= np.spacing(near), one, near) for one in beside)]


@pytest.mark.parametrize("step", [509, pytest.param(1, marks=pytest.mark.slow)])
def test_float32_is_rounded_to_nearest(step: int) -> None:
    """Every significand in the slow run; the exponent changes nothing between 2^-126 and 2^126."""
    x = np.concatenate([1 + np.arange(0, 1 << 23, step) / 2.0**23, DOUBTFUL]).astype(np.float32)
    exact = 1 / x.astype(np.float64)
    doubtful = np.isin(x, DOUBTFUL.astype(np.float32))
    for start in neighbours(x):
        got = reciprocal(x, start)
        assert (got[~doubtful] == exact[~doubtful].astype(np.float32)).all()
        assert (np.abs(got - exact) / np.spacing(exact.astype(np.float32))).max() < 0.50000004


def test_float64_is_rounded_almost_to_nearest() -> None:
    """For approximations that are wrong by 2^-17 to either side."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.exp(rng.uniform(-600, 600, 500)), 1 + rng.uniform(0, 1e-15, 20), 2 - rng.uniform(0, 1e-15, 20)]
    )
    for wrong in (-(2.0**-17), 0.0, 2.0**-17):
        for value, got in zip(x, reciprocal(x, (1 + wrong) / x), strict=True):
            exact = 1 / Fraction(float(value))
            assert abs(Fraction(float(got)) - exact) <= Fraction(5001, 10_000) * Fraction(float(np.spacing(got)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges(dtype: type[np.floating]) -> None:
    """No number comes from NaN, and none but infinity from zero; what is subnormal counts as zero."""
    tiny, largest = np.finfo(dtype).tiny, np.finfo(dtype).max
    x = np.array([0.0, np.inf, tiny / 4, largest, tiny, 0.5 / tiny, 1.0], dtype)
    wanted = np.array([np.inf, 0.0, np.inf, 0.0, 1 / tiny, 2 * tiny, 1.0], dtype)
    every = np.concatenate([x, -x, [np.nan]]).astype(dtype)
    with np.errstate(all="ignore"):
        start = approximate_rcp(every)
    got = reciprocal(every, start)
    np.testing.assert_array_equal(got[:-1], np.concatenate([wanted, -wanted]))
    np.testing.assert_array_equal(np.signbit(got[:-1]), np.repeat([False, True], len(x)))
    assert np.isnan(got[-1])


def test_approximations_keep_their_bounds() -> None:
    """Those of the interpreter: wrong by half a unit to one in float32, by 2^-20 to 2^-17 in float64."""
    rng = np.random.default_rng(1)
    x = np.exp(rng.uniform(-80, 80, 10_000))
    single = x.astype(np.float32)
    exact = 1 / single.astype(np.float64)
    units = np.abs(approximate_rcp(single) - exact) / np.spacing(exact.astype(np.float32))
    assert units.min() >= 0.49 and units.max() <= 1
    relative = np.abs(approximate_rcp(x) * x - 1)
    assert relative.min() > 2.0**-20 and relative.max() < 2.0**-17
