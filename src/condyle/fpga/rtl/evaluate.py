"""The integer model: which inputs are outside the box, an array, the whole accelerator pass by pass. The Verilog must
give the same bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, inf, ldexp, pi, prod
from typing import Generic, NamedTuple, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.fpga.rtl import accelerator, operators
from condyle.fpga.rtl.accelerator import BIAS, FLOATS, SOLVED, STAGE, STEP, TRIG, Leaf, Plan, Task
from condyle.fpga.rtl.datapath import Datapath, Word
from condyle.fpga.rtl.operators import SEED_BITS, Arithmetic, Arrays, Flags, Number, cut
from condyle.fpga.rtl.stream import entries
from condyle.fpga.rtl.target import A, Format, Integers
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, Program
from condyle.passes.pipeline import ALL, apply
from condyle.scalar import Scalar, cos, floor, maximum, minimum, number, reciprocal, rint, select, sin
from condyle.specification import Function


def largest(plan: Plan, word: Word) -> int:
    """The largest integer of a word inside the box; its negative is the smallest. Minv, and tau where the box says
    none, have no bound: they are outside where they stand at the end of their format, at which a host clamps them."""
    format = plan.formats[word]
    bound = plan.limits.get(word)
    inner = format.limit - 1
    return inner if bound is None else min(inner, int(np.ceil(np.ldexp(bound, format.frac))))


def outside(plan: Plan, task: Task, inputs: Mapping[Word, Integers]) -> Flags:
    """The tasks with an input word outside the box, of those that the function uses."""
    words = [word for word in plan.formats if task.takes(word, plan.base)]
    return np.any([np.abs(inputs[word]) > largest(plan, word) for word in words], axis=0)


def run(ints: Arithmetic[Number], path: Datapath, group: str, inputs: Mapping[Word, Number]) -> dict[Word, Number]:
    """The words of a group of outputs; only what they depend on is computed, and clamped."""
    values: dict[int, Number] = {}
    angles: dict[int, tuple[Number, Number]] = {}
    for k in sorted(path.cones[group]):
        op = path.ops[k]
        args, formats = [values[a] for a in op.args if a in values], [path.ops[a].format for a in op.args]
        if op.kind == "input":
            values[k] = inputs[path.words[k]]
        elif op.kind == "const":
            values[k] = ints.constant(op.value)
        elif op.kind == "wire":
            values[k] = args[0]
        elif op.kind == "sincos":
            angles[k] = operators.sincos(ints, args[0], formats[0])
        elif op.kind in ("sin", "cos"):
            values[k] = angles[op.args[0]][op.kind == "cos"]
        elif op.kind == "rcp":
            values[k] = ints.reciprocal(args[0], formats[0], op.format)
        elif op.kind == "mul":
            values[k] = operators.multiply(ints, args, formats, op.factor, op.format)
        else:
            values[k] = operators.add(ints, args, formats, 1 if op.kind == "add" else -1, op.format, op.drop)
    return {word: values[k] for word, k in path.group(group)}


class Answer(NamedTuple):
    """The words of the result, and its flag: a word of the task was outside the box, or a signal was clamped."""

    words: dict[Word, Integers]
    over: Flags


class Run(Generic[Number]):
    """Tasks of one function. inputs: their words."""

    def __init__(self, plan: Plan, task: Task, inputs: Mapping[Word, Number], ints: Arithmetic[Number]) -> None:
        self.plan, self.task, self.inputs, self.ints = plan, task, inputs, ints
        self.floats = ints.constant(not task.base_given)

    def answer(self) -> Mapping[Word, Number]:
        return self.step() if self.task.stages else self.passes()

    def zeros(self, *names: str) -> dict[Word, Number]:
        return {word: self.ints.constant(0) for word in self.plan.formats if word.name in names}

    def array(self, leaf: Leaf, inputs: Mapping[Word, Number]) -> dict[Word, Number]:
        return run(self.ints, self.plan.datapaths[leaf.array], leaf.group, inputs)

    def through(
        self, leaves: Iterable[Leaf], state: Mapping[Word, Number], computed: Mapping[Word, Number]
    ) -> dict[Word, Number]:
        """One pass: the words of its groups, from the task's state and from `computed`, or else from its inputs."""
        task = {**self.zeros("q", "v", "a", "f_ext"), **self.inputs, **state, FLOATS: self.floats}
        found = {**self.zeros("tau"), **self.inputs, **computed, **self.array(TRIG, task)}
        for leaf in leaves:
            made = self.array(leaf, found)
            if leaf == BIAS and self.task.solves:
                made = {Word("c", word.index): value for word, value in made.items()}
            found |= made
        return found

    def passes(self) -> Mapping[Word, Number]:
        first, *others = self.task.passes
        found = self.through(first, {}, {})
        for leaves in others:
            found = self.through(leaves, self._fed_back(found), found)
        return found

    def step(self) -> Mapping[Word, Number]:
        """An integration step: its sub-tasks one after the other."""
        plan, constant = self.plan, self.ints.constant
        fresh = {word: Word(accelerator.FRESH.get(word.name, word.name), word.index) for word in plan.course}
        words = {word: self.inputs.get(was, constant(0)) for word, was in fresh.items()}
        state = {word: word for word in plan.formats if word.name in ("q", "v")}
        for stage in self.task.stages:
            solved = self.through(self.task.passes[0][:-1], {word: words[was] for word, was in state.items()}, {})
            words |= {Word("k", word.index): solved[word] for word, _ in plan.datapaths["solve"].group(SOLVED.group)}
            words[Word("stage", 0)] = constant(stage)
            words |= {Word(name, 0): constant(one.values[stage]) for name, one in plan.weights.items()}
            if stage == self.task.stages[-1]:
                break
            words |= self.array(STAGE, words)
            words |= {
                w: words[Word(accelerator.AGAIN[w.name], w.index)] for w in plan.course if w.name in accelerator.AGAIN
            }
            state = {word: Word(f"n{word.name}", word.index) for word in state}
        return self.array(STEP, words)

    def _fed_back(self, solved: Mapping[Word, Number]) -> dict[Word, Number]:
        """a in the format in which it is fed back. For a given base, either its a or that of the joint is 0."""
        formats, ints = self.plan.datapaths["solve"].formats(SOLVED.group), self.ints
        result: dict[Word, Number] = {}
        for word in self.plan.takes("a"):
            format = self.plan.formats[word]
            again = ints.clamped(ints.shifted(solved[word], format.frac - formats[word].frac), format)
            result[word] = ints.sum(again, self.inputs[word]) if word in self.inputs else again
        return result


