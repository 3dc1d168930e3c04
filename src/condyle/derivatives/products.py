"""Large products in a graph of symbols: each stays one operation, whose entries are leaves of their own. So do loops.

On the left stands what is the same for all states, if one of the two can be: numbers, else an input's matrix. So its
factors are read once for many states: x W is computed as (W' x')'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.derivatives.iterations import Compute, KeptIteration, kept
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import Array, input_of, operands
from condyle.scalar import matrix_product
from condyle.specification import Function

LEAST = 1024
"""Products of two entries from which on a product of matrices is an operation: see decision 0045."""

SHARED = 2
"""So many times fewer are enough where all states can share the left factors: see decision 0061."""

Entries: TypeAlias = "NDArray[np.object_]"
"""Symbols and numbers."""


@dataclass(frozen=True, eq=False)
class LargeProduct:
    """A product left right. first: the node of its first entry; they stand side by side, row major."""

    left: Entries
    right: Entries
    port: int
    first: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), self.right.shape[1]

    @property
    def end(self) -> int:
        """Behind the node of its last entry."""
        return self.first + len(self.left) * self.right.shape[1]

    @property
    def reads(self) -> list[int]:
        """The nodes of its factors."""
        return [x.index for part in (self.left, self.right) for x in entries(part) if isinstance(x, Expr)]


class ProductGraph(Graph):
    """The nodes of one function of arrays, with the large products that were met; least: see LEAST."""

    def __init__(self, inputs: Sequence[Array], least: int = LEAST) -> None:
        super().__init__()
        self.inputs, self.least = tuple(inputs), least
        self._blocks: list[LargeProduct | KeptIteration] = []
        """By port behind those of the inputs."""
        self._port_of: dict[object, int] = {}

    def symbols(self) -> Mapping[str, Entries]:
        """An array of symbols for every input, by name."""
        return {array.name: self._leaves(k, array.shape) for k, array in enumerate(self.inputs)}

    def product(self, left: Entries, right: Entries) -> Entries | None:
        """The m x n result of a product that is recorded, numbers where no terms are; None for one that is small."""
        mine, other = self._rank(left), self._rank(right)
        least = self.least if mine == other else self.least // SHARED
        if size_of(left, right) < max(least, 1):
            return None
        if other > mine:
            return np.transpose(self._recorded(np.transpose(right), np.transpose(left)))
        return self._recorded(left, right)

    def _recorded(self, left: Entries, right: Entries) -> Entries:
        """Of equal factors the same one."""
        factors = [(x.index, 0.0) if isinstance(x, Expr) else (-1, x) for part in (left, right) for x in entries(part)]
        key = (left.shape, right.shape, *factors)
        if key not in self._port_of:
            self._port_of[key] = len(self.inputs) + len(self._blocks)
            self._blocks.append(LargeProduct(left, right, self._port_of[key], len(self.nodes)))
        leaves = self._leaves(self._port_of[key], (len(left), right.shape[1]))
        return np.where(_terms(left, right) > 0, leaves, 0.0)

    def _leaves(self, port: int, shape: tuple[int, ...]) -> Entries:
        leaves = np.empty(shape, dtype=object)
        leaves.ravel()[:] = [self.input(port, k) for k in range(leaves.size)]
        return leaves

    def iterated(
        self, function: Function, arguments: Sequence[Sequence[Value]], sizes: Mapping[str, int], compute: Compute
    ) -> list[list[Value]]:
        """The answers of a function repeated over time, which stays a loop; see `iterations.kept`."""
        port = len(self.inputs) + len(self._blocks)
        block = kept(function, arguments, sizes, compute, port, len(self.nodes))
        self._blocks += [block] * len(block.body.arrays)
        return [entries(self._leaves(port + k, array.shape)) for k, array in enumerate(block.body.arrays)]

    def blocks(self, answers: Iterable[Value]) -> list[LargeProduct | KeptIteration]:
        """The products and loops that these values depend on, in the order of the trace."""
        needed = set(self.needed(answers))
        return [block for block in dict.fromkeys(self._blocks) if block.first in needed]

    def _rank(self, operand: Entries) -> int:
        """How surely it is the same for all states: numbers are, a matrix in an input may be, others are not."""
        found = entries(operand)
        if not any(isinstance(x, Expr) for x in found):
            return 2
        ports = {self._input(x) for x in found}
        return int(len(ports) == 1 and -1 not in ports and min(operand.shape) > 1)

    def _input(self, x: Value) -> int:
        """The input that it is an entry of, or -1."""
        node = self.nodes[x.index] if isinstance(x, Expr) else ("const", 0.0)
        port = input_of(node)[0] if node[0] == "input" else -1
        return port if port < len(self.inputs) else -1

    def held(self, products: Iterable[LargeProduct]) -> frozenset[str]:
        """Inputs that stand on the left of these as matrices, with what is none on the right."""
        shared = [one for one in products if self._rank(one.left) == 1 and self._rank(one.right) == 0]
        return frozenset(self.inputs[self._input(entries(one.left)[0])].name for one in shared)

    def block_of(self, node: int) -> LargeProduct | KeptIteration | None:
        """The product, or the loop, whose entry a leaf is; None for other nodes."""
        if self.nodes[node][0] != "input":
            return None
        number = input_of(self.nodes[node])[0] - len(self.inputs)
        return self._blocks[number] if number >= 0 else None

    def used(self, node: int) -> Sequence[int]:
        """The nodes that a node depends on at once: a block's entries on their first, and that on what it reads."""
        block = self.block_of(node)
        if block is None:
            return operands(self.nodes[node])
        return block.reads if node == block.first else (block.first,)

    def needed(self, values: Iterable[Value]) -> list[int]:
        """All nodes that these depend on, ascending; of a block every entry."""
        return needed(values, self.used, self.block_of)


