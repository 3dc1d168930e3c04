"""A thread kernel for rows of many problems: state s is row s % count of problem s // count, in each of its arrays.

An array says how far apart in memory its problems are, and how far its rows; 0 where all rows of a problem, or all
problems, have the same. Problems that are marked as ended are left as they are.
"""

from __future__ import annotations

from dataclasses import replace

from condyle.backends.cuda.constants import in_memory
from condyle.backends.cuda.launches import Part, Text
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import Body, kernel_name, write_entry, write_head
from condyle.backends.cuda.thread_steps import Group, Guard, Lowered
from condyle.backends.cuda.trig import write_table
from condyle.ir.program import Program
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter


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
        for array, group in self.ins.items():
            self._begin(f"in{array}", f"stride{array}", group)

    def outputs(self) -> None:
        for array, group in self.outs.items():
            self._begin(f"out{array}", f"strideout{array}", group)

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
