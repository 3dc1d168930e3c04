"""How often each value is used."""

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
