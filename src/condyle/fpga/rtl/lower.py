"""A Program in real numbers becomes a Datapath in integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from condyle.backends.common.chunks import reached
from condyle.backends.common.forms import refused
from condyle.fpga.rtl.datapath import Datapath, Incoming, Op, Word, folded
from condyle.fpga.rtl.operators import least_shift
from condyle.fpga.rtl.target import ADDER, B, Format, constant_format, format_for
from condyle.fpga.rtl.target import Word as Numbers
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import Node

TRIG_FORMAT = Format(B, B - 1)
"""Sines and cosines: 1 is the largest integer, 1 - 2^-17."""
SINCOS_ERROR, RECIPROCAL_ERROR = 1e-5, 5e-7
"""Of the operators; the first absolute, the second relative."""
LARGEST_NOISE = 2.0**-14
"""Worst cases grow without limit along a factorisation. Results must be more accurate than this anyway."""


@dataclass(frozen=True)
class Source:
    """A Program to be lowered, and the largest absolute value of each of its nodes.

    shared: matching nodes of isomorphic branches. scales: for their products with constants, the largest of these
    constants. whole: products whose factors are not cut.
    """

    program: Program
    largest: Sequence[float]
    shared: Sequence[tuple[int, ...]] = ()
    scales: Mapping[int, float] = field(default_factory=dict[int, float])
    whole: Collection[int] = ()


@dataclass
class Lowering:
    """One run. incoming: the input nodes with their words and formats."""

    source: Source
    numbers: Numbers
    incoming: Mapping[int, Incoming]
    rename: str = ""
    ops: list[Op] = field(default_factory=list[Op])
    inputs: list[tuple[Word, int]] = field(default_factory=list[tuple[Word, int]])
    done: dict[int, int] = field(default_factory=dict[int, int])
    noise: dict[int, float] = field(default_factory=dict[int, float])
    """For each node an estimate of its rounding error. Its range is at least that, even if its exact value is zero."""
    angles: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, op: Op) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def cone(self, roots: Sequence[int]) -> None:
        """Lowers the nodes that the roots need, in the Program's order."""
        nodes = self.source.program.nodes
        for k in sorted(reached(roots, lambda k: () if k in self.incoming else operands(nodes[k]))):
            at = self.done[k] = self._lowered(k, nodes[k])
            if at >= 0:
                _, upper, lower = self.source.program.note(k)
                self.ops[at] = replace(self.ops[at], noise=self.noise[k], upper=upper, lower=lower)

    def finish(self, k: int) -> None:
        """A constant that is an output needs its own word."""
        if self._is_constant(k):
            value = constant_of(self.source.program.nodes[k])
            self.done[k] = self._constant(value, format_for(self.numbers, abs(value)))

    def _lowered(self, k: int, node: Node) -> int:
        if k in self.incoming:
            incoming = self.incoming[k]
            self.inputs.append((incoming.word, len(self.ops)))
            self.noise[k] = max(incoming.noise, math.ldexp(1.0, -incoming.format.frac))
            return self.add(Op("input", incoming.format))
        if node[0] == "const":
            self.noise[k] = 0.0
            return -1  # made again at each use, in the format for that use
        if node[0] not in OPERATIONS:
            raise refused("target fpga", [node[0]], OPERATIONS)
        return OPERATIONS[node[0]](self, k, node)

    def stage(self, k: int) -> str:
        stage = self.source.program.note(k).stage
        return self.rename + stage[1:] if self.rename else stage

    def _constant(self, value: float, format: Format) -> int:
        return self.add(
            Op("const", format, value=max(-format.limit - 1, min(format.limit, round(math.ldexp(value, format.frac)))))
        )

    def _reach(self, k: int) -> float:
        return max(self.source.largest[k], self.noise[k])

    def _ideal(self, k: int, noise: float) -> Format:
        """The format for a node's range, with its rounding error."""
        if self.numbers.frac is not None:  # a saturating word has an error of at most its own range
            noise = min(noise, math.ldexp(1.0, self.numbers.data - self.numbers.frac))
        self.noise[k] = noise
        return format_for(self.numbers, self._reach(k))

    def _bounded(self, k: int, nodes: tuple[int, ...], noise: float, scale: float) -> Format:
        """The format of a product: its rounding error is small against it, unless a factor is only rounding error."""
        only_noise = any(self.source.largest[x] < self.noise[x] for x in nodes)
        return self._ideal(k, min(noise, scale if only_noise else scale * LARGEST_NOISE))

    def _is_constant(self, k: int) -> bool:
        return self.source.program.nodes[k][0] == "const"

    def negated(self, k: int, node: Node) -> int:
        (x,) = operands(node)
        format = self.ops[self.done[x]].format
        format = Format(max(format.width, self.numbers.data), format.frac)
        self.noise[k] = self.noise[x]
        return self.add(Op("sub", format, (self._constant(0.0, format), self.done[x]), self.stage(k)))

    def sum(self, k: int, node: Node) -> int:
        a, b = operands(node)
        known = [self.ops[self.done[x]].format for x in (a, b) if not self._is_constant(x)]
        ideal = self._ideal(k, self.noise[a] + self.noise[b])
        widest = min(format.frac + max(0, ADDER - 1 - format.width) for format in known)
        format = Format(ideal.width, min(ideal.frac, max(format.frac for format in known), widest))
        self.noise[k] += 2.0 * math.ldexp(1.0, -format.frac)
        args = tuple(
            self._constant(constant_of(self.source.program.nodes[x]), format) if self._is_constant(x) else self.done[x]
            for x in (a, b)
        )
        return self.add(Op(str(node[0]), format, args, self.stage(k)))

    def product(self, k: int, node: Node) -> int:
        a, b = operands(node)
        if self._is_constant(a):
            return self._scaled(k, constant_of(self.source.program.nodes[a]), b)
        x, y = self.done[a], self.done[b]
        if self.ops[x].format.width < self.ops[y].format.width or self._fills(a) > self._fills(b):
            x, y = y, x
        if y == self.done[a]:
            a, b = b, a
        width = self.ops[y].format.width
        return self._product(k, (x, y), (a, b), width if k in self.source.whole else min(width, self.numbers.factor))

    def _fills(self, k: int) -> float:
        """How much of its format a signal uses. The fuller one loses less when it is cut."""
        format = self.ops[self.done[k]].format
        return math.ldexp(self.source.largest[k], format.frac - format.width) if format.width > B else -1.0

    def _product(self, k: int, args: tuple[int, int], nodes: tuple[int, int], factor: int) -> int:
        """Second factor cut to `factor` bits; the format is that of its range, within the bits that the product has."""
        first, second = (self.ops[x].format for x in args)
        cut = second.narrowed(factor)
        a, b = nodes
        loss = self.noise[b] + math.ldexp(1.0, -cut.frac)
        noise = self._reach(a) * loss + self.noise[a] * (self._reach(b) + loss)
        ideal = self._bounded(k, nodes, noise, self._reach(a) * self._reach(b))
        exact = first.frac + cut.frac - least_shift(first.width, factor)
        format = ideal if self.numbers.frac is not None else Format(ideal.width, min(ideal.frac, exact))
        self.noise[k] += 2.0 * math.ldexp(1.0, -format.frac)
        return self.add(Op("mul", format, args, self.stage(k), factor=factor))

    def _scaled(self, k: int, value: float, b: int) -> int:
        x = self.done[b]
        mantissa, exponent = math.frexp(value)
        if abs(mantissa) == 0.5 and self.numbers.frac is None:
            was = self.ops[x].format
            self.noise[k] = self.noise[b] * value
            return self.add(Op("wire", Format(was.width, was.frac - (exponent - 1)), (x,), self.stage(k)))
        width = self.numbers.constant
        y = self._constant(value, constant_format(width, self.source.scales.get(k, value)))
        return self._product(k, (x, y), (b, operands(self.source.program.nodes[k])[0]), width)

    def reciprocal(self, k: int, node: Node) -> int:
        (x,) = operands(node)
        largest = self.source.largest[k]
        format = self._bounded(k, (x,), largest * (largest * self.noise[x] + RECIPROCAL_ERROR), largest)
        return self.add(Op("rcp", format, (self.done[x],), self.stage(k)))

    def sine(self, k: int, node: Node) -> int:
        (x,) = operands(node)
        self.noise[k] = self.noise[x] + SINCOS_ERROR
        if x not in self.angles:
            self.angles[x] = self.add(Op("sincos", TRIG_FORMAT, (self.done[x],), self.stage(k)))
        return self.add(Op(str(node[0]), TRIG_FORMAT, (self.angles[x],), self.stage(k)))


