"""A function repeated over time inside another one: a loop where the code has loops, else written out.

Both keep the answers of a state from the step on at which `until` is above 0, so that they are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, Program, verify
from condyle.passes import pipeline
from condyle.scalar import Scalar, number, select
from condyle.specification import Function, Repeat

Values: TypeAlias = Sequence[Value]
Compute: TypeAlias = Callable[[Function, Sequence[Values]], Sequence[Values]]
"""(function, arguments) -> its answers, each flat, on scalars of any kind."""


@dataclass(frozen=True, eq=False)
class KeptIteration:
    """An iteration that stays one in a graph of symbols.

    body, most, until: see `condyle.ir.segments.Iteration`. starts, held: the values of its inputs in the graph. port:
    of its first answer; first: the node of that answer's first entry, behind which all entries stand.
    """

    body: Program
    most: int
    until: int
    starts: tuple[tuple[Value, ...], ...]
    held: tuple[tuple[Value, ...], ...]
    port: int
    first: int

    @property
    def end(self) -> int:
        """Behind the node of its last entry."""
        return self.first + sum(array.size for array in self.body.arrays)

    @property
    def reads(self) -> list[int]:
        """The nodes of what it begins with and of what it holds."""
        return [x.index for part in (*self.starts, *self.held) for x in part if isinstance(x, Expr)]


def check_inside(function: Function) -> Repeat:
    """How a function is repeated; UnsupportedError for what cannot be inside another function."""
    repeat = function.repeat
    assert repeat is not None
    if repeat.backwards or repeat.every or repeat.by_time or repeat.summed or repeat.together:
        raise UnsupportedError(
            f"{function}: inside another function a loop over time has the answers of its last step alone, and no "
            "derivative but that by a rule"
        )
    return repeat


def written_out(function: Function, arguments: Sequence[Values], compute: Compute) -> list[Values]:
    """The answers, all steps one after the other; numbers end where all states are done."""
    repeat = check_inside(function)
    names = [port.name for port in repeat.function.inputs]
    outputs = [port.name for port in repeat.function.outputs]
    carried = [names.index(name) if name in names else -1 for name in outputs]
    arguments = list(arguments)
    answers: list[Values] = []
    count: Value = 0.0
    for step in range(repeat.steps):
        before, answers = answers, list(compute(repeat.function, arguments))
        if repeat.until and step:
            going = before[outputs.index(repeat.until)][0]
            answers = [_kept(going, *pair) for pair in zip(before, answers, strict=True)]
            count = cast(Value, count + select(cast(Scalar, _done(going)), 0.0, 1.0))  # pyright: ignore[reportOperatorIssue]
        elif repeat.until:
            count = 1.0
        for k, port in enumerate(carried):
            if port >= 0:
                arguments[port] = answers[k]
        ends: Any = answers[outputs.index(repeat.until)][0] if repeat.until else None
        if isinstance(ends, Expr) and step + 1 == repeat.straight:
            break
        if not isinstance(ends, (Expr, type(None))) and np.all(np.asarray(ends) > 0.0):
            break
    return [*answers, [count]] if repeat.until else answers


def kept(
    function: Function, arguments: Sequence[Values], sizes: Mapping[str, int], compute: Compute, port: int, first: int
) -> KeptIteration:
    """The iteration of a function. sizes: entries of its outputs. port, first: see `KeptIteration`; the port names its
    arrays. Numbers among what is held stay numbers.
    """
    repeat = check_inside(function)
    names = [taken.name for taken in repeat.function.inputs]
    outputs = [answer.name for answer in repeat.function.outputs]
    graph, arrays, starts = Graph(), list[Array](), list[tuple[Value, ...]]()
    for name in outputs:
        arrays.append(Array(f"loop {port} {name}", (sizes[name],)))
        begins = arguments[names.index(name)] if name in names else (0.0,) * sizes[name]
        starts.append(tuple(begins))
    if repeat.until:
        arrays.append(Array(f"loop {port} count", (1,)))
        starts.append((0.0,))
    before = [[graph.input(k, entry) for entry in range(array.size)] for k, array in enumerate(arrays)]
    held, values_of = list[tuple[Value, ...]](), list[Values]()
    inputs = list(arrays)
    for name, values in zip(names, arguments, strict=True):
        if name in outputs:
            values_of.append(before[outputs.index(name)])
            continue
        symbols = dict.fromkeys(x.index for x in values if isinstance(x, Expr))
        place = {node: graph.input(len(inputs), k) for k, node in enumerate(symbols)}
        values_of.append([place[x.index] if isinstance(x, Expr) else x for x in values])
        if symbols:
            inputs.append(Array(f"held {port} {name}", (len(symbols),)))
            held.append(tuple({x.index: x for x in values if isinstance(x, Expr)}.values()))
    answers = [list(part) for part in compute(repeat.function, values_of)]
    if repeat.until:
        done = before[outputs.index(repeat.until)][0]
        count = before[-1][0] + select(cast(Scalar, _done(done)), 0.0, 1.0)
        answers = [list(_kept(done, *pair)) for pair in zip(before, answers, strict=False)]
        answers.append([cast(Value, count)])
    values = [(k, entry, value) for k, answer in enumerate(answers) for entry, value in enumerate(answer)]
    body = graph.program(f"{function.name}_{port}", inputs, arrays, values)
    body = pipeline.apply(verify(body), pipeline.CLEAN)
    until = outputs.index(repeat.until) if repeat.until else -1
    return KeptIteration(body, repeat.steps, until, tuple(starts), tuple(held), port, first)


def _done(flag: Value) -> Value:
    """1 where a flag is above 0, else -1, and so where it is NaN."""
    x = cast(Scalar, flag)
    return cast(Value, select(x, select(-x, -1.0, 1.0), -1.0))


def _kept(flag: Value, before: Values, after: Values) -> Values:
    """What was there where the flag is above 0, else what is new."""
    done = cast(Scalar, _done(flag))
    pairs = zip(before, after, strict=True)
    return [cast(Value, select(done, number(cast(Any, x)), number(cast(Any, y)))) for x, y in pairs]
