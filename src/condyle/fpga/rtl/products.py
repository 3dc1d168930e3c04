"""The schedule module's Programs: M^-1 (tau - c), and -M^-1 times the derivatives of inverse dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from condyle.fpga.rtl.datapath import Word
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Note, Output, Program
from condyle.operations import Node

SHARED = "x"
"""The columns of a product share units."""


class _Sums(Graph):
    """Makes the nodes of a Program: input words and sums, without simplification."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        super().__init__()
        self.names = [array.name for array in arrays]

    def add_node(self, *node: object) -> int:
        return self.node(cast(Node, node)).index

    def word(self, word: Word) -> int:
        return self.add_node("input", self.names.index(word.name), word.index)

    def total(self, terms: Sequence[int]) -> int:
        """A sum as a balanced tree."""
        while len(terms) > 1:
            pairs = [self.add_node("add", *terms[k : k + 2]) for k in range(0, len(terms) - 1, 2)]
            terms = [*pairs, *terms[len(terms) - len(terms) % 2 :]]
        return terms[0]


def symmetric(word: Word, n: int) -> Word:
    """The entry of the upper triangle that equals this one."""
    i, j = divmod(word.index, n)
    return Word(word.name, min(i, j) * n + max(i, j))


def upper(words: Sequence[Word], n: int) -> list[Word]:
    """The entries of the upper triangle."""
    return [word for word in words if word.index // n <= word.index % n]


def solve(n: int, inverse: Sequence[Word]) -> Program:
    """a = Minv (tau - c), only the given entries of Minv not being zero."""
    arrays = (Array("tau", (n,)), Array("c", (n,)), Array("Minv", (n, n)))
    nodes = _Sums(arrays)
    net = [nodes.add_node("sub", nodes.word(Word("tau", k)), nodes.word(Word("c", k))) for k in range(n)]
    rows: list[list[int]] = [[] for _ in range(n)]
    for word in inverse:
        i, j = divmod(word.index, n)
        rows[i].append(nodes.add_node("mul", nodes.word(symmetric(word, n)), net[j]))
    outputs = [Output(0, k, nodes.total(row)) for k, row in enumerate(rows)]
    return Program("solve", arrays, (Array("a", (n,)),), tuple(nodes.nodes), tuple(outputs))


def derivatives(n: int, inverse: Sequence[Word], by: Sequence[Word], called: Mapping[str, str], keeps: bool) -> Program:
    """-Minv times the matrices `by`, with the names `called`, a stage for each column.

    keeps: whether the upper triangle of Minv is also an output.
    """
    names = tuple(called)
    arrays = (*(Array(name, (n, n)) for name in names), Array("Minv", (n, n)))
    results = (*(Array(name, (n, n)) for name in called.values()), *([Array("Minv", (n, n))] * keeps))
    nodes = _Sums(arrays)
    triangle = {word: nodes.word(word) for word in upper(inverse, n)}
    zero = nodes.add_node("const", 0.0)
    minus = {word: nodes.add_node("sub", zero, node) for word, node in triangle.items()}
    terms: dict[tuple[int, int], list[int]] = {}
    columns: dict[int, str] = {}
    for word in inverse:
        i, j = divmod(word.index, n)
        for right in by:
            row, column = divmod(right.index, n)
            if row == j:
                product = nodes.add_node("mul", minus[symmetric(word, n)], nodes.word(right))
                terms.setdefault((names.index(right.name), i * n + column), []).append(product)
                columns[product] = f"{SHARED}.{right.name}_{column}"
    outputs: list[Output] = []
    for (array, index), found in sorted(terms.items()):
        first = len(nodes.nodes)
        outputs.append(Output(array, index, nodes.total(found)))
        columns |= dict.fromkeys(range(first, len(nodes.nodes)), columns[found[0]])
    outputs += [Output(len(names), word.index, node) for word, node in triangle.items() if keeps]
    notes = tuple(Note(columns.get(k, "")) for k in range(len(nodes.nodes)))
    return Program("derivatives", arrays, results, tuple(nodes.nodes), tuple(outputs), notes=notes)
