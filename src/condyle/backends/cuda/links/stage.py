"""A stage's Program -> PTX: operands are fetched where they are first needed, answers are put away behind all reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from condyle.backends.common.order import orders
from condyle.backends.cuda.emit import write_compute
from condyle.backends.cuda.target import TARGET
from condyle.backends.cuda.trig import literal
from condyle.ir.ops import LEAVES
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter


class Registers:
    """Fresh registers of numbers."""

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
    """get(bank, entry): a register with it; put(bank, entry, register or constant): called when all is computed."""
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
    for bank, entry, value in answers:
        put(bank, entry, value)


def _apart(e: Emitter, program: Program, node: int, bits: int, fresh: Registers, named: Callable[[int], str]) -> str:
    """The value of an output, where no other output overwrites it."""
    if program.nodes[node][0] != "input":
        return named(node)
    copied = fresh()
    e(f"mov.f{bits} {copied}, {named(node)};")
    return copied


def read_of(program: Program, bank: str) -> list[int]:
    """Entries of a bank that a stage reads."""
    at = [k for k, array in enumerate(program.inputs) if array.name == bank]
    return sorted({input_of(node)[1] for node in program.nodes if node[0] == "input" and input_of(node)[0] in at})


@cache
def best_order(program: Program) -> list[int]:
    """Of several orders of its operations the one that keeps fewest values alive."""
    nodes = [k for k, node in enumerate(program.nodes) if node[0] not in LEAVES]
    roots = sorted({output.node for output in program.outputs} & set(nodes))
    found = [order for _, order in orders(program, nodes, roots, TARGET.orders)]
    return min(found, key=lambda order: _peak(program, order))


def _peak(program: Program, order: Sequence[int]) -> int:
    """Most values alive at once, inputs from their first use on."""
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
