"""Steps -> PTX: one kernel, a thread for each state, rows staged in shared memory by the warp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from condyle.backends.cuda.constants import in_memory
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_steps import (
    Angle,
    Compute,
    Flush,
    Group,
    Guard,
    Load,
    Lowered,
    Put,
    Reload,
    SinCos,
    Spill,
    Step,
    Take,
    Wait,
)
from condyle.backends.cuda.trig import literal, registers, write_angle, write_guard, write_sincos, write_table
from condyle.ir.program import constant_of, input_of, operands
from condyle.operations import AMOUNTS
from condyle.text import Emitter


def _two_numbers(op: str) -> str:
    """min or max, then NaN where either operand is NaN."""
    none = "setp.nan.{f} %odd, {0}, {1}; selp.{f} {to}, {nan}, {to}, %odd;"
    return f"{op}.{{f}} {{to}}, {{0}}, {{1}}; {none}"


def _rotation(amount: int) -> str:
    """A rotation of the lowest 32 bits."""
    low = "and.{b} %i1, {0}, 0xFFFFFFFF; shr.{b} %i1, %i1, " + f"{32 - amount}; "
    return low + f"shl.{{b}} %i2, {{0}}, {amount}; " + "or.{b} {to}, %i1, %i2;"


RECIPROCAL = {
    "f32": "rcp.approx.ftz.f32 %na, {0}; neg.f32 %nc, {0}; fma.rn.ftz.f32 %nc, %nc, %na, {one}; "
    "min.f32 %nc, %nc, {one}; fma.rn.f32 {to}, %na, %nc, %na;",
    "f64": "rcp.approx.ftz.f64 %na, {0}; neg.f64 %nc, {0}; fma.rn.f64 {to}, %nc, %na, {one}; "
    "fma.rn.f64 {to}, {to}, {to}, {to}; fma.rn.f64 {to}, {to}, %na, %na; fma.rn.f64 %nc, %nc, {to}, {one}; "
    "fma.rn.f64 {to}, %nc, {to}, {to}; setp.nan.f64 %odd, {to}, {to}; selp.f64 {to}, %na, {to}, %odd;",
}
"""1 / x from an approximation a: a + a e with e = 1 - x a (Newton). In float64 first a + a (e + e^2).

rcp.rn would branch for subnormal numbers, and the assembler repeats the code behind such a branch. PTX states an error
of a of at most one unit in the last place in float32; then that of the result is at most 0.50000003 units. In float64
it is at most 0.5001 units for relative errors of a up to 2^-17.

