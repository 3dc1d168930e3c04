"""What must hold of every Program, between any two passes."""

from __future__ import annotations

import math

from condyle.ir.ops import ARITY
from condyle.ir.program import Program, constant_of, input_of


def verify(program: Program) -> Program:
    """The Program itself; AssertionError (a bug of ours) with the node that breaks a rule."""
    for k, node in enumerate(program.nodes):
        where = f"{program.name}: node {k} {node}"
        if node[0] == "const":
            assert len(node) == 2 and isinstance(node[1], float) and math.isfinite(constant_of(node)), where
        elif node[0] == "input":
            assert len(node) == 3, where
            array, entry = input_of(node)
            assert 0 <= array < len(program.inputs), where
            assert 0 <= entry < program.inputs[array].size, where
        else:
            assert len(node) == 1 + ARITY[node[0]], where
            assert all(isinstance(a, int) and 0 <= a < k for a in node[1:]), where
    _verify_outputs(program)
    return program


def _verify_outputs(program: Program) -> None:
    seen: set[tuple[int, int]] = set()
    for output in program.outputs:
        where = f"{program.name}: {output}"
        assert 0 <= output.node < len(program.nodes), where
        assert 0 <= output.array < len(program.arrays), where
        assert 0 <= output.index < program.arrays[output.array].size, where
        assert (output.array, output.index) not in seen, where
        seen.add((output.array, output.index))
