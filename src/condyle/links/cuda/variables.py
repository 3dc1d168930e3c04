"""Where a kernel keeps per-lane variables: in registers, local memory, the table of constants, the user's arrays."""

from __future__ import annotations

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
    Once,
    Op,
    Scan,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array
from condyle.links.cuda.transport import WIDE, Lanes, Registers
from condyle.text import Emitter


class LaneVariables:
    """Reads and writes entries of variables; `at_joint` sets the joint of the segment that they refer to.

    With one joint a lane all values are in registers. Otherwise values of every joint are in local memory, and so are
    wide variables that no stage writes. spilled: {variable: its offset in local memory}.
    """

    def __init__(self, e: Emitter, code: LinkParallel, lanes: Lanes, fresh: Registers) -> None:
        self.e, self.code, self.lanes, self.fresh = e, code, lanes, fresh
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.alone = code.length == 1
        self.input_columns = {column: k for k, (_, column) in enumerate(code.inputs) if column != NONE}
        self.taken = {column: k for k, (_, column) in enumerate(code.outputs) if column != NONE}
        self.ins = {name: k for k, (name, _) in enumerate(code.inputs) if name in code.offsets}
        self.outs = {name: k for k, (name, _) in enumerate(code.outputs) if name in code.offsets}
        names = [name for name, _ in code.inputs]
        self.outer = names.index(EXT) if EXT in names and EXT not in code.offsets else NONE
        written = {array.name for op in code.ops for array in _arrays(op)}
        written |= {op.var for op in code.ops if isinstance(op, (Start, Scan, Splat, Spread))}
        self.spilled: dict[str, int] = {}
        self.size = 0
        for name, width in code.widths.items():
            if name in (IO, ROW):
                self._spill(name, 0 if self.alone else width * code.length)
            elif name != TABLE and name not in written and width > WIDE:
                self._spill(name, width)

    def _spill(self, name: str, numbers: int) -> None:
        if numbers:
            self.spilled[name] = self.size
            self.size += numbers * self.item

    def declare(self) -> None:
        """Declares the registers of all variables, and the local memory."""
        e = self.e
        for name, width in self.code.widths.items():
            if name not in self.spilled and name != TABLE:
                e(f".reg .{self.f} %{name}_<{width}>;")
        if self.size:
            e(f".local .align 16 .b8 spilled[{self.size}];", "mov.u32 %spilled, spilled;", "ld.param.u32 %k, [zero];")
            e("add.u32 %spilled, %spilled, %k;")

    def registers(self, var: str) -> list[str]:
        """The registers of a variable."""
        return [f"%{var}_{k}" for k in range(self.code.widths[var])]

    def at_joint(self) -> None:
        """Addresses for joint %t of every segment."""
        e, code = self.e, self.code
        if not self.alone:
            e(f"mad.lo.u32 %joint, %g, {code.length}, %t;")
            e(
                f"mul.wide.u32 %a, %t, {code.widths[TABLE] * self.lanes.count * self.item};",
                "add.u64 %links, %table, %a;",
            )
            e(f"mad.lo.u32 %column, %t, {self.item}, %spilled;")
            e(f"mad.lo.u32 %kept, %t, {code.widths.get(ROW, 0) * self.item}, %spilled;")
        if self.input_columns:
            e(f"setp.lt.u32 %there, %joint, {code.joints};", f"mul.wide.u32 %a, %joint, {self.item};")
            ports = [*(f"in{k}" for k in self.input_columns.values()), *(f"out{k}" for k in self.taken.values())]
            e(*(f"add.u64 %at_{port}, %{port}, %a;" for port in ports))
        if self.outer != NONE:
            e(f"mul.wide.u32 %a, %joint, {code.widths[EXT] * self.item};")
            e(f"add.u64 %at_in{self.outer}, %in{self.outer}, %a;")

    def get(self, var: str, entry: int) -> str:
        if var == TABLE:
            return self._load("global.nc", f"%links+{entry * self.lanes.count * self.item}")
        if var == IO and entry in self.input_columns:
            return self._there("%there", f"%at_{self._behind_base('in', self.input_columns[entry])}")
        if var == EXT and self.outer != NONE:
            return self._there("%there", f"%at_{self._behind_base('in', self.outer, entry)}")
        if var == UNIT and self.code.columns is not None:
            return self._unit(entry, self.code.columns)
        if var in self.ins:
            return self._port(self.ins[var], entry)
        place = self._place(var, entry)
        return self._load("local", place) if place else f"%{var}_{entry}"

    def put(self, var: str, entry: int, value: str) -> None:
        if var == IO and entry in self.taken:
            self._store_out("%there", f"%at_{self._behind_base('out', self.taken[entry])}", value)
        elif var in self.outs:
            self._answer(self.outs[var], entry, value)
        elif place := self._place(var, entry):
            self.e(f"st.local.{self.f} [{place}], {self.register(value)};")
        else:
            self.e(f"mov.{self.f} %{var}_{entry}, {value};")

    def _port(self, port: int, entry: int) -> str:
        """Reads an entry of a lane's part of an input; matrices are those that other kernels or this one wrote."""
        columns = self.code.columns
        if columns is None or port == 0:
            return self._there(f"%has_in{port}", f"%at_in{port}+{entry * self.item}")
        row, column = divmod(entry, columns.count)
        place = f"%at_in{port}+{(row * columns.size + column) * self.item}"
        self.e(f"setp.lt.u32 %there, %task, {max(0, columns.size - column)};")
        self.e("setp.lt.and.u32 %there, %state, %states, %there;")  # this kernel may overwrite other states
        return self._there("%there", place, "global")

    def _unit(self, entry: int, columns: MatrixPorts) -> str:
        """Entry of the unit matrix: 1 where the column is the row."""
        row, column = divmod(entry, columns.count)
        value, one, zero = self.fresh(), literal(1.0, self.lanes.bits), literal(0.0, self.lanes.bits)
        self.e(
            f"add.u32 %k, %unit_row, {row};", f"add.u32 %joint, %task, {column};", "setp.eq.u32 %inside, %k, %joint;"
        )
        self.e(f"selp.{self.f} {value}, {one}, {zero}, %inside;")
        return value

    def _answer(self, port: int, entry: int, value: str) -> None:
        columns = self.code.columns
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
        """Loads values of a floating base, the same in every lane."""
        for k in range(self.code.widths[op.var]):
            value = self.fresh()
            self.e(f"ld.global.nc.{self.f} {value}, [%in{op.port}+{(op.first + k) * self.item}];")
            self.put(op.var, k, value)

    def emit(self, op: Emit) -> None:
        """Stores the first lane's value."""
        self.e("setp.eq.u32 %there, %g, 0;")
        for k, value in enumerate(self.registers(op.var)):
            self._store_out("%there", f"%out{op.port}+{(op.first + k) * self.item}", value)

    def _behind_base(self, side: str, port: int, entry: int = 0) -> str:
        """Address of a port's entry for a joint of the chain; entries of the floating base come first."""
        name, _ = (self.code.inputs if side == "in" else self.code.outputs)[port]
        return f"{side}{port}+{(self.code.base.get(name, 0) + entry) * self.item}"

    def register(self, value: str) -> str:
        """A register with this value, since stores take no constants."""
        if value.startswith("%"):
            return value
        copied = self.fresh()
        self.e(f"mov.{self.f} {copied}, {value};")
        return copied

    def _place(self, var: str, entry: int) -> str:
        """Address in local memory; "" for a variable in registers."""
        if var not in self.spilled:
            return ""
        start = self.spilled[var]
        if var == IO:
            return f"%column+{start + entry * self.code.length * self.item}"
        return f"{'%kept' if var == ROW else '%spilled'}+{start + entry * self.item}"

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
    return op.stage.arrays if isinstance(op, (EachJoint, Once, Scan, TreeScanStep)) else ()
