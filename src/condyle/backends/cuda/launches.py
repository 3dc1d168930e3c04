"""A function as launches: one kernel, or several in order where one would be too long; kernels for rows of problems.

The steps are those of a partitioning (see `target.partitions`); a call in it is the kernel of the called function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.forms import lacks, refused
from condyle.backends.cuda.constants import in_memory
from condyle.backends.cuda.group.group_kernel import FURTHEST, emit_group, pool, state_bytes
from condyle.backends.cuda.group.group_kernel import kernel_name as group_name
from condyle.backends.cuda.group.schedule import OPERATIONS, group
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.target import TARGET, WARP, Target, stages
from condyle.backends.cuda.thread_kernel import Body, emit, kernel_name, write_entry, write_head
from condyle.backends.cuda.thread_steps import Group, Guard, Lowered
from condyle.backends.cuda.trig import literal, write_table
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Program
from condyle.passes.elementary.expand import expand
from condyle.specification import Call, Composition, Function
from condyle.text import Emitter

# -Minv times matrices, a warp for each state: the last stage of derivatives that are too long for one kernel.
#
# The warp copies rows of Minv to shared memory, from where all lanes read the same ones. A lane has columns of one
# right-hand side in registers, without the rows that are zero in all columns that the warp has at a time.


Entries: TypeAlias = NDArray[np.bool_]
NAME = "condyle_product"
STAGED = 32
"""Numbers of Minv that a lane reads before it stores them."""


class Columns(NamedTuple):
    """A column of every lane. rows: those that can differ from zero, of any lane."""

    start: int
    rows: tuple[int, ...]


class Product:
    """The kernel for right-hand sides of which only the entries `kept`, (nv, nv), can differ from zero."""

    def __init__(self, kept: Entries, matrices: int, bits: int, target: Target = TARGET) -> None:
        self.nv, self.matrices, self.bits, self.target = len(kept), matrices, bits, target
        self.f, self.item, self.wide = f"f{bits}", bits // 8, WARP // matrices
        self.pitch = -(-max(self.nv, WARP) * bits // 128) * 16
        """Bytes of a row of Minv in shared memory: each lane stores a number, loads take 16 bytes."""
        self.rows = max(
            r for r in range(1, self.nv + 1) if self.nv % r == 0 and (r == 1 or r * self.pitch <= target.pool)
        )
        """Rows of Minv that are in shared memory at a time."""
        self.groups: list[list[Columns]] = [[]]
        for start in range(0, self.nv, self.wide):
            rows = np.flatnonzero(kept[:, start : start + self.wide].any(axis=1))
            columns = Columns(start, tuple(rows.tolist()))
            held = sum(len(other.rows) for other in (*self.groups[-1], columns))
            if self.groups[-1] and held > 0.8 * target.values(bits):
                self.groups.append([])
            self.groups[-1].append(columns)

    @property
    def pool(self) -> int:
        """Bytes of shared memory of a warp."""
        return self.rows * self.pitch

    def text(self) -> str:
        """A module with one kernel: inputs Minv and the right-hand sides, then outputs, all (n, nv, nv).

        Parameters as in `thread_kernel.emit`; `pool` bytes of dynamic shared memory for each warp.
        """
        e, most = Emitter(), max(map(len, self.groups))
        write_head(e, self.target)
        e(".extern .shared .align 16 .b8 pool[];", "")
        write_entry(e, NAME, (self.matrices + 1, self.matrices), self.target.most_threads)
        with e.block("{"):
            e(f".reg .{self.f} %d<{self.nv * most}>, %sum<{most}>, %m<{128 // self.bits}>, %x<{STAGED}>;")
            e(".reg .pred %done, %tail;", f".reg .b64 %a, %s, %in, %last, %from, %out, %to<{most}>;")
            e(".reg .b32 %lane, %column, %state, %base, %row, %left, %blocks, %matrix, %k, %n;")
            e("mov.u32 %lane, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %state, %ctaid.x;", "shr.u32 %row, %lane, 5;")
            e("mad.lo.u32 %state, %state, %k, %lane;", "shr.u32 %state, %state, 5;", "and.b32 %lane, %lane, 31;")
            e("ld.param.u32 %n, [n];", "setp.ge.u32 %done, %state, %n;", "@%done ret;", "cvt.u64.u32 %s, %state;")
            e("mov.u32 %base, pool;", f"mad.lo.u32 %base, %row, {self.pool}, %base;")
            self._choose_matrix(e)
            for number, group in enumerate(self.groups):
                self._compute(e, group, number)
            e("ret;")
        return e.text()

    def _choose_matrix(self, e: Emitter) -> None:
        """The addresses of this lane's right-hand side and output: the first lanes have the first, and so on. Lanes
        that are left over do what a lane of the first does, as those beyond the last column do what that of it does."""
        e(
            f"div.u32 %matrix, %lane, {self.wide};",
            f"mul.lo.u32 %k, %matrix, {self.wide};",
            "sub.u32 %column, %lane, %k;",
        )
        e("ld.param.u64 %from, [in1];", "ld.param.u64 %in, [stride1];", "ld.param.u64 %out, [out0];")
        for k in range(1, self.matrices):
            e(f"setp.eq.u32 %done, %matrix, {k};")
            for name, parameter in (("from", f"in{k + 1}"), ("in", f"stride{k + 1}"), ("out", f"out{k}")):
                e(f"ld.param.u64 %a, [{parameter}];", f"selp.b64 %{name}, %a, %{name}, %done;")
        e("cvta.to.global.u64 %from, %from;", "mad.lo.u64 %from, %s, %in, %from;")
        e("cvta.to.global.u64 %out, %out;", f"mad.lo.u64 %out, %s, {self.nv**2 * self.item}, %out;")

    def _compute(self, e: Emitter, group: Sequence[Columns], number: int) -> None:
        """Writes some columns of the outputs."""
        nv, item = self.nv, self.item
        registers: dict[tuple[int, int], str] = {}
        for u, columns in enumerate(group):
            e(f"add.u32 %k, %column, {columns.start};", f"min.u32 %k, %k, {nv - 1};")
            e(f"mul.wide.u32 %to{u}, %k, {item};", f"add.u64 %a, %from, %to{u};", f"add.u64 %to{u}, %out, %to{u};")
            for row in columns.rows:
                registers[u, row] = f"%d{len(registers)}"
                e(f"ld.global.nc.{self.f} {registers[u, row]}, [%a+{row * nv * item}];")
        e("ld.param.u64 %a, [stride0];", "ld.param.u64 %in, [in0];", "cvta.to.global.u64 %in, %in;")
        e("mad.lo.u64 %last, %s, %a, %in;", f"mul.wide.u32 %a, %lane, {item};", "add.u64 %in, %last, %a;")
        e(f"min.u32 %k, %lane, {(nv - 1) % WARP};", f"mul.wide.u32 %a, %k, {item};", "add.u64 %last, %last, %a;")
        e(
            f"setp.lt.u32 %tail, %lane, {(nv - 1) % WARP + 1};",
            f"mov.u32 %blocks, {nv // self.rows};",
            f"BLOCK{number}:",
        )
        self._stage(e)
        unrolled = max(r for r in (1, 2, 3, 4) if self.rows % r == 0)
        e("mov.u32 %row, %base;", f"mov.u32 %left, {self.rows // unrolled};", f"ROWS{number}:")
        for row in range(unrolled):
            self._row(e, group, registers, row)
        e(*(f"add.u64 %to{u}, %to{u}, {unrolled * nv * item};" for u in range(len(group))))
        e(f"add.u32 %row, %row, {unrolled * self.pitch};", "sub.u32 %left, %left, 1;", "setp.ne.u32 %done, %left, 0;")
        e(f"@%done bra ROWS{number};", "bar.warp.sync 0xFFFFFFFF;")
        e(*(f"add.u64 {address}, {address}, {self.rows * nv * item};" for address in ("%in", "%last")))
        e("sub.u32 %blocks, %blocks, 1;", "setp.ne.u32 %done, %blocks, 0;", f"@%done bra BLOCK{number};")

    def _stage(self, e: Emitter) -> None:
        """Copies rows of Minv to shared memory. Lanes beyond the last column read it again, and store it where rows
        have room: the assembler makes a branch of a load and a store that share a predicate."""
        e(f"mad.lo.u32 %row, %lane, {self.item}, %base;")
        pieces = list(product(range(self.rows), range(0, self.nv, WARP)))
        for first in range(0, len(pieces), STAGED):
            batch = list(enumerate(pieces[first : first + STAGED]))
            for k, (row, start) in batch:
                lanes = "%in" if start + WARP <= self.nv else "%last"
                e(f"ld.global.nc.{self.f} %x{k}, [{lanes}+{(row * self.nv + start) * self.item}];")
            for k, (row, start) in batch:
                guard = "" if self.nv <= WARP or start + WARP <= self.nv else "@%tail "
                e(f"{guard}st.shared.{self.f} [%row+{row * self.pitch + start * self.item}], %x{k};")
        e("bar.warp.sync 0xFFFFFFFF;")

    def _row(self, e: Emitter, group: Sequence[Columns], registers: dict[tuple[int, int], str], row: int) -> None:
        """Writes a row of some columns."""
        vector = 128 // self.bits
        e(*(f"mov.{self.f} %sum{u}, {literal(0.0, self.bits)};" for u in range(len(group))))
        for k in range(self.nv):
            if k % vector == 0:
                names = ", ".join(f"%m{j}" for j in range(vector))
                e(f"ld.shared.v{vector}.{self.f} {{{names}}}, [%row+{row * self.pitch + k * self.item}];")
                e(*(f"neg.{self.f} %m{j}, %m{j};" for j in range(vector)))
            for u in range(len(group)):
                if (u, k) in registers:
                    e(f"fma.rn.{self.f} %sum{u}, %m{k % vector}, {registers[u, k]}, %sum{u};")
        for u in range(len(group)):
            e(f"st.global.{self.f} [%to{u}+{row * self.nv * self.item}], %sum{u};")


MOST_THREADS = (1 << 31) - 1
"""Threads of one launch: kernels number them in 32 bits and compare numbers of states with their sign."""


@dataclass(frozen=True, slots=True)
class Text:
    """PTX of one kernel. pool: bytes of shared memory for each warp. states: states of a warp. spilled: bytes of spills
    of a thread.

    block: number of threads that compute one state and share the pool; 0 where warps are independent. tasks: number of
    tasks of a state; each has the threads of a state.
    """

    name: str
    ptx: str
    pool: int
    states: int
    order: str
    spilled: int
    block: int = 0
    tasks: int = 1

    @property
    def most(self) -> int:
        """The most states of one launch."""
        return MOST_THREADS // ((self.block or WARP // self.states) * self.tasks)

    def shared_bytes(self, threads: int) -> int:
        """Bytes of shared memory of a block with this number of threads."""
        return self.pool if self.block else self.pool * threads // WARP

    def blocks(self, n: int, threads: int) -> int:
        """The number of blocks for n states."""
        n *= self.tasks
        return n if self.block else -(-n // (threads // WARP * self.states))


@dataclass(frozen=True, slots=True)
class Part:
    """One launch: texts to choose from (see `lower.lower`), and the arrays that it reads and writes.

    constants: bytes in device memory, whose address is the parameter after the arrays. numbers: parameters after that.
    """

    texts: tuple[Text, ...]
    reads: tuple[Array, ...]
    writes: tuple[Array, ...]
    constants: bytes = b""
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The launches of one function in order; arrays that are neither its inputs nor its outputs are scratch."""

    function: str
    bits: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    launches: tuple[Part, ...]

    @property
    def scratch(self) -> tuple[Array, ...]:
        known = {array.name for array in (*self.inputs, *self.outputs)}
        found = {array.name: array for part in self.launches for array in part.writes if array.name not in known}
        return tuple(found.values())

    @property
    def most(self) -> int:
        """The most states of one launch."""
        return min(text.most for part in self.launches for text in part.texts)


