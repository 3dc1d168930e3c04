"""Contraction: sums become chains of fused multiply-adds, starting with the term that is ready first.

A sum that is used only by another sum is inlined there, so that almost every addition can be fused with a
multiplication. The terms are the same and are added in another order: rounding changes, its bound does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from condyle.ir.program import Program, constant_of, operands
from condyle.operations import DEPTH, Node
from condyle.passes.dce import dce, uses_of

SUMS = frozenset({"add", "sub", "neg"})
PATIENCE = 3
"""The latency, in additions, that may be added to a sum to save one instruction."""
LONG = 3_000
"""A Program with more nodes is limited by its number of instructions, a shorter one by its multiplications."""
SHARED = 3
"""In a long Program, the number of sums that a product may be fused into: k + 1 instructions become k."""

FUSED = {(1, 1): "fma", (1, -1): "fnma", (-1, 1): "fms", (-1, -1): "fnms"}
"""The fused operation by the signs of the sum so far and of the product."""


Term: TypeAlias = tuple[tuple[int, ...], int, tuple[int, int]]
"""A summand in the new Program: a node or the two factors of a product, its sign, and its depth with a tie-breaker."""
_READY = itemgetter(2)


def contract(program: Program) -> Program:
    """Before: t3 = mul t0 t1; t4 = add t3 t2.  After: t3 = fma t0 t1 t2."""
    most = SHARED if len(program.nodes) > LONG else 1
    return dce(_Contraction(program, *_inlined(program, most)).run())


def _inlined(program: Program, most: int) -> tuple[bytearray, bytearray]:
    """Flags of nodes: sums that are inlined into the one sum that uses them; products that are fused, into at most
    `most` sums."""
    uses, outside = uses_of(program), bytearray(len(program.nodes))
    for node in program.nodes:
        if node[0] not in SUMS:
            for a in operands(node):
                outside[a] = 1
    for output in program.outputs:
        outside[output.node] = 1
    parts, summed = bytearray(len(program.nodes)), bytearray(len(program.nodes))
    for k, node in enumerate(program.nodes):
        if not outside[k]:
            parts[k] = node[0] in SUMS and uses[k] == 1
            summed[k] = node[0] == "mul" and uses[k] <= most
    return parts, summed


@dataclass
class _Contraction:
    """parts, summed: see `_inlined`. new, depth, origins: the new nodes, their depths, and the old nodes that they are
    made for. renumbered: {old node: new node}. current: the old node that is computed."""

    program: Program
    parts: bytearray
    summed: bytearray
    new: list[Node] = field(default_factory=list[Node])
    depth: list[int] = field(default_factory=list[int])
    origins: list[int] = field(default_factory=list[int])
    renumbered: dict[int, int] = field(default_factory=dict[int, int])
    current: int = 0

    def run(self) -> Program:
        for k, node in enumerate(self.program.nodes):
            if self.parts[k] or self.summed[k]:
                continue
            used, self.current = operands(node), k
            if node[0] in SUMS:
                self.renumbered[k] = self._sum(k)
            else:
                self.renumbered[k] = (
                    self._put(node[0], *(self.renumbered[a] for a in used)) if used else self._node(node, 0)
                )
        return self.program.rewritten(self.new, self.renumbered, self.origins)

    def _put(self, op: str, *used: int) -> int:
        depth = self.depth
        last = depth[used[0]]
        for a in used:
            if depth[a] > last:
                last = depth[a]
        return self._node((op, *used), last + DEPTH[op])

    def _node(self, node: Node, depth: int) -> int:
        self.new.append(node)
        self.depth.append(depth)
        self.origins.append(self.current)
        return len(self.new) - 1

    def _sum(self, k: int) -> int:
        """The chain of one sum."""
        terms = sorted(self._like_terms(k), key=_READY)
        if not terms:
            return self._constant(0.0)
        first = self._first(terms)
        terms.remove(first)
        used, sign, _ = first
        total = self._put("mul", *used) if len(used) == 2 else used[0]
        for used, own, _ in terms:
            if len(used) == 2:
                total = self._put(FUSED[sign, own], *used, total)
            elif sign == own:
                total = self._put("add", total, *used)
                continue
            else:
                total = self._put("sub", total, *used) if sign > 0 else self._put("sub", *used, total)
            sign = 1
        return total if sign > 0 else self._put("neg", total)

    def _like_terms(self, k: int) -> list[Term]:
        """The terms of a sum; terms with the same factors are combined."""
        parts: dict[tuple[int, ...], float] = {}
        for node, sign in self._terms(k):
            factor, used = self._factors(node)
            parts[used] = parts.get(used, 0.0) + sign * factor
        terms: list[Term] = []
        for used, factor in parts.items():
            sign, size = (1, factor) if factor > 0 else (-1, -factor)
            if not used:
                terms.append(self._term((self._constant(factor),), 1))
            elif size == 1.0 or (len(used) == 2 and size == 2.0):
                terms += [self._term(used, sign)] * int(size)
            elif len(used) == 2:
                terms.append(self._term((self._put("mul", self._constant(size), used[0]), used[1]), sign))
            elif size != 0.0:
                terms.append(self._term((self._constant(size), *used), sign))
        return terms

    def _terms(self, k: int) -> Iterator[tuple[int, int]]:
        """(old node, sign) of all terms, with inlined sums replaced by theirs."""
        stack = [(k, 1)]
        while stack:
            node, sign = stack.pop()
            op, used = self.program.nodes[node][0], operands(self.program.nodes[node])
            signs = {"add": (sign, sign), "sub": (sign, -sign), "neg": (-sign,)}[op]
            for a, s in zip(used, signs, strict=True):
                if self.parts[a]:
                    stack.append((a, s))
                else:
                    yield a, s

    def _factors(self, node: int) -> tuple[float, tuple[int, ...]]:
        """A term as a constant factor and zero to two nodes that it multiplies."""
        op, used = self.program.nodes[node][0], operands(self.program.nodes[node])
        if op == "const":
            return constant_of(self.program.nodes[node]), ()
        if not self.summed[node]:
            return 1.0, (self.renumbered[node],)
        if self.program.nodes[used[0]][0] == "const":
            return constant_of(self.program.nodes[used[0]]), (self.renumbered[used[1]],)
        return 1.0, tuple(self.renumbered[a] for a in used)

    def _term(self, used: tuple[int, ...], sign: int) -> Term:
        depth = self.depth
        ready = depth[used[0]], used[0]
        return used, sign, ready if len(used) == 1 else max(ready, (depth[used[1]], used[1]))

    def _constant(self, value: float) -> int:
        return self._node(("const", value), 0)

    def _first(self, terms: Sequence[Term]) -> Term:
        """The term that the chain starts with: one that is no product, which saves an addition, unless it is ready too
        late; else a product with a positive sign, if there is one."""
        others = [term for term in terms if len(term[0]) == 1]
        products = [term for term in terms if len(term[0]) == 2]
        if others and (not products or _end(others[0], terms) <= _end(products[0], terms) + PATIENCE):
            return others[0]
        return next((term for term in products if term[1] > 0), products[0])


def _end(first: Term, terms: Sequence[Term]) -> int:
    """The depth of the chain if it starts with this term."""
    end = first[2][0] + (len(first[0]) == 2)
    for term in terms:
        if term is not first:
            end = max(end, term[2][0]) + 1
    return end
