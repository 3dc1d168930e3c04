"""The whole accelerator's integers as one Program in float64: from a function's inputs to its outputs and its flag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, ldexp, prod
from typing import cast

from condyle.backends.fpga import doubles
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Datapath, Op, Word
from condyle.backends.fpga.doubles import Clamps, Signal, shifted, summed, whole
from condyle.backends.fpga.evaluate import Run, largest
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.stream import entries
from condyle.backends.fpga.tasks import Task
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, Program
from condyle.passes.pipeline import ALL, apply
from condyle.scalar import Scalar, rint
from condyle.specification import Port

FLAG = "flag"
"""This output is above zero if an input was outside the box or a signal was clamped. It is not finite if an input is
not finite or too large."""


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
                angles[k] = doubles.sincos(values[op.args[0]], path.ops[op.args[0]].format)
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
            return doubles.inverted(args[0], formats[0], op.format, self.clamps)
        pair = formats[0], formats[1]
        if op.kind == "mul":
            return doubles.multiply(args[0], args[1], pair, op.factor, op.format, self.clamps)
        return doubles.add(args[0], args[1], pair, op.format, 1 if op.kind == "add" else -1, op.drop, self.clamps)

    def again(self, x: Signal, was: Format, format: Format) -> Signal:
        return self.clamps.clamped(shifted(x, format.frac - was.frac), format)

    def either(self, x: Signal, y: Signal) -> Signal:
        return summed(x, y)

    def taken(self, x: Scalar, format: Format, most: int) -> Signal:
        """A real number as a word, to nearest and clamped; flagged if it is beyond the box, `most`."""
        nearest = Signal(rint(x * ldexp(1.0, format.frac)), inf)
        self.clamps.bounded(nearest, -most, most)
        return Clamps().clamped(nearest, format)


def program_of(plan: Plan, function: str, f_ext: bool, sizes: Mapping[str, int]) -> Program:
    """inputs: q, v, ... in SI units, f_ext the last where it is given, else it is zero; outputs: those of the function
    in SI units, dense, then FLAG. sizes: of dimensions. UnsupportedError where words are too wide for float64.
    """
    task, graph, arithmetic = plan.tasks[function], Graph(), Doubles()
    ports = task.function.ports(f_ext)
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
        for word, format in plan.results[function]
    }
    values = [
        (k, entry, reals[word])
        for k, port in enumerate(task.function.outputs)
        for word, entry in _placed(plan, task, port)
    ]
    values.append((len(task.function.outputs), 0, cast(Value, arithmetic.clamps.flag())))
    inputs, outputs = ([_array(port, sizes) for port in some] for some in (ports, task.function.outputs))
    return apply(graph.program(function, inputs, [*outputs, Array(FLAG, (1,))], values), ALL)


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
