"""Expansion, the last pass before a target: operations that the target does not have become others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, OPERATIONS
from condyle.passes.dce import dce
from condyle.passes.elementary.threefry import RANDOM
from condyle.passes.elementary.values import Code, Rule, Value

_FILES = {file.name for file in iter_modules([str(Path(__file__).parent)])}
ELEMENTARY: Mapping[str, Rule] = {
    **{op: getattr(import_module(f"condyle.passes.elementary.{op}"), op) for op in OPERATIONS if op in _FILES},
    **RANDOM,
}
"""Functions that no target has as an operation: the files of this folder with the name of one, and random numbers."""


def expand(program: Program, bits: int, rules: Mapping[str, Rule] = ELEMENTARY) -> Program:
    """Before: t1 = tanh t0.  After: t1 = abs t0; t2 = add t1 t1; ...

    bits: of the number type, 64 or 32, because polynomials depend on it. rules: of the operations that are expanded.
    """
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
