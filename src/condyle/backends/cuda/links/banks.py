"""Where a kernel keeps the banks of a chunked function: registers, local memory, the table, the user's arrays."""

from __future__ import annotations

from condyle.backends.cuda.links.lanes import Lanes
from condyle.backends.cuda.links.stage import Registers
from condyle.backends.cuda.links.transport import WIDE
from condyle.backends.cuda.trig import literal
from condyle.ir.link_parallel import (
    EXT,
    IO,
    NONE,
    ROW,
    TABLE,
    UNIT,
    EachJoint,
    Emit,
    LinkParallel,
    MatrixPorts,
    Meet,
    Once,
    Op,
    Scan,
    Splat,
    Spread,
    Start,
)
from condyle.ir.program import Array
from condyle.text import Emitter


class Banks:
    """Entries by bank and number; `at_joint` says which joint of the chunk is meant.

    With one joint a lane all values are in registers. Otherwise what is kept for every joint lies in local memory, as
    does a wide bank that no stage writes.
    """

    def __init__(self, e: Emitter, chunked: LinkParallel, lanes: Lanes, fresh: Registers) -> None:
        self.e, self.chunked, self.lanes, self.fresh = e, chunked, lanes, fresh
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.alone = chunked.length == 1
        self.given = {column: k for k, (_, column) in enumerate(chunked.inputs) if column != NONE}
        self.taken = {column: k for k, (_, column) in enumerate(chunked.outputs) if column != NONE}
        self.ins = {name: k for k, (name, _) in enumerate(chunked.inputs) if name in chunked.offsets}
        self.outs = {name: k for k, (name, _) in enumerate(chunked.outputs) if name in chunked.offsets}
        names = [name for name, _ in chunked.inputs]
        self.outer = names.index(EXT) if EXT in names and EXT not in chunked.offsets else NONE
        written = {array.name for op in chunked.ops for array in _arrays(op)}
        written |= {op.bank for op in chunked.ops if isinstance(op, (Start, Scan, Splat, Spread))}
        self.parked: dict[str, int] = {}
        self.size = 0
        for name, width in chunked.widths.items():
            if name in (IO, ROW):
                self._park(name, 0 if self.alone else width * chunked.length)
            elif name != TABLE and name not in written and width > WIDE:
                self._park(name, width)

    def _park(self, name: str, numbers: int) -> None:
        if numbers:
            self.parked[name] = self.size
            self.size += numbers * self.item

    def declare(self) -> None:
        """Registers of all banks, and the local memory."""
        e = self.e
        for name, width in self.chunked.widths.items():
            if name not in self.parked and name != TABLE:
                e(f".reg .{self.f} %{name}_<{width}>;")
        if self.size:
            e(f".local .align 16 .b8 parked[{self.size}];", "mov.u32 %parked, parked;", "ld.param.u32 %k, [zero];")
            e("add.u32 %parked, %parked, %k;")

    def own(self, bank: str) -> list[str]:
        """The registers of a bank."""
        return [f"%{bank}_{k}" for k in range(self.chunked.widths[bank])]

    def at_joint(self) -> None:
        """Addresses for joint %t of every chunk."""
        e, chunked = self.e, self.chunked
        if not self.alone:
            e(f"mad.lo.u32 %joint, %g, {chunked.length}, %t;")
            e(
                f"mul.wide.u32 %a, %t, {chunked.widths[TABLE] * self.lanes.count * self.item};",
                "add.u64 %links, %table, %a;",
            )
            e(f"mad.lo.u32 %column, %t, {self.item}, %parked;")
            e(f"mad.lo.u32 %kept, %t, {chunked.widths.get(ROW, 0) * self.item}, %parked;")
        if self.given:
            e(f"setp.lt.u32 %there, %joint, {chunked.joints};", f"mul.wide.u32 %a, %joint, {self.item};")
            ports = [*(f"in{k}" for k in self.given.values()), *(f"out{k}" for k in self.taken.values())]
            e(*(f"add.u64 %at_{port}, %{port}, %a;" for port in ports))
        if self.outer != NONE:
            e(f"mul.wide.u32 %a, %joint, {chunked.widths[EXT] * self.item};")
            e(f"add.u64 %at_in{self.outer}, %in{self.outer}, %a;")

    def get(self, bank: str, entry: int) -> str:
        if bank == TABLE:
            return self._load("global.nc", f"%links+{entry * self.lanes.count * self.item}")
        if bank == IO and entry in self.given:
            return self._there("%there", f"%at_{self._behind_base('in', self.given[entry])}")
        if bank == EXT and self.outer != NONE:
            return self._there("%there", f"%at_{self._behind_base('in', self.outer, entry)}")
        if bank == UNIT and self.chunked.columns is not None:
            return self._unit(entry, self.chunked.columns)
        if bank in self.ins:
            return self._port(self.ins[bank], entry)
        place = self._place(bank, entry)
        return self._load("local", place) if place else f"%{bank}_{entry}"

    def put(self, bank: str, entry: int, value: str) -> None:
        if bank == IO and entry in self.taken:
            self._store_out("%there", f"%at_{self._behind_base('out', self.taken[entry])}", value)
        elif bank in self.outs:
            self._answer(self.outs[bank], entry, value)
        elif place := self._place(bank, entry):
            self.e(f"st.local.{self.f} [{place}], {self.register(value)};")
        else:
            self.e(f"mov.{self.f} %{bank}_{entry}, {value};")

    def _port(self, port: int, entry: int) -> str:
        """A number of a lane's own; matrices are read as what other kernels left, or this one does."""
        columns = self.chunked.columns
        if columns is None or port == 0:
            return self._there(f"%has_in{port}", f"%at_in{port}+{entry * self.item}")
        row, column = divmod(entry, columns.count)
        place = f"%at_in{port}+{(row * columns.size + column) * self.item}"
        self.e(f"setp.lt.u32 %there, %task, {max(0, columns.size - column)};")
        self.e("setp.lt.and.u32 %there, %state, %states, %there;")  # others work on what is read
        return self._there("%there", place, "global")

    def _unit(self, entry: int, columns: MatrixPorts) -> str:
        """1 where the column is the row."""
        row, column = divmod(entry, columns.count)
        value, one, zero = self.fresh(), literal(1.0, self.lanes.bits), literal(0.0, self.lanes.bits)
        self.e(
            f"add.u32 %k, %unit_row, {row};", f"add.u32 %joint, %task, {column};", "setp.eq.u32 %inside, %k, %joint;"
        )
        self.e(f"selp.{self.f} {value}, {one}, {zero}, %inside;")
        return value

    def _answer(self, port: int, entry: int, value: str) -> None:
        columns = self.chunked.columns
        if columns is None:
            self._store_out(f"%has_out{port}", f"%at_out{port}+{entry * self.item}", value)
            return
        e, (row, column) = self.e, divmod(entry, columns.count)
        place = f"%at_out{port}+{(row * columns.size + column) * self.item}"
        e(f"setp.lt.u32 %there, %task, {max(0, columns.size - column)};")
        if columns.symmetric:
            e(f"add.u32 %k, %unit_row, {row};", f"add.u32 %joint, %task, {column};", "setp.ge.u32 %inside, %k, %joint;")
            e("and.pred %there, %there, %inside;", f"mad.lo.u32 %k, %joint, {columns.size}, %k;")
            e(f"mul.wide.u32 %a, %k, {self.item};", f"add.u64 %a, %out{port}, %a;")
            self._store_out("%there", "%a", value)
        self._store_out("%there", place, value)

    def splat(self, op: Splat) -> None:
        """What is known of a floating base, the same in every lane."""
        for k in range(self.chunked.widths[op.bank]):
            value = self.fresh()
            self.e(f"ld.global.nc.{self.f} {value}, [%in{op.port}+{(op.first + k) * self.item}];")
            self.put(op.bank, k, value)

    def emit(self, op: Emit) -> None:
        """The first lane's answer."""
        self.e("setp.eq.u32 %there, %g, 0;")
        for k, value in enumerate(self.own(op.bank)):
            self._store_out("%there", f"%out{op.port}+{(op.first + k) * self.item}", value)

    def _behind_base(self, side: str, port: int, entry: int = 0) -> str:
        """A port's entry for a joint of the chain, which come behind those of its floating base."""
        name, _ = (self.chunked.inputs if side == "in" else self.chunked.outputs)[port]
        return f"{side}{port}+{(self.chunked.base.get(name, 0) + entry) * self.item}"

    def register(self, value: str) -> str:
        """A register with this value: stores take no constants."""
        if value.startswith("%"):
            return value
        copied = self.fresh()
        self.e(f"mov.{self.f} {copied}, {value};")
        return copied

    def _place(self, bank: str, entry: int) -> str:
        """Where in local memory, "" for nowhere."""
        if bank not in self.parked:
            return ""
        start = self.parked[bank]
        if bank == IO:
            return f"%column+{start + entry * self.chunked.length * self.item}"
        return f"{'%kept' if bank == ROW else '%parked'}+{start + entry * self.item}"

    def _load(self, space: str, place: str) -> str:
        value = self.fresh()
        self.e(f"ld.{space}.{self.f} {value}, [{place}];")
        return value

    def _there(self, guard: str, place: str, space: str = "global.nc") -> str:
        value = self.fresh()
        self.e(
            f"mov.{self.f} {value}, {literal(0.0, self.lanes.bits)};",
            f"@{guard} ld.{space}.{self.f} {value}, [{place}];",
        )
        return value

    def _store_out(self, guard: str, place: str, value: str) -> None:
        self.e(f"setp.lt.and.u32 %inside, %state, %states, {guard};")
        self.e(f"@%inside st.global.{self.f} [{place}], {self.register(value)};")


def _arrays(op: Op) -> tuple[Array, ...]:
    return op.stage.arrays if isinstance(op, (EachJoint, Once, Scan, Meet)) else ()
