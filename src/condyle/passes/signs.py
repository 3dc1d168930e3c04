"""Signs: a change of sign that is left moves into the sum or product that makes its operand, if nobody else uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condyle.ir.ops import Node
from condyle.ir.program import Program, operands
from condyle.passes.dce import dce
from condyle.passes.renumber import renumbered


def absorb_signs(program: Program) -> Program:
    """Before: t2 = sub t0 t1; t3 = neg t2.  After: t2 = sub t1 t0."""
    uses = [0] * len(program.nodes)
    for node in program.nodes:
        for a in operands(node):
            uses[a] += 1
    for output in program.outputs:
        uses[output.node] += 1
    nodes = list(program.nodes)
    for k, node in enumerate(nodes):
        if node[0] == "neg":
            flipped = _flipped(nodes, uses, int(node[1]))
            if flipped is not None:
                nodes[k] = flipped
    return dce(replace(program, nodes=tuple(nodes)))


def _flipped(nodes: list[Node], uses: Sequence[int], k: int) -> Node | None:
    """A node that is -nodes[k], made of what nodes[k] is made of; operands may be flipped in place."""
    node = nodes[k]
    if uses[k] != 1:
        return None
    if node[0] == "sub":
        return ("sub", node[2], node[1])  # pyright: ignore
    return None


__all__ = ["absorb_signs", "renumbered"]
