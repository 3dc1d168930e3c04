"""Small Programs that use everything a target must do."""

from __future__ import annotations

import random

import numpy as np

from condyle import scalar
from condyle.ir.expr import Expr, Graph
from condyle.ir.interp import run
from condyle.ir.program import Array, Output, Program

BINARY = ("add", "sub", "mul", "fma", "fms", "fnma", "fnms")


def toy(name: str = "id", width: int = 5, side: int = 4) -> Program:
    """Two inputs, a dense symmetric output with zeros and constants, and a vector that passes an input through."""
    graph = Graph()
    q = [graph.input(0, k) for k in range(width)]
    v = [graph.input(1, k) for k in range(width)]
    trig = [(scalar.sin(x), scalar.cos(x)) for x in q]
    values: list[tuple[int, int, Expr | float]] = []
    for i in range(side):
        for j in range(i, side):
            s, c = trig[(i + j) % width]
            x: Expr | float = s * v[i % width] + c * 0.5 - 1.25
            if (i + j) % 3 == 2:
                x = 0.0
            if i == j == 0:
                x = 2.5
            values += [(0, i * side + j, x), (0, j * side + i, x)]
    for k in range(width):
        values.append((1, k, q[k] if k == 0 else 1.0 / (2.0 + v[k] * v[k])))
    values.append((1, width, scalar.sqrt(v[0] * v[0] + 1.0)))
    arrays = (Array("M", (side, side)), Array("tau", (width + 1,)))
    return graph.program(name, (Array("q", (width,)), Array("v", (width,))), arrays, dict_last(values))


def dict_last(values: list[tuple[int, int, Expr | float]]) -> list[tuple[int, int, Expr | float]]:
    """Each entry once."""
    return [(a, k, x) for (a, k), x in {(a, k): x for a, k, x in values}.items()]


def tangle(seed: int, operations: int = 300, width: int = 6) -> Program:
    """A random Program of bounded values with every operation, sines of sines among them."""
    rng = random.Random(seed)
    nodes: list[tuple[object, ...]] = [("input", a, k) for a in range(2) for k in range(width)]
    nodes += [("const", value) for value in (1.0, 0.3, -0.7, 0.9)]
    one, third = 2 * width, 2 * width + 1
    while len(nodes) < operations:
        pick = [rng.randrange(max(0, len(nodes) - 80), len(nodes)) for _ in range(3)]
        kind = rng.random()
        if kind < 0.2:
            nodes.append((rng.choice(("sin", "cos")), pick[0]))
        elif kind < 0.25:
            nodes.append(("neg", pick[0]))
        elif kind < 0.3:
            nodes.append(("fma", pick[0], pick[0], one))
            nodes.append(("rcp" if kind < 0.28 else "sqrt", len(nodes) - 1))
        else:
            op = rng.choice(BINARY)
            nodes.append((op, *pick[: 3 if op.startswith("f") else 2]))
            nodes.append(("mul", len(nodes) - 1, third))  # this and the sine keep rounding from growing
            nodes.append((rng.choice(("sin", "cos")), len(nodes) - 1))
    entries = rng.sample(range(30), 20)
    outputs = tuple(Output(0, entry, rng.randrange(len(nodes) // 2, len(nodes))) for entry in entries)
    inputs = (Array("q", (width,)), Array("v", (width,)))
    return Program("did", inputs, (Array("out", (5, 6)),), tuple(nodes), outputs)  # pyright: ignore


def states(program: Program, n: int, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2.0, 2.0, (n, array.size)).astype(dtype) for array in program.inputs]


def empty(program: Program, n: int, dtype: str = "float64") -> list[np.ndarray]:
    return [np.full((n, array.size), np.nan, dtype) for array in program.arrays]


def meaning(program: Program, inputs: list[np.ndarray], dtype: type = np.float64) -> list[np.ndarray]:
    """The answers of the interpreter, (n, size) each."""
    shaped = [x.reshape(len(x), *array.shape) for x, array in zip(inputs, program.inputs, strict=True)]
    return [y.reshape(len(y), -1) for y in run(program, shaped, dtype)]
