"""Random expressions and Programs, and their values in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.operations import EVEN, MEANING, ODD, OPERATIONS, TRACED, Operation

INPUTS = (Array("x", (3,)), Array("y", (2, 2)))
LEAVES = 7
ARITHMETIC = ("neg", "add", "sub", "mul", "rcp")
FUNCTIONS = [row.name for row in OPERATIONS.values() if row.source == TRACED and row.name not in ARITHMETIC]

# Steps of a random computation: an operation and where its operands stand in the list of values so far.
STEP = st.tuples(
    st.sampled_from(["add", "sub", "mul", "neg", "rcp", "constant", *FUNCTIONS]),
    st.integers(0, 1000),
    st.integers(0, 1000),
)
STEPS = st.lists(STEP, min_size=1, max_size=40)
POINTS = st.lists(st.integers(-9, 9).map(lambda n: Fraction(n, 4)), min_size=LEAVES, max_size=LEAVES)
CONSTANTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 4.0)  # what folds exactly


def _stand_in(number: int, row: Operation) -> Callable[..., Fraction]:
    """Exact on fractions, and another one for each operation: it keeps what simplification may use of a function, that
    it is odd or even in its first operand."""

    def function(a: Fraction, *others: Fraction) -> Fraction:
        square = a * a + number
        first = {ODD: a * square, EVEN: square}.get(row.parity, square + a)
        return first * (1 + sum(b * b for b in others))

    return function


EXACT: dict[str, Callable[..., Fraction]] = {
    **{row.name: _stand_in(k, row) for k, row in enumerate(OPERATIONS.values())},
    **{op: MEANING[op] for op in ("neg", "add", "sub", "mul", "fma", "fms", "fnma", "fnms")},  # type: ignore[dict-item]
    "rcp": lambda a: 1 / a,
    "abs": abs,
    "floor": lambda a: Fraction(math.floor(a)),
    "rint": lambda a: Fraction(round(a)),
    "min": min,
    "max": max,
    "select": lambda a, b, c: b if a >= 0 else c,
}
HUGE = 10**12  # larger numerators only cost time


def built(steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> tuple[Program, list[Fraction]]:
    """A Program whose outputs are all intermediate values, and those values computed directly at `point`."""
    graph = Graph()
    symbols: list[Expr | float] = [graph.input(0, k) for k in range(3)] + [graph.input(1, k) for k in range(4)]
    values = list(point)
    for op, i, j in steps:
        x, y = symbols[i % len(symbols)], symbols[j % len(symbols)]
        a, b = values[i % len(values)], values[j % len(values)]
        if op == "constant":
            constant = CONSTANTS[i % len(CONSTANTS)]
            symbol, value = constant, Fraction(constant)
        elif op in ("add", "sub", "mul"):
            symbol, value = {"add": x + y, "sub": x - y, "mul": x * y}[op], EXACT[op](a, b)
        elif not isinstance(x, Expr) or (op == "rcp" and a == 0):
            continue
        elif op in ("neg", "rcp"):
            symbol, value = -x if op == "neg" else 1.0 / x, EXACT[op](a)
        else:
            k = (i + j) % len(symbols)
            n = OPERATIONS[op].arity
            symbol = x.function(op, (x, y, symbols[k])[:n])
            value = EXACT[op](*(a, b, values[k])[:n])
        if max(abs(value.numerator), value.denominator) < HUGE:
            symbols.append(symbol)
            values.append(value)
    outputs = [(0, k, value) for k, value in enumerate(symbols)]
    return graph.program("p", INPUTS, (Array("out", (len(symbols),)),), outputs), values


def exactly(program: Program, point: Sequence[Fraction]) -> list[Fraction]:
    """The output entries of a Program in exact arithmetic."""
    values: list[Fraction] = []
    for node in program.nodes:
        if node[0] == "const":
            values.append(Fraction(node[1]))
        elif node[0] == "input":
            values.append(point[int(node[1]) * 3 + int(node[2])])
        else:
            values.append(EXACT[node[0]](*(values[int(k)] for k in node[1:])))
    result = [Fraction(0)] * program.arrays[0].size
    for output in program.outputs:
        result[output.index] = values[output.node]
    return result
