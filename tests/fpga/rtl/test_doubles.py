"""The operators in float64 are those in integers, on every bit; tables on every target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from condyle.fpga.rtl import evaluate, operators
from condyle.fpga.rtl.evaluate import EXACT, SMALL, Doubles, Signal
from condyle.fpga.rtl.operators import Arithmetic, Arrays, Number
from condyle.fpga.rtl.target import Format, Integers
from condyle.ir.expr import Graph, Value
from condyle.ir.interp import run
from condyle.ir.program import Array, Program
from condyle.passes.pipeline import ALL, apply
from condyle.scalar import Scalar
from tests.backends.targets import RUNNERS, SINGLE

RNG = np.random.default_rng(8)
N = 20_000
TABLES: dict[str, tuple[Callable[[Scalar], tuple[Scalar, ...]], tuple[Integers, ...], int]] = {
    "sincos": (evaluate.sincos_entries, operators.sincos_table(), 0),
    "reciprocal": (lambda m: (evaluate.reciprocal_entry(m),), (operators.reciprocal_table(),), 1024),
}


def recorded(count: int, made: Callable[[list[Scalar]], list[Scalar]]) -> Program:
    """made(inputs) -> outputs, as one Program."""
    graph = Graph()
    values = made([cast(Scalar, graph.input(0, k)) for k in range(count)])
    outputs = [(0, k, cast(Value, value)) for k, value in enumerate(values)]
    return apply(graph.program("p", (Array("x", (count,)),), (Array("y", (len(values),)),), outputs), ALL)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("target", [name for name in RUNNERS if name not in SINGLE])
def test_all_entries_of_a_table_are_the_integers(target: str, name: str) -> None:
    entries, want, first = TABLES[name]
    program = recorded(1, lambda x: list(entries(x[0])))
    got = RUNNERS[target](program, [np.arange(first, first + 1024, dtype=np.float64)[:, None]])
    for k, table in enumerate(want):
        np.testing.assert_array_equal(got[:, k], table)


def test_no_entry_of_a_table_is_near_a_tie() -> None:
    """Sines err by some 2^-52, so entries below 2^20 by 2^-32: a tie is farther away than 2^-16 from every one."""
    n = 1024
    angle = 2 * np.pi * (np.arange(n) + 0.5) / n
    shrink = 1.0 - (np.pi / n) ** 2 / 4.0
    every = [f(angle) * s for f in (np.sin, np.cos) for s in (shrink * 2.0**19, 2 * np.pi * 2.0**14)]
    every.append(2.0**17 / (1.0 + (np.arange(n) + 0.5) / n))
    fractions = np.abs(np.concatenate(every) % 1.0 - 0.5)
    assert fractions.min() > 2.0**-16


def numbers(format: Format) -> Integers:
    """All sizes, the ends of the word too."""
    size = 2.0 ** RNG.uniform(0, format.width - 1, N)
    x = np.rint(size * RNG.choice((-1.0, 1.0), N)).astype(np.int64)
    x[:6] = (0, 1, -1, format.limit, -format.limit - 1, -format.limit)
    return np.clip(x, -format.limit - 1, format.limit)


class Operator(Protocol):
    """An operator on words, in any arithmetic."""

    def __call__(self, ints: Arithmetic[Number], args: Sequence[Number], /) -> Sequence[Number]: ...


def check(inputs: Sequence[Integers], formats: Sequence[Format], operator: Operator) -> np.ndarray:
    """The same integers and flags, by the Program's own meaning. Returns which results were clamped."""

    def outputs(x: list[Scalar]) -> list[Scalar]:
        ints = Doubles()
        signals = [Signal(value, float(format.limit + 1)) for value, format in zip(x, formats, strict=True)]
        return [*(result.value for result in operator(ints, signals)), ints.flag()]

    arrays = Arrays()
    want = operator(arrays, inputs)
    (got,) = run(recorded(len(inputs), outputs), [np.stack(inputs, axis=1).astype(np.float64)])
    for k, values in enumerate(want):
        np.testing.assert_array_equal(got[:, k], values)
    np.testing.assert_array_equal(got[:, -1] > 0, arrays.over)
    return arrays.over


