"""Loops over joints as C: a function for each step, loops that call them, the robot as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from condyle.backends.common.chunks import Chunk, Lowered, angle_slots
from condyle.backends.common.forms import Dialect, literal
from condyle.backends.common.loops import Bank, layout, product_table
from condyle.ir.loops import Columns, Loop, Mirror, Rolled, Step, Sweep, Walk, bodies, entries_read, steps
from condyle.ir.program import constant_of, input_of, operands
from condyle.ir.segments import Product
from condyle.operations import TRIGONOMETRIC, Node
from condyle.text import Emitter

# The body of one function: C functions on tiles, and the slots of inputs and outputs in the workspace.
#
# A `Body` is all that the driver in `source.py` needs; loops over joints (`rolled.py`) and segments make one too.


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
    slots, e = low.slots, Emitter()
    with e.block(f"CD_CHUNK void {function}(real_v *w)\n{{"):
        write_nodes(
            e,
            low.program.nodes,
            chunk.nodes,
            bits,
            lambda used: f"w[{slots[used]}]",
            lambda index: [f"w[{slots[index]}] = t{index};"] if index in slots else [],
        )
    return e.text()


def write_nodes(
    e: Emitter,
    nodes: Sequence[Node],
    order: Sequence[int],
    bits: int,
    load: Callable[[int], str],
    store: Callable[[int], Sequence[str]],
) -> None:
    """Writes these nodes in order as t0, t1, ...; load: another node's value as text. store: statements behind a
    node."""
    dialect, names = dialect_of(bits), dict[int, str]()
    for index in order:
        node = nodes[index]
        for used in operands(node):
            if used not in names:
                if nodes[used][0] == "const":
                    names[used] = operand(constant_of(nodes[used]), bits)
                else:
                    names[used] = f"t{used}"
                    e(f"const real_v t{used} = {load(used)};")
        uses = operands(node)
        constants = [k for k, used in enumerate(uses) if nodes[used][0] == "const"]
        names[index] = f"t{index}"
        e(f"const real_v t{index} = {dialect.spell(node[0], [names[used] for used in uses], constants)};")
        e(*store(index))


def operand(value: float, bits: int) -> str:
    """A constant as an operand."""
    text = literal(value, bits)
    return f"({text})" if text.startswith("-") else text


ARGUMENTS = "(real_v *w, size_t i, size_t c)"


def rolled_body(rolled: Rolled, bits: int) -> Body:
    """The body of loops over joints: `NAME_tile` runs the loops once for LANES states."""
    return _Writer(rolled, bits).body()


def used_constants(rolled: Rolled) -> list[list[int]]:
    """For each kind the columns of its table that its steps read."""
    used: list[set[int]] = [set() for _ in rolled.kinds]
    for _, body in bodies(rolled.loops):
        for kind, step in steps(body):
            used[kind] |= {entry for ref, entry in entries_read(step) if ref.space == "table"}
    return [sorted(columns) for columns in used]


class _Writer:
    """Writes the steps in the order of their first use, then the loops that call them."""

    def __init__(self, rolled: Rolled, bits: int) -> None:
        self.rolled, self.bits = rolled, bits
        self.place = layout(rolled)
        self.steps = Emitter()
        self.count = 0
        self.used = used_constants(rolled)
        self.banks: list[Bank] = []

    def body(self) -> Body:
        rolled, place = self.rolled, self.place
        loops = Emitter()
        with loops.block(f"CD_STATIC void {rolled.name}_tile(real_v *w)\n{{"):
            loops("size_t i, c = 0;", "(void)c;")
            self._clear(loops, place.to_clear())
            for loop in rolled.loops:
                self._joint_loop(loops, loop)
        tables, code = Emitter(), self.steps.text() + loops.text()
        self._write_tables(tables, code)
        slots = tuple(map(tuple, place.outputs()))
        inputs = tuple(place.bases[Bank("input", array.name)] for array in rolled.inputs)
        main = tables.text() + code
        products = any(isinstance(loop, Product) for loop in rolled.loops)
        return Body((), main, inputs, slots, place.zero, (), place.size, products)

    def _clear(self, e: Emitter, slots: Sequence[int]) -> None:
        if slots:
            table = f"{self.rolled.name}_clear{self.count}"
            self.count += 1
            write_table(self.steps, table, slots)
            with e.block(f"for (i = 0; i < {len(slots)}; i++) {{"):
                e(f"w[{table}[i]] = cd_splat(0);")

    def _write_tables(self, e: Emitter, code: str) -> None:
        """Writes the tables that the code reads: compilers warn of others."""
        rolled, name = self.rolled, self.rolled.name
        rows = [0] * len(rolled.kinds)
        row_of: list[int] = []
        for joint in rolled.joints:
            row_of.append(rows[joint.kind])
            rows[joint.kind] += 1
        columns = {
            "kind": [joint.kind for joint in rolled.joints],
            "parent": [max(joint.parent, 0) for joint in rolled.joints],
            "root": [int(joint.parent < 0) for joint in rolled.joints],
            "nv": [rolled.kinds[joint.kind].nv for joint in rolled.joints],
            "row": row_of,
        }
        for k, bank in enumerate(self.banks):
            columns[f"bank{k}"] = [self.place.start(bank, i) for i in range(len(rolled.joints))]
        for label, numbers in columns.items():
            if f"{name}_{label}[" in code:
                write_table(e, f"{name}_{label}", numbers)
        for kind, used in enumerate(self.used):
            values = [joint.table[k] for joint in rolled.joints if joint.kind == kind for k in used]
            if values:
                write_numbers(e, f"{name}_table{kind}", values, self.bits)

    def _joint_loop(self, e: Emitter, loop: Loop) -> None:
        if isinstance(loop, Sweep):
            self._sweep(e, loop, str(len(self.rolled.joints)))
        elif isinstance(loop, Columns):
            self._columns(e, loop)
        elif isinstance(loop, Product):
            self._product(e, loop)
        else:
            self._mirror(e, loop)

    def _columns(self, e: Emitter, columns: Columns) -> None:
        """Writes a loop over columns c, with joint j and its dof k."""
        name, n = self.rolled.name, len(self.rolled.joints)
        with e.block("{"):
            e("size_t j, k;", "c = 0;")
            with (
                e.block(f"for (j = 0; j < {n}; j++) {{"),
                e.block(f"for (k = 0; k < {name}_nv[j]; k++, c++) {{"),
            ):
                for part in columns.body:
                    if isinstance(part, Walk):
                        self._walk(e, part)
                    else:
                        self._sweep(e, part, "j + 1" if part.upto else str(n))

    def _sweep(self, e: Emitter, sweep: Sweep, end: str) -> None:
        head = f"for (i = {end}; i-- > 0;) {{" if sweep.backward else f"for (i = 0; i < {end}; i++) {{"
        calls = [self._call(step, kind) for kind, step in steps(sweep)]
        if any(calls):
            with e.block(head):
                self._switch(e, calls)

    def _call(self, step: Step, kind: int) -> str:
        return f"{self._step(step, kind)}(w, i, c);" if step.writes else ""

    def _switch(self, e: Emitter, calls: Sequence[str]) -> None:
        """The call for joint i's kind."""
        if len(calls) == 1:
            e(calls[0])
            return
        with e.block(f"switch ({self.rolled.name}_kind[i]) {{"):
            for kind, call in enumerate(calls):
                e(f"case {kind}:", *([f"    {call}"] if call else []), "    break;")
            e("default:", "    break;")

    def _walk(self, e: Emitter, walk: Walk) -> None:
        name = self.rolled.name
        if self.rolled.branches():
            self._clear(e, self.place.of_walk(walk))
        e("i = j;")
        for kind, starts in enumerate(walk.starts):
            for k, step in enumerate(starts):
                with e.block(f"if ({name}_kind[i] == {kind} && k == {k}) {{"):
                    e(self._call(step, kind))
        visits = [self._call(step, kind) for kind, step in enumerate(walk.visits)]
        with e.block(f"while (!{name}_root[i]) {{"):
            e(f"i = {name}_parent[i];")
            self._switch(e, visits)

    def _product(self, e: Emitter, product: Product) -> None:
        bases, table = self.place.bases, f"{self.rolled.name}_blocks{self.count}"
        self.count += 1
        left, right = bases[Bank("input", product.left.array)], bases[Bank("matrix", product.right.array)]
        write_product(self.steps, e, product, table, left, right, bases[Bank("matrix", product.result)])

    def _mirror(self, e: Emitter, mirror: Mirror) -> None:
        nv, base = self.rolled.nv, self.place.bases[Bank("matrix", mirror.matrix)]
        with e.block(f"for (i = 0; i < {nv * nv}; i++) {{"), e.block(f"if (i % {nv} < i / {nv}) {{"):
            e(f"w[{base} + i] = w[{base} + i % {nv} * {nv} + i / {nv}];")

    def _step(self, step: Step, kind: int) -> str:
        """Writes the function of one step; gives its name."""
        function = f"{self.rolled.name}_step{self.count}"
        self.count += 1
        e = self.steps
        with e.block(f"CD_STATIC void {function}{ARGUMENTS}\n{{"):
            self._write_banks(e, step)
            names = self._statements(step, kind)
            e("(void)i;", "(void)c;")
            for k, ref in enumerate(step.writes):
                known = {output.index: names[output.node] for output in step.program.outputs if output.array == k}
                for index in range(step.program.arrays[k].size):
                    place = self.place.written(ref, index)
                    if place is not None:
                        e(f"{self._place(*place)} = {known.get(index, 'cd_splat(0)')};")
        return function

    def _write_banks(self, e: Emitter, step: Step) -> None:
        """Writes a pointer to each storage region that the step reads or writes."""
        places = [self.place.read(ref, k) for ref, k in entries_read(step) if ref.space != "table"]
        for ref, array in zip(step.writes, step.program.arrays, strict=True):
            places += filter(None, (self.place.written(ref, k) for k in range(array.size)))
        columns = {"column": " + c", "row": f" + c * {self.rolled.nv}"}
        for bank in dict.fromkeys(bank for bank, _ in places):
            if bank not in self.banks:
                self.banks.append(bank)
            k = self.banks.index(bank)
            e(f"real_v *const b{k} = w + {self.rolled.name}_bank{k}[i]{columns.get(bank.kind, '')};")

    def _place(self, bank: Bank, offset: int) -> str:
        return f"b{self.banks.index(bank)}[{offset}]"

    def _statements(self, step: Step, kind: int) -> dict[int, str]:
        """Writes the values of a step; gives {node: name}."""
        e, program = self.steps, step.program
        names: dict[int, str] = {}
        angles = sorted({operands(node)[0] for node in program.nodes if node[0] in TRIGONOMETRIC})
        turns: dict[int, int] = {angle: 3 * k for k, angle in enumerate(angles)}
        for index, node in enumerate(program.nodes):
            names[index] = f"t{index}"
            if node[0] in TRIGONOMETRIC:
                names[index] = f"turn[{turns[operands(node)[0]] + (1 if node[0] == 'sin' else 2)}]"
            else:
                e(f"const real_v t{index} = {self._value(step, kind, node, names)};")
            if index == max(angles, default=-1):
                self._sincos(turns, names)
        return names

    def _sincos(self, turns: dict[int, int], names: dict[int, str]) -> None:
        """Writes one call for sines and cosines of all angles of a step."""
        e = self.steps
        slots = ", ".join(str(k) for k in range(3 * len(turns)))
        e(f"static const cd_slot at[] = {{{slots}}};", f"real_v turn[{3 * len(turns)}];")
        e(*(f"turn[{k}] = {names[angle]};" for angle, k in turns.items()))
        e(f"cd_sincos(turn, at, {len(turns)});")

    def _value(self, step: Step, kind: int, node: Node, names: dict[int, str]) -> str:
        if node[0] == "const":
            return f"cd_splat({literal(constant_of(node), self.bits)})"
        if node[0] == "input":
            array, entry = input_of(node)
            if step.reads[array].space == "table":
                used, name = self.used[kind], self.rolled.name
                return f"cd_splat({name}_table{kind}[{name}_row[i] * {len(used)} + {used.index(entry)}])"
            return self._place(*self.place.read(step.reads[array], entry))
        return dialect_of(self.bits).spell(node[0], [names[a] for a in operands(node)])
