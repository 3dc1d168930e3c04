"""Expansion, the last pass before a target: operations that the target does not have become others."""

from __future__ import annotations

from collections.abc import Mapping

from condyle.ir.ops import LEAVES
from condyle.ir.program import Program, operands
from condyle.passes.dce import dce
from condyle.passes.elementary.atan2 import atan2
from condyle.passes.elementary.log import log
from condyle.passes.elementary.powers import exp, tanh
from condyle.passes.elementary.values import Code, Rule, Value

ELEMENTARY: Mapping[str, Rule] = {"exp": exp, "log": log, "tanh": tanh, "atan2": atan2}
"""Functions that no target has as an operation."""


def expand(program: Program, bits: int, own: Mapping[str, Rule] | None = None) -> Program:
    """Before: t1 = tanh t0.  After: t1 = abs t0; t2 = add t1 t1; ...

    bits: of the number type, 64 or 32, because polynomials depend on it. own: the target's own rules.
    """
    rules = {**ELEMENTARY, **(own or {})}
    if all(node[0] not in rules for node in program.nodes):
        return program
    code = Code(bits, rules)
    at: list[Value] = []
    origins: list[int] = []
    for k, node in enumerate(program.nodes):
        leaf = node[0] in LEAVES
        at.append(code.node(node) if leaf else code.op(node[0], *[at[a] for a in operands(node)]))
        origins += [k] * (len(code.nodes) - len(origins))
    return dce(program.rewritten(code.nodes, [value.index for value in at], origins))
