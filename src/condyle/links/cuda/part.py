"""A code function as one launch: its text, and the robot's numbers, which lie in device memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from condyle.backends.cuda.launches import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import write_entry, write_head
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
    Pairs,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array, Program
from condyle.links.cuda.lane_exchange import LaneExchange
from condyle.links.cuda.transport import Far, Lanes, LaneVariables, Registers, Transport, lanes_for, write_stage
from condyle.text import Emitter

# A link-parallel function -> PTX: one kernel, in which a lane is a link, or a segment of a chain.


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

    Parameters of the kernel: as in `thread_kernel.emit`, then the address of device memory for exchanges if there are
    any, then that of the constants. offsets: where rows of integers begin in the constants, by name (see
    `part.constants`).
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


def linked(
    code: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Parts:
    """The one launch of a code function with these ports."""
    part = launch(code, inputs, outputs, bits, target)
    return Parts(code.name, bits, tuple(inputs), tuple(outputs), (part,))


def launch(
    code: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Part:
    """The same as a part of a function. Elements are exchanged in device memory where shared memory is too small."""
    lanes = Lanes(code.lanes, bits)
    data, offsets = constants(code, bits)
    kernel = emit(code, outputs, bits, offsets, target)
    states, block = (WARP // lanes.count, 0) if lanes.in_warp else (1, lanes.slots)
    tasks = 1 if code.columns is None else code.columns.tasks
    text = Text(kernel_name(code), kernel.ptx, kernel.pool, states, "links", 0, block, tasks)
    far = [Array(f"scratch {code.name} meeting", (kernel.far,))] if kernel.far else []
    return Part((text,), tuple(inputs), (*outputs, *far), data)


def constants(code: LinkParallel, bits: int) -> tuple[bytes, dict[str, int]]:
    """(data, offsets): the table, entry e of joint t of all lanes side by side; then rows of integers, one for each
    lane, which begin at `offsets`."""
    length = code.length
    rows = [[code.table[lane * length + t] for lane in range(code.lanes)] for t in range(length)]
    data = np.array([list(zip(*row, strict=True)) for row in rows], f"<f{bits // 8}").tobytes()
    offsets: dict[str, int] = {}
    whole = {f"place {name}": (row,) for name, row in code.offsets.items()} | dict(code.partners)
    if code.kinds:
        whole["kinds"] = (code.kinds,)
    for name, numbers in whole.items():
        offsets[name] = len(data)
        data += np.array(numbers, "<i4").tobytes()
    return data or bytes(8), offsets


# Square matrices with a thread for each entry; a block has entries of one row.


class Entries:
    """A kernel around a body. The body finds row %r, column %c and state %state, and sets %x0, %x1, ..., which are zero
    at first, to the entry of each output. %in0, %in1, ...: addresses of the state's inputs. Free registers: %k, %j, %a,
    %at.
    """

    def __init__(self, name: str, reads: Sequence[Array], writes: Sequence[Array], bits: int, target: Target) -> None:
        self.name, self.reads, self.writes, self.bits, self.target = name, tuple(reads), tuple(writes), bits, target
        self.e, self.fresh = Emitter(), Registers()
        self.f, self.item, self.size = f"f{bits}", bits // 8, writes[0].shape[0]
        self.threads = min(target.most_threads, max(WARP, lanes_for(self.size)))

    def part(self, body: Callable[[], None], constants: bytes = b"") -> Part:
        """The launch."""
        self._where(bool(constants))
        body()
        for k in range(len(self.writes)):
            self.e(f"@%inside st.global.{self.f} [%to{k}], %x{k};")
        blocks = self.size * -(-self.size // self.threads)
        text = Text(self.name, self._module(bool(constants)), 0, 1, "entries", 0, self.threads, blocks)
        return Part((text,), self.reads, self.writes, constants)

    def _module(self, constants: bool) -> str:
        e, target = Emitter(), self.target
        write_head(e, target)
        ports = len(self.reads), len(self.writes)
        write_entry(e, self.name, ports, self.threads, ["constants"] * constants)
        with e.block("{"):
            e(f".reg .{self.f} %v<{self.fresh.count + 1}>, %x<{len(self.writes)}>, %na, %nc;")
            e(f".reg .b64 %a, %at, %in<{len(self.reads)}>, %to<{len(self.writes)}>;", ".reg .b32 %k, %j, %state;")
            e(".reg .b32 %r, %c;", ".reg .pred %inside;")
            e(*self.e.text().splitlines(), "ret;")
        return e.text()

    def _where(self, constants: bool) -> None:
        e, size, blocks = self.e, self.size, -(-self.size // self.threads)
        e("mov.u32 %k, %ctaid.x;", f"div.u32 %r, %k, {blocks};", f"mul.lo.u32 %j, %r, {blocks};")
        e("sub.u32 %k, %k, %j;", "mov.u32 %c, %tid.x;", f"mad.lo.u32 %c, %k, {self.threads}, %c;")
        e(f"setp.lt.u32 %inside, %c, {size};", f"min.u32 %c, %c, {size - 1};", f"div.u32 %state, %r, {size};")
        e(f"mul.lo.u32 %j, %state, {size};", "sub.u32 %r, %r, %j;", "cvt.u64.u32 %at, %state;")
        for k in range(len(self.reads)):
            e(f"ld.param.u64 %a, [stride{k}];", "mul.lo.u64 %a, %at, %a;", f"ld.param.u64 %in{k}, [in{k}];")
            e(f"cvta.to.global.u64 %in{k}, %in{k};", f"add.u64 %in{k}, %in{k}, %a;")
        e(f"mad.lo.u32 %k, %state, {size}, %r;", f"mul.wide.u32 %at, %k, {size * self.item};")
        e(f"mul.wide.u32 %a, %c, {self.item};", "add.u64 %at, %at, %a;")
        for k in range(len(self.writes)):
            e(f"ld.param.u64 %a, [out{k}];", "cvta.to.global.u64 %a, %a;", f"add.u64 %to{k}, %a, %at;")
            e(f"mov.{self.f} %x{k}, {literal(0.0, self.bits)};")
        if constants:
            e("ld.param.u64 %at, [constants];", "cvta.to.global.u64 %at, %at;")


def multiplied(inverse: Array, matrices: Sequence[Array], writes: Sequence[Array], bits: int) -> Part:
    """The launch that computes -Minv times each of these matrices."""
    made = Entries("condyle_entries_product", (inverse, *matrices), writes, bits, TARGET)
    e, f, item, size = made.e, made.f, made.item, made.size

    def body() -> None:
        m, x = made.fresh(), [made.fresh() for _ in matrices]
        e(f"mul.wide.u32 %a, %r, {size * item};", "add.u64 %in0, %in0, %a;", f"mul.wide.u32 %a, %c, {item};")
        e(*(f"add.u64 %in{k + 1}, %in{k + 1}, %a;" for k in range(len(matrices))))
        e(f"mov.u32 %k, {size};", ".reg .pred %more;", "TERM:", f"ld.global.nc.{f} {m}, [%in0];", f"neg.{f} {m}, {m};")
        for k, value in enumerate(x):
            e(f"ld.global.nc.{f} {value}, [%in{k + 1}];", f"fma.rn.{f} %x{k}, {m}, {value}, %x{k};")
            e(f"add.u64 %in{k + 1}, %in{k + 1}, {size * item};")
        e(f"add.u64 %in0, %in0, {item};", "sub.u32 %k, %k, 1;", "setp.ne.u32 %more, %k, 0;", "@%more bra TERM;")

    return made.part(body)


# Matrices of pairs -> PTX: every entry is computed from the records of its row and its column.


def paired(pairs: Pairs, record: Array, outputs: Sequence[Array], bits: int) -> Part:
    """The launch that computes matrices from records."""
    made = Entries(f"condyle_{pairs.name}_pairs", (record,), outputs, bits, TARGET)

    def body() -> None:
        _related(made, pairs)
        _stage(made, pairs.lower, "%lower", "BESIDE")
        _stage(made, pairs.upper, "%upper", "DONE")
        if pairs.diagonal >= 0:
            more = made.fresh()
            made.e("setp.eq.u32 %lower, %r, %c;", f"ld.global.nc.{made.f} {more}, [%row+{pairs.diagonal * made.item}];")
            made.e(f"@%lower add.rn.{made.f} %x0, %x0, {more};")

    return made.part(body, np.array(pairs.spans, "<u4").tobytes())


def _related(entries: Entries, pairs: Pairs) -> None:
    """Addresses of both records, and whether one's joint is an ancestor of the other's (%lower, %upper)."""
    e = entries.e
    e(
        ".reg .b64 %row, %column;",
        ".reg .b32 %first_r, %last_r, %first_c, %last_c;",
        ".reg .pred %lower, %upper, %also, %own;",
    )
    for of in "rc":
        e(f"mul.wide.u32 %a, %{of}, 8;", "add.u64 %a, %at, %a;")
        e(f"ld.global.nc.u32 %first_{of}, [%a];", f"ld.global.nc.u32 %last_{of}, [%a+4];")
    e("setp.ge.u32 %lower, %first_r, %first_c;", "setp.ge.u32 %also, %last_c, %first_r;")
    e("and.pred %lower, %lower, %also;")
    e("setp.lt.u32 %upper, %first_r, %first_c;", "setp.ge.u32 %also, %last_r, %first_c;")
    e("and.pred %upper, %upper, %also;")
    if pairs.diagonal >= 0:  # both triangles of one joint's entries by the same formula
        e("setp.eq.u32 %also, %first_r, %first_c;", "setp.lt.u32 %own, %r, %c;", "and.pred %own, %own, %also;")
        e("xor.pred %lower, %lower, %own;", "or.pred %upper, %upper, %own;")
    for of, name in (("r", "row"), ("c", "column")):
        e(f"mul.wide.u32 %a, %{of}, {pairs.width * entries.item};", f"add.u64 %{name}, %in0, %a;")


def _stage(entries: Entries, stage: Program, where: str, beyond: str) -> None:
    def get(var: str, entry: int) -> str:
        value = entries.fresh()
        entries.e(f"ld.global.nc.{entries.f} {value}, [%{var}+{entry * entries.item}];")
        return value

    def put(var: str, entry: int, value: str) -> None:
        entries.e(f"mov.{entries.f} %x{var}, {value};")

    entries.e(f"@!{where} bra {beyond};")
    write_stage(entries.e, stage, entries.bits, entries.fresh, get, put)
    entries.e(f"{beyond}:")
