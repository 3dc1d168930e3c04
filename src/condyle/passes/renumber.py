"""Reordering and removal of nodes; other passes use this function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condyle.ir.ops import LEAVES, Node
from condyle.ir.program import Output, Program, operands


def renumbered(program: Program, order: Sequence[int]) -> Program:
    """The Program with only the nodes of `order`, in that order."""
    new = [-1] * len(program.nodes)
    number = new.__getitem__
    nodes: list[Node] = []
    for position, k in enumerate(order):
        new[k] = position
        node = program.nodes[k]
        nodes.append(node if node[0] in LEAVES else (node[0], *map(number, operands(node))))
    outputs = tuple(Output(output.array, output.index, new[output.node]) for output in program.outputs)
    notes = tuple(program.notes[k] for k in order) if program.notes else ()
    return replace(program, nodes=tuple(nodes), outputs=outputs, notes=notes)
