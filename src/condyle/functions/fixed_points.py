"""Derivatives of what a repeated function arrives at: where x = f(x, p), dx = (1 - df/dx)^-1 (df/dp) dp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from condyle.derivatives import jacobian, vjp
from condyle.derivatives.composed import Composed
from condyle.errors import UnsupportedError
from condyle.functions.linear_systems import linear_system
from condyle.identity import digest
from condyle.specification import Function, Route, Ways

Flat = Sequence[Any]
MOST = 64
"""Entries of all fixed points together, whose linear system is solved."""


def implicit_vjp(function: Function, names: Iterable[str] | str) -> Function:
    """The derivatives of cotangents times the answers at a fixed point x = f(x, p), by every input: those by x are 0.

    names: outputs with the name of an input, which have arrived. It takes what `vjp` of the function takes, at x.
    UnsupportedError for other names.
    """
    arrived = (names,) if isinstance(names, str) else tuple(names)
    taken = {port.name for port in function.inputs}
    carried = [port.name for port in function.outputs if port.name in taken]
    if not arrived or len(set(arrived)) < len(arrived) or any(name not in carried for name in arrived):
        raise UnsupportedError(
            f"vjp('iterate', implicit={names!r}): give outputs with the name of an input, each once: "
            f"{', '.join(carried) or 'there is none'}"
        )
    rule = vjp(function)
    name = f"implicit_{'_'.join(arrived)}_{rule.name}"
    return Function(
        name,
        f"implicit_{rule.method}",
        f"{rule.equation}, at a fixed point",
        rule.inputs,
        rule.outputs,
        Ways(lambda: {"implicit": Route(Composed(partial(_record, function, arrived)), recorded=True)}),
        rule.numerics,
        needs=function.needs,
        call="vjp_iterate",
        content=digest(("implicit", arrived, function.key)),
    )


def _record(function: Function, arrived: tuple[str, ...], recording: Any, inputs: Mapping[str, Flat]) -> list[Flat]:
    """With A = df/dx and C = dg/dx of the other answers g: (1 - A^T) l = x_bar + C^T g_bar; then those of l, g_bar."""
    rule, arguments = vjp(function), [inputs[port.name] for port in function.inputs]
    bars = {
        output.name: list(inputs[port.name])
        for output, port in zip(function.outputs, rule.inputs[len(arguments) :], strict=True)
    }
    order = [port.name for port in function.inputs if port.name in arrived]
    pairs = [(output.name, by) for output in function.outputs for by in order]
    blocks = dict(zip(pairs, recording.call(jacobian(function, order), *arguments), strict=True))
    n = sum(len(bars[name]) for name in order)
    if n > MOST:
        raise UnsupportedError(f"vjp('iterate', implicit={arrived!r}): {n} entries; {MOST} are the most")
    right = [x for by in order for x in _pulled(blocks, bars, by, [name for name in bars if name not in order])]
    rows = [
        [x for by in order for x in _row(blocks[name, by], k, len(bars[by]))]
        for name in order
        for k in range(len(bars[name]))
    ]
    matrix = [(1.0 if i == j else 0.0) - x for i, row in enumerate(rows) for j, x in enumerate(row)]
    (solved,) = recording.call(linear_system("solve_transposed", n, 1), matrix, right)
    rest = iter(solved)
    moved = {name: [next(rest) for _ in bars[name]] for name in order}
    answers = recording.call(rule, *arguments, *(moved.get(name, bar) for name, bar in bars.items()))
    by_port = zip(function.inputs, answers, strict=True)
    return [[0.0] * len(answer) if port.name in arrived else answer for port, answer in by_port]


def _row(block: Flat, k: int, columns: int) -> Flat:
    return block[k * columns : (k + 1) * columns]


def _pulled(blocks: Mapping[tuple[str, str], Flat], bars: Mapping[str, Flat], by: str, others: Sequence[str]) -> Flat:
    """x_bar + C^T g_bar, of one x."""
    sums = list(bars[by])
    for name in others:
        for k, bar in enumerate(bars[name]):
            sums = [x + bar * y for x, y in zip(sums, _row(blocks[name, by], k, len(sums)), strict=True)]
    return sums