def evaluate(plan: Plan, function: str, inputs: Mapping[Word, Integers]) -> Answer:
    """All tasks (n,) of one function; `inputs` has its words in the plan's formats."""
    task, n = plan.tasks[function], max(len(value) for value in inputs.values())
    ints = Arrays(outside(plan, task, inputs))
    found = Run(plan, task, inputs, ints).answer()
    words = {word: np.broadcast_to(found[word], n) for word, _ in plan.results[function]}
    return Answer(words, np.broadcast_to(ints.over & plan.flags, n))


# The integer model as a Program in float64 that a target compiles, from a function's inputs to its outputs and flag.
#
# A word is held as the double that equals its integer. Doubles are exact up to 2^53; pieces of products fit a DSP and
# sums 33 bits, so nothing is rounded but by `floor`. Only what goes straight into a clamp may be larger: rounding keeps
# the order of numbers, so the clamp answers the same. The tests hold this arithmetic to the one of arrays.


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


def _exact(x: Signal, most: float) -> Signal:
    """The integer if this bound of it says that it is one of float64."""
    if most > EXACT:
        raise UnsupportedError(f"integers up to {most:.3g} are not exact in float64, so NumPy computes this word")
    return x


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


class Doubles:
    """An `Arithmetic`. The sum of the squares of what clamps cut off is above zero if anything was clamped."""

    def __init__(self) -> None:
        self.taken: list[Scalar] = []

    def constant(self, value: int) -> Signal:
        return Signal(number(float(value)), abs(float(value)))

    def shifted(self, x: Signal, left: int) -> Signal:
        scaled = x.value * ldexp(1.0, left)
        if left >= 0:
            return Signal(scaled, ldexp(x.most, left))
        return Signal(floor(scaled), ceil(ldexp(_exact(x, x.most).most, left)))

    def sum(self, x: Signal, y: Signal, sign: int = 1) -> Signal:
        most = x.most + y.most
        total = Signal(x.value + y.value if sign > 0 else x.value - y.value, most)
        return total if min(x.most, y.most) <= SMALL else _exact(total, most)

    def times(self, x: Signal, y: Signal) -> Signal:
        return _exact(Signal(x.value * y.value, x.most * y.most), x.most * y.most)

    def low(self, x: Signal, bits: int) -> Signal:
        upper = self.shifted(x, -bits)
        return Signal(x.value - upper.value * ldexp(1.0, bits), ldexp(1.0, bits) - 1.0)

    def bounded(self, x: Signal, low: int, high: int) -> Signal:
        """x clamped to its bounds; x itself if it cannot exceed them."""
        if x.most <= min(-low, high):
            return x
        inside = minimum(maximum(x.value, float(low)), float(high))
        self.taken.append(x.value - inside)
        return Signal(inside, float(max(-low, high)))

    def clamped(self, x: Signal, format: Format) -> Signal:
        return self.bounded(x, -format.limit - 1, format.limit)

    def silent(self, x: Signal, limit: int) -> Signal:
        return Doubles().bounded(x, -limit, limit)

    def sector(self, index: Signal) -> tuple[Signal, Signal, Signal, Signal]:
        sine, cosine, slope, fall = (Signal(entry, 2.0**20) for entry in sincos_entries(index.value))
        return sine, cosine, slope, fall

    def reciprocal(self, x: Signal, format: Format, out: Format) -> Signal:
        """The leading one is brought to its place by halves."""
        x, format = cut(self, x, format)
        good = x.value - 1.0
        m, scale = select(good, x.value, 1.0), number(1.0)
        for bits in (16, 8, 4, 2, 1):
            there = m - 2.0 ** (A - 1 - bits)
            m, scale = (select(there, v, v * 2.0**bits) for v in (m, scale))
        seed = Signal(reciprocal_entry(floor(m * 2.0 ** -(A - 2 - SEED_BITS))), 2.0**17)
        mantissa = Signal(m, 2.0 ** (A - 1))
        error = self.sum(self.constant(1 << 36), self.shifted(self.times(mantissa, seed), -6), -1)
        step = self.shifted(self.times(Signal(error.value, 2.0**28), seed), -27)
        refined = self.sum(self.shifted(seed, 9), step)
        # scale is 2^(25 - place)
        right = 26 - format.frac - out.frac + A - 2
        result = self.clamped(Signal(floor(refined.value * scale * ldexp(1.0, -right)), inf), out)
        self.taken.append(minimum(good, 0.0))
        return Signal(select(good, result.value, float(out.limit)), float(out.limit + 1))

    def taken_in(self, x: Scalar, format: Format, most: int) -> Signal:
        """A real number as a word, to nearest and clamped; flagged if it is beyond the box, `most`."""
        nearest = Signal(rint(x * ldexp(1.0, format.frac)), inf)
        self.bounded(nearest, -most, most)
        return Doubles().clamped(nearest, format)

    def flag(self) -> Scalar:
        squares = number(0.0)
        for one in self.taken:
            squares = squares + one * one
        return squares


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
            given[word] = arithmetic.constant(0)
            if word.name in numbers:
                x = cast(Scalar, graph.input(numbers[word.name], word.index))
                given[word] = arithmetic.taken_in(x, format, largest(plan, word))
    found = Run(plan, task, given, arithmetic).answer()
    reals = {
        word: _with_one_zero(graph, found[word].value * ldexp(1.0, -format.frac))
        for word, format in plan.results[task.function.name]
    }
    values = [
        (k, entry, reals[word])
        for k, port in enumerate(task.function.outputs)
        for word in reals
        if word.name == task.words[port.name]
        for entry in entries(word, plan.nv, port.symmetric)
    ]
    values.append((len(task.function.outputs), 0, cast(Value, arithmetic.flag())))
    both = ports, task.function.outputs
    inputs, outputs = ([Array(port.name, (prod(port.shape(sizes)),)) for port in some] for some in both)
    return apply(graph.program(task.function.name, inputs, [*outputs, Array(FLAG, (1,))], values), ALL)


def _with_one_zero(graph: Graph, x: Scalar) -> Value:
    """x + 0, so that no result is -0.0; symbols would simplify it."""
    real = cast(Value, x)
    return graph.node(("add", graph.constant(0.0).index, real.index)) if isinstance(real, Expr) else real + 0.0
