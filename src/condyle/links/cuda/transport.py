"""Where a kernel keeps the values of a lane, and how lanes of one state exchange them: by shuffles or shared memory.

An exchange through shared memory begins after all threads have read the values of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from condyle.backends.common.chunks import orders
from condyle.backends.cuda.target import TARGET, WARP
from condyle.backends.cuda.thread_kernel import write_compute
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
from condyle.ir.program import Array, Program, constant_of, input_of, operands
from condyle.operations import LEAVES
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter

# How the lanes of states are assigned to warps and blocks.


MOST = 1024
"""Threads of one block."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """count: lanes of a state. Up to 32 it is a power of two, and states share a warp; above, a state has a block of
    whole warps. bits: of the number type, 64 or 32.
    """

    count: int
    bits: int

    def __post_init__(self) -> None:
        assert self.count & (self.count - 1) == 0 if self.in_warp else self.count % WARP == 0 and self.count <= MOST

    @property
    def in_warp(self) -> bool:
        """Whether all lanes of a state are in one warp, where they can use shuffles."""
        return self.count <= WARP

    @property
    def slots(self) -> int:
        """Threads that share one part of shared memory: those of a warp, or of the block."""
        return max(self.count, WARP)

    @property
    def warps(self) -> int:
        return self.slots // WARP

    @property
    def width(self) -> int:
        """Lanes of a state within one warp."""
        return min(self.count, WARP)

    @property
    def item(self) -> int:
        return self.bits // 8


def lanes_for(links: int) -> int:
    """The number of lanes for this number of links, one link a lane."""
    return 1 << (links - 1).bit_length() if links <= WARP else -(-links // WARP) * WARP


# A stage's Program -> PTX: operands are loaded where they are first used, results are stored after all loads.


class Registers:
    """Gives new registers."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"%v{self.count}"


def write_stage(
    e: Emitter,
    program: Program,
    bits: int,
    fresh: Registers,
    get: Callable[[str, int], str],
    put: Callable[[str, int, str], None],
) -> None:
    """Writes a stage. get(var, entry): a register with that entry; put(var, entry, register or constant): stores a
    result, and is called when all are computed."""
    program = expand(program, bits)
    names: dict[int, str] = {}

    def named(k: int) -> str:
        node = program.nodes[k]
        if node[0] == "const":
            return literal(constant_of(node), bits)
        if k not in names:
            array, entry = input_of(node)
            names[k] = get(program.inputs[array].name, entry)
        return names[k]

    for k in best_order(program):
        used = [named(operand) for operand in operands(program.nodes[k])]
        names[k] = fresh()
        write_compute(e, program.nodes[k][0], names[k], used, f"f{bits}")
    answers = [
        (program.arrays[o.array].name, o.index, _apart(e, program, o.node, bits, fresh, named)) for o in program.outputs
    ]
    for var, entry, value in answers:
        put(var, entry, value)


def _apart(e: Emitter, program: Program, node: int, bits: int, fresh: Registers, named: Callable[[int], str]) -> str:
    """The value of an output; a copy if it is an input, which another output may overwrite."""
    if program.nodes[node][0] != "input":
        return named(node)
    copied = fresh()
    e(f"mov.f{bits} {copied}, {named(node)};")
    return copied


def read_of(program: Program, var: str) -> list[int]:
    """The entries of a variable that a stage reads."""
    at = [k for k, array in enumerate(program.inputs) if array.name == var]
    return sorted({input_of(node)[1] for node in program.nodes if node[0] == "input" and input_of(node)[0] in at})


@cache
def best_order(program: Program) -> list[int]:
    """The order of operations, of several, with the fewest values live at once."""
    nodes = [k for k, node in enumerate(program.nodes) if node[0] not in LEAVES]
    roots = sorted({output.node for output in program.outputs} & set(nodes))
    found = [order for _, order in orders(program, nodes, roots, TARGET.orders)]
    return min(found, key=lambda order: _peak(program, order))


def _peak(program: Program, order: Sequence[int]) -> int:
    """The largest number of values live at once; inputs are live from their first use."""
    last = {used: k for k in order for used in operands(program.nodes[k])}
    last |= {output.node: len(program.nodes) for output in program.outputs}
    alive: set[int] = set()
    most = 0
    for k in order:
        used = {x for x in operands(program.nodes[k]) if program.nodes[x][0] != "const"}
        alive |= used | {k}
        most = max(most, len(alive))
        alive -= {x for x in used if last[x] == k}
    return most


WIDE = 60
"""Variables with more numbers are exchanged in shared memory: two such values do not fit into registers."""
ALL = "0xFFFFFFFF"
NOTHING, OWN, OTHERS = range(3)
"""Whose values in shared memory a thread may have read since the last barrier."""


