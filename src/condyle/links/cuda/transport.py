"""How lanes of one state exchange values: by shuffles within a warp, by shared memory within a block.

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
from condyle.ir.program import Program, constant_of, input_of, operands
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
