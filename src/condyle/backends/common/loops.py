"""The layout of loops over joints, and of segments, in the workspace, in slots.

Values of a joint that later loops read are in the joint's block. The last loop that reads an entry frees its slot; new
values of that loop use it one joint further on, where the entry has been read already. Values that go from joint to
joint within one sweep are in a few rows that are reused: two on a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.backends.common.chunks import Lowered, Room, room_of
from condyle.ir.loops import Ref, Rolled, Sweep, Walk, bodies, entries_read, steps
from condyle.ir.program import Array, Program
from condyle.ir.segments import Iteration, Product, Segmented, reads
from condyle.operations import LEAVES

Entry = tuple[str, int]
"""A buffer and an entry of its rows."""


class Bank(NamedTuple):
    """A storage region that a step reads or writes; each joint's part has its own first slot.

    kind: block, passing or carry (of the joint or, with `of_parent`, of its parent), input, output, column, row or
    diagonal. name: the port or matrix.
    """

    kind: str
    name: str = ""
    of_parent: bool = False
    further: int = 0
    """number of joints that the block is further on"""


@dataclass(frozen=True)
class Layout:
    """First slots of regions (bases), and the offset of each entry: in a block, with the number of joints further on
    (kept), or in a row that is passed from joint to joint (passed)."""

    rolled: Rolled
    bases: Mapping[Bank, int]
    kept: Mapping[Entry, tuple[int, int]]
    passed: Mapping[Entry, int]
    block_width: int
    passing_width: int
    passing_rows: tuple[int, ...]
    depths: tuple[int, ...]
    carry: int
    zero: int
    size: int

    def read(self, ref: Ref, entry: int) -> tuple[Bank, int]:
        """The region of an entry of a reference, and its offset in it."""
        nv = self.rolled.nv
        if ref.space in ("here", "parent"):
            place, of_parent = (ref.name, entry), ref.space == "parent"
            if place in self.passed:
                return Bank("passing", "", of_parent), self.passed[place]
            offset, further = self.kept[place]
            return Bank("block", "", of_parent, further), offset
        step = {"column": nv, "diagonal": nv + 1}.get(ref.space, 1)
        return Bank(ref.space, ref.name), step * entry

    def written(self, ref: Ref, entry: int) -> tuple[Bank, int] | None:
        """The same for an entry that a step writes; None where no step reads it. Carried values go to the parent."""
        if (
            ref.space in ("here", "parent")
            and (ref.name, entry) not in self.kept
            and (ref.name, entry) not in self.passed
        ):
            return None
        bank, offset = self.read(ref, entry)
        return bank._replace(of_parent=True) if bank.kind == "carry" else bank, offset

    def start(self, bank: Bank, i: int) -> int:
        """The first slot of joint i's part of a region, in column 0."""
        rolled = self.rolled
        joint = rolled.joints[i]
        base = self.bases[bank._replace(of_parent=False, further=0)]
        j = max(joint.parent, 0) if bank.of_parent else i
        if bank.kind == "block":
            return base + (j + bank.further) * self.block_width
        if bank.kind == "passing":
            return base + self.passing_rows[j] * self.passing_width
        if bank.kind == "input":
            return base + max(rolled.offset(joint, bank.name), 0)
        if bank.kind == "carry":  # one for even depths, one for odd ones: a step reads one and writes the other
            return base + (self.depths[i] + bank.of_parent) % 2 * self.carry
        steps = {"column": rolled.nv, "diagonal": rolled.nv + 1}
        return base + joint.v * steps.get(bank.kind, 1)

    def outputs(self) -> list[list[int]]:
        """The slot of each entry of each output array; `zero` where a matrix is never written."""
        rolled, tables = self.rolled, list[list[int]]()
        for array in rolled.arrays:
            name = rolled.results.get(array.name, "")
            base = self.bases[Bank("matrix", name) if name else Bank("output", array.name)]
            slots = list(range(base, base + array.size))
            if name and not self._touched(name, Sweep):
                for k in self._unrelated() if self._touched(name, Walk) else ():
                    slots[k] = self.zero
            tables.append(slots)
        return tables

    def to_clear(self) -> list[int]:
        """Slots that loops read and that must be zero before each run, because no walk writes them."""
        rolled = self.rolled
        read = {ref.name for _, body in bodies(rolled.loops) for _, step in steps(body) for ref in step.reads}
        names = [name for name in rolled.matrices if name in read and self._touched(name, Walk)]
        return [self.bases[Bank("matrix", name)] + k for name in names for k in self._unrelated()]

    def of_walk(self, walk: Walk) -> list[int]:
        """Slots that must be zero before a walk, because it does not reach every joint."""
        entries = sorted(entry for entry in self.kept if entry[0] in walk.clears)
        places = [self.read(Ref("here", name), k) for name, k in entries]
        return [self.start(bank, i) + at for i in range(len(self.rolled.joints)) for bank, at in places]

    def _touched(self, matrix: str, by: type[Sweep | Walk]) -> bool:
        """Whether loops of this type write entries of a matrix off its diagonal."""
        return any(
            Ref(space, matrix) in step.writes
            for _, body in bodies(self.rolled.loops)
            if isinstance(body, by)
            for _, step in steps(body)
            for space in ("column", "row")
        )

    def _unrelated(self) -> list[int]:
        """Entries of a matrix whose two joints are not on one path to the root."""
        rolled = self.rolled
        if not rolled.branches():
            return []
        related: list[list[int]] = []
        left = set(range(rolled.nv**2))
        for joint in rolled.joints:
            own = range(joint.v, joint.v + rolled.kinds[joint.kind].nv)
            related.append([*(related[joint.parent] if joint.parent >= 0 else ()), *own])
            left -= {x for row in own for k in related[-1] for x in (row * rolled.nv + k, k * rolled.nv + row)}
        return sorted(left)


