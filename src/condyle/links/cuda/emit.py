"""A link-parallel function -> PTX: one kernel, in which a lane is a link, or a segment of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from condyle.backends.cuda.emit import write_entry, write_head
from condyle.backends.cuda.target import TARGET, Target
from condyle.backends.cuda.trig import literal, registers, write_angle, write_guard, write_sincos, write_table
from condyle.ir.link_parallel import (
    IO,
    NONE,
    UNIT,
    EachJoint,
    Emit,
    LinkParallel,
    MatrixPorts,
    Neighbour,
    Once,
    Op,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array, Program
from condyle.links.cuda.lane_exchange import LaneExchange
from condyle.links.cuda.lanes import Lanes
from condyle.links.cuda.stage import Registers, write_stage
from condyle.links.cuda.transport import Far, Transport
from condyle.links.cuda.variables import LaneVariables
from condyle.text import Emitter

FAR = "FAR"
"""Placeholder in the text for the lines that set up the exchange in device memory, until it is known whether there is
any."""


def kernel_name(code: LinkParallel) -> str:
    return f"condyle_{code.name}_links"


@dataclass(frozen=True)
class Kernel:
    """ptx: a module with one kernel. pool: bytes of shared memory of a warp or a block. far: numbers of device memory
    for one state."""

    ptx: str
    pool: int
    far: int


def emit(
    code: LinkParallel, outputs: Sequence[Array], bits: int, offsets: Mapping[str, int], target: Target = TARGET
) -> Kernel:
    """The kernel of a code function.

    Parameters of the kernel: as in `cuda.emit.emit`, then the address of device memory for exchanges if there are any,
    then that of the constants. offsets: where rows of integers begin in the constants, by name (see `part.constants`).
    """
    lanes = Lanes(code.lanes, bits)
    body = _Body(code, outputs, lanes, offsets)
    body.write()
    e = Emitter()
    write_head(e, target)
    write_table(e)
    e(".extern .shared .align 16 .b8 pool[];", "")
    ports, more = (len(code.inputs), len(outputs)), ["far"] * (body.far.most > 0)
    threads = target.most_threads if lanes.in_warp else lanes.slots
    write_entry(e, kernel_name(code), ports, threads, [*more, "constants"])
    with e.block("{"):
        far = body.far.opening("far", "%first" if code.columns is None else "%chunk")
        text = body.e.text().replace("POOL", str(body.transport.pool)).replace(FAR, "\n".join(far))
        e(f".reg .f{bits} %v<{body.fresh.count + 1}>;", *text.splitlines())
        e("ret;")
    tasks = 1 if code.columns is None else code.columns.tasks
    return Kernel(e.text(), body.transport.pool, body.far.numbers * tasks)


class _Body:
    def __init__(self, code: LinkParallel, outputs: Sequence[Array], lanes: Lanes, offsets: Mapping[str, int]) -> None:
        self.e, self.fresh = Emitter(), Registers()
        self.code, self.outputs, self.lanes, self.offsets = code, outputs, lanes, offsets
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.variables = LaneVariables(self.e, code, lanes, self.fresh)
        self.transport = Transport(self.e, lanes, self.fresh)
        self.far = Far(self.e, lanes, self.fresh)
        self.lane_exchange = LaneExchange(self.variables, self.transport, self.far, offsets)
        self.labels = 0

    def write(self) -> None:
        self._declare()
        self._where()
        for op in self.code.ops:
            self._op(op)

    def _declare(self) -> None:
        e = self.e
        e(f".reg .{self.f} %na, %nc, %sine, %cosine;", *registers(self.lanes.bits))
        e(".reg .b32 %thread, %g, %k, %pool, %mine, %slot, %partner, %lo, %hi, %step, %place, %first, %kind, %other;")
        e(
            ".reg .b32 %state, %states, %t, %joint, %count, %spilled, %column, %kept, %warp, %lane;",
            ".reg .b32 %task, %chunk, %unit_row;",
        )
        e(
            ".reg .b64 %a, %pair, %half, %table, %links, %numbers, %rows, %deep, %deep_slot, %deep_partner;",
            ".reg .pred %valid, %there, %inside, %more, %skip, %whole;",
        )
        ports = [f"in{k}" for k in range(len(self.code.inputs))] + [f"out{k}" for k in range(len(self.outputs))]
        e(*(f".reg .b64 %{port}, %at_{port};" for port in ports), *(f".reg .pred %has_{port};" for port in ports))
        self.variables.declare()

    def _where(self) -> None:
        """Computes this lane's state, its slot in shared memory, and the addresses of its arrays."""
        e, lanes, code = self.e, self.lanes, self.code
        e("mov.u32 %thread, %tid.x;", "and.b32 %lane, %thread, 31;", "shr.u32 %warp, %thread, 5;")
        e("mov.u32 %state, %ctaid.x;", "mov.u32 %mine, pool;", "ld.param.u32 %states, [n];")
        if lanes.in_warp:
            shift = lanes.count.bit_length() - 1
            e("mov.u32 %k, %ntid.x;", "shr.u32 %k, %k, 5;", "mad.lo.u32 %state, %state, %k, %warp;")
            e(f"shl.b32 %state, %state, {5 - shift};", f"shr.u32 %k, %lane, {shift};", "add.u32 %state, %state, %k;")
            e(f"and.b32 %g, %lane, {lanes.count - 1};", "mad.lo.u32 %mine, %warp, POOL, %mine;")
            e(f"mad.lo.u32 %mine, %lane, {self.item}, %mine;")
        else:
            e("mov.u32 %g, %thread;", f"mad.lo.u32 %mine, %thread, {self.item}, %mine;")
        e(f"add.u32 %slot, %mine, {self.transport.pitch};")
        if code.columns is not None:
            self._task(code.columns)
        e("sub.u32 %k, %states, 1;", "min.u32 %first, %state, %k;")
        e("cvt.u64.u32 %half, %first;")
        for k in range(len(self.code.inputs)):
            e(f"ld.param.u64 %in{k}, [in{k}];", f"cvta.to.global.u64 %in{k}, %in{k};")
            e(f"ld.param.u64 %a, [stride{k}];", f"mad.lo.u64 %in{k}, %half, %a, %in{k};")
        for k, array in enumerate(self.outputs):
            e(f"ld.param.u64 %out{k}, [out{k}];", f"cvta.to.global.u64 %out{k}, %out{k};")
            e(f"mul.wide.u32 %a, %first, {array.size * self.item};", f"add.u64 %out{k}, %out{k}, %a;")
        e("ld.param.u64 %numbers, [constants];", "cvta.to.global.u64 %numbers, %numbers;")
        e(f"mul.wide.u32 %a, %g, {self.item};", "add.u64 %table, %numbers, %a;", "mov.u64 %links, %table;")
        e("mul.wide.u32 %a, %g, 4;", "add.u64 %numbers, %numbers, %a;", "mov.u32 %joint, %g;")
        e(FAR)
        self._places()

    def _task(self, columns: MatrixPorts) -> None:
        """Splits the task number, in %state so far, into %state and %task, the first column of the task."""
        e, tasks = self.e, columns.tasks
        e(f"mul.lo.u32 %k, %states, {tasks};", "sub.u32 %k, %k, 1;", "min.u32 %chunk, %state, %k;")
        e("mov.u32 %task, %state;", f"div.u32 %state, %state, {tasks};", f"mul.lo.u32 %k, %state, {tasks};")
        e("sub.u32 %task, %task, %k;", f"mul.lo.u32 %task, %task, {columns.count};")

    def _places(self) -> None:
        """Loads where this lane's entries of each port begin, and its kind."""
        e, code = self.e, self.code
        ports = [(name, f"in{k}") for k, (name, _) in enumerate(code.inputs)]
        ports += [(name, f"out{k}") for k, (name, _) in enumerate(code.outputs)]
        for name, port in ports:
            if name in code.offsets:
                e(f"ld.global.nc.s32 %other, [%numbers+{self.offsets[f'place {name}']}];")
                e(f"setp.ge.s32 %has_{port}, %other, 0;", "selp.b32 %other, %other, 0, " + f"%has_{port};")
                if code.columns is not None and port != "in0":
                    e("add.u32 %other, %other, %task;")
                e(f"mul.wide.u32 %a, %other, {self.item};", f"add.u64 %at_{port}, %{port}, %a;")
        if UNIT in code.offsets:
            e(f"ld.global.nc.u32 %unit_row, [%numbers+{self.offsets[f'place {UNIT}']}];")
        if code.kinds:
            e(f"ld.global.nc.s32 %kind, [%numbers+{self.offsets['kinds']}];")

    def _op(self, op: Op) -> None:
        match op:
            case EachJoint():
                self._sweep(op)
            case Once():
                self._stage(op.stage)
            case Scan() | TreeScanStep() | Neighbour() | Spread():
                self.lane_exchange.write(op)
            case Splat():
                self.variables.splat(op)
            case Emit():
                self.variables.emit(op)
            case Start():
                for k, value in enumerate(op.values):
                    self.variables.put(op.var, k, literal(value, self.lanes.bits))
            case Sines():
                self._sines(op)

    def _label(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def _stage(self, stage: Program) -> None:
        write_stage(self.e, stage, self.lanes.bits, self.fresh, self.variables.get, self.variables.put)

    def _each_joint(self, backward: bool = False) -> tuple[str, str]:
        """Begins a loop over the joints of the segment: its label and its last instruction; empty for one joint."""
        e, length = self.e, self.code.length
        if self.variables.alone:
            self.variables.at_joint()
            return "", ""
        label = self._label("JOINT")
        e(f"mov.u32 %t, {length - 1 if backward else 0};", f"mov.u32 %count, {length};", f"{label}:")
        self.variables.at_joint()
        return label, "sub.u32 %t, %t, 1;" if backward else "add.u32 %t, %t, 1;"

    def _next_joint(self, loop: tuple[str, str]) -> None:
        label, step = loop
        if label:
            self.e(step, "sub.u32 %count, %count, 1;", "setp.ne.u32 %more, %count, 0;", f"@%more bra {label};")

    def _sweep(self, op: EachJoint) -> None:
        skip = self._label("OTHERS") if op.kind != NONE else ""
        if skip:
            self.e(f"setp.ne.s32 %skip, %kind, {op.kind};", f"@%skip bra {skip};")
        loop = self._each_joint(op.backward)
        self._stage(op.stage)
        self._next_joint(loop)
        if skip:
            self.e(f"{skip}:")

    def _sines(self, op: Sines) -> None:
        bits, guard = self.lanes.bits, self._label("GUARD")
        loop = self._each_joint()
        write_angle(self.e, 0, self.variables.get(IO, op.angle), True, bits)
        write_guard(self.e, 0, 1, guard, bits)
        write_sincos(self.e, 0, "%sine", "%cosine", bits)
        self.variables.put(IO, op.sine, "%sine")
        self.variables.put(IO, op.cosine, "%cosine")
        self._next_joint(loop)
