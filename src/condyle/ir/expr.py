"""Symbols: hash-consed scalar expressions that are simplified as they are built.

Constants are folded, x + 0 and 1 x become x, signs move outwards until an addition absorbs them, and equal expressions
are one node. So no algorithm has to know which numbers are zero. A result that is a constant is a plain float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from condyle.ir.program import Array, Output, Program, constant_of, operands
from condyle.operations import ODD, OPERATIONS, Node


class Expr:
    """One node of a Graph, with the arithmetic of a scalar."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __add__(self, other: Expr | float) -> Expr | float:
        return self.graph.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Expr | float) -> Expr | float:
        return self.graph.sub(self, other)

    def __rsub__(self, other: float) -> Expr | float:
        graph = self.graph
        return graph.neg(self) if other == 0.0 else graph.sub(graph.constant(other), self)

    def __mul__(self, other: Expr | float) -> Expr | float:
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Expr | float) -> Expr | float:
        return self.graph.mul(self, self.graph.rcp(other))

    def __rtruediv__(self, other: float) -> Expr | float:
        return self.graph.rcp(self) * other

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    def function(self, op: str, operands: Sequence[Expr | float]) -> Expr | float:
        """Any operation of the table, with this symbol among its operands."""
        return self.graph.function(op, operands)


class Graph:
    """The nodes of one trace; `program` makes a Program of them."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index_of: dict[Node, int] = {}
        self._inner: list[int] = []
        """x for a node -x, -1 for other nodes"""

    def node(self, key: Node) -> Expr:
        """The one expression with this key."""
        known = self._index_of
        found = known.get(key)
        if found is None:
            found = known[key] = len(self.nodes)
            self.nodes.append(key)
            self._inner.append(operands(key)[0] if key[0] == "neg" else -1)
        return Expr(self, found)

    def constant(self, value: float) -> Expr:
        return self.node(("const", float(value) + 0.0))  # + 0.0: one zero only

    def value(self, index: int) -> Expr | float:
        """A node by its number; a constant as a number."""
        node = self.nodes[index]
        return constant_of(node) if node[0] == "const" else Expr(self, index)

    def input(self, array: int, k: int) -> Expr:
        return self.node(("input", array, k))

    def find(self, op: str, i: int, j: int) -> Expr | None:
        """The product, sum or difference of two nodes if the graph has it; a difference also if it has the opposite."""
        found = self._index_of.get((op, i, j) if op == "sub" or i <= j else (op, j, i))
        if found is not None:
            return Expr(self, found)
        opposite = self._index_of.get((op, j, i)) if op == "sub" else None
        return None if opposite is None else self.neg(Expr(self, opposite))

    def neg(self, x: Expr) -> Expr:
        inner = self._inner[x.index]
        return Expr(self, inner) if inner >= 0 else self.node(("neg", x.index))

    def function(self, op: str, operands: Sequence[Expr | float]) -> Expr | float:
        """An operation by its name in the table; a float if all operands are floats."""
        row = OPERATIONS[op]
        numbers = [np.float64(x) for x in operands if not isinstance(x, Expr)]
        if len(numbers) == row.arity:
            with np.errstate(all="ignore"):
                return float(row.meaning(*numbers))
        known = _SHORTCUTS[op](*operands) if op in _SHORTCUTS else None
        if known is not None:
            return known
        first, *others = [(x if isinstance(x, Expr) else self.constant(x)).index for x in operands]
        inner = self._inner[first]
        negative = inner >= 0 and row.parity != ""
        used = [inner if negative else first, *others]
        made = self.node((op, *(sorted(used) if row.commutes else used)))
        return self.neg(made) if negative and row.parity == ODD else made

    def rcp(self, x: Expr | float) -> Expr | float:
        if not isinstance(x, Expr):
            return 1.0 / x if x != 0 else math.nan
        return self.function("rcp", (x,))

    def mul(self, x: Expr, y: Expr | float) -> Expr | float:
        if not isinstance(y, Expr):
            return self._scale(x.index, float(y))
        i, j, inner = x.index, y.index, self._inner
        negative = False
        if inner[i] >= 0:
            i, negative = inner[i], True
        if inner[j] >= 0:
            j, negative = inner[j], not negative
        product = self.node(("mul", i, j) if i <= j else ("mul", j, i))
        return self.neg(product) if negative else product

    def _scale(self, i: int, k: float) -> Expr | float:
        if k == 0.0:
            return 0.0
        if self._inner[i] >= 0:
            i, k = self._inner[i], -k
        own, i = self._term(i)
        k *= own
        if k == 1.0:
            return Expr(self, i)
        if k == -1.0:
            return self.node(("neg", i))
        product = self.node(("mul", self.constant(abs(k)).index, i))
        return self.node(("neg", product.index)) if k < 0.0 else product

    def add(self, x: Expr, y: Expr | float) -> Expr | float:
        if not isinstance(y, Expr):
            if y == 0.0:
                return x
            y = self.constant(y)
        i, j, inner = x.index, y.index, self._inner
        if inner[j] >= 0:
            return self._sub(i, inner[j])
        if inner[i] >= 0:
            return self._sub(j, inner[i])
        like = self._like_terms(i, j, 1.0)
        if like is not None:
            return like
        return self.node(("add", i, j) if i < j else ("add", j, i))

    def _like_terms(self, i: int, j: int, sign: float) -> Expr | float | None:
        """k x + l x = (k + l) x."""
        k, x = self._term(i)
        l, y = self._term(j)
        return self._scale(x, k + sign * l) if x == y else None

    def _term(self, i: int) -> tuple[float, int]:
        """(k, x) of k x."""
        node = self.nodes[i]
        if node[0] == "mul":
            first, second = operands(node)
            if self.nodes[first][0] == "const":
                return constant_of(self.nodes[first]), second
        return 1.0, i

    def sub(self, x: Expr, y: Expr | float) -> Expr | float:
        return self._sub(x.index, y.index) if isinstance(y, Expr) else self.add(x, -y)

    def _sub(self, i: int, j: int) -> Expr | float:
        inner = self._inner
        if inner[j] >= 0:
            j = inner[j]
            if inner[i] >= 0:
                return self._sub(j, inner[i])
            return self.add(Expr(self, i), Expr(self, j))
        if inner[i] >= 0:
            return -self.add(Expr(self, inner[i]), Expr(self, j))
        like = self._like_terms(i, j, -1.0)
        if like is not None:
            return like
        opposite = self._index_of.get(("sub", j, i))
        if opposite is not None:
            return self.neg(Expr(self, opposite))
        return self.node(("sub", i, j))

    def program(
        self,
        name: str,
        inputs: Iterable[Array],
        arrays: Iterable[Array],
        values: Iterable[tuple[int, int, Expr | float]],
    ) -> Program:
        """The Program whose output entries are `values`: (array, flat index, expression); exact zeros are left out."""
        outputs = [
            Output(array, index, (value if isinstance(value, Expr) else self.constant(value)).index)
            for array, index, value in values
            if isinstance(value, Expr) or value != 0.0
        ]
        return Program(name, tuple(inputs), tuple(arrays), tuple(self.nodes), tuple(outputs))


Value = Expr | float


def _same(x: Value, y: Value) -> bool:
    return x.index == y.index if isinstance(x, Expr) and isinstance(y, Expr) else x is y or x == y


def _one_of(x: Value, y: Value) -> Value | None:
    return x if _same(x, y) else None


def _selected(x: Value, a: Value, b: Value) -> Value | None:
    if not isinstance(x, Expr):
        return a if x >= 0.0 else b
    return _one_of(a, b)


_SHORTCUTS: dict[str, Callable[..., Value | None]] = {"min": _one_of, "max": _one_of, "select": _selected}
"""Results that need no computation, by operation; None where there is none."""
