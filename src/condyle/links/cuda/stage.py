"""A stage's Program -> PTX: operands are loaded where they are first used, results are stored after all loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from condyle.backends.common.order import orders
from condyle.backends.cuda.emit import write_compute
from condyle.backends.cuda.target import TARGET
from condyle.backends.cuda.trig import literal
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import LEAVES
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter


class Registers:
    """Gives new registers."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"%v{self.count}"


def write_stage(
    e: Emitter,
    program: Program,
    bits: int,
    fresh: Registers,
    get: Callable[[str, int], str],
    put: Callable[[str, int, str], None],
) -> None:
    """Writes a stage. get(var, entry): a register with that entry; put(var, entry, register or constant): stores a
    result, and is called when all are computed."""
    program = expand(program, bits)
    names: dict[int, str] = {}

    def named(k: int) -> str:
        node = program.nodes[k]
        if node[0] == "const":
            return literal(constant_of(node), bits)
        if k not in names:
            array, entry = input_of(node)
            names[k] = get(program.inputs[array].name, entry)
        return names[k]

    for k in best_order(program):
        used = [named(operand) for operand in operands(program.nodes[k])]
        names[k] = fresh()
        write_compute(e, program.nodes[k][0], names[k], used, f"f{bits}")
    answers = [
        (program.arrays[o.array].name, o.index, _apart(e, program, o.node, bits, fresh, named)) for o in program.outputs
    ]
    for var, entry, value in answers:
        put(var, entry, value)


def _apart(e: Emitter, program: Program, node: int, bits: int, fresh: Registers, named: Callable[[int], str]) -> str:
    """The value of an output; a copy if it is an input, which another output may overwrite."""
    if program.nodes[node][0] != "input":
        return named(node)
    copied = fresh()
    e(f"mov.f{bits} {copied}, {named(node)};")
    return copied


def read_of(program: Program, var: str) -> list[int]:
    """The entries of a variable that a stage reads."""
    at = [k for k, array in enumerate(program.inputs) if array.name == var]
    return sorted({input_of(node)[1] for node in program.nodes if node[0] == "input" and input_of(node)[0] in at})


@cache
def best_order(program: Program) -> list[int]:
    """The order of operations, of several, with the fewest values live at once."""
    nodes = [k for k, node in enumerate(program.nodes) if node[0] not in LEAVES]
    roots = sorted({output.node for output in program.outputs} & set(nodes))
    found = [order for _, order in orders(program, nodes, roots, TARGET.orders)]
    return min(found, key=lambda order: _peak(program, order))


def _peak(program: Program, order: Sequence[int]) -> int:
    """The largest number of values live at once; inputs are live from their first use."""
    last = {used: k for k in order for used in operands(program.nodes[k])}
    last |= {output.node: len(program.nodes) for output in program.outputs}
    alive: set[int] = set()
    most = 0
    for k in order:
        used = {x for x in operands(program.nodes[k]) if program.nodes[x][0] != "const"}
        alive |= used | {k}
        most = max(most, len(alive))
        alive -= {x for x in used if last[x] == k}
    return most
