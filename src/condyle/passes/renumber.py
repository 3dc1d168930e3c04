"""Reordering and removal of nodes; other passes use this function."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, Node


def renumbered(program: Program, order: Sequence[int]) -> Program:
    """The Program with only the nodes of `order`, in that order."""
    new = [-1] * len(program.nodes)
    number = new.__getitem__
    nodes: list[Node] = []
    for position, k in enumerate(order):
        new[k] = position
        node = program.nodes[k]
        nodes.append(node if node[0] in LEAVES else (node[0], *map(number, operands(node))))
    return program.rewritten(nodes, new, order)
