"""Segments -> machine code: kernels of Programs, and the driver's matrix products between them (tiles/loops.h)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condyle.backends.common.segments import Copy, Workspace, on_the_left, own_inputs
from condyle.backends.cpu.assemble import LOOPS, Assembled, Straight, full_layouts, packed_constants, port_numbers
from condyle.backends.cpu.loops import COPY, HELD, SAME, WORDS, product_words
from condyle.backends.cpu.operations import expanded
from condyle.backends.cpu.sincos import inline_angles
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.program import Program, input_of
from condyle.ir.segments import Segmented
from condyle.runtime.layout import Layouts

ORDERS = ("tips", "arrays")
"""The orders for long Programs; the order `blocks` is for products, which these Programs do not contain."""
BESIDE = 3
"""Tiles that run together where left operands of products may be the same for all states (tiles/side.h)."""


def assemble_segments(
    code: Segmented, isa: Isa, bits: int, target: Target = TARGET, layouts: Layouts | None = None
) -> Assembled:
    """The machine code of segments, without a scalar form. layouts, errors: as in `assemble`."""
    code = code.rewritten(lambda program: expanded(program, bits))
    work, space = Straight(isa, bits, replace(target, huge=ORDERS)), Workspace(code)
    table, begins = list[float](), dict[str, int]()
    for constant in code.constants:
        begins[constant.name] = len(table)
        table += constant.values
    words: list[int] = []
    for segment in code.segments:
        begin = len(words)
        if isinstance(segment, Program):
            words += _program(work, space, code, segment)
        else:
            left, right = segment.left.array, space.bases[segment.right.array]
            base = begins[left] if left in begins else space.bases[left]
            kind = SAME if left in begins else HELD if left in code.held else 0
            words += product_words(segment, base, right, space.multiplied(segment), work.slots, kind)
        if work.steps[-3:-2] == [LOOPS] and len(words) > begin:
            work.steps[-1] += len(words) - begin
        elif len(words) > begin:
            work.steps += (LOOPS, WORDS + begin, len(words) - begin)
    tiles = BESIDE if any(product.left.array in code.held | begins.keys() for product in code.products) else 1
    alone = sum(1 << k for k, array in enumerate(code.inputs) if array.name in on_the_left(code))
    head = (0, tiles, space.size, 0, len(packed_constants(work.constants.values, isa, bits)), alone)
    layouts = layouts or full_layouts(code, isa.lanes(bits))
    bases = [space.bases[array.name] for array in code.inputs]
    ports = port_numbers(bases, space.tables, space.zero, layouts, work.slots)
    return work.assembled(space.zero, len(bases), ports, tiles * space.size, (*head, *words), table)


def _program(work: Straight, space: Workspace, code: Segmented, program: Program) -> list[int]:
    """Adds the kernels of a Program; gives the words that copy its outputs."""
    own, room = own_inputs(code, program), space.room(program)
    low = work.add(program, {k for k in inline_angles(program) if input_of(program.nodes[k])[0] in own}, room)
    return _copied(work, space.programmed(low, room.first, work.size))


def _copied(work: Straight, copies: Sequence[Copy]) -> list[int]:
    words: list[int] = []
    for copy in copies:
        work.values += ((slot, 0.0) for slot in copy.cleared)
        words += (COPY, len(work.slots), 2 * len(copy.to))
        work.slots += (slot for pair in zip(copy.slots, copy.to, strict=True) for slot in pair)
    return words
