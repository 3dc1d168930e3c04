"""Symbols: hash-consed scalar expressions that simplify as they are built.

What is always true is applied at once, so that no algorithm has to know which numbers are zero:
constants fold, 0 and 1 vanish, signs move outwards until an addition absorbs them, and equal
expressions are one node. A result that is a number is a plain float again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from condyle.ir.ops import Node
from condyle.ir.program import Array, Output, Program


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

    def __rsub__(self, other: Expr | float) -> Expr | float:
        return self.graph.sub(other, self)

    def __mul__(self, other: Expr | float) -> Expr | float:
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Expr | float) -> Expr | float:
        return self.graph.mul(self, self.graph.rcp(other))

    def __rtruediv__(self, other: float) -> Expr | float:
        return self.graph.mul(self.graph.rcp(self), other)

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    def sin(self) -> Expr:
        return self.graph.sin(self)

    def cos(self) -> Expr:
        return self.graph.cos(self)

    def sqrt(self) -> Expr:
        return self.graph.unary("sqrt", self)


class Graph:
    """The nodes of one trace; `program` reads a Program out of it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, Expr] = {}

    def node(self, key: Node) -> Expr:
        """The one expression with this key."""
        known = self._known
        found = known.get(key)
        if found is None:
            found = known[key] = Expr(self, len(self.nodes))
            self.nodes.append(key)
        return found

    def constant(self, value: float) -> Expr:
        return self.node(("const", float(value) + 0.0))  # + 0.0: one zero only

    def input(self, array: int, k: int) -> Expr:
        return self.node(("input", array, k))

    def neg(self, x: Expr) -> Expr:
        node = self.nodes[x.index]
        if node[0] == "neg":
            return Expr(self, node[1])  # pyright: ignore[reportArgumentType]
        return self.node(("neg", x.index))

    def unary(self, op: str, x: Expr) -> Expr:
        return self.node((op, x.index))

    def sin(self, x: Expr) -> Expr:
        node = self.nodes[x.index]
        if node[0] == "neg":
            return self.neg(self.node(("sin", node[1])))  # pyright: ignore[reportArgumentType]
        return self.node(("sin", x.index))

    def cos(self, x: Expr) -> Expr:
        node = self.nodes[x.index]
        return self.node(("cos", node[1] if node[0] == "neg" else x.index))  # pyright: ignore[reportArgumentType]

    def rcp(self, x: Expr | float) -> Expr | float:
        if x.__class__ is not Expr:
            return 1.0 / x if x != 0 else math.nan  # pyright: ignore[reportOperatorIssue]
        node = self.nodes[x.index]
        if node[0] == "neg":
            return self.neg(self.node(("rcp", node[1])))  # pyright: ignore[reportArgumentType]
        return self.node(("rcp", x.index))

    def mul(self, x: Expr | float, y: Expr | float) -> Expr | float:
        if x.__class__ is not Expr:
            x, y = y, x
        i = x.index  # pyright: ignore[reportAttributeAccessIssue]
        if y.__class__ is not Expr:
            return self._scale(i, float(y))  # pyright: ignore[reportArgumentType]
        j = y.index  # pyright: ignore[reportAttributeAccessIssue]
        nodes = self.nodes
        negative = False
        if nodes[i][0] == "neg":
            i, negative = nodes[i][1], True
        if nodes[j][0] == "neg":
            j, negative = nodes[j][1], not negative
        product = self.node(("mul", i, j) if i <= j else ("mul", j, i))  # pyright: ignore[reportArgumentType]
        return self.neg(product) if negative else product

    def _scale(self, i: int, k: float) -> Expr | float:
        if k == 0.0:
            return 0.0
        node = self.nodes[i]
        if node[0] == "neg":
            i, k = node[1], -k  # pyright: ignore[reportAssignmentType]
            node = self.nodes[i]
        if node[0] == "mul" and self.nodes[node[1]][0] == "const":
            k *= self.nodes[node[1]][1]
            i = node[2]  # pyright: ignore
        if k == 1.0:
            return Expr(self, i)
        if k == -1.0:
            return self.node(("neg", i))
        product = self.node(("mul", self.constant(abs(k)).index, i))
        return self.node(("neg", product.index)) if k < 0.0 else product

    def add(self, x: Expr | float, y: Expr | float) -> Expr | float:
        if x.__class__ is not Expr:
            x, y = y, x
        if y.__class__ is not Expr:
            if y == 0.0:
                return x
            y = self.constant(y)  # pyright: ignore[reportArgumentType]
        nodes = self.nodes
        i, j = x.index, y.index  # pyright: ignore[reportAttributeAccessIssue]
        if nodes[j][0] == "neg":
            return self._sub(i, nodes[j][1])  # pyright: ignore[reportArgumentType]
        if nodes[i][0] == "neg":
            return self._sub(j, nodes[i][1])  # pyright: ignore[reportArgumentType]
        if i == j:
            return self._scale(i, 2.0)
        return self.node(("add", i, j) if i < j else ("add", j, i))

    def sub(self, x: Expr | float, y: Expr | float) -> Expr | float:
        if y.__class__ is not Expr:
            return self.add(x, -y)  # pyright: ignore[reportOperatorIssue]
        if x.__class__ is not Expr:
            if x == 0.0:
                return self.neg(y)  # pyright: ignore[reportArgumentType]
            x = self.constant(x)  # pyright: ignore[reportArgumentType]
        return self._sub(x.index, y.index)  # pyright: ignore[reportAttributeAccessIssue]

    def _sub(self, i: int, j: int) -> Expr | float:
        nodes = self.nodes
        if i == j:
            return 0.0
        if nodes[j][0] == "neg":
            j = nodes[j][1]
            if nodes[i][0] == "neg":
                return self._sub(j, nodes[i][1])  # pyright: ignore
            return self.add(Expr(self, i), Expr(self, j))  # pyright: ignore
        if nodes[i][0] == "neg":
            total = self.add(Expr(self, nodes[i][1]), Expr(self, j))  # pyright: ignore
            return self.neg(total) if total.__class__ is Expr else -total  # pyright: ignore
        opposite = self._known.get(("sub", j, i))
        if opposite is not None:
            return self.neg(opposite)
        return self.node(("sub", i, j))

    def program(
        self, name: str, inputs: Iterable[Array], arrays: Iterable[Array], values: Iterable[tuple[int, int, Expr | float]]
    ) -> Program:
        """The Program whose output entries are `values`: (array, flat index, expression); exact zeros are left out."""
        outputs = [
            Output(array, index, (value if isinstance(value, Expr) else self.constant(value)).index)
            for array, index, value in values
            if isinstance(value, Expr) or value != 0.0
        ]
        return Program(name, tuple(inputs), tuple(arrays), tuple(self.nodes), tuple(outputs))