OPERATIONS: dict[str, Callable[[Lowering, int, Node], int]] = {
    "neg": Lowering.negated,
    "add": Lowering.sum,
    "sub": Lowering.sum,
    "mul": Lowering.product,
    "rcp": Lowering.reciprocal,
    "sin": Lowering.sine,
    "cos": Lowering.sine,
}
"""A row for each operation. Square roots, comparisons, exponentials and atan2 have no operators in hardware."""


def input_word(program: Program, node: Node) -> Word:
    array, entry = input_of(node)
    return Word(program.inputs[array].name, entry)


def lower(
    name: str,
    source: Source,
    numbers: Numbers,
    incoming: Mapping[int, Incoming],
    groups: Sequence[tuple[str, Sequence[tuple[Word, int]]]],
    rename: str = "",
) -> Datapath:
    """The Datapath whose groups of outputs are the given nodes of the Program, from the nodes of `incoming`."""
    lowering = Lowering(source, numbers, incoming, rename)
    lowering.cone([node for _, pairs in groups for _, node in pairs])
    for k in {node for _, pairs in groups for _, node in pairs}:
        lowering.finish(k)
    done = lowering.done
    return Datapath(
        name,
        tuple(lowering.ops),
        tuple(lowering.inputs),
        tuple((group, tuple((word, done[node]) for word, node in pairs)) for group, pairs in groups),
        folded(lowering.ops, done, source.shared),
    )
