"""The layout of segments in the workspace: arrays, and the Programs' own slots, which are reused.

What an iteration carries is in its arrays all the time: its body writes slots of its own, which are then copied there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from condyle.backends.common.chunks import Lowered, Room, room_of
from condyle.ir.program import Array, Program
from condyle.ir.segments import Iteration, Product, Segmented, reads
from condyle.operations import LEAVES

FOREVER = 1 << 40
AT_ONCE = {1: 8, 2: 4, 3: 4}
"""{number of columns of a block: number of lines}, for products (c/support/product.h)."""


class Copy(NamedTuple):
    """Slots of a Program's outputs, and the slots of an array that they are copied to, without those already in place.

    cleared: slots of the array that are set to zero.
    """

    slots: tuple[int, ...]
    to: tuple[int, ...]
    cleared: tuple[int, ...] = ()


class Span(NamedTuple):
    """Slots first .. end - 1, occupied until segment number `last` is done."""

    first: int
    end: int
    last: int


class Workspace:
    """The workspace, segment by segment: `room` before a Program, `programmed` after it, `multiplied` at a product.

    The function's inputs, the zero and the spare slot are permanent. bases: {array: its first slot}. size: the number
    of slots.
    """

    def __init__(self, code: Segmented) -> None:
        room = room_of(code.inputs)
        self.zero, self.spare, self.size = room.zero, room.spare, room.first
        self.bases = {array.name: base for array, base in zip(code.inputs, room.bases, strict=True)}
        self._arrays, self._tables = code.arrays, dict[str, tuple[int, ...]]()
        self._answers = {array.name for array in code.arrays}
        self._spans, self._number = [Span(0, self.size, FOREVER)], 0
        self._last = _last_readers(code, self._answers)
        self._lefts = {product.left.array for product in code.products}
        self._rights = {product.right.array: set[int]() for product in code.products}
        for product in code.products:
            self._rights[product.right.array] |= product.entries_of_right()
        self._programs = {array.name for program in code.programs for array in program.inputs}
        self._programs |= {name for iteration in code.iterations for name in reads(iteration)}
        self._kept = dict[str, Sequence[int]]()

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """For each output the slot of every entry."""
        return tuple(self._tables[array.name] for array in self._arrays)

    def room(self, program: Program, is_body: bool = False) -> Room:
        """Room for a Program: slots for its outputs that are operands of products; its own slots after all occupied
        ones. is_body: of the body of an iteration the outputs have slots already."""
        given, fixed = _output_nodes(program), dict[int, int]()
        shown = {node for array in program.arrays if array.name in self._answers for node in given[array.name].values()}
        for array in () if is_body else program.arrays:
            if self._is_operand(array.name):
                nodes = given[array.name]
                self._kept[array.name] = kept = self._written(array, nodes)
                if array.name in self._lefts and len(kept) < array.size:  # new slots, for ever
                    self.bases[array.name] = self.size
                    self._take(Span(self.size, self.size + array.size, FOREVER))
                else:
                    self._place(array)
                for k in kept:
                    if k in nodes and nodes[k] not in shown and program.nodes[nodes[k]][0] not in LEAVES:
                        fixed.setdefault(nodes[k], self.bases[array.name] + k)
        constant = any(program.nodes[output.node][0] == "const" for output in program.outputs)
        # constants that are outputs are set once for each call, before all segments: so in new slots
        first = self.size if constant else max(span.end for span in self._spans)
        return Room(tuple(self.bases[array.name] for array in program.inputs), self.zero, self.spare, first, fixed)

    def programmed(self, low: Lowered, first: int, end: int) -> list[Copy]:
        """Marks slots first .. end - 1 as the Program's; the copies that put its outputs into arrays."""
        given = list(zip(low.program.arrays, low.tables, strict=True))
        stays = any(array.name in self._answers for array, _ in given)
        fixed = 1 + max((slot for slot, _ in low.constants), default=first - 1)
        self._take(Span(first, end if stays else fixed, FOREVER))
        self._take(Span(first, end, self._number))
        self._tables |= {array.name: table for array, table in given}
        copies = [self._copied(array, table) for array, table in given if self._is_operand(array.name)]
        self._done()
        return [copy for copy in copies if copy.to or copy.cleared]

    def begun(self, iteration: Iteration) -> list[Copy]:
        """Allocates what an iteration carries; the copies that set it at the first time."""
        for array in iteration.body.arrays:
            self._place(array, self._number)
            base = self.bases[array.name]
            self._tables[array.name] = tuple(range(base, base + array.size))
        pairs = zip(iteration.starts, iteration.body.arrays, strict=True)
        return [self._moved(self.bases[start], array) for start, array in pairs]

    def _moved(self, start: int, array: Array) -> Copy:
        return Copy(tuple(range(start, start + array.size)), self._tables[array.name])

    def iterated(self, low: Lowered, first: int, end: int) -> list[Copy]:
        """The same as `programmed` for the body of an iteration, whose outputs go where its inputs are.

        An entry that another one still is read from goes by way of a slot behind `end`.
        """
        self._take(Span(first, 1 + max((slot for slot, _ in low.constants), default=first - 1), FOREVER))
        moves = [
            (slot, self.bases[array.name] + entry)
            for array, table in zip(low.program.arrays, low.tables, strict=True)
            for entry, slot in enumerate(table)
            if slot != self.bases[array.name] + entry
        ]
        written = {to for _, to in moves}
        early = sorted({slot for slot, _ in moves if slot in written})
        aside = dict(zip(early, range(end, end + len(early)), strict=True))
        self._take(Span(first, end + len(early), self._number))
        self._done()
        copies = [
            Copy(tuple(aside), tuple(aside.values())),
            Copy(tuple(aside.get(slot, slot) for slot, _ in moves), tuple(to for _, to in moves)),
        ]
        return [copy for copy in copies if copy.to]

    def multiplied(self, product: Product) -> int:
        """Allocates the result of a product; its first slot."""
        self._place(product.array)
        base = self.bases[product.result]
        self._tables[product.result] = tuple(range(base, base + product.array.size))
        self._done()
        return base

    def _is_operand(self, name: str) -> bool:
        return name in self._lefts or name in self._rights or name in self._programs

    def _written(self, array: Array, nodes: Mapping[int, int]) -> Sequence[int]:
        """The entries of an operand that must be written; the others are not read, or are zero."""
        name = array.name
        if name in self._programs or (name in self._lefts and name in self._rights):
            return range(array.size)
        return sorted(self._rights.get(name, nodes))

    def _copied(self, array: Array, table: Sequence[int]) -> Copy:
        """The copies for entries that are not in place: entries that share a node, constants, parts of other arrays."""
        base, kept = self.bases[array.name], self._kept[array.name]
        zeros = sorted(set(range(array.size)) - set(kept)) if array.name in self._lefts else []
        moved = [k for k in kept if table[k] != base + k]
        return Copy(tuple(table[k] for k in moved), tuple(base + k for k in moved), tuple(base + k for k in zeros))

    def _place(self, array: Array, until: int = 0) -> None:
        """Allocates the first free slots. until: a segment that it is there for at least."""
        first = 0
        for span in sorted(self._spans):
            if first + array.size <= span.first:
                break
            first = max(first, span.end)
        self.bases[array.name] = first
        self._take(Span(first, first + array.size, max(until, self._last.get(array.name, self._number))))

    def _take(self, span: Span) -> None:
        self._spans.append(span)
        self.size = max(self.size, span.end)

    def _done(self) -> None:
        """Frees slots that no later segment reads."""
        self._spans = [span for span in self._spans if span.last > self._number]
        self._number += 1


