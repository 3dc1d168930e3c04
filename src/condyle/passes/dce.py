"""What every trace is cleaned by: nodes that no output needs are removed, and signs are absorbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, Node

# Reordering and removal of nodes; other passes use this function.


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


# The number of uses of each node, and which nodes an output needs.


def uses_of(program: Program) -> list[int]:
    """For each node the number of nodes and output entries that use it."""
    uses = [0] * len(program.nodes)
    for node in program.nodes:
        for a in operands(node):
            uses[a] += 1
    for output in program.outputs:
        uses[output.node] += 1
    return uses


def needed(program: Program) -> bytearray:
    """For each node 1 if an output needs it, else 0."""
    live = bytearray(len(program.nodes))
    for output in program.outputs:
        live[output.node] = 1
    for k in reversed(range(len(program.nodes))):
        if live[k]:
            for a in operands(program.nodes[k]):
                live[a] = 1
    return live


def dce(program: Program) -> Program:
    """Before: t1 = mul ..; t2 = add ..; tau[0] = t2.  After: t1 = add ..; tau[0] = t1."""
    live = needed(program)
    if all(live):
        return replace(program)
    return renumbered(program, [k for k, alive in enumerate(live) if alive])


def absorb_signs(program: Program) -> Program:
    """-(a - b) becomes b - a where nothing else uses a - b.

    Before: t2 = sub t0 t1; t3 = neg t2.  After: t2 = sub t1 t0.
    """
    uses = uses_of(program)
    nodes = list(program.nodes)
    for k, node in enumerate(nodes):
        if node[0] == "neg":
            (inner,) = operands(node)
            if nodes[inner][0] == "sub" and uses[inner] == 1:
                a, b = operands(nodes[inner])
                nodes[k] = ("sub", b, a)
    return dce(replace(program, nodes=tuple(nodes)))