class Transport:
    """%slot: shared address of this thread's values, entry e at %slot + e pitch; %g: number of this lane in its
    state."""

    slot, partner, space = "%slot", "%partner", "shared"

    def __init__(self, e: Emitter, lanes: Lanes, fresh: Registers) -> None:
        self.e, self.lanes, self.fresh = e, lanes, fresh
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.pitch = lanes.slots * lanes.item
        self.most = 0
        self.read = NOTHING

    @property
    def pool(self) -> int:
        """Bytes of shared memory of a warp or a block: a row for angles, then the widest exchange."""
        return (1 + self.most) * self.pitch

    @property
    def room(self) -> int:
        """The numbers of each lane that fit into the shared memory of every GPU."""
        return TARGET.shared // self.pitch - 1

    def wait(self) -> None:
        """A barrier for all lanes of the state."""
        self.e(f"bar.warp.sync {ALL};" if self.lanes.in_warp else "bar.sync 0;")

    def store(self, values: Sequence[str], guard: str = "") -> None:
        """Stores this lane's values; other lanes may read them after the next `wait`."""
        self.most = max(self.most, len(values))
        for k, value in enumerate(values):
            self.e(f"{guard}st.{self.space}.{self.f} [{self.slot}+{k * self.pitch}], {value};")

    def publish(self, values: Sequence[str]) -> None:
        """Stores this lane's values, with the barriers before and after, so that other lanes may read them."""
        self.begin(OWN)
        self.store(values)
        self.wait()
        self.read = OTHERS

    def begin(self, most: int) -> None:
        """A barrier, unless no more than this (NOTHING, OWN) was read since the last one."""
        if self.read > most:
            self.wait()

    def load(self, entry: int, address: str = "") -> str:
        """An entry of this lane, or of the lane whose slot has this address."""
        value = self.fresh()
        self.e(f"ld.{self.space}.{self.f} {value}, [{address or self.slot}+{entry * self.pitch}];")
        return value

    def partner_at(self, by: str, from_tip: bool) -> None:
        """Sets %valid to whether there is a lane `by` further (towards the tip, or the base), and %partner to its slot,
        or to this lane's own."""
        e = self.e
        if from_tip:
            e(f"add.u32 %k, %g, {by};", f"setp.lt.u32 %valid, %k, {self.lanes.count};")
        else:
            e(f"sub.u32 %k, %g, {by};", f"setp.ge.u32 %valid, %g, {by};")
        self._slot_of("%k")

    def partner_named(self, lane: str) -> None:
        """The same for a lane of this state given by its number, negative for none."""
        self.e(f"setp.ge.s32 %valid, {lane}, 0;")
        self._slot_of(lane)

    def _slot_of(self, lane: str) -> None:
        self.e(f"selp.b32 %k, {lane}, %g, %valid;", "sub.u32 %k, %k, %g;")
        self.e(f"mul.lo.u32 %k, %k, {self.item};", "add.u32 %partner, %slot, %k;")

    def shifted(self, values: Sequence[str], by: str, from_tip: bool, width: int) -> list[str]:
        """The values of the lane `by` further among `width` of a warp; sets %valid to whether there is one."""
        limit = ((WARP - width) << 8) | (WARP - 1 if from_tip else 0)
        return [
            self._shuffled(
                value, f"shfl.sync.{'down' if from_tip else 'up'}.b32", f"{by}, {limit}", "" if k else "|%valid"
            )
            for k, value in enumerate(values)
        ]

    def named(self, values: Sequence[str], lane: str, width: int = WARP) -> list[str]:
        """The values of the lane `lane` among `width` of a warp."""
        limit = ((WARP - width) << 8) | (WARP - 1)
        return [self._shuffled(value, "shfl.sync.idx.b32", f"{lane}, {limit}", "") for value in values]

    def _shuffled(self, value: str, op: str, source: str, valid: str) -> str:
        e, result = self.e, self.fresh()
        if self.lanes.bits == 32:
            e(f"mov.b32 %lo, {value};", f"{op} %lo{valid}, %lo, {source}, {ALL};", f"mov.b32 {result}, %lo;")
            return result
        e(f"mov.b64 %pair, {value};", "cvt.u32.u64 %lo, %pair;", "shr.u64 %pair, %pair, 32;", "cvt.u32.u64 %hi, %pair;")
        e(f"{op} %lo{valid}, %lo, {source}, {ALL};", f"{op} %hi, %hi, {source}, {ALL};")
        e("cvt.u64.u32 %pair, %hi;", "shl.b64 %pair, %pair, 32;", "cvt.u64.u32 %half, %lo;")
        e("or.b64 %pair, %pair, %half;", f"mov.b64 {result}, %pair;")
        return result


class Far(Transport):
    """The same in device memory, for blocks whose values do not fit. %deep: address of the state's values."""

    slot, partner, space = "%deep_slot", "%deep_partner", "global"

    @property
    def numbers(self) -> int:
        """Numbers of one state, or task; 0 if there is no exchange in device memory."""
        return self.most * self.lanes.slots

    def opening(self, address: str, task: str) -> list[str]:
        """Lines that set the addresses. address: name of the parameter. task: a register with the block's task."""
        if not self.most:
            return []
        return [
            f"ld.param.u64 %deep, [{address}];",
            "cvta.to.global.u64 %deep, %deep;",
            f"cvt.u64.u32 %a, {task};",
            f"mul.lo.u64 %a, %a, {self.numbers * self.item};",
            "add.u64 %deep, %deep, %a;",
            f"mul.wide.u32 %a, %g, {self.item};",
            "add.u64 %deep_slot, %deep, %a;",
        ]

    def _slot_of(self, lane: str) -> None:
        self.e(f"selp.b32 %k, {lane}, %g, %valid;", f"mul.wide.u32 %a, %k, {self.item};")
        self.e("add.u64 %deep_partner, %deep, %a;")


# Where a kernel keeps per-lane variables: in registers, local memory, the table of constants, the user's arrays.


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
