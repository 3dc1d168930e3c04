"""Schedules as C: kernels as static functions, and a function for each schedule, with loops around their calls.

Slabs are in the caller's workspace. Nothing is allocated, and no static data is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.backends.c.embedded import write_embedded_preamble
from condyle.backends.c.rolled import write_nodes, write_numbers, write_table
from condyle.backends.c.source import LINE, body_in_c, real_of, support, write_driver, write_preamble, write_tile
from condyle.backends.common.chunks import Chunk, angle_slots, lower
from condyle.backends.common.facts import Facts, argument_names
from condyle.backends.common.forms import literal
from condyle.ir.count import tally
from condyle.ir.loops import Code
from condyle.ir.program import Array, Program, constant_of, input_of, operands
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Statement, Sweep, verify_schedule
from condyle.text import Emitter

# Kernels that read and write arrays where they stand: columns of panels, a vector of them at a time, or one state.
#
# A number that all columns share, and each number of one state, is put into every lane where it is read.


class Form(NamedTuple):
    """How a kernel is called. columns: of panels, else one state. panels: for each input whether it is a panel."""

    columns: bool
    panels: tuple[bool, ...]

    @property
    def name(self) -> str:
        return "columns_" + "".join(str(int(panel)) for panel in self.panels) if self.columns else "single"


def write_in_place(e: Emitter, program: Program, form: Form, bits: int) -> int:
    """Writes `NAME_FORM(n, in, out, w)`; how many vectors of w it needs."""
    writer = _Writer(program, form, bits)
    writer.write(e)
    return writer.low.size


class _Writer:
    """x0, x1, ... and y0, ... are where the arrays of the columns begin that are computed."""

    def __init__(self, program: Program, form: Form, bits: int) -> None:
        self.program, self.form, self.bits, self.low = program, form, bits, lower(program)
        self.function = f"{program.name}_{form.name}"
        self.inputs = [f"x{a}" for a in range(len(program.inputs))]
        self.outputs = [f"y{a}" for a in range(len(program.arrays))]
        self.answers: dict[int, list[str]] = {}
        for output in program.outputs:
            self.answers.setdefault(output.node, []).append(self._entry(f"y{output.array}", output.index))
        self.kept = frozenset(self._kept())

    def _kept(self) -> Iterator[int]:
        """Values that other chunks than their own read, and angles."""
        for step in self.low.steps:
            if isinstance(step, Chunk):
                inside = set(step.nodes)
                yield from (
                    used for index in inside for used in operands(self.program.nodes[index]) if used not in inside
                )
            else:
                yield from (angle.angle for angle in step.angles)

    def _entry(self, array: str, k: int, panel: bool | None = None) -> str:
        panel = self.form.columns if panel is None else panel
        return f"{array} + {k} * CD_PANEL" if panel else f"{array}[{k}]"

    def _load(self, node: int) -> str:
        """A value that is not computed here."""
        what = self.program.nodes[node]
        if what[0] == "const":
            return f"cd_splat({literal(constant_of(what), self.bits)})"
        if what[0] != "input":
            return f"w[{self.low.slots[node]}]"
        array, k = input_of(what)
        panel = self.form.panels[array]
        entry = self._entry(f"x{array}", k, panel)
        return f"CD_GET_ALL({entry})" if panel else f"cd_splat({entry})"

    def _put(self, place: str, value: str) -> str:
        return f"CD_PUT_ALL({place}, {value});" if self.form.columns else f"{place} = CD_FIRST({value});"

    def _store(self, node: int) -> list[str]:
        kept = [f"w[{self.low.slots[node]}] = t{node};"] if node in self.kept else []
        return [*kept, *(self._put(place, f"t{node}") for place in self.answers.get(node, ()))]

    def _chunk(self, e: Emitter, function: str, order: Sequence[int]) -> None:
        arrays = [*(f"const real *{x}" for x in self.inputs), *(f"real *{y}" for y in self.outputs)]
        with e.block(f"CD_CHUNK void {function}({', '.join(['real_v *w', *arrays])})\n{{"):
            e(", ".join(f"(void){name}" for name in ("w", *self.inputs, *self.outputs)) + ";")
            write_nodes(e, self.program.nodes, order, self.bits, self._load, self._store)

    def write(self, e: Emitter) -> None:
        nodes, columns, computed, body = self.program.nodes, self.form.columns, set[int](), Emitter()
        for number, step in enumerate(self.low.steps):
            name = f"{self.function}_{number}"
            if isinstance(step, Chunk):
                computed |= set(step.nodes)
                self._chunk(e, name, step.nodes)
                body(f"{name}({', '.join(['w', *self.inputs, *self.outputs])});")
                continue
            write_table(e, name, [slot for angle in step.angles for slot in angle_slots(self.low, angle)])
            asked = [angle.angle for angle in step.angles if nodes[angle.angle][0] == "input"]
            body(*(f"w[{self.low.slots[angle]}] = {self._load(angle)};" for angle in asked))
            body(f"cd_sincos(w, {name}, {len(step.angles)});")
        rest = {node: places for node, places in self.answers.items() if node not in computed}
        body(*(self._put(place, self._load(node)) for node, places in rest.items() for place in places))
        written = {(output.array, output.index) for output in self.program.outputs}
        sizes = [array.size for array in self.program.arrays]
        zeros = [(a, k) for a, size in enumerate(sizes) for k in range(size) if (a, k) not in written]
        body(*(self._put(self._entry(f"y{a}", k), "cd_splat(0)") for a, k in zeros))
        with e.block(f"CD_STATIC void {self.function}(size_t n, const real *const *x, real *const *y, real_v *w)\n{{"):
            e("size_t k = 0;", "(void)n, (void)x, (void)w;")
            e(*(f"w[{slot}] = cd_splat({literal(value, self.bits)});" for slot, value in self.low.constants))
            with e.block("do {", "} while (k < n);"):
                for a, (array, panel) in enumerate(zip(self.program.inputs, self.form.panels, strict=True)):
                    e(f"const real *const x{a} = {f'CD_COLUMN(x[{a}], {array.size}, k)' if panel else f'x[{a}]'};")
                for a, size in enumerate(sizes):
                    e(f"real *const y{a} = {f'CD_COLUMN(y[{a}], {size}, k)' if columns else f'y[{a}]'};")
                e(", ".join(f"(void){name}" for name in (*self.inputs, *self.outputs)) + ";")
                e(*body.text().splitlines(), "k += LANES;")
        e("")


Reals = NDArray[np.floating[Any]]
NUMBER = 8
"""Bytes of the longest number, the alignment of a workspace without vectors."""


class Meaning(NamedTuple):
    """What an input or an output of a schedule is: its shape in C, its unit, a line on it. name: in C, the slab's if
    empty."""

    shape: tuple[int, ...]
    unit: str
    text: str
    name: str = ""


class Example(NamedTuple):
    """Inputs and the answers to them, by slab, for the exported test. tolerance: relative to an answer's largest
    entry."""

    inputs: Mapping[str, Reals]
    outputs: Mapping[str, Reals]
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Entry:
    """A schedule as a function NAME_x of C, x the schedule's name.

    text: what it computes. meanings: of its inputs and outputs, by slab. fixed: inputs that are numbers in the code
    instead of arguments, by slab.
    """

    schedule: Schedule
    text: str
    meanings: Mapping[str, Meaning]
    example: Example | None = None
    fixed: Mapping[str, Reals] = field(default_factory=dict[str, Reals])

    @property
    def arguments(self) -> list[tuple[str, str, str]]:
        """Of each argument "in" or "out", its name in C, its slab."""
        pairs = [("in", x) for x in self.schedule.inputs if x not in self.fixed] + [
            ("out", x) for x in self.schedule.outputs
        ]
        words = argument_names([Array(self.meanings[slab].name or slab, ()) for _, slab in pairs], "array")
        return [(way, word, slab) for (way, slab), word in zip(pairs, words, strict=True)]

    def head(self, prefix: str, bits: int, names: Iterable[str]) -> str:
        """The declaration, with these names of arguments."""
        ways = [f"{'const ' if way == 'in' else ''}{real_of(bits)} *" for way, *_ in self.arguments]
        arguments = [way + name for way, name in zip(ways, names, strict=True)]
        passed = [argument.replace(" ", "\0") for argument in (*arguments, "void *work")]  # lines end behind commas
        text = f"void\0{prefix}_{self.schedule.name}({', '.join(passed)})"
        return fill(text, 116, subsequent_indent="    ", break_long_words=False).replace("\0", " ")


def schedules_in_c(
    e: Emitter,
    entries: Sequence[Entry],
    kernels: Mapping[str, Code],
    facts: Facts,
    bits: int,
    embedded: bool = False,
) -> dict[str, int]:
    """Writes the C file, which includes NAME.h; the bytes of workspace of each schedule.

    kernels: {name in calls: code}, inputs and outputs in the order of operands. embedded: freestanding text; each
    kernel is written once, for one state, and panels have one column.
    """
    calls = [call for entry in entries for call in verify_schedule(entry.schedule).calls()]
    called = {call.kernel for call in calls}
    assert called <= kernels.keys(), f"{facts.name}: no kernels {', '.join(called - kernels.keys())}"
    widths = {entry.schedule.lanes for entry in entries if any(call.columns for call in entry.schedule.calls())}
    panel = max(widths, default=0)
    assert widths <= {panel} and panel & (panel - 1) == 0, f"{facts.name}: panels of {widths} columns"
    codes = {
        name: replace(code, name=f"kernel_{k}") for k, (name, code) in enumerate(kernels.items()) if name in called
    }
    forms = dict.fromkeys((call.kernel, form_of(call, codes[call.kernel], embedded)) for call in calls)
    bodies = {name: body_in_c(codes[name], bits) for name, form in forms if form is None}
    width = panel * bits // 8
    ops = {op for code in codes.values() for op in tally(code)}
    if embedded:
        slots = [body.size for body in bodies.values()]
        slots += [len(code.nodes) for code in codes.values() if isinstance(code, Program)]
        write_embedded_preamble(e, bits, ops, max(slots, default=0), False)
        e(support("moves.h"))
    else:
        e("#define CD_SCALAR" if 0 < width < 16 else f"#define CD_MOST {min(width or LINE, LINE)}")
        write_preamble(e, bits, False, ops)
        e("typedef unsigned int cd_slot;", "", support("sincos.h"))
    if bodies or not embedded:
        e(support("transpose.h"), support("tiles.h"))
    if any(body.products for body in bodies.values()):
        e(support("product.h"))
    e(f"#define CD_PANEL {max(panel, 1)}", support("panels.h"), f'#include "{facts.name}.h"', "")
    room = 1
    for name, form in forms:
        code = codes[name]
        e(f"/* {code.name}{_said(name)} */")
        if form is not None and isinstance(code, Program):
            room = max(room, write_in_place(e, code, form, bits))
            continue
        room = max(room, bodies[name].size)
        write_tile(e, code.name, bodies[name], [text for text, _ in bodies[name].chunks])
        arrays = "const real *const *in, const ptrdiff_t *in_stride, real *const *out, const ptrdiff_t *out_stride"
        with e.block(f"CD_STATIC int {code.name}_rows(size_t n, {arrays},\n    void *work)\n{{"):
            write_driver(e, code, bits, bodies[name])
        e("")
    return {
        entry.schedule.name: _Function(entry, codes, facts.name, bits, embedded).write(e, room) for entry in entries
    }


def form_of(call: Call, code: Code, embedded: bool = False) -> Form | None:
    """How the kernel of a call reads and writes; None for tiles of rows."""
    if not isinstance(code, Program):
        assert not call.columns, f"{call.kernel}: columns are computed by straight-line code"
        return None
    if call.columns and not embedded:
        return Form(True, tuple(operand.step != 0 for operand in call.inputs))
    return Form(False, (False,) * len(call.inputs)) if call.count == 1 or embedded else None


def _said(name: str) -> str:
    """A name of a kernel or a slab as part of a comment, where it is a plain word."""
    return f": {name}" if argument_names([Array(name, ())], "?") == [name] else ""


def _literal(kind: str, items: Iterable[object]) -> str:
    """An array in an expression."""
    return f"({kind}[]){{{', '.join(map(str, items)) or '0'}}}"


def _rows(operand: Operand, states: int, turn: int) -> set[int]:
    return {operand.row + operand.turn * turn + operand.step * k for k in range(states)}


@dataclass
class _Function:
    """The function of one schedule: s0, s1, ... are its slabs, t the turn of the sweep around a statement."""

    entry: Entry
    codes: Mapping[str, Code]
    prefix: str
    bits: int
    embedded: bool = False

    def __post_init__(self) -> None:
        self.line = NUMBER if self.embedded else LINE
        self.slabs = {slab.name: slab for slab in self.entry.schedule.slabs}
        self.numbers = {name: k for k, name in enumerate(self.slabs)}
        self.loops = 0

    def write(self, e: Emitter, room: int) -> int:
        """Writes it; the bytes of its workspace. room: vectors that kernels need."""
        entry, schedule, wide = self.entry, self.entry.schedule, self.line * 8 // self.bits
        outside, end = {*schedule.inputs, *schedule.outputs}, 0
        for name, values in entry.fixed.items():
            write_numbers(e, f"{schedule.name}_s{self.numbers[name]}", [float(x) for x in np.ravel(values)], self.bits)
        with e.block(entry.head(self.prefix, self.bits, [self._base(slab) for *_, slab in entry.arguments]) + "\n{"):
            e(f"real *const room = (real *)(((uintptr_t)work + {self.line - 1}) / {self.line} * {self.line});")
            e(*(f"const real *const {self._base(name)} = {schedule.name}_{self._base(name)};" for name in entry.fixed))
            for slab in self.slabs.values():
                if slab.name not in outside and not slab.over:
                    said = f"{slab.rows} x {slab.size}{_said(slab.name)}"
                    e(f"real *const {self._base(slab.name)} = room + {end}; /* {said} */")
                    end += -(-slab.rows * slab.size // wide) * wide
            beside = max((sum(self._beside(call, turns)) for call, turns in _turned(schedule.body, 1)), default=0)
            e(
                f"real *const beside = room + {end};",
                f"real_v *const w = (real_v *)(beside + {-(-beside // wide) * wide});",
            )
            zeros = [x for x in self.slabs.values() if x.is_zero and not x.over and x.name not in schedule.inputs]
            e(*(self._zeros(self._base(slab.name), slab.rows * slab.size) for slab in zeros))
            names = ["w", *(self._base(name) for name, slab in self.slabs.items() if not slab.over)]
            e(f"{', '.join(f'(void){name}' for name in names)};")
            self._body(e, schedule.body, 1)
        e("")
        vectors = room * self.bits // 8 if self.embedded else room * LINE
        return (end + -(-beside // wide) * wide) * self.bits // 8 + vectors + self.line

    def _base(self, name: str) -> str:
        """The slab in C, of several in one memory the first."""
        while self.slabs[name].over:
            name = self.slabs[name].over
        return f"s{self.numbers[name]}"

    def _zeros(self, place: str, count: int) -> str:
        return f"cd_clear({place}, {count});" if self.embedded else f"memset({place}, 0, {count} * sizeof(real));"

    def _moved(self, target: str, source: str, count: int) -> str:
        if self.embedded:
            return f"cd_move({target}, {source}, {count});"
        return f"memmove({target}, {source}, {count} * sizeof(real));"

    def _slab(self, operand: Operand) -> Slab:
        return self.slabs[operand.slab]

    def _place(self, operand: Operand, k: str = "") -> str:
        """Where its row of the first state begins, or of state k."""
        size = self._slab(operand).size
        terms = [self._base(operand.slab)]
        terms += [str(operand.row * size)] if operand.row else []
        terms += [f"{operand.turn * size} * t"] if operand.turn else []
        terms += [f"{operand.step * size} * {k}"] if k and operand.step else []
        return " + ".join(terms).replace("+ -", "- ")

    def _meet(self, a: Operand, b: Operand, states: int, turns: int) -> bool:
        """Whether they may have a number in common at some turn; not looked at closely where rows differ in size."""
        if self._base(a.slab) != self._base(b.slab):
            return False
        sizes = self._slab(a).size, self._slab(b).size
        return sizes[0] != sizes[1] or any(_rows(a, states, t) & _rows(b, states, t) for t in range(turns))

    def _beside(self, call: Call, turns: int) -> list[int]:
        """How many numbers of each output are written beside, and copied when the call is done.

        They are where an input is, or another output. A kernel writes a tile before it reads the next one, so rows in
        place need no copy; of one state it writes parts before it reads all.
        """
        form = form_of(call, self.codes[call.kernel], self.embedded)
        states = 1 if call.columns else call.count
        counts = list[int]()
        for k, output in enumerate(call.outputs):
            others = [*(x for x in call.inputs if x != output or form is not None), *call.outputs[:k]]
            clash = any(self._meet(output, other, states, turns) for other in others)
            counts.append(states * self._slab(output).size if clash else 0)
        return counts

    def _body(self, e: Emitter, body: Sequence[Statement], turns: int) -> None:
        for statement in body:
            if isinstance(statement, Call):
                self._call(e, statement, turns)
            elif isinstance(statement, Move):
                source, target, size = statement.source, statement.target, self._slab(statement.target).size
                if source.step == target.step == 1:
                    e(self._moved(self._place(target), self._place(source), statement.count * size))
                else:
                    self._copy(e, target, self._place(source, "k"), statement.count)
            elif isinstance(statement, Sweep):
                count = statement.count
                loop = f"t = {count}; t-- > 0;" if statement.backwards else f"t = 0; t < {count}; t++"
                with e.block(f"for (ptrdiff_t {loop}) {{"):
                    e("(void)t;")
                    self._body(e, statement.body, count)
            else:
                number = self.loops
                self.loops += 1
                e(f"size_t turn_{number} = 0;")
                flag = self._place(Operand(statement.flag))
                with e.block("do {", f"}} while (!(*{flag} > 0) && ++turn_{number} < {statement.most});"):
                    self._body(e, statement.body, turns)

    def _copy(self, e: Emitter, target: Operand, source: str, count: int) -> None:
        """Copies rows, the first one first. source: where row k is, as C."""
        with e.block(f"for (ptrdiff_t k = 0; k < {count}; k++) {{"):
            e(self._moved(self._place(target, "k"), source, self._slab(target).size))

    def _each(self, e: Emitter, call: Call, places: Sequence[str]) -> None:
        """Calls a kernel of one state for all states; columns of a panel stand one after the other."""
        code, terms = self.codes[call.kernel], list[str]()
        operands, arrays = (*call.inputs, *call.outputs), (*code.inputs, *code.arrays)
        for operand, array, place in zip(operands, arrays, places, strict=True):
            step = bool(operand.step) if call.columns else operand.step
            terms.append(f"{place} + {step * array.size} * k".replace("+ -", "- ") if step else place)
        x, y = terms[: len(call.inputs)], terms[len(call.inputs) :]
        with e.block(f"for (ptrdiff_t k = 0; k < {call.count}; k++) {{"):
            e(f"{code.name}_single(1, {_literal('const real *const', x)},", f"    {_literal('real *const', y)}, w);")

    def _call(self, e: Emitter, call: Call, turns: int) -> None:
        code, counts = self.codes[call.kernel], self._beside(call, turns)
        form = form_of(call, code, self.embedded)
        for operand, array in zip((*call.inputs, *call.outputs), (*code.inputs, *code.arrays), strict=True):
            size = array.size * (call.count if call.columns and operand.step else 1)
            assert self._slab(operand).size == size, f"{call.kernel}: {operand} has not {size} numbers"
        starts = [sum(counts[:k]) for k in range(len(counts))]
        places = [
            f"beside + {start}" if count else self._place(operand)
            for operand, start, count in zip(call.outputs, starts, counts, strict=True)
        ]
        x, y = _literal("const real *const", map(self._place, call.inputs)), _literal("real *const", places)
        if form is not None and self.embedded and call.count > 1:
            self._each(e, call, [*map(self._place, call.inputs), *places])
        elif form is not None:
            e(f"{code.name}_{form.name}({call.count}, {x},", f"    {y}, w);")
        else:
            steps = _literal("const ptrdiff_t", [o.step * self._slab(o).size for o in call.inputs])
            strides = [
                self._slab(o).size * (1 if count else o.step) for o, count in zip(call.outputs, counts, strict=True)
            ]
            e(f"{code.name}_rows({call.count}, {x}, {steps},", f"    {y}, {_literal('const ptrdiff_t', strides)}, w);")
        for operand, start, count in zip(call.outputs, starts, counts, strict=True):
            size = self._slab(operand).size
            if count:
                self._copy(e, operand, f"beside + {start} + {size} * k", count // size)


def _turned(body: Sequence[Statement], turns: int) -> Iterator[tuple[Call, int]]:
    """All calls, each with the turns of the sweep around it."""
    for statement in body:
        if isinstance(statement, Call):
            yield statement, turns
        elif not isinstance(statement, Move):
            yield from _turned(statement.body, statement.count if isinstance(statement, Sweep) else turns)
