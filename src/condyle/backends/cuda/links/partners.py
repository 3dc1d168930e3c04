"""Lanes that meet: scans, partners by name, neighbours.

Scans are those of Kogge and Stone 1973 (see Yang, Wu and Pan 2017). Narrow values pass between the lanes of a warp by
shuffles, and between warps as their totals; articulated elements meet in shared memory, where partners read of each
other what they need when they need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.backends.cuda.links.banks import Banks
from condyle.backends.cuda.links.exchange import NOTHING, OTHERS, OWN, WIDE, Exchange
from condyle.backends.cuda.links.stage import Registers, write_stage
from condyle.backends.cuda.target import WARP
from condyle.backends.cuda.trig import literal
from condyle.ir.chunked import Chunked, Meet, Neighbour, Scan, Spread
from condyle.ir.program import Program
from condyle.text import Emitter

SHORT = 64
"""Operations of a stage up to which its scan is unrolled."""


class Partners:
    """offsets: where rows of partners begin among the constants."""

    def __init__(
        self,
        e: Emitter,
        chunked: Chunked,
        banks: Banks,
        exchange: Exchange,
        fresh: Registers,
        offsets: Mapping[str, int],
    ) -> None:
        self.e, self.chunked, self.banks, self.exchange, self.fresh = e, chunked, banks, exchange, fresh
        self.lanes, self.offsets, self.labels = exchange.lanes, offsets, 0
        self.f, self.item = f"f{self.lanes.bits}", self.lanes.item

    def _label(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def write(self, op: Scan | Meet | Neighbour | Spread) -> None:
        match op:
            case Scan():
                self._scan(op)
            case Meet():
                self._meet(op)
            case Neighbour():
                self._neighbour(op)
            case Spread():
                self._spread(op)

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
        exchange.begin(NOTHING)
        exchange.most = max(exchange.most, -(-len(own) * warps // self.lanes.slots))
        last = 0 if op.from_tip else WARP - 1
        e("mov.u32 %place, pool;", f"add.u32 %place, %place, {exchange.pitch};")
        e(f"mad.lo.u32 %partner, %warp, {self.item}, %place;", f"setp.ne.u32 %skip, %lane, {last};")
        e(*(f"@!%skip st.shared.{self.f} [%partner+{k * warps * self.item}], {x};" for k, x in enumerate(own)))
        exchange.wait()
        e(f"min.u32 %k, %lane, {warps - 1};", f"mad.lo.u32 %partner, %k, {self.item}, %place;")
        totals = [self.fresh() for _ in own]
        e(*(f"ld.shared.{self.f} {x}, [%partner+{k * warps * self.item}];" for k, x in enumerate(totals)))
        exchange.read = OTHERS
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
        exchange.read = OWN

    def _meet(self, op: Meet) -> None:
        e, exchange = self.e, self.exchange
        count = len(self.chunked.partners[op.rows])
        if not count:
            return
        own, source = self.banks.own(op.bank), self.banks.own(op.source)
        moving = op.source == op.bank  # what partners hand over changes from row to row
        if not moving and not self.lanes.in_warp:
            exchange.publish(source)
        e(f"add.u64 %rows, %numbers, {self.offsets[op.rows]};")
        label = self._label("ROW") if count > 1 else ""
        if label:
            e(f"mov.u32 %count, {count};", f"{label}:")
            exchange.read = max(exchange.read, OTHERS if moving else NOTHING)
        e("ld.global.nc.s32 %other, [%rows];", f"add.u64 %rows, %rows, {4 * self.lanes.count};")
        others = self._named(source, moving)
        self._composed(op.stage, own, others, op.from_tip, "@%valid ")
        if label:
            e("sub.u32 %count, %count, 1;", "setp.ne.u32 %more, %count, 0;", f"@%more bra {label};")

    def _named(self, source: Sequence[str], moving: bool) -> list[str]:
        """Numbers of lane %other, and in %valid whether there is one."""
        exchange = self.exchange
        if self.lanes.in_warp:
            self.e("setp.ge.s32 %valid, %other, 0;")
            return exchange.named(source, "%other", self.lanes.width)
        if moving:
            exchange.publish(source)
        exchange.partner_named("%other")
        return [exchange.load(k, "%partner") for k in range(len(source))]

    def _spread(self, op: Spread) -> None:
        own = self.banks.own(op.bank)
        self.e("mov.u32 %other, 0;")
        for register, first in zip(own, self._named(own, True), strict=True):
            self.e(f"mov.{self.f} {register}, {first};")

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
