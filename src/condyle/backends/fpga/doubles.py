"""The integer model as a Program in float64 that a target compiles, from a function's inputs to its outputs and flag.

A word is held as the double that equals its integer. Doubles are exact up to 2^53; pieces of products fit a DSP and
sums 33 bits, so nothing is rounded but by `floor`. Only what goes straight into a clamp may be larger: rounding keeps
the order of numbers, so the clamp answers the same. `operators.py` is the definition, and the tests hold this to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf, ldexp, pi, prod
from typing import NamedTuple, cast

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Datapath, Op, Word
from condyle.backends.fpga.evaluate import Run, largest
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.operators import PHASE, SEED_BITS, TWO_PI_INVERSE, angle_cut, splits
from condyle.backends.fpga.stream import entries
from condyle.backends.fpga.target import ADDER, A, B
from condyle.backends.fpga.tasks import Task
from condyle.errors import UnsupportedError
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, Program
from condyle.passes.pipeline import ALL, apply
from condyle.scalar import Scalar, cos, floor, maximum, minimum, number, reciprocal, rint, select, sin
from condyle.specification import Function, Port

EXACT = 2.0**53
"""Integers up to here are exact in float64."""
SMALL = 2.0**50
"""If one summand is beyond EXACT, another as small as this cannot bring the sum back into a word."""


FLAG = "flag"
"""This output is above zero if an input was outside the box or a signal was clamped. It is not finite if an input is
not finite or too large."""


class Signal(NamedTuple):
    """An integer, and a bound of its magnitude."""

    value: Scalar
    most: float


def whole(value: float) -> Signal:
    return Signal(number(float(value)), abs(float(value)))


def shifted(x: Signal, left: int) -> Signal:
    """x 2^left, rounded down."""
    scaled = x.value * ldexp(1.0, left)
    if left >= 0:
        return Signal(scaled, ldexp(x.most, left))
    return Signal(floor(scaled), ceil(ldexp(_exact(x).most, left)))


def summed(x: Signal, y: Signal, sign: int = 1) -> Signal:
    if x.most + y.most > EXACT and min(x.most, y.most) > SMALL:
        raise _too_wide(x.most + y.most)
    return Signal(x.value + y.value if sign > 0 else x.value - y.value, x.most + y.most)


def times(x: Signal, y: Signal) -> Signal:
    return _exact(Signal(x.value * y.value, x.most * y.most))


def _exact(x: Signal) -> Signal:
    if x.most > EXACT:
        raise _too_wide(x.most)
    return x


def _too_wide(most: float) -> UnsupportedError:
    return UnsupportedError(f"integers up to {most:.3g} are not exact in float64, so NumPy computes this word")


class Clamps:
    """Clamps. The sum of the squares of what they cut off is above zero if anything was clamped."""

    def __init__(self) -> None:
        self.taken: list[Scalar] = []

    def bounded(self, x: Signal, low: int, high: int) -> Signal:
        """x clamped to its bounds; x itself if it cannot exceed them."""
        if x.most <= min(-low, high):
            return x
        inside = minimum(maximum(x.value, float(low)), float(high))
        self.taken.append(x.value - inside)
        return Signal(inside, float(max(-low, high)))

    def clamped(self, x: Signal, format: Format) -> Signal:
        return self.bounded(x, -format.limit - 1, format.limit)

    def flag(self) -> Scalar:
        squares = number(0.0)
        for one in self.taken:
            squares = squares + one * one
        return squares


def silent(x: Signal, limit: int) -> Signal:
    """x clamped to +-limit, without a flag."""
    return Clamps().bounded(x, -limit, limit)


def add(
    x: Signal, y: Signal, formats: tuple[Format, Format], out: Format, sign: int, drop: int, clamps: Clamps
) -> Signal:
    a, b = (shifted(v, out.frac + drop - f.frac) for v, f in zip((x, y), formats, strict=True))
    return clamps.clamped(shifted(summed(a, b, sign), -drop), out)


def multiply(x: Signal, y: Signal, formats: tuple[Format, Format], factor: int, out: Format, clamps: Clamps) -> Signal:
    y = shifted(y, min(factor, formats[1].width) - formats[1].width)
    right = formats[0].frac + formats[1].narrowed(factor).frac - out.frac
    sums = [whole(0.0), whole(0.0)]
    first, second = splits(formats[0].width, factor)
    for i, (left, p) in enumerate(pieces(x, first)):
        for j, (above, r) in enumerate(pieces(y, second)):
            sums[(i + j) % 2] = summed(sums[(i + j) % 2], shifted(times(p, r), left + above - right))
    straight, across = clamps.clamped(sums[0], out), clamps.clamped(sums[1], Format(ADDER, 0))
    return clamps.clamped(summed(straight, across), out)


def pieces(x: Signal, place: int) -> list[tuple[int, Signal]]:
    """(place, piece), the upper first."""
    if place == 0:
        return [(0, x)]
    upper = shifted(x, -place)
    lower = Signal(x.value - upper.value * ldexp(1.0, place), ldexp(1.0, place) - 1.0)
    return [(place, upper), (0, lower)]


def cut(x: Signal, format: Format) -> tuple[Signal, Format]:
    """The upper bits that fit a DSP."""
    return shifted(x, min(A, format.width) - format.width), format.narrowed(A)


def sincos(x: Signal, format: Format) -> tuple[Signal, Signal]:
    """Sine and cosine; the tables' entries are rounded sines and cosines of the middle of a sector."""
    dropped, half = angle_cut(format), whole(1 << (A - 1))
    x = shifted(x, -dropped)
    if format.width - dropped > A:
        x = summed(pieces(summed(x, half), A)[1][1], half, -1)
    high, low = whole(TWO_PI_INVERSE >> 17), whole(TWO_PI_INVERSE & 0x1FFFF)
    right = format.frac - dropped + 36 - PHASE
    turns = summed(shifted(times(x, high), 17 - right), shifted(times(x, low), -right))
    _, (_, phase) = pieces(turns, PHASE)
    step = PHASE - SEED_BITS
    (_, index), (_, rest) = pieces(phase, step)
    delta = summed(rest, whole(1 << (step - 1)), -1)
    sine, cosine, slope, fall = (Signal(entry, 2.0**20) for entry in sincos_entries(index.value))
    s = summed(sine, shifted(times(delta, slope), -19))
    c = summed(cosine, shifted(times(delta, fall), -19), -1)
    limit = (1 << (B - 1)) - 1
    return silent(shifted(s, -2), limit), silent(shifted(c, -2), limit)


