"""Segments as C: the chunks of Programs, with copies and products (support/product.h) between."""

from __future__ import annotations

from condyle.backends.c.body import Body, Tile, write_numbers, write_product, write_table
from condyle.backends.c.target import Target
from condyle.backends.common.chunks import lower
from condyle.backends.common.segments import Copy, Workspace, on_the_left
from condyle.ir.program import Program
from condyle.ir.segments import Segmented


def segmented_body(code: Segmented, bits: int, target: Target) -> Body:
    """The body: `NAME_tile` runs one segment after another."""
    tile, space = Tile(code.name, bits), Workspace(code)
    constants: list[tuple[int, float]] = []
    tables = {constant.name: f"{code.name}_constant_{k}" for k, constant in enumerate(code.constants)}
    for constant in code.constants:
        write_numbers(tile.tables, tables[constant.name], constant.values, bits)
    numbers = {array.name: k for k, array in enumerate(code.inputs)}
    rows = sorted({product.left.array for product in code.products} & code.held, key=lambda name: numbers[name])
    for segment in code.segments:
        if isinstance(segment, Program):
            room = space.room(segment)
            low = lower(segment, target.cut, room=room)
            tile.add(low)
            constants += low.constants
            for copy in space.programmed(low, room.first, low.size):
                _copy(tile, copy, space.zero)
        else:
            left, right = segment.left.array, space.bases[segment.right.array]
            place = tables.get(left) or space.bases[left]
            at = place, right, space.multiplied(segment)
            row = rows.index(left) if left in rows else None
            write_product(tile.tables, tile.statements, segment, tile.named("blocks"), *at, row)
    bases = tuple(space.bases[array.name] for array in code.inputs)
    slots = bases, space.tables, space.zero, tuple(constants), space.size
    held, alone = (tuple(sorted(numbers[name] for name in names)) for names in (rows, on_the_left(code)))
    return Body(tuple(tile.chunks), tile.text(bool(held)), *slots, products=True, held=held, alone=alone)


def _copy(tile: Tile, copy: Copy, zero: int) -> None:
    """Writes a copy. Zeros are copied too: the driver sets only single slots, once for each call."""
    pairs = [*zip(copy.slots, copy.to, strict=True), *((zero, slot) for slot in copy.cleared)]
    table = tile.named("copy")
    write_table(tile.tables, table, [slot for pair in pairs for slot in pair])
    tile.statements(f"cd_copy(w, {table}, {len(pairs)});")
