"""Sine and cosine of generated PTX: accurate for every finite angle, whatever its size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from condyle.backends.cuda.launches import straight
from condyle.backends.cuda.trig import pi, quarter_turn, turns
from condyle.ir.program import Array, Output, Program
from tests.backends.cuda.simulate import made, robot, simulate

PROGRAM = Program(
    "trig",
    (Array("x", (1,)),),
    (Array("y", (2,)),),
    (("input", 0, 0), ("sin", 0), ("cos", 0)),
    (Output(0, 0, 1), Output(0, 1, 2)),
)


def angles(bits: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    kind = np.dtype(f"f{bits // 8}")
    small = rng.uniform(-10, 10, 2000)
    near = np.arange(-1000, 1000) * (np.pi / 2)
    wide = np.exp(rng.uniform(-30, np.log(np.finfo(kind).max), 2000)) * rng.choice([-1.0, 1.0], 2000)
    edges = [
        0.0,
        -0.0,
        1e5,
        -1e5,
        np.nextafter(kind.type(1e5), kind.type(np.inf)),
        np.finfo(kind).max,
        np.finfo(kind).tiny,
    ]
    return np.concatenate([small, near, wide, edges]).astype(kind)


def exact(x: float) -> tuple[float, float]:
    """Sine and cosine from the remainder by an exact quarter turn."""
    quarter = pi(1400) / 2
    turns = round(Fraction(x) / quarter)
    rest = float(Fraction(x) - turns * quarter)
    s, c = np.sin(rest), np.cos(rest)
    return ((s, c), (c, -s), (-s, -c), (-c, s))[turns % 4]


@pytest.mark.parametrize("bits", [32, 64])
def test_accuracy(bits: int) -> None:
    x = angles(bits)
    what = made(robot("iiwa14"), "id", bits)
    what = type(what)("trig", bits, PROGRAM.inputs, PROGRAM.arrays, (straight(PROGRAM, bits),))
    (got,) = simulate(what, [x[:, None]])
    want = np.array([exact(float(value)) for value in x])
    error = np.abs(got.astype(np.float64) - want)
    unit = np.finfo(x.dtype).eps
    near = np.abs(x) <= 1e5
    assert (error[near] / np.maximum(np.abs(want[near]), np.finfo(x.dtype).tiny)).max() <= 1.3 * unit  # relative
    assert error[~near].max() <= 2.5 * unit  # beyond, of 1: the reduced angle is rounded


def test_parts_of_pi() -> None:
    assert float(pi(200)) == np.pi
    for bits, tiny in ((32, 2.0**-72), (64, 2.0**-150)):
        parts = quarter_turn(bits)
        assert abs(sum(map(Fraction, parts)) - pi(256) / 2) < tiny
        assert all(np.dtype(f"f{bits // 8}").type(part) == part for part in parts)
    words = turns()
    bits = sum(Fraction(word, 1 << 64 * (k + 1)) for k, word in enumerate(words))
    assert abs(bits * (1 << 64) - 1 / (2 * pi(1400))) < Fraction(1, 1 << 64 * (len(words) - 1))
