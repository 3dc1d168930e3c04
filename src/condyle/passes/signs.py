"""Signs: -(a - b) becomes b - a where nothing else uses a - b."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.program import Program, operands
from condyle.passes.dce import dce, uses_of


def absorb_signs(program: Program) -> Program:
    """Before: t2 = sub t0 t1; t3 = neg t2.  After: t2 = sub t1 t0."""
    uses = uses_of(program)
    nodes = list(program.nodes)
    for k, node in enumerate(nodes):
        if node[0] == "neg":
            (inner,) = operands(node)
            if nodes[inner][0] == "sub" and uses[inner] == 1:
                a, b = operands(nodes[inner])
                nodes[k] = ("sub", b, a)
    return dce(replace(program, nodes=tuple(nodes)))
