"""The number of uses of each node, and which nodes an output needs."""

from __future__ import annotations

from condyle.ir.program import Program, operands


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
