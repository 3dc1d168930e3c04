"""The body of one function: C functions on tiles, and the slots of inputs and outputs in the workspace.

A `Body` is all that the driver in emit.py needs; loops over joints (`rolled.py`) and segments make one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from condyle.backends.common.chunks import Chunk, Lowered, angle_slots
from condyle.backends.common.forms import Dialect
from condyle.backends.common.literals import literal
from condyle.backends.common.segments import product_table
from condyle.ir.program import operands
from condyle.ir.segments import Product
from condyle.text import Emitter


@dataclass(frozen=True, slots=True)
class Body:
    """The code between packing and unpacking: `static void NAME_tile(real_v *w)` computes one tile.

    chunks: texts of the functions that it calls, each `CD_CHUNK void NAME_k(real_v *w)` with its number of operations.
    main: tables, and NAME_tile itself. bases: slot of the first entry of each input. tables: slot of every entry of
    each output. zero: a slot that the driver sets to zero; constants: slots that it sets to numbers. size: the number
    of slots. products: whether it multiplies matrices (support/product.h). held: numbers of inputs that products read
    from the caller's array if one row is for all states; `NAME_tile` takes these rows too. alone: those of them that
    only products read.
    """

    chunks: tuple[tuple[str, int], ...]
    main: str
    bases: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    zero: int
    constants: tuple[tuple[int, float], ...]
    size: int
    products: bool = False
    held: tuple[int, ...] = ()
    alone: tuple[int, ...] = ()

    @property
    def arguments(self) -> str:
        """The arguments of NAME_tile."""
        return "w, held" if self.held else "w"


def dialect_of(bits: int) -> Dialect:
    """Operations on vectors in C."""
    return Dialect("1.0f" if bits == 32 else "1.0", "cd_sqrt", "cd_", "cd_splat({0})")


class Tile:
    """`NAME_tile` under construction: its tables, its statements, and the functions that it calls."""

    def __init__(self, name: str, bits: int) -> None:
        self.name, self.bits = name, bits
        self.chunks: list[tuple[str, int]] = []
        self.tables, self.statements = Emitter(), Emitter()
        self.count = 0

    def named(self, what: str) -> str:
        """A name for a table of the next statement."""
        self.count += 1
        return f"{self.name}_{what}_{self.count - 1}"

    def add(self, low: Lowered) -> None:
        """Adds a Program."""
        for step in low.steps:
            if isinstance(step, Chunk):
                function = f"{self.name}_{len(self.chunks)}"
                self.chunks.append((_chunk(low, step, function, self.bits), len(step.nodes)))
                self.statements(f"{function}(w);")
                self.count += 1
            else:
                table = self.named("angles")
                write_table(self.tables, table, [slot for angle in step.angles for slot in angle_slots(low, angle)])
                self.statements(f"cd_sincos(w, {table}, {len(step.angles)});")

    def text(self, held: bool = False) -> str:
        """The tables, then the function. held: whether it takes the rows of held inputs."""
        e = self.tables
        with e.block(f"CD_STATIC void {self.name}_tile(real_v *w{', const real *const *held' if held else ''})\n{{"):
            e(*(filter(None, self.statements.text().splitlines()) if self.count else ["(void)w;"]))
        return e.text()


def straight(low: Lowered, bits: int) -> Body:
    """The body of a straight-line Program."""
    tile = Tile(low.program.name, bits)
    tile.add(low)
    return Body(tuple(tile.chunks), tile.text(), low.bases, low.tables, low.zero, low.constants, low.size)


def write_table(e: Emitter, name: str, numbers: Sequence[int]) -> None:
    """A constant table of slot numbers, sixteen to a line."""
    e.table(f"static const cd_slot {name}", list(map(str, numbers)), 16)


def write_numbers(e: Emitter, name: str, values: Sequence[float], bits: int, real: str = "real") -> None:
    """A constant table of numbers, four to a line."""
    e.table(f"static const {real} {name}", [literal(value, bits) for value in values] or ["0"], 4)


def write_product(
    tables: Emitter,
    e: Emitter,
    product: Product,
    table: str,
    left: int | str,
    right: int,
    result: int,
    row: int | None = None,
) -> None:
    """Writes a product of matrices that begin at these slots; left may also be the name of a table of numbers.

    table: a name for the table of blocks. row: number of the held input that may be the left matrix.
    """
    blocks, (lines, columns) = product_table(product), product.shape
    write_table(tables, table, blocks)
    x, y = product.left, product.right
    place = f"NULL, {left} + {x.offset}" if isinstance(left, str) else f"w + {left + x.offset}, NULL"
    if row is not None:
        place = f"w + {left} + {x.offset}, held[{row}] == NULL ? NULL : held[{row}] + {x.offset}"
    distances = f"{x.row}, {x.column}, {y.row}, {y.column}, {lines}, {columns}"
    with e.block("{"):
        e(f"const cd_factors f = {{{place}, w + {right + y.offset}, w + {result}, {distances}}};")
        e(f"cd_multiply(&f, {table}, {len(blocks)}, {int(product.minus)});")


def _chunk(low: Lowered, chunk: Chunk, function: str, bits: int) -> str:
    """One function: values of other chunks are loaded at their first use, values that others read are stored."""
    nodes, slots = low.program.nodes, low.slots
    dialect = dialect_of(bits)
    names: dict[int, str] = {}
    e = Emitter()
    with e.block(f"CD_CHUNK void {function}(real_v *w)\n{{"):
        for index in chunk.nodes:
            node = nodes[index]
            for used in operands(node):
                if used not in names:
                    if nodes[used][0] == "const":
                        names[used] = operand(cast(float, nodes[used][1]), bits)  # pyright: ignore[reportGeneralTypeIssues]
                    else:
                        names[used] = f"t{used}"
                        e(f"const real_v t{used} = w[{slots[used]}];")
            uses = operands(node)
            constants = [k for k, used in enumerate(uses) if nodes[used][0] == "const"]
            names[index] = f"t{index}"
            e(f"const real_v t{index} = {dialect.spell(node[0], [names[used] for used in uses], constants)};")
            if index in slots:
                e(f"w[{slots[index]}] = t{index};")
    return e.text()


def operand(value: float, bits: int) -> str:
    """A constant as an operand."""
    text = literal(value, bits)
    return f"({text})" if text.startswith("-") else text
