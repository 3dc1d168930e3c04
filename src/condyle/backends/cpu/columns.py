"""The columns form of machine code: states are columns of panels, read and written where the caller has them.

An entry of an input is a vector, a number for each lane; of a shared input it is one number, which an instruction
repeats in all lanes as it reads it. Sums are made side by side: then a vector in a register serves all of them, and
none waits for itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from condyle.backends.common.chunks import lower
from condyle.backends.common.facts import packed
from condyle.backends.cpu.allocate import Constants, allocate
from condyle.backends.cpu.assemble import WHOLE
from condyle.backends.cpu.encode import FREE, RDX, SAVED, Single, encode, padded
from condyle.backends.cpu.operations import NONE, Instruction, constant, expanded, slot
from condyle.backends.cpu.single import KERNEL, single
from condyle.backends.cpu.target import Isa
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import FUSED, LEAVES, TRIGONOMETRIC
from condyle.passes.dce import needed

PLACED = 1 << 24
"""Slots from this number on are entries of the caller's arrays; those below are of the workspace."""
MOST_ARRAYS = len({*FREE, *SAVED} - {RDX})
"""Each has a register."""
TOGETHER = 24
"""Sums that are made side by side: most registers are theirs."""


def columns(program: Program, shared: Sequence[bool], isa: Isa, bits: int, firsts: Sequence[int] = ()) -> Single | None:
    """The code of a function whose inputs are shared or not. None for what it has no form of: sines, many arrays, and
    instruction sets that cannot repeat a number as they read it.

    firsts: `Port.lower` of outputs: with some there is a second kernel, for columns from there on.
    """
    program = expanded(program, bits, isa)
    if not isa.broadcast or len(shared) + len(program.arrays) > MOST_ARRAYS:
        return None
    if any(node[0] in TRIGONOMETRIC for node in program.nodes):
        return None
    constants, text, steps, slots = Constants(), b"", list[int](), 0
    kernels = {0: [0] * len(program.arrays)}
    if any(firsts) and max(firsts) % isa.lanes(bits) == 0:
        kernels[max(firsts)] = list(firsts)
    held = {k for k, is_shared in enumerate(shared) if is_shared}
    mask = sum(1 << k for k in held)
    for column, begins in kernels.items():
        part = replace(program, outputs=tuple(o for o in program.outputs if o.index >= begins[o.array]))
        places = _Places(part, begins)
        code, size = allocate(part, side_by_side(part), places.homes, constants, isa, 0)
        code += places.copies(constants)
        steps += (KERNEL, len(text), mask, column, isa.lanes(bits))
        text, slots = text + padded(encode(code, isa, bits, places.places, held)), max(slots, size)
    sizes = [port.size for port in (*program.inputs, *program.arrays)]
    head = (slots * isa.lanes(bits), len(program.inputs), len(program.arrays), len(kernels))
    return Single(text, packed(constants.values, bits), array("q", (*head, *sizes, *steps)).tobytes())


def alone(program: Program, isa: Isa, bits: int) -> Single | None:
    """The scalar form of such a function, its sums side by side too. None with sines or many arrays."""
    program = expanded(program, bits, isa)
    if any(node[0] in TRIGONOMETRIC for node in program.nodes):
        return None
    low, constants = lower(program, WHOLE), Constants()
    code, size = allocate(program, side_by_side(program), low.slots, constants, isa, low.size)
    return single(low, (), [code], constants.values, size, isa, bits)


def side_by_side(program: Program, together: int = TOGETHER) -> list[int]:
    """The operations, so many sums at a time, each term of a sum with those of the others that are ready as early."""
    live, depth, sums = needed(program), [0] * len(program), list[list[int]]()
    for k, node in enumerate(program.nodes):
        if node[0] in LEAVES or not live[k]:
            continue
        used = operands(node)
        depth[k] = 1 + max(depth[a] for a in used)
        if sums and node[0] in FUSED and used[2] == sums[-1][-1]:
            sums[-1].append(k)
        else:
            sums.append([k])
    blocks = (sums[k : k + together] for k in range(0, len(sums), together))
    return [k for block in blocks for k in sorted((k for part in block for k in part), key=depth.__getitem__)]


@dataclass
class _Places:
    """homes: the slots of inputs, and of each node that is an output its first entry. late: (node, slot) of other
    entries, None for zeros. places: {slot: (array, entry)}. firsts: the first entry that is written, of each output.
    """

    program: Program
    firsts: Sequence[int]
    places: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    homes: dict[int, int] = field(default_factory=dict[int, int])
    late: list[tuple[int | None, int]] = field(default_factory=list[tuple[int | None, int]])

    def __post_init__(self) -> None:
        program, first = self.program, len(self.program.inputs)
        for k, node in enumerate(program.nodes):
            if node[0] == "input":
                self.homes[k] = self._place(*input_of(node))
        nodes = {(output.array, output.index): output.node for output in program.outputs}
        for k, port in enumerate(program.arrays):
            for entry in range(self.firsts[k], port.size):
                node, number = nodes.get((k, entry)), self._place(first + k, entry)
                if node is None or program.nodes[node][0] == "const" or node in self.homes:
                    self.late.append((node, number))
                else:
                    self.homes[node] = number

    def _place(self, port: int, entry: int) -> int:
        number = PLACED + len(self.places)
        self.places[number] = port, entry
        return number

    def copies(self, constants: Constants) -> list[Instruction]:
        """Of entries that are an input, a number or another entry."""
        code: list[Instruction] = []
        for node, number in self.late:
            if node is None or self.program.nodes[node][0] == "const":
                value = 0.0 if node is None else constant_of(self.program.nodes[node])
                source = constant(constants.number(value))
            else:
                source = slot(self.homes[node])
            code += (Instruction("load", 0, NONE, source), Instruction("store", 0, NONE, slot(number)))
        return code
