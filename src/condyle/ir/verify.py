"""The verifier: rules that every Program keeps between any two passes."""

from __future__ import annotations

import math

from condyle.ir.program import Output, Program, constant_of, input_of
from condyle.operations import ARITY, Node


def verify(program: Program) -> Program:
    """The Program itself; AssertionError (a bug of ours) with the node or the output that breaks a rule."""
    arity = ARITY.get
    for k, node in enumerate(program.nodes):
        used = node[1:]
        if len(used) == arity(node[0]):
            for a in used:
                assert a.__class__ is int and 0 <= a < k, _complaint(program, k)
        else:
            assert _is_leaf(program, node), _complaint(program, k)
    assert len(program.notes) in (0, len(program)), f"{program.name}: {len(program.notes)} notes"
    seen: set[tuple[int, int]] = set()
    for output in program.outputs:
        where = (output.array, output.index)
        assert where not in seen and _is_there(program, output), f"{program.name}: {output}"
        seen.add(where)
    return program


def _complaint(program: Program, k: int) -> str:
    return f"{program.name}: node {k} {program.nodes[k]}"


def _is_leaf(program: Program, node: Node) -> bool:
    if node[0] == "const":
        return len(node) == 2 and isinstance(node[1], float) and math.isfinite(constant_of(node))
    return node[0] == "input" and len(node) == 3 and _is_input(program, *input_of(node))


def _is_input(program: Program, array: int, entry: int) -> bool:
    return 0 <= array < len(program.inputs) and 0 <= entry < program.inputs[array].size


def _is_there(program: Program, output: Output) -> bool:
    return (
        0 <= output.node < len(program.nodes)
        and 0 <= output.array < len(program.arrays)
        and 0 <= output.index < program.arrays[output.array].size
    )