def _output_nodes(program: Program) -> dict[str, dict[int, int]]:
    """{array: {entry: node}}, without entries that are zero."""
    found: dict[str, dict[int, int]] = {array.name: {} for array in program.arrays}
    for output in program.outputs:
        found[program.arrays[output.array].name][output.index] = output.node
    return found


def _last_readers(code: Segmented, answers: set[str]) -> dict[str, int]:
    """{array: the last segment that reads it}; FOREVER for outputs and for inputs of Programs that write outputs."""
    last = dict.fromkeys(answers, FOREVER)
    for number, segment in enumerate(code.segments):
        stays = isinstance(segment, Program) and any(array.name in answers for array in segment.arrays)
        for name in reads(segment):
            last[name] = max(last.get(name, 0), FOREVER if stays else number)
    return last


def own_inputs(code: Segmented, program: Program) -> set[int]:
    """Numbers of the inputs of a Program that no other segment reads."""
    others = {name for other in code.segments if other is not program for name in reads(other)}
    others |= {array.name for array in code.arrays}
    return {k for k, array in enumerate(program.inputs) if array.name not in others}


def on_the_left(code: Segmented) -> frozenset[str]:
    """Held inputs that are read only as left operands of products."""
    others = {name for part in code.segments if not isinstance(part, Product) for name in reads(part)}
    return code.held - others - {product.right.array for product in code.products}


def product_table(product: Product) -> list[int]:
    """The blocks of a product as c/support/product.h reads them."""
    return [n for part in product.blocks(AT_ONCE) for n in (*map(len, part), *part.first, *part.columns, *part.terms)]