0 gives an infinity and an infinity 0, of the same sign; NaN gives NaN. There e is NaN, and min takes 1, or the
approximation itself is taken. Subnormal numbers count as 0, and |x| from about 2^126, in float64 2^1022, gives 0.
"""


OPERATIONS = {
    "neg": "neg.{f} {to}, {0};",
    "add": "add.rn.{f} {to}, {0}, {1};",
    "sub": "sub.rn.{f} {to}, {0}, {1};",
    "mul": "mul.rn.{f} {to}, {0}, {1};",
    "rcp": RECIPROCAL,
    "div": "div.rn.{f} {to}, {0}, {1};",
    "sqrt": "sqrt.rn.{f} {to}, {0};",
    "fma": "fma.rn.{f} {to}, {0}, {1}, {2};",
    "fms": "neg.{f} %nc, {2}; fma.rn.{f} {to}, {0}, {1}, %nc;",
    "fnma": "neg.{f} %na, {0}; fma.rn.{f} {to}, %na, {1}, {2};",
    "fnms": "neg.{f} %na, {0}; neg.{f} %nc, {2}; fma.rn.{f} {to}, %na, {1}, %nc;",
    "abs": "abs.{f} {to}, {0};",
    "min": _two_numbers("min"),
    "max": _two_numbers("max"),
    "floor": "cvt.rmi.{f}.{f} {to}, {0};",
    "rint": "cvt.rni.{f}.{f} {to}, {0};",
    "select": "setp.ge.{f} %odd, {0}, {zero}; selp.{f} {to}, {1}, {2}, %odd;",
    "and": "and.{b} {to}, {0}, {1};",
    "or": "or.{b} {to}, {0}, {1};",
    "xor": "xor.{b} {to}, {0}, {1};",
    "shl": "shl.{b} {to}, {0}, {mantissa};",
    "shr": "shr.{b} {to}, {0}, {mantissa};",
    "iadd": "mov.{b} %i1, {0}; mov.{b} %i2, {1}; add.{u} %i1, %i1, %i2; mov.{b} {to}, %i1;",
    **{f"rotl{amount}": _rotation(amount) for amount in AMOUNTS},
}
"""The instructions of each operation; they overwrite %na, %nc, %odd, %i1, %i2. f, b, u: the type of numbers, of their
bits, and of these as a whole number."""


def kernel_name(low: Lowered) -> str:
    return f"condyle_{low.program.name}"


def emit(low: Lowered, target: Target = TARGET) -> str:
    """The text of a module with one kernel.

    Parameters: n; a zero, which keeps the assembler from moving spilled numbers to registers; then address and row
    stride in bytes of each input; then the address of each dense output. A block has any number of whole warps, and
    `low.pool` bytes of dynamic shared memory for each warp.
    """
    e = Emitter()
    write_head(e, target)
    if any(isinstance(step, Guard) for step in low.steps):
        write_table(e)
    e(".extern .shared .align 16 .b8 pool[];", "")
    write_entry(e, kernel_name(low), (len(low.program.inputs), len(low.program.arrays)), target.most_threads)
    with e.block("{"):
        _DenseBody(e, low).write()
    return in_memory(e.text())


def write_head(e: Emitter, target: Target) -> None:
    """Writes the head of a module."""
    e(f".version {target.ptx}", f".target {target.oldest}", ".address_size 64", "")


def write_entry(e: Emitter, name: str, ports: tuple[int, int], threads: int, more: Sequence[str] = ()) -> None:
    """Writes the parameters of a kernel as in `emit`, then `more`. ports: numbers of inputs and outputs."""
    names = [".param .u32 n", ".param .u32 zero"]
    for k in range(ports[0]):
        names += [f".param .u64 in{k}", f".param .u64 stride{k}"]
    names += [f".param .u64 {one}" for one in (*(f"out{k}" for k in range(ports[1])), *more)]
    e(f".visible .entry {name}(", "    " + ",\n    ".join(names), ")", f".maxntid {threads}, 1, 1")


class Body:
    """The body of a kernel whose inputs have any stride, in tiles of columns. names: the current register of each
    value."""

    def __init__(self, e: Emitter, low: Lowered) -> None:
        self.e, self.low, self.bits = e, low, low.bits
        self.f, self.item = f"f{low.bits}", low.bits // 8
        self.names: dict[int, str] = {}
        self.count = self.guards = 0
        groups = [step.group for step in low.steps if isinstance(step, (Load, Flush))]
        self.widths = sorted({group.width for group in groups} - {0})
        self.ins = {g.array: g for s in low.steps if isinstance(s, Load) for g in (s.group,)}
        self.outs = {g.array: g for s in low.steps if isinstance(s, Flush) for g in (s.group,)}

    def write(self) -> None:
        """Writes the body."""
        self.declare()
        self.where()
        for step in self.low.steps:
            self.step(step)
        self.e("ret;")

    def declare(self) -> None:
        """Declares the registers, and the local memory of spilled numbers."""
        values = 1 + sum(1 + isinstance(step, SinCos) for step in self.low.steps)
        e = self.e
        e(f".reg .{self.f} %v<{values}>;", f".reg .{self.f} %t, %na, %nc;")
        e(".reg .b32 %thread, %lane, %warp, %first, %left, %mine, %base, %place, %k;", ".reg .b64 %a;")
        e(".reg .pred %done, %there, %inside;", f".reg .b64 %in<{len(self.low.program.inputs) + 1}>;")
        e(f".reg .b64 %stride<{len(self.low.program.inputs) + 1}>;", f".reg .b64 %out<{len(self.outs) + 1}>;")
        for width in self.widths:
            e(f".reg .b32 %col{width}, %row{width}, %tile{width}, %left{width};")
        e(*registers(self.bits))
        if self.low.slots:
            e(f".local .align 16 .b8 spilled[{self.low.slots * self.item}];")
            e(".reg .b32 %spilled, %zero;", "mov.u32 %spilled, spilled;", "ld.param.u32 %zero, [zero];")
            e("add.u32 %spilled, %spilled, %zero;")

    def where(self) -> None:
        """Computes this warp's states, its part of shared memory, and for each width the column and row of this
        lane."""
        e, item = self.e, self.item
        e("mov.u32 %thread, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %first, %ctaid.x;")
        e("and.b32 %lane, %thread, 31;", "shr.u32 %warp, %thread, 5;", "mul.lo.u32 %first, %first, %k;")
        e("sub.u32 %k, %thread, %lane;", "add.u32 %first, %first, %k;", "ld.param.u32 %left, [n];")
        e("setp.ge.u32 %done, %first, %left;", "@%done ret;", "sub.u32 %left, %left, %first;")
        e("mov.u32 %base, pool;", f"mad.lo.u32 %base, %warp, {self.low.pool}, %base;")
        e(f"mad.lo.u32 %mine, %lane, {item}, %base;")
        pitches = {g.width: g.pitch for g in (*self.ins.values(), *self.outs.values())}
        for width in self.widths:
            e(f"and.b32 %col{width}, %lane, {width - 1};", f"shr.u32 %row{width}, %lane, {width.bit_length() - 1};")
            e(f"mad.lo.u32 %tile{width}, %col{width}, {pitches[width]}, %row{width};")
            e(f"mad.lo.u32 %tile{width}, %tile{width}, {item}, %base;")
            e(f"sub.u32 %left{width}, %left, %row{width};")
        self.inputs()
        self.outputs()

    def inputs(self) -> None:
        """Computes the addresses of this lane's row and column of each input, and the bytes to its next row."""
        e, item = self.e, self.item
        for array, group in self.ins.items():
            e(f"ld.param.u64 %in{array}, [in{array}];", f"ld.param.u64 %stride{array}, [stride{array}];")
            e(f"cvta.to.global.u64 %in{array}, %in{array};", f"add.u32 %k, %first, %row{group.width};")
            e("cvt.u64.u32 %a, %k;", f"mad.lo.u64 %in{array}, %a, %stride{array}, %in{array};")
            e(f"mul.wide.u32 %a, %col{group.width}, {item};", f"add.u64 %in{array}, %in{array}, %a;")
            e(f"mul.lo.u64 %stride{array}, %stride{array}, {group.rows};")

    def outputs(self) -> None:
        """Computes the addresses of this lane's row and column of each output."""
        raise NotImplementedError

    def step(self, step: Step) -> None:
        """Writes one step."""
        if isinstance(step, Compute):
            self._compute(step.node)
        elif isinstance(step, Take):
            array, _ = input_of(self.low.program.nodes[step.node])
            self.e(f"ld.shared.{self.f} {self.new(step.node)}, [{_row_address(self.ins[array])}+{step.offset}];")
        elif isinstance(step, Put):
            self.e(
                f"st.shared.{self.f} [{_row_address(self.outs[step.array])}+{step.offset}], {self.register(step.node)};"
            )
        elif isinstance(step, Spill):
            self.e(f"st.local.{self.f} [%spilled+{step.slot * self.item}], {self.names[step.node]};")
        elif isinstance(step, Reload):
            self.e(f"ld.local.{self.f} {self.new(step.node)}, [%spilled+{step.slot * self.item}];")
        else:
            self._staged(step)

    def _staged(self, step: Wait | Load | Flush | Angle | Guard | SinCos) -> None:
        if isinstance(step, SinCos):
            sine, cosine = (None if node is None else self.new(node) for node in (step.sine, step.cosine))
            write_sincos(self.e, step.offset, sine, cosine, self.bits)
        elif isinstance(step, Angle):
            write_angle(self.e, step.offset, self._operand(step.node), step.first, self.bits)
        elif isinstance(step, Guard):
            self.guards += 1
            write_guard(self.e, step.offset, step.angles, f"GUARD{self.guards}", self.bits)
        elif isinstance(step, Wait):
            self.e("bar.warp.sync 0xFFFFFFFF;")
        elif isinstance(step, Load):
            self.load(step.group, step.offset)
        else:
            self.flush(step.group, step.offset)

    def new(self, node: int) -> str:
        """A new register for a value."""
        self.count += 1
        self.names[node] = name = f"%v{self.count}"
        return name

    def _operand(self, node: int) -> str:
        """The register of a value, or a constant as a literal."""
        if self.low.program.nodes[node][0] == "const":
            return literal(constant_of(self.low.program.nodes[node]), self.bits)
        return self.names[node]

    def register(self, node: int) -> str:
        """A register with the value; with zero for node -1."""
        if node >= 0 and self.low.program.nodes[node][0] != "const":
            return self.names[node]
        value = 0.0 if node < 0 else constant_of(self.low.program.nodes[node])
        self.e(f"mov.{self.f} %t, {literal(value, self.bits)};")
        return "%t"

    def _compute(self, node: int) -> None:
        op = self.low.program.nodes[node][0]
        used = [self._operand(value) for value in operands(self.low.program.nodes[node])]
        write_compute(self.e, op, self.new(node), used, self.f)

    def bounds(self, group: Group, kept: str = "") -> str:
        """The number of states from this lane's row on; 0 for a lane beyond the last column, and unless the predicate
        `kept` holds."""
        left = f"%left{group.width}"
        if group.count < group.width:
            self.e(f"setp.lt.u32 %inside, %col{group.width}, {group.count};", f"selp.b32 %k, {left}, 0, %inside;")
            left = "%k"
        if kept:
            self.e(f"selp.b32 %k, {left}, 0, {kept};")
            left = "%k"
        return left

    def load(self, group: Group, offset: int, row_offset: str = "", kept: str = "") -> None:
        """Loads a tile of an input. row_offset: byte offset of its row. kept: predicate of whether there is a row; else
        zeros."""
        e, f, array = self.e, self.f, group.array
        left = self.bounds(group, kept)
        self.first_row(f"in{array}", group)
        e(*([f"add.u64 %a, %a, {row_offset};"] if row_offset else ()))
        for k in range(group.width):
            row = k * group.rows
            e(f"setp.gt.s32 %there, {left}, {row};", f"mov.{f} %t, {literal(0.0, self.bits)};")
            e(f"@%there ld.global.nc.{f} %t, [%a];")
            e(f"st.shared.{f} [%tile{group.width}+{offset + row * self.item}], %t;")
            self.next_row(f"in{array}", group)
        e("bar.warp.sync 0xFFFFFFFF;")

    def first_row(self, port: str, group: Group) -> None:
        """Computes in %a the address of the first row of a tile that this lane copies."""
        self.e(f"add.u64 %a, %{port}, {group.start * self.item};")

    def next_row(self, port: str, group: Group) -> None:
        """Moves %a on to the next row that this lane copies."""
        self.e(f"add.u64 %a, %a, %stride{group.array};")

    def flush(self, group: Group, offset: int) -> None:
        """Stores a tile to an output; zeros if offset is negative."""
        e, f, array = self.e, self.f, group.array
        size = self.low.program.arrays[array].size
        left, tile = self.bounds(group), self.tile_to_store(group, offset)
        for k in range(group.width):
            row = k * group.rows
            e(f"setp.gt.s32 %there, {left}, {row};")
            self.stored_entry(tile, offset, row)
            e(f"@%there st.global.{f} [%out{array}+{(row * size + group.start) * self.item}], %t;")

    def tile_to_store(self, group: Group, offset: int) -> str:
        """Waits for a complete tile, or sets %t to zero if offset is negative; the register with the address that this
        lane reads from: lanes beyond the last column read another place."""
        if offset < 0:
            self.e(f"mov.{self.f} %t, {literal(0.0, self.bits)};")
            return ""
        self.e("bar.warp.sync 0xFFFFFFFF;")
        if not group.width:
            return "%mine"
        if group.count == group.width:
            return f"%tile{group.width}"
        self.e(f"selp.b32 %place, %tile{group.width}, %base, %inside;")
        return "%place"

    def stored_entry(self, tile: str, offset: int, row: int) -> None:
        """Reads the entry of a row into %t, without a predicate: of two instructions with one predicate the assembler
        makes a branch."""
        if offset >= 0:
            self.e(f"ld.shared.{self.f} %t, [{tile}+{offset + row * self.item}];")


