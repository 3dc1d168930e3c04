"""The integer model of a Datapath. The Verilog must give the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from condyle.backends.fpga import operators
from condyle.backends.fpga.datapath import Datapath, Op, Word
from condyle.backends.fpga.formats import Integers
from condyle.backends.fpga.operators import Flags, Result
from condyle.errors import CondyleError


class OverflowError(CondyleError, ArithmeticError):
    """A signal does not fit its format; the message names the operation and the format."""


class Outcome(NamedTuple):
    """The output words, (n,) each, and for each group and task whether a signal that it depends on was clamped."""

    words: dict[Word, Integers]
    over: dict[str, Flags]


def run(datapath: Datapath, inputs: Mapping[Word, Integers], strict: bool = False) -> Outcome:
    """All tasks at once. strict: OverflowError instead of clamping."""
    named = {k: inputs[word] for word, k in datapath.inputs}
    values: list[Integers] = []
    overs: list[Flags | None] = []
    for k, op in enumerate(datapath.ops):
        value, over = _result(datapath, op, values, named.get(k))
        if strict and over is not None and over.any():
            raise OverflowError(_complaint(datapath, k, values))
        values.append(value)
        overs.append(over if over is not None and over.any() else None)
    words = {word: values[k] for word, k in datapath.outputs}
    return Outcome(words, {name: _flag(datapath, name, overs, values) for name, _ in datapath.groups})


def _flag(datapath: Datapath, group: str, overs: list[Flags | None], values: list[Integers]) -> Flags:
    total = np.zeros(max((len(value) for value in values if value.ndim), default=1), np.bool_)
    for k in datapath.cones[group]:
        over = overs[k]
        total = total if over is None else total | over
    return total


def _result(
    datapath: Datapath, op: Op, values: list[Integers], given: Integers | None
) -> tuple[Integers, Flags | None]:
    formats = tuple(datapath.ops[a].format for a in op.args)
    args = tuple(values[a] for a in op.args)
    if op.kind in ("sin", "cos"):
        (angle,) = datapath.ops[op.args[0]].args
        return operators.sincos(values[angle], datapath.ops[angle].format)[op.kind == "cos"], None
    if given is not None:
        return given, None
    result: Result
    if op.kind in ("add", "sub"):
        sign = 1 if op.kind == "add" else -1
        result = operators.add(args[0], args[1], (formats[0], formats[1]), op.format, sign, op.drop)
    elif op.kind == "mul":
        result = operators.multiply(args[0], args[1], (formats[0], formats[1]), op.factor, op.format)
    elif op.kind == "rcp":
        result = operators.reciprocal(args[0], formats[0], op.format)
    else:
        return (args[0] if op.kind in ("wire", "sincos") else np.asarray(op.value, np.int64)), None
    return result


def _complaint(datapath: Datapath, k: int, values: list[Integers]) -> str:
    op = datapath.ops[k]
    return f"{datapath.name}: operation {k} ({op.kind}, stage {op.stage or '-'}) does not fit {op.format}"