class Block(Protocol):
    """What stands closed in a graph, a call or a product: its answers are the nodes first .. end - 1."""

    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...


def needed(
    values: Iterable[Value], used: Callable[[int], Sequence[int]], block_of: Callable[[int], Block | None]
) -> list[int]:
    """All nodes that these depend on, ascending. used: what a node depends on at once. block_of: of a leaf."""
    found, waiting = set[int](), [value.index for value in values if isinstance(value, Expr)]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += used(node)
            block = block_of(node)
            if block is not None and node == block.first:
                waiting += range(block.first, block.end)
    return sorted(found)


class Keeps(Protocol):
    """What may keep a product of matrices of symbols as one operation."""

    def product(self, left: Entries, right: Entries) -> Entries | None:
        """Its entries, or None where it shall be sums of products."""
        ...


def multiplied(keeper: Keeps, left: Entries, right: Entries) -> Entries:
    """The product of two matrices, kept as one operation where it is large, else sums of products."""
    kept = keeper.product(left, right)
    return written_out(left, right) if kept is None else kept


def written_out(left: Entries, right: Entries) -> Entries:
    """The product of two matrices as sums of products."""
    rows = matrix_product(left.tolist(), np.transpose(right).tolist())
    return shaped([cast(Value, x) for row in rows for x in row], (len(left), right.shape[1]))


def size_of(left: Entries, right: Entries) -> int:
    """Products of two entries that can differ from zero."""
    return int(_terms(left, right).sum())


def shaped(values: Sequence[Value], shape: tuple[int, ...]) -> Entries:
    """An array of these entries, which may be arrays of numbers themselves."""
    made = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        made[k] = value
    return np.reshape(made, shape)


def entries(array: Entries) -> list[Value]:
    """All entries, row major."""
    return cast("list[Value]", array.ravel().tolist())


def nonzero(array: Entries) -> NDArray[np.bool_]:
    """Which entries can differ from zero."""
    return np.reshape(np.array([isinstance(x, Expr) or x != 0.0 for x in entries(array)], np.bool_), array.shape)


def _terms(x: Entries, y: Entries) -> NDArray[np.int64]:
    """For each entry of the product the terms that can differ from zero."""
    return nonzero(x).astype(np.int64) @ nonzero(y).astype(np.int64)
