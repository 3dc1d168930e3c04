"""One step of loops over joints as machine code: a loop over consecutive joints, with addresses and constants as data.

`void steps(w, rows, starts, count, column, row)`, System V: w in rdi, constants of the first joint in rsi, its table of
slots in rdx, the number of joints in rcx. For code in a loop over the columns c of a matrix, r8 is w plus c slots and
r9 is w plus c nv slots. Each iteration computes addresses in registers from the joint's table.

A joint depends on the one before it, so the latency of a step limits the speed. An iteration can compute two tiles,
whose workspaces are adjacent: the latency of one is hidden by the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from condyle.backends.common.chunks import orders
from condyle.backends.common.loops import Bank, Layout
from condyle.backends.cpu.allocate import Allocated, Constants, allocate, cheapest, schedule
from condyle.backends.cpu.assemble import Kernel
from condyle.backends.cpu.encode import RDI, RDX, RETURN, RSI, SAVED, Encoder, pop, push
from condyle.backends.cpu.operations import NONE, SLOT, Instruction, constant, expanded, slot
from condyle.backends.cpu.target import Isa, Target
from condyle.errors import UnsupportedError
from condyle.ir.loops import Step
from condyle.ir.program import constant_of, input_of
from condyle.operations import LEAVES

FRONT = 1024
"""Slots at the start of the workspace for spills of steps."""
BANK = 1 << 32
MIDDLE = BANK // 2
FREE = (0, 10, 11)  # rax r10 r11
COLUMN, ROW = 8, 9  # r8 r9
COPIES = 8


class Base(NamedTuple):
    """A base register: the register that its address starts from, and the slot that it points to for each joint."""

    origin: int
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Machine code of one step for one kind of joint.

    constants: one joint's row of constants: numbers of entries of the joint's table (int), or plain numbers (float).
    bases: the columns of the table of slots.
    """

    kernel: Kernel
    constants: tuple[int | float, ...]
    bases: tuple[Base, ...]


class Way(NamedTuple):
    """Parameters of step code: the machine, and the number of tiles that an iteration computes."""

    isa: Isa
    bits: int
    target: Target
    tiles: int


def block(step: Step, joints: Sequence[int], place: Layout, backward: bool, way: Way) -> Block:
    """The code of a step for these joints, in ascending order, or descending if `backward`."""
    return _Writer(step, joints, place, backward, way).block()


