"""The operators' promises: how far their integers are from the real thing."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.fpga.rtl import operators
from condyle.fpga.rtl.operators import Arrays
from condyle.fpga.rtl.target import A, B, Format, constant_format, product_dsp

RNG = np.random.default_rng(3)


SCALED = (Format(27, 23), Format(32, 28))
FIXED = (Format(32, 5), Format(32, 16), Format(32, 24), Format(32, 25), Format(28, 24), Format(29, 12), Format(32, 0))


@pytest.mark.parametrize("format", [*SCALED, *FIXED], ids=str)
def test_sine_and_cosine_are_within_1e_5_of_the_words_angle(format: Format) -> None:
    x = np.concatenate([RNG.uniform(-7.9, 7.9, 200_000), np.linspace(-np.pi, np.pi, 4097), [0.0, np.pi / 2, -np.pi]])
    n = format.from_real(x)
    sine, cosine = operators.sincos(Arrays(), n, format)
    angle = format.to_real(n)
    assert np.abs(sine / 2.0**17 - np.sin(angle)).max() < 1e-5
    assert np.abs(cosine / 2.0**17 - np.cos(angle)).max() < 1e-5


def test_sine_and_cosine_end_one_unit_below_one() -> None:
    """At quarters of a turn they are cut to what 18 bits hold, on both sides."""
    format = Format(27, 23)
    n = format.from_real(np.array([0.0, np.pi / 2, np.pi, -np.pi / 2]))
    sine, cosine = operators.sincos(Arrays(), n, format)
    end = 2**17 - 1
    assert [sine[1], sine[3], cosine[0], cosine[2]] == [end, -end, end, -end]
    assert np.abs([sine[0], sine[2], cosine[1], cosine[3]]).max() <= 1


@pytest.mark.parametrize("format", [Format(27, 20), Format(32, 12), Format(27, 30)])
def test_a_reciprocal_is_within_5e_7_and_a_step(format: Format) -> None:
    n = np.unique(np.concatenate([np.exp(RNG.uniform(np.log(2.0**12), np.log(format.limit), 50_000)), [format.limit]]))
    n = n.astype(np.int64)
    largest = 1.0 / format.to_real(n).min()
    out = constant_format(format.width, largest)
    ints = Arrays()
    result = ints.reciprocal(n, format, out)
    assert not ints.over.any()
    cut = 2.0 ** (max(0, format.width - A)) / n  # a wider word is cut to 27 bits first
    true = 1.0 / format.to_real(n)
    assert (np.abs(out.to_real(result) - true) <= true * (5e-7 + cut) + 2.0**-out.frac).all()


@pytest.mark.parametrize("x", [0, -1, -(2**26)])
def test_a_reciprocal_of_what_has_none_is_the_largest_and_said(x: int) -> None:
    ints = Arrays()
    result = ints.reciprocal(np.array([x]), Format(27, 20), Format(27, 10))
    assert result[0] == Format(27, 10).limit
    assert ints.over[0]


@pytest.mark.parametrize(("a", "b"), [(27, 18), (18, 18), (27, 27), (32, 18), (32, 27), (32, 32), (18, 27), (18, 32)])
def test_a_product_is_its_pieces_and_each_piece_is_one_dsp(a: int, b: int) -> None:
    first, second = operators.splits(a, b)
    pieces = [(wa, wb) for wa in _widths(a, first) for wb in _widths(b, second)]
    assert len(pieces) == product_dsp(a, b)
    assert all(max(piece) <= A and min(piece) <= B for piece in pieces)
    formats = (Format(a, a - 3), Format(b, b - 2))
    x, y = (RNG.integers(-f.limit - 1, f.limit, 5000) for f in formats)
    out = Format(max(a, b), max(a, b) - 4)
    ints = Arrays()
    got = operators.multiply(ints, (x, y), formats, b, out)
    exact = x.astype(object) * y.astype(object)
    shift = formats[0].frac + formats[1].frac - out.frac
    error = np.array([float(g - e / 2**shift) for g, e in zip(got.tolist(), exact.tolist(), strict=True)])
    assert not ints.over.any()
    assert (error <= 1e-9).all() and (error > -len(pieces) - 1e-9).all()


def _widths(width: int, place: int) -> list[int]:
    return [width] if place == 0 else [width - place, place + 1]


def test_a_sum_that_does_not_fit_is_clamped_and_said() -> None:
    format = Format(8, 0)
    x = np.array([100, -100, 100, -128])
    ints = Arrays()
    result = operators.add(ints, (x, x), (format, format), 1, format)
    assert result.tolist() == [127, -128, 127, -128]
    assert ints.over.tolist() == [True, True, True, True]
    assert operators.add(Arrays(), (x, x), (format, format), -1, format).tolist() == [0, 0, 0, 0]


def test_constants_use_all_their_bits() -> None:
    for value in [1e-6, 0.3, 0.999999999, 1.0, 37.5, -8191.7, 1e9]:
        format = constant_format(18, value)
        n = int(format.from_real(np.array([value]))[0])
        assert 2**16 <= abs(n) < 2**17
        assert abs(format.to_real(np.array([n]))[0] - value) <= abs(value) * 2.0**-17
