"""Steps of a group -> PTX: one short loop, the same for all functions; the computation is in tables.

A lane reads a row of 16 bytes for each step: the offsets of a1, b1, a2, b2, a3, b3, c and the result, 16 bits each, in
bytes from the beginning of its state. It computes a3 b3 + (a2 b2 + (a1 b1 + c)). Bit 0 of an offset changes the sign of
the number. Bit 1 of a1, a2 and a3 is the code of a special function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from condyle.backends.cuda.group.schedule import (
    CHAIN,
    ONE,
    RCP,
    SINCOS,
    SPECIAL,
    SQRT,
    SUM,
    UNROLL,
    ZERO,
    Grouped,
    Term,
    Word,
)
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import write_compute, write_entry, write_head
from condyle.backends.cuda.trig import literal, registers, write_angle, write_guard, write_sincos, write_table
from condyle.text import Emitter

FURTHEST = 1 << 16
"""Bytes of a state that an offset can address."""

WORD_KINDS = {SUM: 0, RCP: 1, SQRT: 3, SINCOS: 5}
"""The code in bit 1 of a1, a2 and a3."""

TOGETHER = 8
"""Entries of a row that a lane copies in one iteration."""

REST = Term(True, ZERO, ONE)
"""A term that changes no sum, not even the sign of a zero."""


def kernel_name(grouped: Grouped) -> str:
    return f"condyle_{grouped.program.name}_group{grouped.lanes}"


def state_bytes(grouped: Grouped, bits: int) -> int:
    return grouped.size * bits // 8


def pool(grouped: Grouped, bits: int) -> int:
    """Bytes of shared memory of a warp: its states, then an angle for each lane."""
    return WARP // grouped.lanes * state_bytes(grouped, bits) + WARP * bits // 8


def emit_group(grouped: Grouped, bits: int, target: Target = TARGET) -> str:
    """The text of a module with one kernel; parameters as in `backends.cuda.emit.emit`."""
    e = Emitter()
    write_head(e, target)
    body = _Body(e, grouped, bits)
    if SINCOS in body.kinds:
        write_table(e)
    body.tables()
    e("", ".extern .shared .align 16 .b8 pool[];", "")
    ports = len(grouped.program.inputs), len(grouped.program.arrays)
    write_entry(e, kernel_name(grouped), ports, target.most_threads)
    with e.block("{"):
        body.write()
    return e.text()


class _Body:
    """Writes the kernel. kinds: the special functions that occur."""

    def __init__(self, e: Emitter, grouped: Grouped, bits: int) -> None:
        self.e, self.grouped, self.bits = e, grouped, bits
        self.f, self.item = f"f{bits}", bits // 8
        self.rows = 0
        self.kinds = {word.kind for step in grouped.steps for word in step} - {SUM}

    def tables(self) -> None:
        """Writes the tables: rows of all steps, then idle rows; the constants; the offset of each output entry."""
        g = self.grouped
        rows = [word for step in [*g.steps, *[()] * UNROLL] for word in self._rows(step)]
        self._table("words", [f"0x{word:X}" for row in rows for word in row])
        constants = [literal(value, self.bits).replace("0f", "0x").replace("0d", "0x") for value in g.constants]
        self._table("constants", constants, self.bits)
        for k, array in enumerate(g.program.arrays):
            places = [g.slots[ZERO]] * array.size
            for output in g.program.outputs:
                if output.array == k:
                    places[output.index] = g.slots[output.node]
            self._table(f"places{k}", [str(place * self.item) for place in places])

    def _table(self, name: str, values: Sequence[str], bits: int = 32) -> None:
        with self.e.block(f".global .align 16 .b{bits} {name}[{len(values)}] = {{", "};"):
            lines = [", ".join(values[k : k + 16]) for k in range(0, len(values), 16)]
            self.e(*(line + "," for line in lines[:-1]), lines[-1])

    def _rows(self, step: Sequence[Word]) -> Iterator[tuple[int, ...]]:
        """The row of each lane, as four words of 32 bits."""
        g = self.grouped
        for lane in range(g.lanes):
            word, places, to = Word(SUM, False, ZERO, (), ()), g.slots, g.dump + 2 * lane
            if lane < len(step):
                word = step[lane]
                places, to = g.word_slots[word]
            elif step and step[0].kind != SUM:
                word = Word(step[0].kind, False, ONE, (), ())
            yield self._row(word, places, to)

    def _row(self, word: Word, slots: dict[int, int], to: int) -> tuple[int, ...]:
        terms, addend = word.terms, word.addend
        if word.kind != SUM:  # the function's argument is a1
            terms, addend = (Term(False, word.addend, ONE),), ZERO
        places = {**{value: self.grouped.slots[value] for value in (ZERO, ONE)}, **slots}
        halves: list[int] = []
        for k, term in enumerate((*terms, *[REST] * (CHAIN - len(terms)))):
            special = (WORD_KINDS[word.kind] >> k) & 1
            halves += [places[term.a] * self.item + 2 * special + term.minus, places[term.b] * self.item]
        halves += [places[addend] * self.item + word.minus, to * self.item]
        return tuple(halves[k] | halves[k + 1] << 16 for k in range(0, len(halves), 2))

    def write(self) -> None:
        e, f, n = self.e, self.f, len(self.grouped.program.inputs)
        e(
            f".reg .b32 %w<{4 * UNROLL}>;",
            f".reg .b{self.bits} %o<16>, %change;",
            f".reg .{f} %f<8>, %value, %second, %na, %nc;",
        )
        e(".reg .b32 %thread, %lane, %warp, %first, %left, %mine, %base, %k, %at, %to, %entry, %rest;")
        e(".reg .b64 %a, %table, %place;", ".reg .pred %done, %there, %special, %kind;")
        e(f".reg .b64 %in<{n + 1}>, %out<{len(self.grouped.program.arrays) + 1}>;", *registers(self.bits))
        self._where()
        for k, array in enumerate(self.grouped.program.inputs):
            self._take(k, array.size)
        self._constants()
        e("mul.wide.u32 %a, %lane, 16;", "mov.u64 %table, words;", "add.u64 %table, %table, %a;")
        for j in range(UNROLL):
            self._fetch(j, j)
        e("bar.warp.sync 0xFFFFFFFF;")
        self._operands(0)
        e(f"add.u64 %table, %table, {16 * self.grouped.lanes * UNROLL};")
        e(f"mov.u32 %rest, {len(self.grouped.steps) // UNROLL};", "STEPS:")
        for j in range(UNROLL):
            self._step(j)
        e(f"add.u64 %table, %table, {16 * self.grouped.lanes * UNROLL};")
        e("sub.u32 %rest, %rest, 1;", "setp.ne.u32 %there, %rest, 0;", "@%there bra STEPS;")
        for k, array in enumerate(self.grouped.program.arrays):
            self._give(k, array.size)
        e("ret;")

    def _where(self) -> None:
        """Computes %first: this group's state; %base: its address in shared memory; %lane: the lane in the group."""
        e, lanes = self.e, self.grouped.lanes
        states = WARP // lanes
        e("mov.u32 %thread, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %first, %ctaid.x;")
        e("mad.lo.u32 %first, %first, %k, %thread;", "shr.u32 %warp, %thread, 5;", "ld.param.u32 %left, [n];")
        e("and.b32 %lane, %thread, 31;", "sub.u32 %k, %first, %lane;", f"shr.u32 %k, %k, {lanes.bit_length() - 1};")
        e("setp.ge.u32 %done, %k, %left;", "@%done ret;", f"shr.u32 %first, %first, {lanes.bit_length() - 1};")
        e("mov.u32 %base, pool;", f"mad.lo.u32 %base, %warp, {pool(self.grouped, self.bits)}, %base;")
        e(f"mad.lo.u32 %mine, %lane, {self.item}, %base;")
        e(f"add.u32 %mine, %mine, {states * state_bytes(self.grouped, self.bits)};")
        e(f"shr.u32 %k, %lane, {lanes.bit_length() - 1};", f"and.b32 %lane, %lane, {lanes - 1};")
        e(f"mad.lo.u32 %base, %k, {state_bytes(self.grouped, self.bits)}, %base;")

    def _entries(self, size: int) -> Iterator[None]:
        """For each entry of a row sets %entry, and %there to whether the row and this lane's group have it."""
        e, lanes, label = self.e, self.grouped.lanes, f"ROW{self.rows}"
        self.rows += 1
        rounds = -(-size // lanes)
        loops = rounds > TOGETHER
        e("mov.u32 %entry, %lane;")
        if loops:
            e(f"mov.u32 %rest, {-(-rounds // TOGETHER)};", f"{label}:")
        for _ in range(min(rounds, TOGETHER)):
            e("setp.lt.u32 %there, %first, %left;", f"setp.lt.and.u32 %there, %entry, {size}, %there;")
            yield
            e(f"add.u32 %entry, %entry, {lanes};")
        if loops:
            e("sub.u32 %rest, %rest, 1;", "setp.ne.u32 %special, %rest, 0;", f"@%special bra {label};")

    def _take(self, k: int, size: int) -> None:
        """Copies a row of an input to this state's first slots."""
        e, inputs = self.e, self.grouped.program.inputs
        start = sum(array.size for array in inputs[:k]) * self.item
        e(f"ld.param.u64 %in{k}, [in{k}];", f"cvta.to.global.u64 %in{k}, %in{k};", f"ld.param.u64 %a, [stride{k}];")
        e("cvt.u64.u32 %place, %first;", f"mad.lo.u64 %in{k}, %place, %a, %in{k};")
        for _ in self._entries(size):
            e(f"mov.{self.f} %value, {literal(0.0, self.bits)};", f"mul.wide.u32 %a, %entry, {self.item};")
            e(f"add.u64 %a, %in{k}, %a;", f"@%there ld.global.nc.{self.f} %value, [%a];")
            e(f"mad.lo.u32 %at, %entry, {self.item}, %base;", f"@%there st.shared.{self.f} [%at+{start}], %value;")

    def _constants(self) -> None:
        e, count = self.e, len(self.grouped.constants)
        start = sum(array.size for array in self.grouped.program.inputs) * self.item
        e("mov.u64 %place, constants;")
        for _ in self._entries(count):
            e(f"mul.wide.u32 %a, %entry, {self.item};", "add.u64 %a, %place, %a;")
            e(f"@%there ld.global.nc.{self.f} %value, [%a];", f"mad.lo.u32 %at, %entry, {self.item}, %base;")
            e(f"@%there st.shared.{self.f} [%at+{start}], %value;")

    def _give(self, k: int, size: int) -> None:
        """Copies the entries of an output to its row."""
        e = self.e
        e(f"ld.param.u64 %out{k}, [out{k}];", f"cvta.to.global.u64 %out{k}, %out{k};", f"mov.u64 %place, places{k};")
        e(f"mul.wide.u32 %a, %first, {size * self.item};", f"add.u64 %out{k}, %out{k}, %a;")
        for _ in self._entries(size):
            e("mov.u32 %at, 0;", "mul.wide.u32 %a, %entry, 4;", "add.u64 %a, %place, %a;")
            e("@%there ld.global.nc.u32 %at, [%a];", "add.u32 %at, %at, %base;", f"ld.shared.{self.f} %value, [%at];")
            e(f"mul.wide.u32 %a, %entry, {self.item};", f"add.u64 %a, %out{k}, %a;")
            e(f"@%there st.global.{self.f} [%a], %value;")

    def _fetch(self, j: int, row: int) -> None:
        """Loads the table's row of `row` steps after %table into the registers of step j of the loop's body."""
        names = ", ".join(f"%w{4 * j + k}" for k in range(4))
        self.e(f"ld.global.nc.v4.u32 {{{names}}}, [%table+{row * 16 * self.grouped.lanes}];")

    def _operands(self, j: int) -> None:
        """Loads a1, b1, a2, b2, a3, b3, c of step j into the free one of two sets of registers."""
        e, low = self.e, self.item - 1
        for k in range(7):
            word, to = f"%w{4 * j + k // 2}", f"%o{8 * (j % 2) + k}"
            e(f"and.b32 %at, {word}, {0xFFFF & ~low};" if k % 2 == 0 else f"shr.u32 %at, {word}, 16;")
            e("add.u32 %at, %at, %base;", f"ld.shared.b{self.bits} {to}, [%at];")

    def _step(self, j: int) -> None:
        """Loads the operands of the next step, computes this one, and loads the row of eight steps later."""
        e, own = self.e, 8 * (j % 2)
        self._operands((j + 1) % UNROLL)
        for k in range(7):
            if k % 2 == 0:
                self._signed(f"%w{4 * j + k // 2}", f"%o{own + k}")
            e(f"mov.b{self.bits} %f{k}, %o{own + k};")
        e(f"fma.rn.{self.f} %value, %f0, %f1, %f6;", f"fma.rn.{self.f} %value, %f2, %f3, %value;")
        e(f"fma.rn.{self.f} %value, %f4, %f5, %value;")
        e(f"shr.u32 %to, %w{4 * j + 3}, 16;", "add.u32 %to, %to, %base;")
        if self.kinds and j % SPECIAL == SPECIAL - 1:
            self._special(j)
        e(f"st.shared.{self.f} [%to], %value;")
        self._fetch(j, j)
        e("bar.warp.sync 0xFFFFFFFF;")

    def _signed(self, word: str, operand: str) -> None:
        """Changes the sign of the operand if bit 0 of the word is set."""
        if self.bits == 32:
            self.e(f"shl.b32 %change, {word}, 31;")
        else:
            self.e(f"cvt.u64.u32 %change, {word};", "shl.b64 %change, %change, 63;")
        self.e(f"xor.b{self.bits} {operand}, {operand}, %change;")

    def _special(self, j: int) -> None:
        """A special function of a1, the same for the whole warp."""
        e, f, own = self.e, self.f, 4 * j
        e(f"and.b32 %k, %w{own}, 2;", "setp.ne.u32 %special, %k, 0;", f"@!%special bra SUM{j};")
        e(f"and.b32 %k, %w{own + 1}, 2;", f"and.b32 %at, %w{own + 2}, 2;", "add.u32 %at, %at, %at;")
        e("or.b32 %k, %k, %at;")
        if RCP in self.kinds:
            write_compute(e, "rcp", "%second", ["%f0"], f)
            e("setp.eq.u32 %kind, %k, 0;", f"@%kind mov.{f} %value, %second;")
        if SQRT in self.kinds:
            e("setp.eq.u32 %kind, %k, 2;", f"@%kind sqrt.rn.{f} %value, %f0;")
        if SINCOS in self.kinds:
            e("setp.eq.u32 %kind, %k, 4;", f"@!%kind bra SUM{j};")
            write_angle(e, 0, "%f0", True, self.bits)
            write_guard(e, 0, 1, f"GUARD{j}", self.bits)
            write_sincos(e, 0, "%value", "%second", self.bits)
            e(f"st.shared.{f} [%to+{self.item}], %second;")
        e(f"SUM{j}:")
