"""Functions written in NumPy, run on symbols and then as Programs: what they are compared with is themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from condyle.algorithms.linear_systems import Cholesky, Eliminated
from condyle.ir.expr import Graph
from condyle.ir.interp import run
from condyle.ir.program import Array, Program, verify
from condyle.symbolic import Symbols, entries_of
from condyle.symbolic.elementwise import as_objects


class Source:
    """A trace that keeps no products."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.shapes: list[tuple[int, ...]] = []

    def product(self, left: object, right: object) -> None:
        return None

    def linear(self, kind: str, *operands: Any) -> Any:
        rows = operands[0].tolist()
        if kind == "det":
            return as_objects(Eliminated(rows).determinant)
        made = Cholesky(rows) if kind != "solve" else Eliminated(rows)
        answer = made.L if kind == "cholesky" else [*zip(*map(made.solve, operands[1].T.tolist()), strict=True)]
        entries = np.empty(operands[-1].shape, object)
        entries[:] = answer
        return entries

    def input(self, shape: tuple[int, ...]) -> Symbols:
        entries = np.empty(shape, object)
        for k, index in enumerate(np.ndindex(shape)):
            entries[index] = self.graph.input(len(self.shapes), k)
        self.shapes.append(shape)
        entries.flags.writeable = False
        return Symbols(entries, self)


def traced(f: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> tuple[Program, tuple[int, ...]]:
    """The Program of a function with one array as answer, and the answer's shape."""
    source = Source()
    answer = entries_of(f(*map(source.input, shapes)), source)
    values = [(0, k, value) for k, value in enumerate(answer.flat)]
    inputs = [Array(f"x{k}", shape) for k, shape in enumerate(shapes)]
    return verify(source.graph.program("f", inputs, [Array("y", answer.shape)], values)), answer.shape


def check(f: Callable[..., Any], *batches: np.ndarray, rtol: float = 1e-13, atol: float = 1e-14) -> None:
    """The Program answers what the function does of numbers, state by state; batches: (n, ...) of each argument."""
    program, shape = traced(f, [batch.shape[1:] for batch in batches])
    with np.errstate(all="ignore"):
        (found,) = run(program, list(batches))
        expected = np.array([f(*state) for state in zip(*batches, strict=True)], np.float64)
    assert expected.shape[1:] == shape
    np.testing.assert_allclose(found, expected, rtol, atol)
