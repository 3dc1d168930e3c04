"""How many operations a Program takes."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from condyle.ir.ops import ARITY
from condyle.ir.program import Program

TRIGONOMETRIC = ("sin", "cos")


class Counts(NamedTuple):
    """Products, sums (a change of sign counts as one), reciprocals and roots, and angles whose sine or cosine is taken."""

    mul: int
    add: int
    div: int
    sincos: int

    @property
    def arithmetic(self) -> int:
        """mul + add: what formulations are compared by."""
        return self.mul + self.add


def count(program: Program) -> Counts:
    """Counts of a Program before contraction."""
    ops = Counter(node[0] for node in program.nodes)
    angles = {node[1] for node in program.nodes if node[0] in TRIGONOMETRIC}
    return Counts(ops["mul"], ops["add"] + ops["sub"] + ops["neg"], ops["rcp"] + ops["sqrt"], len(angles))


def instructions(program: Program) -> int:
    """Floating-point instructions of a contracted Program, sine and cosine apart."""
    return sum(node[0] in ARITY and node[0] not in TRIGONOMETRIC for node in program.nodes)
