"""Exchanges between lanes: scans of a chain, scan steps of a tree, neighbours.

Scans are those of Kogge and Stone 1973 (see Yang, Wu and Pan 2017). Narrow values are exchanged by shuffles within a
warp; between warps, the totals of warps are exchanged. Wide values, articulated elements, are in shared memory during a
scan, and a lane reads entries of its partner's when it needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.backends.cuda.target import WARP
from condyle.backends.cuda.trig import literal
from condyle.ir.link_parallel import NONE, Neighbour, Scan, Spread, TreeScanStep
from condyle.ir.program import Program
from condyle.links.cuda.transport import NOTHING, OTHERS, OWN, WIDE, Far, LaneVariables, Transport, read_of, write_stage

SHORT = 64
"""Operations of a stage up to which its scan is unrolled."""


class LaneExchange:
    """Writes exchanges. offsets: where rows of partners begin in the constants."""

    def __init__(self, variables: LaneVariables, transport: Transport, far: Far, offsets: Mapping[str, int]) -> None:
        self.variables, self.transport, self.far, self.offsets = variables, transport, far, offsets
        self.e, self.code, self.fresh, self.lanes = variables.e, variables.code, variables.fresh, variables.lanes
        self.f, self.item, self.labels = variables.f, variables.item, 0

    def _through(self, numbers: int) -> Transport:
        """The memory for an exchange of this many numbers of each lane: shared memory, or device memory."""
        return self.transport if numbers <= self.transport.room else self.far

    def _label(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def write(self, op: Scan | TreeScanStep | Neighbour | Spread) -> None:
        match op:
            case Scan():
                self._scan(op)
            case TreeScanStep():
                self._tree_scan_step(op)
            case Neighbour():
                self._neighbour(op)
            case Spread():
                self._spread(op)

    def _scan(self, op: Scan) -> None:
        if self.code.widths[op.var] > WIDE:
            self._wide_scan(op)
            return
        own = self.variables.registers(op.var)
        self._warp_scan(op, own, self.lanes.width)
        if not self.lanes.in_warp:
            self._join_warps(op, own)

    def _steps(self, most: int, stage: Program) -> list[str]:
        """Distances 1, 2, 4, ... below `most`: unrolled for a short stage, else a register for a loop."""
        return [str(1 << k) for k in range((most - 1).bit_length())] if len(stage) <= SHORT else ["%step"] * (most > 1)

    def _warp_scan(self, op: Scan, registers: Sequence[str], most: int) -> None:
        """A scan over the lanes of a warp. most: lanes that take part."""
        e, width = self.e, self.lanes.width
        for step in self._steps(most, op.stage):
            label = self._label("STEP") if step == "%step" else ""
            if label:
                e("mov.u32 %step, 1;", f"{label}:")
            others = self.transport.shifted(registers, step, op.from_tip, width)
            self._composed(op.stage, registers, others, op.from_tip, "@%valid ")
            if label:
                e("shl.b32 %step, %step, 1;", f"setp.lt.u32 %more, %step, {most};", f"@%more bra {label};")

    def _composed(
        self,
        stage: Program,
        registers: Sequence[str],
        others: Sequence[str] | Mapping[int, str],
        from_tip: bool,
        guard: str,
    ) -> None:
        """registers = stage(registers, others), where the guard holds."""
        known: dict[str, Sequence[str] | Mapping[int, str]]
        known = {"tip" if from_tip else "base": others, "base" if from_tip else "tip": registers}

        def get(var: str, entry: int) -> str:
            return known[var][entry]

        def put(var: str, entry: int, value: str) -> None:
            self.e(f"{guard}mov.{self.f} {registers[entry]}, {value};")

        write_stage(self.e, stage, self.lanes.bits, self.fresh, get, put)

    def _join_warps(self, op: Scan, registers: Sequence[str]) -> None:
        """Every warp scans the totals of all warps; each lane is combined with the total of the warps before its
        own."""
        e, transport, warps = self.e, self.transport, self.lanes.warps
        transport.begin(NOTHING)
        transport.most = max(transport.most, -(-len(registers) * warps // self.lanes.slots))
        last = 0 if op.from_tip else WARP - 1
        e("mov.u32 %place, pool;", f"add.u32 %place, %place, {transport.pitch};")
        e(f"mad.lo.u32 %partner, %warp, {self.item}, %place;", f"setp.ne.u32 %skip, %lane, {last};")
        e(*(f"@!%skip st.shared.{self.f} [%partner+{k * warps * self.item}], {x};" for k, x in enumerate(registers)))
        transport.wait()
        e(f"min.u32 %k, %lane, {warps - 1};", f"mad.lo.u32 %partner, %k, {self.item}, %place;")
        totals = [self.fresh() for _ in registers]
        e(*(f"ld.shared.{self.f} {x}, [%partner+{k * warps * self.item}];" for k, x in enumerate(totals)))
        transport.read = OTHERS
        e(f"setp.lt.u32 %inside, %lane, {warps};")
        none = [literal(x, self.lanes.bits) for x in self.code.identities[op.var]]
        e(*(f"selp.{self.f} {x}, {x}, {nothing}, %inside;" for x, nothing in zip(totals, none, strict=True)))
        self._warp_scan(op, totals, warps)
        e("add.u32 %k, %warp, 1;" if op.from_tip else "sub.u32 %k, %warp, 1;")
        before = transport.named(totals, "%k")
        e(f"setp.lt.u32 %valid, %warp, {warps - 1};" if op.from_tip else "setp.ne.u32 %valid, %warp, 0;")
        self._composed(op.stage, registers, before, op.from_tip, "@%valid ")

    def _wide_scan(self, op: Scan) -> None:
        """A scan with both operands in memory and only the result in registers."""
        e, most = self.e, self.lanes.count // 2 if op.halves else self.lanes.count
        if most <= 1:
            return
        transport = self._published(op.var)
        label = self._label("STEP")
        e("mov.u32 %step, 1;", f"{label}:")
        transport.partner_at("%step", op.from_tip)
        self._wide_step(transport, op, 0)
        e("shl.b32 %step, %step, 1;", f"setp.lt.u32 %more, %step, {most};", f"@%more bra {label};")
        self._read_back(transport, op.var)

    def _published(self, var: str) -> Transport:
        own = self.variables.registers(var)
        transport = self._through(len(own))
        transport.publish(own)
        return transport

    def _wide_step(self, transport: Transport, op: Scan | TreeScanStep, handed: int) -> None:
        near, far = ("base", "tip") if op.from_tip else ("tip", "base")
        address = {near: transport.slot, far: transport.partner}
        results: dict[int, str] = {}

        def get(var: str, entry: int) -> str:
            value = transport.load(entry, address[var])
            return self._handed(op.var, entry, value) if address[var] != transport.slot and entry < handed else value

        def put(var: str, entry: int, value: str) -> None:
            results[entry] = value

        write_stage(self.e, op.stage, self.lanes.bits, self.fresh, get, put)
        transport.wait()
        transport.store([self.variables.register(results[k]) for k in range(len(results))], "@%valid ")
        transport.wait()

    def _read_back(self, transport: Transport, var: str) -> None:
        for k, register in enumerate(self.variables.registers(var)):
            self.e(f"mov.{self.f} {register}, {transport.load(k)};")
        transport.read = OWN

    def _handed(self, var: str, entry: int, value: str) -> str:
        """An entry that branches do not pass on: the identity's where the partner is a branch."""
        nothing = literal(self.code.identities[var][entry], self.lanes.bits)
        self.e(f"selp.{self.f} {value}, {value}, {nothing}, %whole;")
        return value

    def _tree_scan_step(self, op: TreeScanStep) -> None:
        rows = self.code.partners[op.rows]
        if not rows:
            return
        own = self.variables.registers(op.var)
        moving = op.source == op.var  # then partners' values change from row to row
        used = read_of(op.stage, "tip" if op.from_tip else "base")
        source = [self.variables.registers(op.source)[k] for k in used]
        marked = any(lane < NONE for row in rows for lane in row)
        if moving and len(own) > WIDE:
            self._wide_tree_step(op, len(rows), op.handed if marked else 0)
            return
        if not moving and not self.lanes.in_warp:
            self._through(len(source)).publish(source)
        label = self._first_row(op.rows, len(rows))
        if label and moving:
            transport = self._through(len(source))
            transport.read = max(transport.read, OTHERS)
        self._partner(marked)
        others = dict(zip(used, self._named(source, moving), strict=True))
        others = {k: self._handed(op.var, k, x) if marked and k < op.handed else x for k, x in others.items()}
        self._composed(op.stage, own, others, op.from_tip, "@%valid ")
        self._next_row(label)

    def _wide_tree_step(self, op: TreeScanStep, rows: int, handed: int) -> None:
        transport = self._published(op.var)
        label = self._first_row(op.rows, rows)
        self._partner(handed > 0)
        transport.partner_named("%other")
        self._wide_step(transport, op, handed)
        self._next_row(label)
        self._read_back(transport, op.var)

    def _first_row(self, rows: str, count: int) -> str:
        """Sets %rows to the first row of partners; the label of a loop over them if there are several."""
        self.e(f"add.u64 %rows, %numbers, {self.offsets[rows]};")
        if count == 1:
            return ""
        label = self._label("ROW")
        self.e(f"mov.u32 %count, {count};", f"{label}:")
        return label

    def _next_row(self, label: str) -> None:
        if label:
            self.e("sub.u32 %count, %count, 1;", "setp.ne.u32 %more, %count, 0;", f"@%more bra {label};")

    def _partner(self, marked: bool) -> None:
        """Sets %other to the partner in this row, and %whole to whether it is not marked as a branch."""
        e = self.e
        e("ld.global.nc.s32 %other, [%rows];", f"add.u64 %rows, %rows, {4 * self.lanes.count};")
        if marked:
            e("setp.ge.s32 %whole, %other, 0;", "sub.s32 %k, -2, %other;", "selp.b32 %other, %other, %k, %whole;")

    def _named(self, source: Sequence[str], moving: bool) -> list[str]:
        """The values of lane %other; sets %valid to whether there is one."""
        if self.lanes.in_warp:
            self.e("setp.ge.s32 %valid, %other, 0;")
            return self.transport.named(source, "%other", self.lanes.width)
        transport = self._through(len(source))
        if moving:
            transport.publish(source)
        transport.partner_named("%other")
        return [transport.load(k, transport.partner) for k in range(len(source))]

    def _beside(self, source: Sequence[str], by: str, from_tip: bool) -> list[str]:
        """The values of the lane `by` further, through shared memory, as many at a time as fit."""
        transport, others = self.transport, list[str]()
        for first in range(0, len(source), transport.room):
            some = source[first : first + transport.room]
            transport.publish(some)
            transport.partner_at(by, from_tip)
            others += [transport.load(k, transport.partner) for k in range(len(some))]
        return others

    def _spread(self, op: Spread) -> None:
        own = self.variables.registers(op.var)
        self.e("mov.u32 %other, 0;")
        for register, first in zip(own, self._named(own, True), strict=True):
            self.e(f"mov.{self.f} {register}, {first};")

    def _neighbour(self, op: Neighbour) -> None:
        width = self.code.widths[op.into]
        source = self.variables.registers(op.var)[op.first : op.first + width]
        nothing = self.code.identities[op.var][op.first : op.first + width]
        if op.by == 0:
            for k, register in enumerate(source):
                self.variables.put(op.into, k, register)
            return
        from_tip, by = op.by > 0, str(abs(op.by))
        if self.lanes.in_warp:
            others = self.transport.shifted(source, by, from_tip, self.lanes.width)
        else:
            others = self._beside(source, by, from_tip)
        for k, (other, none) in enumerate(zip(others, nothing, strict=True)):
            self.e(f"selp.{self.f} {other}, {other}, {literal(none, self.lanes.bits)}, %valid;")
            self.variables.put(op.into, k, other)