FACTORS = [(27, 18, 18), (27, 27, 18), (27, 27, 27), (32, 32, 32), (18, 18, 18), (32, 27, 18), (12, 9, 9)]


@pytest.mark.parametrize(("a", "b", "factor"), FACTORS)
@pytest.mark.parametrize("loss", [-6, 0, 9])
def test_products(a: int, b: int, factor: int, loss: int) -> None:
    """Results that fit, that are clamped, and that lose digits."""
    formats = Format(a, a - 3), Format(b, b - 2)
    out = Format(max(a, b), max(a, b) - 5 - loss)
    words = [numbers(format) for format in formats]
    over = check(words, formats, lambda ints, args: [operators.multiply(ints, args, formats, factor, out)])
    assert over.any() == (loss < 0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("fracs", "out", "drop"), [((20, 17), 18, 0), ((20, 25), 21, 2), ((16, 16), 16, 0)])
def test_sums(fracs: tuple[int, int], out: int, drop: int, sign: int) -> None:
    formats = Format(27, fracs[0]), Format(27, fracs[1])
    words = [numbers(format) for format in formats]
    over = check(words, formats, lambda ints, args: [operators.add(ints, args, formats, sign, Format(27, out), drop)])
    assert over.any() and not over.all()


@pytest.mark.parametrize("format", [Format(27, 20), Format(32, 12), Format(27, 30), Format(18, 10), Format(12, 5)])
def test_reciprocals(format: Format) -> None:
    x = numbers(format)
    for out in (Format(27, 10), Format(27, 24), Format(18, -4), Format(32, 40)):
        assert check([x], [format], lambda ints, args, out=out: [ints.reciprocal(args[0], format, out)]).any()


SCALED = (Format(27, 23), Format(32, 28), Format(18, 14))


@pytest.mark.parametrize("format", [*SCALED, Format(32, 16), Format(27, 3), Format(32, 5), Format(32, 25)])
def test_sines_and_cosines(format: Format) -> None:
    assert not check([numbers(format)], [format], lambda ints, args: operators.sincos(ints, args[0], format)).any()


def test_what_no_double_holds_is_refused() -> None:
    ints, wide = Doubles(), Signal(cast(Scalar, Graph().input(0, 0)), EXACT / 2)
    with pytest.raises(UnsupportedError, match="are not exact in float64"):
        ints.times(wide, wide)
    with pytest.raises(UnsupportedError, match="are not exact in float64"):
        ints.sum(ints.shifted(wide, 2), ints.shifted(wide, 2))


def test_what_a_double_holds_to_its_last_integer_is_exact() -> None:
    """2^53; beyond it a sum may only go into a clamp, with a summand too small to bring it back."""
    ints, x = Doubles(), cast(Scalar, Graph().input(0, 0))
    most, small, one = Signal(x, EXACT), Signal(x, SMALL), Signal(x, 1.0)
    assert ints.times(most, one).most == ints.shifted(most, -1).most * 2.0 == EXACT
    assert ints.sum(Signal(x, EXACT / 2), Signal(x, EXACT / 2)).most == EXACT
    assert ints.sum(most, small).most == ints.sum(small, most, -1).most == EXACT + SMALL
    for refused in (
        lambda: ints.times(most, Signal(x, 1.001)),
        lambda: ints.sum(most, Signal(x, SMALL + 1.0)),
        lambda: ints.shifted(Signal(x, EXACT + 2.0), -1),
    ):
        with pytest.raises(UnsupportedError, match=r"^integers up to .* are not exact in float64"):
            refused()
    assert ints.low(most, 5).most == 31.0 and ints.shifted(Signal(x, 5.0), -1).most == 3.0
    assert ints.shifted(Signal(x, 5.0), 2).most == 20.0 and ints.constant(-7).most == 7.0


def test_a_clamp_that_cannot_happen_is_left_out() -> None:
    ints, graph = Doubles(), Graph()
    x = Signal(cast(Scalar, graph.input(0, 0)), 100.0)
    assert ints.bounded(x, -100, 100) is x and not ints.taken
    assert ints.bounded(x, -99, 100) is not x and ints.taken