class _Writer:
    def __init__(self, step: Step, joints: Sequence[int], place: Layout, backward: bool, way: Way) -> None:
        self.step = replace(step, program=expanded(step.program, way.bits, way.isa))
        self.joints, self.place, self.backward = joints, place, backward
        self.isa, self.bits, self.target, self.tiles = way
        self.bases: list[Base] = []
        self.base_of_bank: dict[Bank, tuple[int, int]] = {}
        self.table: list[int] = []

    def block(self) -> Block:
        program = self.step.program
        homes, copies = self._homes()
        nodes = [index for index, node in enumerate(program.nodes) if node[0] not in LEAVES]
        roots = [node for node in dict.fromkeys(output.node for output in program.outputs) if node in homes]
        roots = [node for node in roots if program.nodes[node][0] not in LEAVES]

        def allocated(name: str, order: list[int]) -> Allocated:
            if 0 < len(order) < self.target.small:
                order = schedule(program.nodes, order, self.target.ahead // len(order) + 1, self.target.issue)
            constants = Constants([0.0] * len(self.table))
            code, top = allocate(program, order, homes, constants, self.isa, 0, self.target)
            if top > FRONT:
                raise UnsupportedError(
                    f"a step of rolled sweeps needs {top} slots of its own, at most {FRONT} are there"
                )
            return Allocated(name, code + self._copied(copies, homes, constants), constants, top)

        tried = (allocated(*one) for one in orders(program, nodes, roots, self.target.orders))
        name, code, constants, _ = cheapest(tried, self.isa, self.bits, self.target)
        kernel = Kernel(name, tuple(code), self._encoded(code, len(constants.values)))
        literals = constants.values[len(self.table) :]
        return Block(kernel, (*self.table, *map(float, literals)), tuple(self.bases))

    def _homes(self) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """{node: its slot}, and the copies that are stored in addition: (slot, node, or -1 for a zero)."""
        program, homes, copies = self.step.program, dict[int, int](), list[tuple[int, int]]()
        for index, node in enumerate(program.nodes):
            if node[0] == "input":
                array, entry = input_of(node)
                ref = self.step.reads[array]
                homes[index] = (
                    self._constant(entry) if ref.space == "table" else self._slot(*self.place.read(ref, entry))
                )
        known = {(output.array, output.index): output.node for output in program.outputs}
        for k, (ref, array) in enumerate(zip(self.step.writes, program.arrays, strict=True)):
            for entry in range(array.size):
                node, at = known.get((k, entry), -1), self.place.written(ref, entry)
                if at is None:
                    continue
                if node in homes or node < 0 or program.nodes[node][0] in LEAVES:
                    copies.append((self._slot(*at), node))
                else:
                    homes[node] = self._slot(*at)
        return homes, copies

    def _constant(self, entry: int) -> int:
        """The home of an entry of the joint's table."""
        if entry not in self.table:
            self.table.append(entry)
        return constant(self.table.index(entry)) - SLOT

    def _slot(self, bank: Bank, offset: int) -> int:
        """A slot in this step's numbering: a base and a distance. Regions at a constant distance share a base."""
        if bank not in self.base_of_bank:
            origin = {"column": COLUMN, "row": ROW}.get(bank.kind, RDI)
            starts = tuple(self.place.start(bank, i) for i in self.joints)
            for k, base in enumerate(self.bases):
                if base.origin == origin and len({a - b for a, b in zip(starts, base.starts, strict=True)}) == 1:
                    self.base_of_bank[bank] = k, starts[0] - base.starts[0]
                    break
            else:
                self.base_of_bank[bank] = len(self.bases), 0
                self.bases.append(Base(origin, starts))
        base, distance = self.base_of_bank[bank]
        return BANK * (1 + base) + MIDDLE + distance + offset

    def _copied(
        self, copies: Sequence[tuple[int, int]], homes: dict[int, int], constants: Constants
    ) -> list[Instruction]:
        """Stores of values that have another slot already."""
        program, code = self.step.program, list[Instruction]()
        for first in range(0, len(copies), COPIES):
            group = list(enumerate(copies[first : first + COPIES]))
            for register, (_, node) in group:
                if node in homes:
                    source = slot(homes[node])
                else:
                    source = constant(constants.number(0.0 if node < 0 else constant_of(program.nodes[node])))
                code.append(Instruction("load", register, NONE, source))
            code += [Instruction("store", register, NONE, slot(to)) for register, (to, _) in group]
        return code

    def _encoded(self, code: Sequence[Instruction], constants: int) -> bytes:
        """The whole block: saves registers, the loop around the instructions, return."""
        registers = (*FREE, *SAVED)[: len(self.bases)]
        if len(registers) < len(self.bases):
            raise UnsupportedError(
                f"a step of rolled sweeps sees {len(self.bases)} arrays, machine code {len(registers)}"
            )
        encoder = StepEncoder(self.isa, self.bits, registers)
        saved = [register for register in registers if register in SAVED]
        shift = self.isa.vector_bytes.bit_length() - 1
        body = b"".join(_address(registers[k], k, shift, base.origin) for k, base in enumerate(self.bases))
        for tile in range(self.tiles):
            encoder.shift = tile * self.place.size
            body += b"".join(map(encoder.encode, code))
        sign = -1 if self.backward else 1
        body += _add(RSI, sign * constants * encoder.constant_bytes) + _add(RDX, sign * 4 * len(registers))
        body += b"\x48\xff\xc9"  # dec rcx
        again = b"\x0f\x85" + (-len(body) - 6).to_bytes(4, "little", signed=True)  # jnz
        head, tail = b"".join(map(push, saved)), b"".join(map(pop, reversed(saved)))
        return head + body + again + tail + RETURN


class StepEncoder(Encoder):
    """Encodes instructions whose slots are numbered from base registers."""

    def __init__(self, isa: Isa, bits: int, registers: Sequence[int]) -> None:
        super().__init__(isa, bits)
        self.registers = registers
        self.shift = 0
        """slots that are added for the tile's workspace"""

    def _memory(self, register: int, b: int) -> tuple[int, bytes]:
        base, number, unit = RSI, -1 - b, self.constant_bytes
        if b >= SLOT:
            bank, number = divmod(b - SLOT, BANK)
            base = self.registers[bank - 1] if bank else RDI
            number, unit = (number - MIDDLE if bank else number) + self.shift, self.isa.vector_bytes
        return base, self.behind(register, base, number, unit)


def _address(register: int, k: int, shift: int, origin: int) -> bytes:
    """register = origin + (entry k of the table at rdx << shift)."""
    load = (b"\x44" if register > 7 else b"") + bytes((0x8B, 0x40 | (register & 7) << 3 | RDX, 4 * k))
    high = register >> 3
    shl = bytes((0x48 | high, 0xC1, 0xE0 | register & 7, shift))
    return load + shl + bytes((0x48 | high | origin >> 3 << 2, 0x01, 0xC0 | (origin & 7) << 3 | register & 7))


def _add(register: int, distance: int) -> bytes:
    if distance == 0:
        return b""
    return bytes((0x48, 0x81, 0xC0 | register)) + distance.to_bytes(4, "little", signed=True)