def layout(rolled: Rolled, front: int = 0) -> Layout:
    """The layout, after `front` slots that the target uses itself."""
    passed = _passed(rolled)
    kept, block = _kept(rolled, set(passed))
    rows = _rows(rolled)
    width = max(passed.values(), default=-1) + 1
    carry = max((loop.carry for _, loop in bodies(rolled.loops) if not isinstance(loop, Sweep)), default=0)
    bases: dict[Bank, int] = {}
    cursor = front
    sizes = {Bank("carry"): 2 * carry}
    sizes |= {Bank("input", array.name): array.size for array in rolled.inputs}
    sizes |= {Bank("output", array.name): array.size for array in rolled.arrays if array.name not in rolled.results}
    ends = [further for _, further in kept.values()] or [0]
    before, behind = max(0, -min(ends)), max(0, max(ends))
    sizes |= {
        Bank("block"): block * (before + len(rolled.joints) + behind),
        Bank("passing"): width * (max(rows, default=-1) + 1),
    }
    sizes |= {Bank("matrix", name): rolled.nv**2 for name in rolled.matrices}
    for bank, size in sizes.items():
        bases[bank] = cursor
        cursor += size
    bases[Bank("block")] += before * block
    for name in rolled.matrices:
        for kind in ("column", "row", "diagonal"):
            bases[Bank(kind, name)] = bases[Bank("matrix", name)]
    depths: list[int] = []
    for joint in rolled.joints:
        depths.append(1 + depths[joint.parent] if joint.parent >= 0 else 0)
    return Layout(rolled, bases, kept, passed, block, width, rows, tuple(depths), carry, cursor, cursor + 1)


def _passed(rolled: Rolled) -> dict[Entry, int]:
    """Offsets of entries that are live within one sweep only, from joint to joint; all sweeps use the same rows."""
    readers: dict[Entry, set[int]] = {}
    on_the_way: dict[Entry, int] = {}
    for number, (_, body) in enumerate(bodies(rolled.loops)):
        for _, step in steps(body):
            for ref, entry in entries_read(step):
                if ref.space in ("here", "parent"):
                    readers.setdefault((ref.name, entry), set()).add(number)
                if ref.space == "parent":
                    on_the_way[ref.name, entry] = number
            for ref, array in zip(step.writes, step.program.arrays, strict=True):
                if ref.space == "parent":
                    on_the_way |= {(ref.name, entry): number for entry in range(array.size)}
    places: dict[Entry, int] = {}
    taken: dict[int, int] = {}
    for entry, number in sorted(on_the_way.items()):
        if readers.get(entry) == {number}:
            places[entry] = taken.setdefault(number, 0)
            taken[number] += 1
    return places


def _kept(rolled: Rolled, passed: set[Entry]) -> tuple[dict[Entry, tuple[int, int]], int]:
    """{entry: (offset in a block, number of joints further on)}, and the width of a block."""
    born, last, of_parent = _lives(rolled)
    places: dict[Entry, tuple[int, int]] = {}
    free: list[tuple[int, int]] = []
    width = 0
    for number, loop in enumerate(rolled.loops):
        reused: list[tuple[int, int]] = []
        if isinstance(loop, Sweep):
            step = 1 if loop.backward else -1
            dying = sorted(entry for entry in places if last[entry] == number and (entry, number) not in of_parent)
            reused = [(places[entry][0], places[entry][1] + step) for entry in dying]
        for entry in (entry for entry in sorted(last) if born.get(entry) == number and entry not in passed):
            if not free and not reused:
                free, width = [(width, 0)], width + 1
            places[entry] = (free or reused).pop()
        held = {place for entry, (place, _) in places.items() if last[entry] > number}
        free = [(place, 0) for place in reversed(range(width)) if place not in held]
    return places, width


def _lives(rolled: Rolled) -> tuple[dict[Entry, int], dict[Entry, int], set[tuple[Entry, int]]]:
    """For each entry the loop that writes it first, the loop that reads it last; and (entry, loop) of reads of the
    parent's."""
    born: dict[Entry, int] = {}
    last: dict[Entry, int] = {}
    of_parent: set[tuple[Entry, int]] = set()
    for number, body in bodies(rolled.loops):
        for _, step in steps(body):
            for ref, k in entries_read(step):
                if ref.space in ("here", "parent"):
                    last[ref.name, k] = number
                if ref.space == "parent":
                    of_parent.add(((ref.name, k), number))
            for ref, array in zip(step.writes, step.program.arrays, strict=True):
                if ref.space == "here":
                    born |= {(ref.name, k): number for k in range(array.size) if (ref.name, k) not in born}
    return born, last, of_parent


def _rows(rolled: Rolled) -> tuple[int, ...]:
    """The row of each joint, which is free again after its last child."""
    last = list(range(len(rolled.joints)))
    for i, joint in enumerate(rolled.joints):
        if joint.parent >= 0:
            last[joint.parent] = i
    rows: list[int] = []
    busy: list[int] = []
    for i in range(len(rolled.joints)):
        row = next((k for k, until in enumerate(busy) if until < i), len(busy))
        busy[row : row + 1] = [last[i]]
        rows.append(row)
    return tuple(rows)


# The layout of segments in the workspace: arrays, and the Programs' own slots, which are reused.
#
# What an iteration carries is in its arrays all the time: its body writes slots of its own, which are then copied
# there.


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
