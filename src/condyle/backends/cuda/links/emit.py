"""A chunked function -> PTX: one kernel, a lane a chunk, or a lane a link.

Scans are those of Kogge and Stone 1973 (see Yang, Wu and Pan 2017). Narrow values pass between the lanes of a warp by
shuffles, and between warps as their totals; articulated elements meet in shared memory, where partners read of each
other what they need when they need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from condyle.backends.cuda.links.banks import Banks
from condyle.backends.cuda.links.exchange import WIDE, Exchange
from condyle.backends.cuda.links.lanes import MOST, Lanes
from condyle.backends.cuda.links.stage import Registers, write_stage
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.trig import literal, registers, write_angle, write_guard, write_sincos, write_table
from condyle.ir.chunked import IO, NONE, Chunked, Meet, Neighbour, Once, Op, Scan, Sines, Start, Sweep
from condyle.ir.program import Array, Program
from condyle.text import Emitter

SHORT = 64
"""Operations of a stage up to which its scan is unrolled."""


def kernel_name(chunked: Chunked) -> str:
    return f"condyle_{chunked.name}_links"


def emit(
    chunked: Chunked, outputs: Sequence[Array], bits: int, offsets: Mapping[str, int], target: Target = TARGET
) -> tuple[str, int]:
    """The text of a module with one kernel, and the shared bytes of one pool.

    Parameters: as in `cuda.emit.emit`, then the address of the constants, numbers first. offsets: where in them rows of
    lanes' whole numbers begin, by name (see `part.constants`).
    """
    lanes = Lanes(chunked.chunks, bits)
    body = _Body(chunked, outputs, lanes, offsets)
    body.write()
    e = Emitter()
    e(f".version {target.ptx}", f".target {target.oldest}", ".address_size 64", "")
    write_table(e)
    e(".extern .shared .align 16 .b8 pool[];", "", f".visible .entry {kernel_name(chunked)}(")
    names = [".param .u32 n", ".param .u32 zero"]
    for k in range(len(chunked.inputs)):
        names += [f".param .u64 in{k}", f".param .u64 stride{k}"]
    names += [f".param .u64 out{k}" for k in range(len(chunked.outputs))]
    e("    " + ",\n    ".join([*names, ".param .u64 constants"]), ")")
    e(f".maxntid {lanes.slots if not lanes.in_warp else target.most_threads}, 1, 1")
    with e.block("{"):
        lines = body.e.text().replace("POOL", str(body.exchange.pool)).splitlines()
        e(f".reg .f{bits} %v<{body.fresh.count + 1}>;", *lines)
        e("ret;")
    return e.text(), body.exchange.pool


class _Body:
    def __init__(self, chunked: Chunked, outputs: Sequence[Array], lanes: Lanes, offsets: Mapping[str, int]) -> None:
        self.e, self.fresh = Emitter(), Registers()
        self.chunked, self.outputs, self.lanes, self.offsets = chunked, outputs, lanes, offsets
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.banks = Banks(self.e, chunked, lanes, self.fresh)
        self.exchange = Exchange(self.e, lanes, self.fresh)
        self.labels = 0

    def write(self) -> None:
        self._declare()
        self._where()
        for op in self.chunked.ops:
            self._op(op)

    def _declare(self) -> None:
        e = self.e
        e(f".reg .{self.f} %na, %nc, %sine, %cosine;", *registers(self.lanes.bits))
        e(".reg .b32 %thread, %g, %k, %pool, %mine, %slot, %partner, %lo, %hi, %step, %place, %first, %kind, %other;")
        e(".reg .b32 %state, %states, %t, %joint, %count, %parked, %column, %kept, %warp, %lane;")
        e(".reg .b64 %a, %pair, %half, %table, %links, %numbers, %rows;", ".reg .pred %valid, %there, %inside, %more, %skip;")
        ports = [f"in{k}" for k in range(len(self.chunked.inputs))] + [f"out{k}" for k in range(len(self.outputs))]
        e(*(f".reg .b64 %{port}, %at_{port};" for port in ports), *(f".reg .pred %has_{port};" for port in ports))
        self.banks.declare()

    def _where(self) -> None:
        """This lane's state, its part of the pool, and its arrays."""
        e, lanes = self.e, self.lanes
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
        e(f"add.u32 %slot, %mine, {self.exchange.pitch};", "sub.u32 %k, %states, 1;", "min.u32 %first, %state, %k;")
        e("cvt.u64.u32 %half, %first;")
        for k in range(len(self.chunked.inputs)):
            e(f"ld.param.u64 %in{k}, [in{k}];", f"cvta.to.global.u64 %in{k}, %in{k};")
            e(f"ld.param.u64 %a, [stride{k}];", f"mad.lo.u64 %in{k}, %half, %a, %in{k};")
        for k, array in enumerate(self.outputs):
            e(f"ld.param.u64 %out{k}, [out{k}];", f"cvta.to.global.u64 %out{k}, %out{k};")
            e(f"mul.wide.u32 %a, %first, {array.size * self.item};", f"add.u64 %out{k}, %out{k}, %a;")
        e("ld.param.u64 %numbers, [constants];", "cvta.to.global.u64 %numbers, %numbers;")
        e(f"mul.wide.u32 %a, %g, {self.item};", "add.u64 %table, %numbers, %a;", "mov.u64 %links, %table;")
        e("mul.wide.u32 %a, %g, 4;", "add.u64 %numbers, %numbers, %a;", "mov.u32 %joint, %g;")
        self._places()

    def _places(self) -> None:
        """Where this lane's entries begin, and its kind."""
        e, chunked = self.e, self.chunked
        ports = [(name, f"in{k}") for k, (name, _) in enumerate(chunked.inputs)]
        ports += [(name, f"out{k}") for k, (name, _) in enumerate(chunked.outputs)]
        for name, port in ports:
            if name in chunked.places:
                e(f"ld.global.nc.s32 %other, [%numbers+{self.offsets[f'place {name}']}];")
                e(f"setp.ge.s32 %has_{port}, %other, 0;", "selp.b32 %other, %other, 0, " + f"%has_{port};")
                e(f"mul.wide.u32 %a, %other, {self.item};", f"add.u64 %at_{port}, %{port}, %a;")
        if chunked.kinds:
            e(f"ld.global.nc.s32 %kind, [%numbers+{self.offsets['kinds']}];")

    def _op(self, op: Op) -> None:
        if isinstance(op, Sweep):
            self._sweep(op)
        elif isinstance(op, Once):
            self._stage(op.stage)
        elif isinstance(op, Scan):
            self._scan(op)
        elif isinstance(op, Meet):
            self._meet(op)
        elif isinstance(op, Neighbour):
            self._neighbour(op)
        elif isinstance(op, Start):
            for k, value in enumerate(op.values):
                self.banks.put(op.bank, k, literal(value, self.lanes.bits))
        else:
            self._sines(op)

    def _label(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def _stage(self, stage: Program) -> None:
        write_stage(self.e, stage, self.lanes.bits, self.fresh, self.banks.get, self.banks.put)

    def _each_joint(self, backward: bool = False) -> tuple[str, str]:
        """Begins a loop over the joints of the chunk: its label and what ends it; none for one joint."""
        e, length = self.e, self.chunked.length
        if self.banks.alone:
            self.banks.at_joint()
            return "", ""
        label = self._label("JOINT")
        e(f"mov.u32 %t, {length - 1 if backward else 0};", f"mov.u32 %count, {length};", f"{label}:")
        self.banks.at_joint()
        return label, "sub.u32 %t, %t, 1;" if backward else "add.u32 %t, %t, 1;"

    def _next_joint(self, loop: tuple[str, str]) -> None:
        label, step = loop
        if label:
            self.e(step, "sub.u32 %count, %count, 1;", "setp.ne.u32 %more, %count, 0;", f"@%more bra {label};")

    def _sweep(self, op: Sweep) -> None:
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
        write_angle(self.e, 0, self.banks.get(IO, op.angle), True, bits)
        write_guard(self.e, 0, 1, guard, bits)
        write_sincos(self.e, 0, "%sine", "%cosine", bits)
        self.banks.put(IO, op.sine, "%sine")
        self.banks.put(IO, op.cosine, "%cosine")
        self._next_joint(loop)

    def _scan(self, op: Scan) -> None:
        if self.chunked.widths[op.bank] > WIDE:
            self._wide_scan(op)
            return
        own = self.banks.own(op.bank)
        self._warp_scan(op, own, self.lanes.width)
        if not self.lanes.in_warp:
            self._join_warps(op, own)

    def _steps(self, most: int, stage: Program) -> list[str]:
        """Distances 1, 2, 4, ... below `most`, spelled out for a short stage; else a register and a loop around it."""
        return [str(1 << k) for k in range((most - 1).bit_length())] if len(stage) <= SHORT else ["%step"] * (most > 1)

    def _warp_scan(self, op: Scan, own: Sequence[str], most: int) -> None:
        """Products over the lanes of a warp. most: lanes that take part."""
        e, width = self.e, self.lanes.width
        for step in self._steps(most, op.stage):
            label = self._label("STEP") if step == "%step" else ""
            if label:
                e("mov.u32 %step, 1;", f"{label}:")
            others = self.exchange.shifted(own, step, op.from_tip, width)
            self._composed(op.stage, own, others, op.from_tip, "@%valid ")
            if label:
                e("shl.b32 %step, %step, 1;", f"setp.lt.u32 %more, %step, {most};", f"@%more bra {label};")

    def _composed(self, stage: Program, own: Sequence[str], others: Sequence[str], from_tip: bool, guard: str) -> None:
        """own = stage(own, others), where the guard holds."""
        known = {"tip" if from_tip else "base": others, "base" if from_tip else "tip": own}

        def get(bank: str, entry: int) -> str:
            return known[bank][entry]

        def put(bank: str, entry: int, value: str) -> None:
            self.e(f"{guard}mov.{self.f} {own[entry]}, {value};")

        write_stage(self.e, stage, self.lanes.bits, self.fresh, get, put)

    def _join_warps(self, op: Scan, own: Sequence[str]) -> None:
        """The totals of warps, scanned by every warp; each lane is composed with those of the warps before its own."""
        e, exchange, warps = self.e, self.exchange, self.lanes.warps
        if not exchange.quiet:
            exchange.wait()
        exchange.most = max(exchange.most, -(-len(own) * warps // self.lanes.slots))
        last = 0 if op.from_tip else WARP - 1
        e("mov.u32 %place, pool;", f"add.u32 %place, %place, {exchange.pitch};")
        e(f"mad.lo.u32 %partner, %warp, {self.item}, %place;", f"setp.ne.u32 %skip, %lane, {last};")
        e(*(f"@!%skip st.shared.{self.f} [%partner+{k * warps * self.item}], {x};" for k, x in enumerate(own)))
        exchange.wait()
        e(f"min.u32 %k, %lane, {warps - 1};", f"mad.lo.u32 %partner, %k, {self.item}, %place;")
        totals = [self.fresh() for _ in own]
        e(*(f"ld.shared.{self.f} {x}, [%partner+{k * warps * self.item}];" for k, x in enumerate(totals)))
        exchange.quiet = False
        e(f"setp.lt.u32 %inside, %lane, {warps};")
        none = [literal(x, self.lanes.bits) for x in self.chunked.identities[op.bank]]
        e(*(f"selp.{self.f} {x}, {x}, {nothing}, %inside;" for x, nothing in zip(totals, none, strict=True)))
        self._warp_scan(op, totals, warps)
        e("add.u32 %k, %warp, 1;" if op.from_tip else "sub.u32 %k, %warp, 1;")
        before = exchange.named(totals, "%k")
        e(f"setp.lt.u32 %valid, %warp, {warps - 1};" if op.from_tip else "setp.ne.u32 %valid, %warp, 0;")
        self._composed(op.stage, own, before, op.from_tip, "@%valid ")

    def _wide_scan(self, op: Scan) -> None:
        """Both partners' numbers lie in shared memory; nothing but the result is held in registers."""
        e, exchange, own = self.e, self.exchange, self.banks.own(op.bank)
        if self.lanes.count == 1:
            return
        exchange.publish(own)
        label = self._label("STEP")
        e("mov.u32 %step, 1;", f"{label}:")
        exchange.partner_at("%step", op.from_tip)
        address = {"tip" if op.from_tip else "base": "%partner", "base" if op.from_tip else "tip": "%slot"}
        results: dict[int, str] = {}

        def get(bank: str, entry: int) -> str:
            return exchange.load(entry, address[bank])

        def put(bank: str, entry: int, value: str) -> None:
            results[entry] = value

        write_stage(e, op.stage, self.lanes.bits, self.fresh, get, put)
        exchange.wait()
        exchange.store([self.banks.register(results[k]) for k in range(len(own))], "@%valid ")
        exchange.wait()
        e("shl.b32 %step, %step, 1;", f"setp.lt.u32 %more, %step, {self.lanes.count};", f"@%more bra {label};")
        for k, register in enumerate(own):
            e(f"mov.{self.f} {register}, {exchange.load(k)};")

    def _meet(self, op: Meet) -> None:
        e, exchange = self.e, self.exchange
        count = len(self.chunked.partners[op.rows])
        if not count:
            return
        own, source = self.banks.own(op.bank), self.banks.own(op.source)
        label, again = self._label("ROW"), op.source == op.bank
        if not self.lanes.in_warp and not again:
            exchange.publish(source)
        e(f"mov.u32 %count, {count};", f"add.u64 %rows, %numbers, {self.offsets[op.rows]};", f"{label}:")
        e("ld.global.nc.s32 %other, [%rows];", f"add.u64 %rows, %rows, {4 * self.lanes.count};")
        if self.lanes.in_warp:
            others = exchange.named(source, "%other", self.lanes.width)
            e("setp.ge.s32 %valid, %other, 0;")
        else:
            if again:
                exchange.quiet = False
                exchange.publish(source)
            exchange.partner_named("%other")
            others = [exchange.load(k, "%partner") for k in range(len(source))]
        self._composed(op.stage, own, others, op.from_tip, "@%valid ")
        e("sub.u32 %count, %count, 1;", "setp.ne.u32 %more, %count, 0;", f"@%more bra {label};")

    def _neighbour(self, op: Neighbour) -> None:
        width = self.chunked.widths[op.into]
        source = self.banks.own(op.bank)[op.first : op.first + width]
        nothing = self.chunked.identities[op.bank][op.first : op.first + width]
        if op.by == 0:
            for k, register in enumerate(source):
                self.banks.put(op.into, k, register)
            return
        from_tip = op.by > 0
        if self.lanes.in_warp:
            others = self.exchange.shifted(source, "1", from_tip, self.lanes.width)
        else:
            self.exchange.publish(source)
            self.exchange.partner_at("1", from_tip)
            others = [self.exchange.load(k, "%partner") for k in range(width)]
        for k, (other, none) in enumerate(zip(others, nothing, strict=True)):
            self.e(f"selp.{self.f} {other}, {other}, {literal(none, self.lanes.bits)}, %valid;")
            self.banks.put(op.into, k, other)
