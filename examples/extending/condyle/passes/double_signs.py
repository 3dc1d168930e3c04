"""Double signs: -(-a) becomes a."""

from __future__ import annotations

from dataclasses import replace

from condyle.ir.program import Output, Program, operands
from condyle.operations import Node
from condyle.passes.dce import dce


def drop_double_signs(program: Program) -> Program:
    """Before: t1 = neg t0; t2 = neg t1; t3 = sin t2.  After: t1 = sin t0."""
    same = list(range(len(program.nodes)))  # the node that stands for each node
    nodes: list[Node] = []
    for k, node in enumerate(program.nodes):
        if operands(node):
            node = (node[0], *(same[a] for a in operands(node)))
        nodes.append(node)
        if node[0] == "neg" and nodes[operands(node)[0]][0] == "neg":
            (same[k],) = operands(nodes[operands(node)[0]])
    outputs = tuple(Output(one.array, one.index, same[one.node]) for one in program.outputs)
    return dce(replace(program, nodes=tuple(nodes), outputs=outputs))