def _row_address(group: Group) -> str:
    """The register with the address of this lane's row in tiles of a kind."""
    return "%mine" if group.width else f"%mine{group.count}"


class _DenseBody(Body):
    """The same with dense rows in device memory: strides are numbers in the code, and short rows are staged as a whole.

    A warp with 32 states copies its rows of dense inputs together. Else, as for one row that serves all states, each
    lane copies the row of its state, and a lane without a state stores an undefined number.
    """

    def write(self) -> None:
        self.declare()
        self.where()
        for kind, steps in groupby(self.low.steps, key=type):
            if kind is Load:
                self._loads([step for step in steps if isinstance(step, Load)])
            else:
                for step in steps:
                    self.step(step)
        self.e("ret;")

    def declare(self) -> None:
        super().declare()
        self.wholes = sorted({group.count for group in (*self.ins.values(), *self.outs.values()) if not group.width})
        groups = [step.group for step in self.low.steps if isinstance(step, Load)]
        self.e(f".reg .{self.f} %x<{1 + sum(group.width + 2 * group.count for group in groups)}>;")
        self.e(".reg .pred %dense;", ".reg .b64 %from;", ".reg .b32 %few;")
        self.e(*(f".reg .b32 %mine{count};" for count in self.wholes))
        self.copies = self.branches = 0

    def inputs(self) -> None:
        """Computes addresses of this lane's rows in tiles; %dense: whether the warp has 32 states and rows of inputs
        other than single numbers are dense; %few: the number of its states."""
        e, item = self.e, self.item
        for count in self.wholes:
            e(f"mad.lo.u32 %mine{count}, %lane, {count * item}, %base;")
            gap = Group(0, 0, count, 0, self.bits).gap
            if gap < WARP:
                e(f"shr.u32 %k, %lane, {gap.bit_length() - 1};", f"mad.lo.u32 %mine{count}, %k, {item}, %mine{count};")
        e(f"min.u32 %few, %left, {WARP};", f"setp.eq.u32 %dense, %few, {WARP};")
        for array in self.ins:
            size = self.low.program.inputs[array].size
            if size > 1:
                e(f"ld.param.u64 %a, [stride{array}];", f"setp.eq.and.u64 %dense, %a, {size * item}, %dense;")

    def outputs(self) -> None:
        for array, group in self.outs.items():
            self.e(f"ld.param.u64 %out{array}, [out{array}];", f"cvta.to.global.u64 %out{array}, %out{array};")
            self._first(f"%out{array}", group, self.low.program.arrays[array].size)

    def _first(self, base: str, group: Group, size: int) -> None:
        """Moves an address from the start of an array to the first entry that this lane copies."""
        e, width, item = self.e, group.width, self.item
        e(f"add.u32 %k, %first, %row{width};" if width else "mov.u32 %k, %first;")
        e(f"mul.wide.u32 %a, %k, {size * item};", f"add.u64 {base}, {base}, %a;")
        e(f"mul.wide.u32 %a, {f'%col{width}' if width else '%lane'}, {item};", f"add.u64 {base}, {base}, %a;")

    def _loads(self, steps: Sequence[Load]) -> None:
        e, sizes = self.e, [array.size for array in self.low.program.inputs]
        rows = [step for step in steps if sizes[step.group.array] > 1]
        if rows:
            self.branches += 1
            e(f"@!%dense bra ALONE{self.branches};")
            for step in rows:
                self._load_together(step.group, step.offset)
            e(f"bra LOADED{self.branches};", f"ALONE{self.branches}:")
            for step in rows:
                self._load_alone(step.group, step.offset)
            e(f"LOADED{self.branches}:")
        for step in steps:
            if step not in rows:
                self._load_alone(step.group, step.offset)
        e("bar.warp.sync 0xFFFFFFFF;")

    def _load_together(self, group: Group, offset: int) -> None:
        e, f, item, width, size = self.e, self.f, self.item, group.width, self.low.program.inputs[group.array].size
        e(f"ld.param.u64 %from, [in{group.array}];", "cvta.to.global.u64 %from, %from;")
        self._first("%from", group, size)
        inside = ""
        if group.count < width:
            e(f"setp.lt.u32 %inside, %col{width}, {group.count};")
            inside = "@%inside "
        for number, place in self._accesses(group, size):
            x = self._copied()
            e(f"{inside}ld.global.nc.{f} {x}, [%from+{number * item}];")
            e(f"st.shared.{f} [{self._tile(group)}+{offset + place * item}], {x};")

    def _load_alone(self, group: Group, offset: int) -> None:
        e, f, item = self.e, self.f, self.item
        e(f"ld.param.u64 %from, [in{group.array}];", "cvta.to.global.u64 %from, %from;")
        e("add.u32 %k, %first, %lane;", f"ld.param.u64 %stride{group.array}, [stride{group.array}];")
        e("cvt.u64.u32 %a, %k;", f"mad.lo.u64 %from, %a, %stride{group.array}, %from;")
        e("setp.lt.u32 %there, %lane, %few;")
        for k in range(group.count):
            x = self._copied()
            e(f"@%there ld.global.nc.{f} {x}, [%from+{(group.start + k) * item}];")
            e(f"st.shared.{f} [{_row_address(group)}+{offset + k * group.pitch * item}], {x};")

    def _copied(self) -> str:
        """A register for a number that is copied."""
        self.copies += 1
        return f"%x{self.copies}"

    @staticmethod
    def _tile(group: Group) -> str:
        """The register with the address in a tile of the first entry that this lane copies."""
        return f"%tile{group.width}" if group.width else "%mine"

    @staticmethod
    def _accesses(group: Group, size: int) -> list[tuple[int, int]]:
        """For each access of the whole warp the distance from this lane's first entry, in numbers of the array and of
        the tile."""
        if group.width:
            return [(k * group.rows * size + group.start, k * group.rows) for k in range(group.width)]
        numbers = range(0, WARP * group.count, WARP)
        return [(k, k + k // (group.gap * group.count)) for k in numbers]

    def flush(self, group: Group, offset: int) -> None:
        if group.width:
            super().flush(group, offset)
            return
        e, f, item = self.e, self.f, self.item
        tile = self.tile_to_store(group, offset)
        e(f"mul.lo.u32 %k, %few, {group.count};", "sub.u32 %k, %k, %lane;")
        for number, place in self._accesses(group, group.count):
            e(f"setp.gt.s32 %there, %k, {number};")
            self.stored_entry(tile, offset, place)
            e(f"@%there st.global.{f} [%out{group.array}+{number * item}], %t;")


def write_compute(e: Emitter, op: str, to: str, used: Sequence[str], f: str) -> None:
    """Writes one operation on registers and constants (see OPERATIONS)."""
    bits, form = int(f[1:]), OPERATIONS[op]
    form = form if isinstance(form, str) else form[f]
    if "{b}" in form:  # constants as bits
        used = [x.replace("0d", "0x").replace("0f", "0x") for x in used]
    given = {"f": f, "b": f"b{bits}", "u": f"u{bits}", "mantissa": {64: 52, 32: 23}[bits]}
    given |= {"nan": literal(math.nan, bits), "zero": literal(0.0, bits), "one": literal(1.0, bits)}
    text = form.format(*used, to=to, **given)
    e(*(f"{line};" for line in text.rstrip(";").split("; ")))
