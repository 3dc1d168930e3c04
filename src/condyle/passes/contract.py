"""Contraction: a product that is used once, by a sum, becomes one fused multiply-add."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.ops import Node
from condyle.ir.program import Program
from condyle.passes.dce import dce
from condyle.passes.uses import uses_of

NEGATED = {"fma": "fnms", "fms": "fnma", "fnma": "fms", "fnms": "fma"}


def contract(program: Program) -> Program:
    """Before: t3 = mul t0 t1; t4 = add t3 t2.  After: t3 = fma t0 t1 t2."""
    uses = uses_of(program)
    nodes = list(program.nodes)

    def lone_product(k: int) -> tuple[int, int] | None:
        node = nodes[k]
        return (node[1], node[2]) if node[0] == "mul" and uses[k] == 1 else None  # pyright: ignore

    for k, node in enumerate(program.nodes):
        if node[0] in ("add", "sub"):
            nodes[k] = _fused(node, lone_product(node[1]), lone_product(node[2]))  # pyright: ignore
        elif node[0] == "neg" and uses[node[1]] == 1 and nodes[node[1]][0] in NEGATED:  # pyright: ignore
            inner = nodes[node[1]]  # pyright: ignore
            nodes[k] = (NEGATED[inner[0]], *inner[1:])  # pyright: ignore
    return dce(replace(program, nodes=tuple(nodes)))


def _fused(node: Node, left: tuple[int, int] | None, right: tuple[int, int] | None) -> Node:
    """The node with one of its products inside; the later one, which is the nearer."""
    op, a, b = node  # pyright: ignore
    if left is not None and (right is None or a > b):
        return ("fma" if op == "add" else "fms", *left, b)  # pyright: ignore
    if right is not None:
        return ("fma" if op == "add" else "fnma", *right, a)  # pyright: ignore
    return node
