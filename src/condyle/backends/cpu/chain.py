"""Link-parallel functions -> machine code and data: a kernel for each stage, and the words that the driver interprets.

A lane of the function is a lane of a vector register. Kernels get the storage of variables as arrays (third argument,
see encode.py) and share one workspace for spills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from condyle.backends.common.chunks import orders
from condyle.backends.common.facts import packed
from condyle.backends.cpu.allocate import Allocated, Constants, allocate, cheapest, schedule
from condyle.backends.cpu.assemble import packed_constants
from condyle.backends.cpu.encode import encode, padded
from condyle.backends.cpu.operations import NONE as NOWHERE
from condyle.backends.cpu.operations import Instruction, constant, expanded, slot
from condyle.backends.cpu.target import TARGET, Isa
from condyle.ir.link_parallel import (
    EXT,
    IO,
    NONE,
    PER_JOINT,
    TABLE,
    EachJoint,
    Emit,
    LinkParallel,
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
from condyle.ir.program import Program, constant_of, input_of

GATHER, SCATTER, SINES, CALL, SHIFT, SET, SPLAT, EMIT, SPREAD, PICK = range(1, 11)  # as in runtime/chain/chain.h
WORK, LINKS = 0, 1
PLACED = 1 << 20
"""Slots from this number on are entries of variables; those below are spills."""
ROOMY = 32
"""Registers that scheduling for latency needs: with 32 it saves 3 % of the time, with 16 it costs 5 % by spills."""
EACH, TURNS, ALWAYS = -1, 1, 0


@dataclass(frozen=True)
class Storage:
    """The storage of a variable: for joint t it begins at base + step ((t + shift) & mask) in `memory`, in vectors."""

    memory: int
    base: int
    step: int
    mask: int


@dataclass(frozen=True)
class Made:
    """The arguments of a runtime Chain. table: constants of links, lane by lane. starts: numbers that variables are set
    to."""

    text: bytes
    constants: bytes
    table: bytes
    starts: bytes
    words: tuple[int, ...]
    work: int


def assemble_chain(code: LinkParallel, isa: Isa, bits: int) -> Made:
    """The machine code of a code function whose segments are the lanes of this instruction set."""
    return _Writer(code, isa, bits).assembled()


@dataclass
class _Writer:
    code: LinkParallel
    isa: Isa
    bits: int
    constants: Constants = field(default_factory=Constants)
    text: bytes = b""
    spills: int = 0
    starts: list[float] = field(default_factory=list[float])
    size: int = 0
    kernels: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        length = self.code.length
        self.widths = dict(self.code.widths)
        self.storage: dict[str, Storage] = {}
        for name, width in self.widths.items():
            if name == TABLE:
                self.storage[name] = Storage(LINKS, 0, width, EACH)
            elif name in PER_JOINT:
                self.storage[name] = Storage(WORK, self._take(width * length), 1 if name == IO else width, EACH)
            else:
                self.storage[name] = Storage(WORK, self._take(2 * width), width, TURNS)
        values = {name: width for name, width in self.widths.items() if name not in PER_JOINT}
        self.beside = Storage(WORK, self._take(max(values.values())), 0, ALWAYS)
        self.now = dict.fromkeys(values, 0)  # the half of a variable's storage that has its value

    def _take(self, vectors: int) -> int:
        self.size += vectors
        return self.size - vectors

    def assembled(self) -> Made:
        code = self.code
        words: list[int] = []
        for k, (name, column) in enumerate(code.inputs):
            own = self.storage[EXT if column == NONE else IO]
            at = own.base + max(column, 0) * code.length
            words += (GATHER, k, code.base.get(name, 0), code.width(column), at)
        for op in code.ops:
            words += self._op(op)
        for k, (name, column) in enumerate(code.outputs):
            words += (SCATTER, k, code.base.get(name, 0), self.storage[IO].base + column * code.length)
        scratch = self._take(self.spills)
        buffer = self._take(code.length * max(code.width(column) for _, column in code.inputs))
        constants = packed_constants(self.constants.values, self.isa, self.bits)
        ports, runs = (code.inputs, code.outputs), code.runs()
        sizes = [code.size(*port) for port in (*ports[0], *ports[1])]
        head = (code.joints, code.length, scratch, buffer, *map(len, (*ports, runs)), *sizes)
        words = [*head, *(number for run in runs for number in run), *words]
        return Made(self.text, constants, self._table(), packed(self.starts, self.bits), tuple(words), self.size)

    def _table(self) -> bytes:
        """Entry e of joint t of all segments, one in each lane."""
        rows, length = self.code.table, self.code.length
        lanes = range(self.code.lanes)
        return packed(
            [rows[l * length + t][e] for t in range(length) for e in range(len(rows[0])) for l in lanes], self.bits
        )

    def _op(self, op: Op) -> list[int]:
        length = self.code.length
        if isinstance(op, Splat):
            return [SPLAT, op.port, op.first, self.widths[op.var], self._value(op.var, 0)]
        if isinstance(op, Emit):
            return [EMIT, op.port, op.first, self.widths[op.var], self._value(op.var)]
        if isinstance(op, Sines):
            io = self.storage[IO].base
            return [SINES, *(io + column * length for column in (op.angle, op.sine, op.cosine)), length]
        if isinstance(op, Start):
            return [SET, self._value(op.var, 0), len(op.values), self._numbers(op.values)]
        if isinstance(op, Spread):
            return [SPREAD, self._value(op.var), self.widths[op.var]]
        if isinstance(op, Neighbour):
            return self._neighbour(op)
        if isinstance(op, Scan):
            return self._scan(op)
        if isinstance(op, TreeScanStep):
            return self._tree_scan_step(op)
        if isinstance(op, Once):
            return self._call(op.stage, 0, 1, 1)
        assert isinstance(op, EachJoint)  # no others are traced for this target
        return self._call(op.stage, length - 1 if op.backward else 0, length, -1 if op.backward else 1)

    def _value(self, var: str, half: int | None = None) -> int:
        """Where a variable's value is; half: where it is from now on."""
        if half is not None:
            self.now[var] = half
        return self.storage[var].base + self.storage[var].step * self.now[var]

    def _numbers(self, values: Sequence[float]) -> int:
        self.starts += values
        return len(self.starts) - len(values)

    def _neighbour(self, op: Neighbour) -> list[int]:
        width = self.widths[op.into]
        last = self._numbers(self.code.identities[op.var][op.first : op.first + width])
        return [SHIFT, self._value(op.var) + op.first, self._value(op.into, 0), width, op.by, last]

    def _scan(self, op: Scan) -> list[int]:
        """Kogge and Stone's scan: steps with the lanes 1, 2, 4, ... away."""
        words: list[int] = []
        own, lanes = self.storage[op.var], self.isa.lanes(self.bits)
        last = self._numbers(self.code.identities[op.var])
        step = 1
        while step < (lanes // 2 if op.halves else lanes):
            here = self._value(op.var)
            words += (SHIFT, here, self.beside.base, own.step, step if op.from_tip else -step, last)
            near, far = ("base", "tip") if op.from_tip else ("tip", "base")
            words += self._call(op.stage, 0, 1, 1, {near: replace(own, base=here, mask=ALWAYS), far: self.beside})
            step *= 2
        return words

    def _tree_scan_step(self, op: TreeScanStep) -> list[int]:
        """Row after row; a lane without a partner is combined with the identity."""
        words: list[int] = []
        width, own = self.widths[op.source], self.storage[op.var]
        near, far = ("base", "tip") if op.from_tip else ("tip", "base")
        for row in self.code.partners[op.rows]:
            alone = tuple(max(lane, NONE) for lane in row)
            others = tuple(-2 - lane if lane < NONE else lane for lane in row)
            here = self._value(op.var)
            words += self._pick(op.source, 0, op.handed, alone) if op.handed else []
            words += self._pick(op.source, op.handed, width, others)
            words += self._call(op.stage, 0, 1, 1, {near: replace(own, base=here, mask=ALWAYS), far: self.beside})
        return words

    def _pick(self, var: str, first: int, end: int, lanes: Sequence[int]) -> list[int]:
        last = self._numbers(self.code.identities[var][first:end])
        return [PICK, self._value(var) + first, self.beside.base + first, end - first, last, *lanes]

    def _call(
        self, stage: Program, first: int, count: int, step: int, others: dict[str, Storage] | None = None
    ) -> list[int]:
        """A call of the stage's kernel. A variable that it reads and writes changes halves with every joint."""
        storage = self.storage | (others or {})
        pointers: list[int] = []
        carried = {array.name for array in stage.arrays} & set(self.now)
        for array in stage.inputs:
            pointers += self._pointer(storage[array.name], array.name, first, 0)
        for array in stage.arrays:
            pointers += self._pointer(storage[array.name], array.name, first, 1)
        for name in carried:
            self.now[name] = (self.now[name] + count) % 2
        n = len(stage.inputs) + len(stage.arrays)
        return [CALL, self._kernel(stage), first, count, step, n, *pointers]

    def _pointer(self, storage: Storage, name: str, first: int, written: int) -> tuple[int, int, int, int, int]:
        shift = (self.now[name] + written - first) % 2 if storage.mask == TURNS else 0
        return storage.memory, storage.base, storage.step, storage.mask, shift

    def _kernel(self, stage: Program) -> int:
        """Where the stage's kernel begins; all steps of a scan share one."""
        if id(stage) not in self.kernels:
            self.kernels[id(stage)] = len(self.text)
            self._assemble(expanded(stage, self.bits, self.isa))
        return self.kernels[id(stage)]

    def _assemble(self, stage: Program) -> None:
        """The stage's kernel, in the order of operations that costs least by the cost model."""
        homes, stores, late, places = self._places(stage)
        nodes = [k for k, node in enumerate(stage.nodes) if node[0] not in ("const", "input")]
        roots = [k for k in nodes if k in stores]

        def allocated(name: str, order: list[int]) -> Allocated:
            if order and self.isa.registers >= ROOMY:
                order = schedule(stage.nodes, order, TARGET.ahead // len(order) + 1, TARGET.issue)
            known = self.constants.copy()
            code, size = allocate(stage, order, homes | stores, known, self.isa, 0, TARGET)
            return Allocated(name, code + self._copies(stage, late, homes | stores, known), known, size)

        tried = (allocated(*one) for one in orders(stage, nodes, roots, TARGET.orders))
        _, code, self.constants, size = cheapest(tried, self.isa, self.bits)
        self.spills = max(self.spills, size)
        self.text += padded(encode(code, self.isa, self.bits, places))

    def _places(
        self, stage: Program
    ) -> tuple[dict[int, int], dict[int, int], list[tuple[int, int]], dict[int, tuple[int, int]]]:
        """Slots of inputs, slots of nodes' first outputs, further outputs as (node, slot), and {slot: (array,
        entry)}."""
        places: dict[int, tuple[int, int]] = {}
        homes: dict[int, int] = {}
        stores: dict[int, int] = {}
        late: list[tuple[int, int]] = []

        def place(array: int, name: str, entry: int) -> int:
            number = PLACED + len(places)
            places[number] = array, entry * self.code.length if name == IO else entry
            return number

        for k, node in enumerate(stage.nodes):
            if node[0] == "input":
                array, entry = input_of(node)
                homes[k] = place(array, stage.inputs[array].name, entry)
        for output in stage.outputs:
            number = place(len(stage.inputs) + output.array, stage.arrays[output.array].name, output.index)
            plain = stage.nodes[output.node][0] not in ("const", "input") and output.node not in stores
            if plain:
                stores[output.node] = number
            else:
                late.append((output.node, number))
        return homes, stores, late, places

    def _copies(
        self, stage: Program, late: Sequence[tuple[int, int]], slot_of: dict[int, int], constants: Constants
    ) -> list[Instruction]:
        """Copies for outputs whose node is an input, a constant or stored by another output."""
        code: list[Instruction] = []
        for node, number in late:
            if stage.nodes[node][0] == "const":
                source = constant(constants.number(constant_of(stage.nodes[node])))
            else:
                source = slot(slot_of[node])
            code += (Instruction("load", 0, NOWHERE, source), Instruction("store", 0, NOWHERE, slot(number)))
        return code
