"""Contraction: a product that is used once, by a sum, becomes one fused multiply-add."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.ops import Node
from condyle.ir.program import Program, operands
from condyle.passes.dce import dce
from condyle.passes.uses import uses_of

NEGATED = {"fma": "fnms", "fms": "fnma", "fnma": "fms", "fnms": "fma"}


def contract(program: Program) -> Program:
    """Before: t3 = mul t0 t1; t4 = add t3 t2.  After: t3 = fma t0 t1 t2."""
    uses = uses_of(program)
    nodes = list(program.nodes)

    def lone_product(k: int) -> tuple[int, ...]:
        return operands(nodes[k]) if nodes[k][0] == "mul" and uses[k] == 1 else ()

    for k, node in enumerate(program.nodes):
        if node[0] in ("add", "sub"):
            left, right = operands(node)
            nodes[k] = _fused(node, lone_product(left), lone_product(right))
        elif node[0] == "neg":
            (a,) = operands(node)
            if uses[a] == 1 and nodes[a][0] in NEGATED:
                nodes[k] = (NEGATED[nodes[a][0]], *operands(nodes[a]))
    return dce(replace(program, nodes=tuple(nodes)))


def _fused(node: Node, left: tuple[int, ...], right: tuple[int, ...]) -> Node:
    """The node with one of its products inside, if there is one; the later one, which is the nearer."""
    a, b = operands(node)
    if left and (not right or a > b):
        return ("fma" if node[0] == "add" else "fms", *left, b)
    if right:
        return ("fma" if node[0] == "add" else "fnma", *right, a)
    return node
