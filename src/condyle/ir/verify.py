"""What must hold of every Program, between any two passes."""

from __future__ import annotations

import math

from condyle.ir.ops import ARITY, Node
from condyle.ir.program import Output, Program, constant_of, input_of


def verify(program: Program) -> Program:
    """The Program itself; AssertionError (a bug of ours) with the node or the output that breaks a rule."""
    for k, node in enumerate(program.nodes):
        assert _is_sound(program, k, node), f"{program.name}: node {k} {node}"
    seen: set[tuple[int, int]] = set()
    for output in program.outputs:
        where = (output.array, output.index)
        assert where not in seen and _is_there(program, output), f"{program.name}: {output}"
        seen.add(where)
    return program


def _is_sound(program: Program, k: int, node: Node) -> bool:
    if node[0] == "const":
        return len(node) == 2 and isinstance(node[1], float) and math.isfinite(constant_of(node))
    if node[0] == "input":
        return len(node) == 3 and _is_input(program, *input_of(node))
    return len(node) == 1 + ARITY[node[0]] and all(isinstance(a, int) and 0 <= a < k for a in node[1:])


def _is_input(program: Program, array: int, entry: int) -> bool:
    return 0 <= array < len(program.inputs) and 0 <= entry < program.inputs[array].size


def _is_there(program: Program, output: Output) -> bool:
    return (
        0 <= output.node < len(program.nodes)
        and 0 <= output.array < len(program.arrays)
        and 0 <= output.index < program.arrays[output.array].size
    )