def sincos_entries(index: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """The entries of `operators.sincos_table`."""
    n = 1 << SEED_BITS
    angle = (index + 0.5) * (2.0 * pi / n)
    sine, cosine, shrink = sin(angle), cos(angle), 1.0 - (pi / n) ** 2 / 4.0
    values = [rint(x * (shrink * 2.0**19)) + 2.0 for x in (sine, cosine)]
    slopes = [rint(x * (2.0 * pi * 2.0**14)) for x in (cosine, sine)]
    return values[0], values[1], slopes[0], slopes[1]


def reciprocal_entry(m: Scalar) -> Scalar:
    """The entry of `operators.reciprocal_table` for m / 1024 in [1, 2), m whole."""
    return minimum(rint(reciprocal(m + 0.5) * 2.0 ** (17 + SEED_BITS)), 2.0**17 - 1.0)


def inverted(x: Signal, format: Format, out: Format, clamps: Clamps) -> Signal:
    """1 / x for x > 0; else the largest number, reported. The leading one is brought to its place by halves."""
    x, format = cut(x, format)
    good = x.value - 1.0
    m, scale = select(good, x.value, 1.0), number(1.0)
    for bits in (16, 8, 4, 2, 1):
        there = m - 2.0 ** (A - 1 - bits)
        m, scale = (select(there, v, v * 2.0**bits) for v in (m, scale))
    seed = Signal(reciprocal_entry(floor(m * 2.0 ** -(A - 2 - SEED_BITS))), 2.0**17)
    mantissa = Signal(m, 2.0 ** (A - 1))
    error = summed(whole(1 << 36), shifted(times(mantissa, seed), -6), -1)
    step = shifted(times(Signal(error.value, 2.0**28), seed), -27)
    refined = summed(shifted(seed, 9), step)
    # scale is 2^(25 - place)
    right = 26 - format.frac - out.frac + A - 2
    value = floor(refined.value * scale * ldexp(1.0, -right))
    result = clamps.clamped(Signal(value, inf), out)
    clamps.taken.append(minimum(good, 0.0))
    return Signal(select(good, result.value, float(out.limit)), float(out.limit + 1))


class Doubles:
    """Words as float64."""

    def __init__(self) -> None:
        self.clamps = Clamps()

    def constant(self, value: int) -> Signal:
        return whole(value)

    def array(self, path: Datapath, group: str, given: Mapping[Word, Signal]) -> dict[Word, Signal]:
        values: dict[int, Signal] = {}
        angles: dict[int, tuple[Signal, Signal]] = {}
        for k in sorted(path.cones[group]):
            op = path.ops[k]
            if op.kind == "input":
                values[k] = given[path.words[k]]
            elif op.kind == "sincos":
                angles[k] = sincos(values[op.args[0]], path.ops[op.args[0]].format)
            elif op.kind in ("sin", "cos"):
                values[k] = angles[op.args[0]][op.kind == "cos"]
            else:
                values[k] = self.result(op, [values[a] for a in op.args], [path.ops[a].format for a in op.args])
        return {word: values[k] for word, k in path.group(group)}

    def result(self, op: Op, args: Sequence[Signal], formats: Sequence[Format]) -> Signal:
        if op.kind == "const":
            return whole(op.value)
        if op.kind == "wire":
            return args[0]
        if op.kind == "rcp":
            return inverted(args[0], formats[0], op.format, self.clamps)
        pair = formats[0], formats[1]
        if op.kind == "mul":
            return multiply(args[0], args[1], pair, op.factor, op.format, self.clamps)
        return add(args[0], args[1], pair, op.format, 1 if op.kind == "add" else -1, op.drop, self.clamps)

    def again(self, x: Signal, was: Format, format: Format) -> Signal:
        return self.clamps.clamped(shifted(x, format.frac - was.frac), format)

    def either(self, x: Signal, y: Signal) -> Signal:
        return summed(x, y)

    def taken(self, x: Scalar, format: Format, most: int) -> Signal:
        """A real number as a word, to nearest and clamped; flagged if it is beyond the box, `most`."""
        nearest = Signal(rint(x * ldexp(1.0, format.frac)), inf)
        self.clamps.bounded(nearest, -most, most)
        return Clamps().clamped(nearest, format)


def program_of(plan: Plan, function: Function, sizes: Mapping[str, int]) -> Program:
    """inputs: q, v, ... in SI units, f_ext the last where it is taken, else it is zero; outputs: those of the function
    in SI units, dense, then FLAG. sizes: of dimensions. UnsupportedError where words are too wide for float64.
    """
    task, graph, arithmetic = plan.tasks[function.plain.name], Graph(), Doubles()
    ports = function.inputs
    numbers = {port.name: k for k, port in enumerate(ports)}
    given: dict[Word, Signal] = {}
    for word, format in plan.formats.items():
        if task.takes(word, plan.base):
            given[word] = whole(0.0)
            if word.name in numbers:
                x = cast(Scalar, graph.input(numbers[word.name], word.index))
                given[word] = arithmetic.taken(x, format, largest(plan, word))
    found = Run(plan, task, given, arithmetic).answer()
    reals = {
        word: _with_one_zero(graph, found[word].value * ldexp(1.0, -format.frac))
        for word, format in plan.results[task.function.name]
    }
    values = [
        (k, entry, reals[word])
        for k, port in enumerate(task.function.outputs)
        for word, entry in _placed(plan, task, port)
    ]
    values.append((len(task.function.outputs), 0, cast(Value, arithmetic.clamps.flag())))
    inputs, outputs = ([_array(port, sizes) for port in some] for some in (ports, task.function.outputs))
    return apply(graph.program(task.function.name, inputs, [*outputs, Array(FLAG, (1,))], values), ALL)


def _placed(plan: Plan, task: Task, port: Port) -> list[tuple[Word, int]]:
    """The words of an output and their entries in it; two entries for a word of a symmetric matrix."""
    words = [word for word, _ in plan.results[task.function.name] if word.name == task.words[port.name]]
    return [(word, entry) for word in words for entry in entries(word, plan.nv, port.symmetric)]


def _array(port: Port, sizes: Mapping[str, int]) -> Array:
    return Array(port.name, (prod(port.shape(sizes)),))


def _with_one_zero(graph: Graph, x: Scalar) -> Value:
    """x + 0, so that no result is -0.0; symbols would simplify it."""
    real = cast(Value, x)
    return graph.node(("add", graph.constant(0.0).index, real.index)) if isinstance(real, Expr) else real + 0.0
