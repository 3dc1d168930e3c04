"""Dead code elimination: nodes that no output needs are removed; the others keep their order."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.program import Program
from condyle.passes.renumber import renumbered
from condyle.passes.uses import needed


def dce(program: Program) -> Program:
    """Before: t1 = mul ..; t2 = add ..; tau[0] = t2.  After: t1 = add ..; tau[0] = t1."""
    live = needed(program)
    if all(live):
        return replace(program)
    return renumbered(program, [k for k, alive in enumerate(live) if alive])
