"""Dead code: nodes that no output uses go, the others keep their order."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.program import Program, operands
from condyle.passes.renumber import renumbered


def dce(program: Program) -> Program:
    """Before: t1 = mul ..; t2 = add ..; tau[0] = t2.  After: t1 = add ..; tau[0] = t1."""
    live = bytearray(len(program.nodes))
    for output in program.outputs:
        live[output.node] = 1
    for k in reversed(range(len(program.nodes))):
        if live[k]:
            for a in operands(program.nodes[k]):
                live[a] = 1
    if all(live):
        return replace(program)
    return renumbered(program, [k for k, alive in enumerate(live) if alive])