@dataclass(frozen=True, slots=True)
class Composed:
    """A function, its arrays, and the steps of its launches.

    kept: of answers of calls that products read, the entries that can differ from zero.
    """

    function: Function
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    steps: Composition
    kept: Mapping[str, Entries] = field(default_factory=dict[str, Entries])

    @property
    def called(self) -> list[Function]:
        """The functions whose kernels are launched."""
        return [step.function for step in self.steps if isinstance(step, Call)]


def parts(composed: Composed, kernels: Mapping[Function, Part], bits: int, target: Target = TARGET) -> Parts:
    """The launches of a function. kernels: {called function: its part}."""
    known = {array.name: array for array in (*composed.inputs, *composed.outputs)}
    launches: list[Part] = []
    for step in stages(composed.steps):
        if isinstance(step, Call):
            part = kernels[step.function]
            gives, takes = step.gives, dict(zip((array.name for array in part.reads), step.takes, strict=False))
            reads = [known[takes.get(array.name, array.name)] for array in part.reads]
            shapes = [array.shape for array in part.writes]
        else:
            gives, rights = tuple(one.gives for one in step), [known[one.right] for one in step]
            reads, shapes = [known[step[0].left], *rights], [array.shape for array in rights]
            kept: Entries = np.any([composed.kept[one.right] for one in step], axis=0)
            product = Product(kept, len(rights), bits, target)
            text = Text(NAME, product.text(), product.pool, 1, "rows", 0)
            part = Part((text,), (), ())
        writes = tuple(known.setdefault(name, Array(name, shape)) for name, shape in zip(gives, shapes, strict=True))
        launches.append(replace(part, reads=tuple(reads), writes=writes))
    return Parts(composed.function.name, bits, composed.inputs, composed.outputs, tuple(launches))


