"""Schedules as C: kernels as static functions, and a function for each schedule, with loops around their calls.

Slabs are in the caller's workspace. Nothing is allocated, and no static data is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from condyle.backends.c.in_place import Form, write_in_place
from condyle.backends.c.rolled import Body
from condyle.backends.c.source import (
    LINE,
    body_in_c,
    real_of,
    support,
    write_driver,
    write_facts,
    write_preamble,
    write_tile,
)
from condyle.backends.common.facts import Facts, argument_names
from condyle.ir.count import tally
from condyle.ir.program import Array, Program
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Statement, Sweep, Until, verify_schedule
from condyle.ir.sweep import Code
from condyle.text import Emitter

STRIDED = (
    "size_t n, const real *const *in, const ptrdiff_t *in_stride, real *const *out, const ptrdiff_t *out_stride,\n"
    "    void *work"
)


def arguments_of(schedule: Schedule) -> tuple[list[str], list[str]]:
    """Names of its inputs and of its outputs in C."""
    inputs, outputs = (
        argument_names([Array(name, ()) for name in names], way)
        for names, way in ((schedule.inputs, "in"), (schedule.outputs, "out"))
    )
    return inputs, outputs


def head_of(schedule: Schedule, prefix: str, bits: int, names: tuple[list[str], list[str]] | None = None) -> str:
    """The declaration of its function. names: of inputs and outputs, those of `arguments_of` if None."""
    real, (inputs, outputs) = real_of(bits), names or arguments_of(schedule)
    arguments = [*(f"const {real} *{name}" for name in inputs), *(f"{real} *{name}" for name in outputs), "void *work"]
    return f"void {prefix}_{schedule.name}({', '.join(arguments)})"


class Written(NamedTuple):
    """A C file, and for each schedule the bytes of its workspace."""

    text: str
    work: dict[str, int]


def schedules_in_c(schedules: Sequence[Schedule], kernels: Mapping[str, Code], facts: Facts, bits: int) -> Written:
    """The C file, which includes NAME.h. kernels: {name in calls: code}, inputs and outputs in the order of operands."""
    calls = [call for schedule in schedules for call in verify_schedule(schedule).calls()]
    called = {call.kernel for call in calls}
    assert called <= kernels.keys(), f"{facts.name}: no kernels {', '.join(called - kernels.keys())}"
    lanes = {schedule.lanes for schedule in schedules if any(call.columns for call in schedule.calls())} or {0}
    (panel,) = lanes  # schedules that share a file have panels of one width
    assert panel & (panel - 1) == 0, f"{facts.name}: panels of {panel} columns"
    codes = {
        name: replace(code, name=f"kernel_{k}") for k, (name, code) in enumerate(kernels.items()) if name in called
    }
    forms = dict.fromkeys((call.kernel, form_of(call, codes[call.kernel])) for call in calls)
    bodies = {name: body_in_c(codes[name], bits) for name, form in forms if form is None}
    e, room = Emitter(), 1
    _write_support(e, facts, codes, bodies, bits, panel)
    for name, form in forms:
        code = codes[name]
        e(f"/* {code.name}{_said(name)} */")
        if form is not None:
            room = max(room, write_in_place(e, code, form, bits))
            continue
        room = max(room, bodies[name].size)
        write_tile(e, code.name, bodies[name], [text for text, _ in bodies[name].chunks])
        with e.block(f"CD_STATIC int {code.name}_rows({STRIDED})\n{{"):
            write_driver(e, code, bits, bodies[name])
        e("")
    work = {schedule.name: _Function(schedule, codes, facts.name, bits).write(e, room) for schedule in schedules}
    write_facts(e, facts)
    return Written(e.text(), work)


def form_of(call: Call, code: Code) -> Form | None:
    """How the kernel of a call reads and writes; None for tiles of rows."""
    if not isinstance(code, Program):
        assert not call.columns, f"{call.kernel}: columns are computed by straight-line code"
        return None
    if call.columns:
        return Form(True, tuple(operand.step != 0 for operand in call.inputs))
    return Form(False, (False,) * len(call.inputs)) if call.count == 1 else None


def _write_support(
    e: Emitter, facts: Facts, codes: Mapping[str, Code], bodies: Mapping[str, Body], bits: int, panel: int
) -> None:
    """Types, operations and copies that these kernels need. Vectors are no longer than a panel is wide."""
    width = panel * bits // 8
    e(*(["#define CD_SCALAR"] if 0 < width < 16 else [f"#define CD_MOST {min(width or LINE, LINE)}"]))
    e(f"#define CD_PANEL {max(panel, 1)}")
    write_preamble(e, bits, False, {op for code in codes.values() for op in tally(code)})
    e("typedef unsigned int cd_slot;", "")
    e(support("sincos.h"), support("transpose.h"), support("tiles.h"))
    if any(body.products for body in bodies.values()):
        e(support("product.h"))
    e(support("panels.h"))
    e(f'#include "{facts.name}.h"', "")


def _said(name: str) -> str:
    """A name of a kernel or a slab as part of a comment, where it is a plain word."""
    return f": {name}" if argument_names([Array(name, ())], "?") == [name] else ""


class Memory:
    """Which numbers operands are: rows of slabs, some of which are the same memory."""

    def __init__(self, schedule: Schedule) -> None:
        self.slabs = {slab.name: slab for slab in schedule.slabs}

    def base(self, name: str) -> str:
        """The slab whose memory it is."""
        while self.slabs[name].over:
            name = self.slabs[name].over
        return name

    def numbers(self, operand: Operand, states: int, turn: int) -> set[range]:
        size = self.slabs[operand.slab].size
        first = operand.row + operand.turn * turn
        return {range(row * size, row * size + size) for row in (first + operand.step * k for k in range(states))}

    def meet(self, a: Operand, b: Operand, states: int, turns: int) -> bool:
        """Whether they have a number in common at some turn."""
        if self.base(a.slab) != self.base(b.slab):
            return False
        if self.slabs[a.slab].size != self.slabs[b.slab].size:
            return True  # of other rows we do not look closer
        return any(self.numbers(a, states, t) & self.numbers(b, states, t) for t in range(turns))

    def clashes(self, call: Call, turns: int) -> list[bool]:
        """For each output whether its rows are also those of an input, or of another output, but for rows in place.

        A kernel writes a tile, or parts of one state, before it reads the next, so such rows are written beside, then
        copied.
        """
        states = 1 if call.columns else call.count
        return [
            any(self.meet(output, other, states, turns) for other in call.inputs if other != output or states == 1)
            or any(self.meet(output, other, states, turns) for other in call.outputs[:k])
            for k, output in enumerate(call.outputs)
        ]


def read_first(schedule: Schedule) -> frozenset[str]:
    """Slabs with numbers that are read, or are answers, before they are written: they have to begin at 0."""
    memory = Memory(schedule)
    written = {slab.name: np.zeros(slab.rows * slab.size, np.bool_) for slab in schedule.slabs if not slab.over}
    needed: set[str] = set()
    for name in schedule.inputs:
        written[name][:] = True

    def read(operand: Operand, states: int, turn: int) -> None:
        base = memory.base(operand.slab)
        if not all(written[base][place.start : place.stop].all() for place in memory.numbers(operand, states, turn)):
            needed.add(base)

    def follow(body: Sequence[Statement], turn: int) -> None:
        for statement in body:
            if isinstance(statement, Sweep):
                for t in reversed(range(statement.count)) if statement.backwards else range(statement.count):
                    follow(statement.body, t)
            elif isinstance(statement, Until):  # what is written at its first time stays so
                follow(statement.body, turn)
                read(Operand(statement.flag), 1, 0)
            else:
                move = isinstance(statement, Move)
                states = statement.count if move or not statement.columns else 1
                for operand in (statement.source,) if move else statement.inputs:
                    read(operand, states, turn)
                for operand in (statement.target,) if move else statement.outputs:
                    for place in memory.numbers(operand, states, turn):
                        written[memory.base(operand.slab)][place.start : place.stop] = True

    follow(schedule.body, 0)
    for name in schedule.outputs:
        read(Operand(name), schedule.slab(name).rows, 0)
    return frozenset(needed)


@dataclass
class _Function:
    """The function of one schedule: s0, s1, ... are its slabs, t the turn of the sweep around a statement."""

    schedule: Schedule
    codes: Mapping[str, Code]
    prefix: str
    bits: int

    def __post_init__(self) -> None:
        self.numbers = {slab.name: k for k, slab in enumerate(self.schedule.slabs)}
        self.memory, self.read, self.loops = Memory(self.schedule), set[str](), 0

    def write(self, e: Emitter, room: int) -> int:
        """Writes it; the bytes of its workspace. room: vectors that kernels need."""
        schedule, wide = self.schedule, LINE * 8 // self.bits
        places, end = dict[str, int](), 0
        for slab in schedule.slabs:
            if not slab.over and slab.name not in {*schedule.inputs, *schedule.outputs}:
                places[slab.name] = end
                end += -(-slab.rows * slab.size // wide) * wide
        beside = max((sum(self._beside(call, turns)) for call, turns in _turned(schedule.body, 1)), default=0)
        names = (
            [f"s{self.numbers[name]}" for name in schedule.inputs],
            [f"s{self.numbers[name]}" for name in schedule.outputs],
        )
        with e.block(head_of(schedule, self.prefix, self.bits, names) + "\n{"):
            e(f"real *const room = (real *)(((uintptr_t)work + {LINE - 1}) / {LINE} * {LINE});")
            for name, place in places.items():
                slab = schedule.slab(name)
                e(f"real *const s{self.numbers[name]} = room + {place}; /* {slab.rows} x {slab.size}{_said(name)} */")
            e(*([f"real *const beside = room + {end};"] if beside else []))
            e(f"void *const w = room + {end + -(-beside // wide) * wide};")
            first = read_first(schedule)
            for slab in schedule.slabs:
                if slab.name in first:
                    e(f"memset({self._place(Operand(slab.name))}, 0, {slab.rows * slab.size} * sizeof(real));")
            statements = Emitter()
            self._write(statements, schedule.body, 1)
            e(
                *(
                    f"(void)s{k};"
                    for name, k in self.numbers.items()
                    if name == self.memory.base(name) and name not in self.read
                ),
                "(void)w;",
            )
            e(*statements.text().splitlines())
        e("")
        return (end + -(-beside // wide) * wide) * self.bits // 8 + (room + 1) * LINE

    def _beside(self, call: Call, turns: int) -> list[int]:
        """How many numbers of each output are written beside."""
        states = 1 if call.columns else call.count
        return [
            states * self._slab(operand).size if clash else 0
            for operand, clash in zip(call.outputs, self.memory.clashes(call, turns), strict=True)
        ]

    def _slab(self, operand: Operand) -> Slab:
        return self.schedule.slab(operand.slab)

    def _place(self, operand: Operand, k: str = "") -> str:
        """Where its row of the first state begins, or of state k."""
        size = self._slab(operand).size
        self.read.add(self.memory.base(operand.slab))
        terms = [f"s{self.numbers[self.memory.base(operand.slab)]}"]
        terms += [str(operand.row * size)] if operand.row else []
        terms += [f"{operand.turn * size} * t"] if operand.turn else []
        terms += [f"{operand.step * size} * {k}"] if k and operand.step else []
        return " + ".join(terms).replace("+ -", "- ")

    def _write(self, e: Emitter, body: Sequence[Statement], turns: int) -> None:
        for statement in body:
            if isinstance(statement, Call):
                self._call(e, statement, turns)
            elif isinstance(statement, Move):
                self._move(e, statement)
            elif isinstance(statement, Sweep):
                count = statement.count
                loop = f"t = {count}; t-- > 0;" if statement.backwards else f"t = 0; t < {count}; t++"
                with e.block(f"for (ptrdiff_t {loop}) {{"):
                    e("(void)t;")
                    self._write(e, statement.body, count)
            else:
                number = self.loops
                self.loops += 1
                e(f"size_t turn_{number} = 0;")
                flag = self._place(Operand(statement.flag))
                with e.block("do {", f"}} while (!(*{flag} > 0) && ++turn_{number} < {statement.most});"):
                    self._write(e, statement.body, turns)

    def _move(self, e: Emitter, move: Move) -> None:
        size, (source, target) = self._slab(move.source).size, (move.source, move.target)
        if source.step == target.step == 1 or move.count == 1:
            e(f"memmove({self._place(target)}, {self._place(source)}, {move.count * size} * sizeof(real));")
            return
        with e.block(f"for (ptrdiff_t k = 0; k < {move.count}; k++) {{"):
            e(f"memmove({self._place(target, 'k')}, {self._place(source, 'k')}, {size} * sizeof(real));")

    def _call(self, e: Emitter, call: Call, turns: int) -> None:
        code, counts = self.codes[call.kernel], self._beside(call, turns)
        arrays = zip((*call.inputs, *call.outputs), (*code.inputs, *code.arrays), strict=True)
        sizes = [
            (self._slab(o).size, array.size * (call.count if call.columns and o.step else 1)) for o, array in arrays
        ]
        assert all(size == wanted for size, wanted in sizes), f"{call.kernel}: rows and arrays of {sizes} numbers"
        copies: list[tuple[Operand, int, int]] = []
        outputs, strides = list[str](), list[int]()
        for operand, count in zip(call.outputs, counts, strict=True):
            size, begin = self._slab(operand).size, sum(count for *_, count in copies)
            outputs.append(f"beside + {begin}" if count else self._place(operand))
            strides.append(size if count else operand.step * size)
            copies += [(operand, begin, count)] if count else []
        form = form_of(call, code)
        x, y = _literal("const real *const", map(self._place, call.inputs)), _literal("real *const", outputs)
        if form is not None:
            e(f"{code.name}_{form.name}({call.count}, {x},", f"    {y}, w);")
        else:
            steps = _literal("const ptrdiff_t", [o.step * self._slab(o).size for o in call.inputs])
            e(f"{code.name}_rows({call.count}, {x}, {steps},")
            e(f"    {y}, {_literal('const ptrdiff_t', strides)}, w);")
        for operand, begin, count in copies:
            size = self._slab(operand).size
            with e.block(f"for (ptrdiff_t k = 0; k < {count // size}; k++) {{"):
                e(f"memcpy({self._place(operand, 'k')}, beside + {begin} + {size} * k, {size} * sizeof(real));")


def _literal(kind: str, items: Iterable[object]) -> str:
    """An array in an expression."""
    return f"({kind}[]){{{', '.join(map(str, items)) or '0'}}}"


def _turned(body: Sequence[Statement], turns: int) -> Iterator[tuple[Call, int]]:
    """All calls, each with the turns of the sweep around it."""
    for statement in body:
        if isinstance(statement, Call):
            yield statement, turns
        elif not isinstance(statement, Move):
            yield from _turned(statement.body, statement.count if isinstance(statement, Sweep) else turns)
