"""A Program as text that a person can read."""

from __future__ import annotations

from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.text import Emitter


def show(program: Program) -> str:
    """One line for each node, then one for each output entry: `t7 = mul t2 t3`, `tau[0] = t7`."""
    e = Emitter()
    with e.block(f"program {program.name} {{"):
        for k, node in enumerate(program.nodes):
            if node[0] == "const":
                e(f"t{k} = {constant_of(node)!r}")
            elif node[0] == "input":
                array, entry = input_of(node)
                e(f"t{k} = {program.inputs[array].name}[{entry}]")
            else:
                e(f"t{k} = {node[0]} " + " ".join(f"t{a}" for a in operands(node)))
        for output in program.outputs:
            e(f"{program.arrays[output.array].name}[{output.index}] = t{output.node}")
    return e.text()