def straight(program: Program, bits: int, target: Target = TARGET) -> Part:
    """One kernel with a thread for each state."""
    texts = tuple(
        Text(kernel_name(low), emit(low, target), low.pool, 32, low.order, low.slots * bits // 8)
        for low in lower(expand(program, bits), bits, target)
    )
    return Part(texts, program.inputs, program.arrays)


def grouped(program: Program, lanes: int, bits: int, target: Target = TARGET) -> Part:
    """One kernel with `lanes` lanes for each state.

    UnsupportedError for a Program without outputs, with operations that groups do not have, or with more values than
    shared memory holds.
    """
    if not program.outputs:
        raise UnsupportedError(f"{program.name} of this robot has no work for {lanes} lanes: take kernels='thread'")
    lacking = lacks(program, OPERATIONS)
    if lacking:
        raise refused(f"target cuda with {lanes} lanes a state", lacking, OPERATIONS)
    made = group(program, lanes)
    if state_bytes(made, bits) > FURTHEST or pool(made, bits) > target.shared:
        raise UnsupportedError(
            f"{program.name} with {lanes} lanes a state needs {pool(made, bits)} bytes of shared memory a warp and "
            f"{state_bytes(made, bits)} a state; at most {target.shared} and {FURTHEST} can be had: take more lanes or "
            "kernels='thread'"
        )
    text = Text(
        group_name(made), emit_group(made, bits, target), pool(made, bits), WARP // lanes, f"{lanes} lanes a state", 0
    )
    return Part((text,), program.inputs, program.arrays)


# A thread kernel for rows of many problems: state s is row s % count of problem s // count, in each of its arrays.
#
# An array says how far apart in memory its problems are, and how far its rows; 0 where all rows of a problem, or all
# problems, have the same. Problems that are marked as ended are left as they are.


def over_rows(program: Program, bits: int, target: Target = TARGET) -> Part:
    """The kernel of a Program."""
    texts = tuple(
        Text(kernel_name(low), emit_rows(low, target), low.pool, WARP, low.order, low.slots * bits // 8)
        for low in lower(expand(program, bits), bits, replace(target, whole_rows=False))
    )
    return Part(texts, program.inputs, program.arrays)


def emit_rows(low: Lowered, target: Target = TARGET) -> str:
    """The text of a module with one kernel.

    Parameters: those of `thread_kernel.emit`, where the stride of an input is that of its problems; then count, rows of
    a problem; the address of a number of 32 bits of each problem, which is not 0 if it has ended; the stride of the
    rows of each input; and the strides of problems and of rows of each output. All are bytes.
    """
    e, inputs, outputs = Emitter(), len(low.program.inputs), len(low.program.arrays)
    write_head(e, target)
    if any(isinstance(step, Guard) for step in low.steps):
        write_table(e)
    e(".extern .shared .align 16 .b8 pool[];", "")
    more = ["count", "ended", *(f"rowin{k}" for k in range(inputs))]
    more += [f"{name}out{k}" for k in range(outputs) for name in ("stride", "row")]
    write_entry(e, kernel_name(low), (inputs, outputs), target.most_threads, more)
    with e.block("{"):
        _RowsBody(e, low).write()
    return in_memory(e.text())


class _RowsBody(Body):
    """%by of an array: bytes to the next row that a lane copies; %wrap: what is added where that is of a later problem
    than %by assumes. %bits: which of the rows that a lane copies are to be written."""

    def declare(self) -> None:
        super().declare()
        e = self.e
        e(".reg .b32 %count, %turn, %active, %bit;", ".reg .pred %wraps;", ".reg .b64 %pitch, %apart;")
        for width in self.widths:
            e(f".reg .b32 %problem{width}, %row_of{width}, %far{width}, %near{width}, %bits{width};")
        for port in (*(f"in{k}" for k in self.ins), *(f"out{k}" for k in self.outs)):
            e(f".reg .b64 %by_{port}, %wrap_{port};")

    def inputs(self) -> None:
        e = self.e
        e("ld.param.u64 %a, [count];", "cvt.u32.u64 %count, %a;")
        self._votes()
        for width in self.widths:
            e(f"shr.b32 %bits{width}, %active, %row{width};", f"add.u32 %k, %first, %row{width};")
            e(f"div.u32 %problem{width}, %k, %count;", f"rem.u32 %row_of{width}, %k, %count;")
            e(
                f"mov.u32 %k, {WARP // width};",
                f"div.u32 %far{width}, %k, %count;",
                f"rem.u32 %near{width}, %k, %count;",
            )
        for array, rows in self.ins.items():
            self._begin(f"in{array}", f"stride{array}", rows)

    def outputs(self) -> None:
        for array, rows in self.outs.items():
            self._begin(f"out{array}", f"strideout{array}", rows)

    def _votes(self) -> None:
        """Which states of the warp are of problems that have not ended; without any it ends."""
        e = self.e
        e("setp.lt.u32 %there, %lane, %left;", "add.u32 %k, %first, %lane;", "div.u32 %k, %k, %count;")
        e("mul.wide.u32 %apart, %k, 4;", "ld.param.u64 %a, [ended];", "cvta.to.global.u64 %a, %a;")
        e("add.u64 %a, %a, %apart;", "mov.u32 %k, 1;", "@%there ld.global.nc.u32 %k, [%a];")
        e("setp.eq.u32 %there, %k, 0;", "vote.sync.ballot.b32 %active, %there, 0xFFFFFFFF;")
        e("setp.eq.u32 %done, %active, 0;", "@%done ret;")

    def _begin(self, port: str, stride: str, group: Group) -> None:
        """Computes the address of this lane's first row and column of an array, and how it goes on."""
        e, width, by, wrap = self.e, group.width, f"%by_{port}", f"%wrap_{port}"
        e(f"ld.param.u64 %{port}, [{port}];", f"cvta.to.global.u64 %{port}, %{port};")
        e(f"ld.param.u64 %pitch, [{stride}];", f"ld.param.u64 %apart, [row{port}];")
        e(f"cvt.u64.u32 %a, %problem{width};", f"mad.lo.u64 %{port}, %a, %pitch, %{port};")
        e(f"cvt.u64.u32 %a, %row_of{width};", f"mad.lo.u64 %{port}, %a, %apart, %{port};")
        e(f"mul.wide.u32 %a, %col{width}, {self.item};", f"add.u64 %{port}, %{port}, %a;")
        e(f"cvt.u64.u32 %a, %far{width};", f"mul.lo.u64 {by}, %a, %pitch;")
        e(f"cvt.u64.u32 %a, %near{width};", f"mad.lo.u64 {by}, %a, %apart, {by};")
        e("cvt.u64.u32 %a, %count;", "mul.lo.u64 %a, %a, %apart;", f"sub.u64 {wrap}, %pitch, %a;")

    def first_row(self, port: str, group: Group) -> None:
        super().first_row(port, group)
        self.e(f"mov.u32 %turn, %row_of{group.width};")

    def next_row(self, port: str, group: Group) -> None:
        e = self.e
        e(f"add.u64 %a, %a, %by_{port};", f"add.u32 %turn, %turn, %near{group.width};")
        e("setp.ge.u32 %wraps, %turn, %count;", "@%wraps sub.u32 %turn, %turn, %count;")
        e(f"@%wraps add.u64 %a, %a, %wrap_{port};")

    def flush(self, group: Group, offset: int) -> None:
        e, f, port, bits = self.e, self.f, f"out{group.array}", f"%bits{group.width}"
        if group.count < group.width:
            e(f"setp.lt.u32 %inside, %col{group.width}, {group.count};", f"selp.b32 %k, {bits}, 0, %inside;")
            bits = "%k"
        tile = self.tile_to_store(group, offset)
        self.first_row(port, group)
        for k in range(group.width):
            row = k * group.rows
            e(f"and.b32 %bit, {bits}, {1 << row};", "setp.ne.u32 %there, %bit, 0;")
            self.stored_entry(tile, offset, row)
            e(f"@%there st.global.{f} [%a], %t;")
            self.next_row(port, group)
