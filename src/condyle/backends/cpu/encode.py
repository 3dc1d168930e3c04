"""Instructions -> bytes: EVEX for AVX-512, VEX for AVX2 with FMA. Intel's manual, volume 2, chapter 2.

The kernel is `void kernel(void *w, const void *constants, void *const *arrays)`, System V calling convention: w in rdi,
constants in rsi; in rdx, where values are in the caller's arrays, their addresses. A displacement of one byte reaches
128 operands in both directions, so other registers point to further parts ("windows") of the memories.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from condyle.backends.cpu.operations import SLOT, Instruction
from condyle.backends.cpu.target import Isa
from condyle.errors import UnsupportedError
from condyle.operations import AMOUNTS

RDI, RSI, RDX = 7, 6, 2
FREE = (0, 1, 2, 8, 9, 10, 11)  # rax rcx rdx r8 r9 r10 r11: caller-saved
SAVED = (3, 5, 13, 14, 15, 12)  # rbx rbp r13 r14 r15 r12: callee-saved; an address by r12 takes one byte more
WINDOW = 256  # operands, or bytes where displacements count these
FEWEST = 6  # uses that make a window worth its register
RETURN = bytes((0xC5, 0xF8, 0x77, 0xC3))  # vzeroupper, ret
BYTES = tuple(bytes((k,)) for k in range(256))
ALIGN = 64
"""Bytes of a cache line: kernels are aligned to one."""

MANTISSA = {64: 52, 32: 23}
_MAP_0F, _MAP_0F38, _MAP_0F3A = 1, 2, 3
_ARITHMETIC = {"add": 0x58, "mul": 0x59, "sub": 0x5C, "min": 0x5D, "div": 0x5E, "max": 0x5F, "sqrt": 0x51}
_UNARY = frozenset({"load", "store", "broadcast", "get", "put", "sqrt"})
_FUSED = {"fma": 0x98, "fms": 0x9A, "fnma": 0x9C, "fnms": 0x9E}
_COMMUTE = frozenset({"add", "mul", "xor", "iadd"})
_BITS = {"xor": (0xEF, 0x57), "and": (0xDB, 0x54), "andn": (0xDF, 0x55), "or": (0xEB, 0x56)}  # with EVEX, with VEX
"""Operations on bits; in the scalar form they are on whole registers too."""
_SHIFTS = {"bit0": (6, {64: 63, 32: 31}), "bit1": (6, {64: 62, 32: 30}), "shl": (6, MANTISSA), "shr": (2, MANTISSA)}
"""The opcode extension of the direction, and the number of bits."""
_HALVES = {
    f"{name}{amount}": (way, amount)
    for name, way in (("rotl", 1), ("up", 6), ("down", 2))
    for amount in {*AMOUNTS, *(32 - amount for amount in AMOUNTS)}
}
"""The same on halves of 32 bits."""
_ROUNDED = {"floor": 9, "rint": 8}
"""The immediate of the rounding direction, without the precision exception."""
_LOAD, _STORE = 0x28, 0x29
_LOAD_ANYWHERE, _STORE_ANYWHERE = 0x10, 0x11
"""Arrays of the caller may begin at any address."""

Form = tuple[int, int, int, int]  # map, prefix bits, W, opcode
Places = Mapping[int, tuple[int, int]]
"""Slots that are not in the workspace: (array, entry) of a caller's row or column."""


class Encoder:
    """Encodes single instructions for one instruction set and precision (64 or 32 bits).

    shared: arrays of the caller that have one number for all lanes, which is repeated as it is read.
    """

    def __init__(
        self, isa: Isa, bits: int, places: Places | None = None, shared: Collection[int] = frozenset()
    ) -> None:
        self.isa, self.bits = isa, bits
        self.places: Places = {} if places is None else places
        self.shared = shared
        self.slot_bytes = isa.slot_bytes(bits)
        self.constant_bytes = bits // 8 if isa.broadcast or isa.scalar else isa.vector_bytes
        # as the EVEX prefix has it; VEX: one bit, for 32 bytes
        self.length = 0 if isa.scalar else isa.vector_bytes if isa.broadcast else 0x40
        self.forms = (_scalar_forms if isa.scalar else _forms)(isa, bits)
        self.bases = {(SLOT, 0): RDI, (-1, 0): RSI}

    def encode(self, i: Instruction) -> bytes:
        """The bytes of one instruction."""
        op, register, b = self._name(i), i.to, i.b
        if op in _SHIFTS:
            way, amounts = _SHIFTS[op]
            return self._shift(self.forms["shift"], i, way, amounts[self.bits])
        if op in _HALVES:
            return self._shift(self.forms["shift halves"], i, *_HALVES[op])
        if op == "pick":
            return self._pick(i)
        if op in _ROUNDED:
            return self._round(i)
        form = self.forms[op]
        first = 0 if op in _UNARY else i.a
        if self.isa.scalar and op == "sqrt":
            first = b if 0 <= b < SLOT else register  # the source of the other lanes
        if self.isa.broadcast:
            is_bits = not 0 <= b < SLOT and (op in _BITS or op == "iadd")
            repeat = is_bits if self.isa.scalar else self.repeats(b) and op != "broadcast"
            return self._evex(form, register, first, b, repeat)
        if op == "load" and 8 <= b < SLOT and register < 8:  # the short prefix has no bit for a high last register
            form, register, b = self.forms["store"], b, register
        return self._vex(form, register, first, b)

    def _name(self, i: Instruction) -> str:
        """The name of the form: loads and stores have one for each kind of operand."""
        if 0 <= i.b < SLOT or i.op not in ("load", "store"):
            return i.op
        if self.isa.scalar:
            return "get" if i.op == "load" else "put"
        if self.repeats(i.b) and self.isa.broadcast:
            return "broadcast"
        return f"{i.op} caller's" if i.b - SLOT in self.places else i.op

    def repeats(self, b: int) -> bool:
        """Whether an operand is one number for all lanes."""
        return b < 0 or (b >= SLOT and self.places.get(b - SLOT, (-1, 0))[0] in self.shared)

    def unit(self, kind: int) -> int:
        """The bytes of one operand in this memory."""
        return self.constant_bytes if kind < 0 or kind in self.shared else self.slot_bytes

    def _shift(self, form: Form, i: Instruction, way: int, amount: int) -> bytes:
        """A shift; the destination is in the field of the first operand."""
        code = self._evex(form, way, i.to, i.b) if self.isa.broadcast else self._vex(form, way, i.to, i.b)
        return code + bytes((amount,))

    def _round(self, i: Instruction) -> bytes:
        """A rounding; in the scalar form the other lanes come from the operand too."""
        first = i.b if self.isa.scalar else 0
        made = self._evex if self.isa.broadcast else self._vex
        return made(self.forms["round"], i.to, first, i.b) + bytes((_ROUNDED[i.op],))

    def _pick(self, i: Instruction) -> bytes:
        """The signs of c into mask register k1, and a blend with that mask; the blend of VEX reads the signs itself."""
        if self.isa.broadcast:
            return self._evex(self.forms["signs"], 1, 0, i.c) + self._evex(self.forms["pick"], i.to, i.a, i.b, mask=1)
        return self._vex(self.forms["pick"], i.to, i.a, i.b) + bytes((i.c << 4,))

    def _evex(self, form: Form, register: int, first: int, b: int, repeat: bool = False, mask: int = 0) -> bytes:
        table, prefix, wide, opcode = form
        # bits for the upper halves of register numbers are stored inverted
        p0 = table | (~register & 8) << 4 | (~register & 16)
        p1 = wide << 7 | (~first & 15) << 3 | 4 | prefix
        p2 = self.length | (~first & 16) >> 1 | (0x10 if repeat else 0) | mask
        if 0 <= b < SLOT:
            p0 |= (~b & 8) << 2 | (~b & 16) << 2
            return bytes((0x62, p0, p1, p2, opcode, 0xC0 | (register & 7) << 3 | b & 7))
        base, tail = self._memory(register, b)
        p0 |= 0x40 | (~base & 8) << 2
        return bytes((0x62, p0, p1, p2, opcode)) + tail

    def _vex(self, form: Form, register: int, first: int, b: int) -> bytes:
        table, prefix, wide, opcode = form
        if 0 <= b < SLOT:
            base, tail = b, bytes((0xC0 | (register & 7) << 3 | b & 7,))
        else:
            base, tail = self._memory(register, b)
        last = (~first & 15) << 3 | self.length >> 4 | prefix
        if table == _MAP_0F and not wide and base < 8:
            return bytes((0xC5, (~register & 8) << 4 | last, opcode)) + tail
        return bytes((0xC4, (~register & 8) << 4 | 0x40 | (~base & 8) << 2 | table, wide << 7 | last, opcode)) + tail

    def window(self, number: int, unit: int) -> tuple[int, int]:
        """The number of operands of `unit` bytes in a window, and the window of this operand."""
        window = WINDOW if self.isa.stretch else WINDOW // unit
        return window, (number + window // 2) // window

    def operand(self, b: int) -> tuple[int, int, bytes]:
        """Of a memory operand: base register, first byte after the opcode without the register field, the rest."""
        base, tail = self._memory(0, b)
        return base, tail[0], tail[1:]

    def _memory(self, register: int, b: int) -> tuple[int, bytes]:
        """The base register of a memory operand, and all bytes after the opcode."""
        kind, number, unit = place(b, self)
        window, near = self.window(number, unit)
        base = self.bases.get((kind, near))
        if base is None:
            base, near = self.bases[kind, 0], 0
        return base, self.behind(register, base, number - window * near, unit)

    def behind(self, register: int, base: int, number: int, unit: int) -> bytes:
        """All bytes after the opcode, for an operand `number` operands of `unit` bytes after a base register."""
        low, index = (register & 7) << 3 | base & 7, b"\x24" if base & 7 == 4 else b""
        distance = number * unit
        short = number if self.isa.stretch else distance
        if distance == 0 and base & 7 != 5:
            return bytes((low,)) + index
        if -128 <= short < 128:
            return bytes((0x40 | low,)) + index + bytes((short & 0xFF,))
        if not -(1 << 31) <= distance < 1 << 31:
            raise UnsupportedError("arrays lie too far apart for machine code")
        return bytes((0x80 | low,)) + index + distance.to_bytes(4, "little", signed=True)


def place(b: int, encoder: Encoder) -> tuple[int, int, int]:
    """The memory of an operand (SLOT, -1 or an array), its number there, and the bytes of one operand."""
    if b < 0:
        return -1, -1 - b, encoder.constant_bytes
    kind, number = encoder.places.get(b - SLOT, (SLOT, b - SLOT))
    return kind, number, encoder.unit(kind)


def _forms(isa: Isa, bits: int) -> dict[str, Form]:
    double = bits == 64
    wide = int(double and isa.broadcast)  # plain VEX instructions leave W at zero
    forms: dict[str, Form] = {name: (_MAP_0F, int(double), wide, code) for name, code in _ARITHMETIC.items()}
    forms["load"] = (_MAP_0F, int(double), wide, _LOAD)
    forms["store"] = (_MAP_0F, int(double), wide, _STORE)
    forms["load caller's"] = (_MAP_0F, int(double), wide, _LOAD_ANYWHERE)
    forms["store caller's"] = (_MAP_0F, int(double), wide, _STORE_ANYWHERE)
    forms["broadcast"] = (_MAP_0F38, 1, int(double), 0x19 if double else 0x18)
    for name, (evex, vex) in _BITS.items():
        forms[name] = (_MAP_0F, 1, wide, evex) if isa.broadcast else (_MAP_0F, int(double), 0, vex)
    forms["shift"] = (_MAP_0F, 1, wide, 0x73 if double else 0x72)
    forms["shift halves"] = (_MAP_0F, 1, 0, 0x72)
    forms["iadd"] = (_MAP_0F, 1, wide, 0xD4 if double else 0xFE)
    forms["round"] = (_MAP_0F3A, 1, wide, 0x09 if double else 0x08)
    forms["signs"] = (_MAP_0F38, 2, wide, 0x39)
    forms["pick"] = (_MAP_0F38, 1, wide, 0x65) if isa.broadcast else (_MAP_0F3A, 1, 0, 0x4B if double else 0x4A)
    for name, code in _FUSED.items():
        for k, order in enumerate(("132", "213", "231")):
            forms[name + order] = (_MAP_0F38, 1, int(double), code + 16 * k)
    return forms


def _scalar_forms(isa: Isa, bits: int) -> dict[str, Form]:
    """Forms on the lowest lane; copies between registers and operations on bits are on whole registers."""
    double = bits == 64
    prefix, wide = (3 if double else 2), int(double and isa.broadcast)
    forms: dict[str, Form] = {name: (_MAP_0F, prefix, wide, code) for name, code in _ARITHMETIC.items()}
    forms["get"], forms["put"] = (_MAP_0F, prefix, wide, 0x10), (_MAP_0F, prefix, wide, 0x11)
    forms["round"] = (_MAP_0F3A, 1, wide, 0x0B if double else 0x0A)
    for name, (table, bits_66, w, code) in _forms(isa, bits).items():
        forms.setdefault(name, (table, bits_66, w, code + (name[:-3] in _FUSED)))
    return forms


def encode(
    code: Sequence[Instruction],
    isa: Isa,
    bits: int,
    places: Places | None = None,
    shared: Collection[int] = frozenset(),
) -> bytes:
    """The whole kernel: windows, the instructions, return. places, shared: as in `Encoder`."""
    encoder = Encoder(isa, bits, places, shared)
    head, tail = _windows(code, encoder)
    if not isa.broadcast:
        code = [shorter(i) for i in code]
    return b"".join((head, *_encoded(code, encoder), tail))


def _encoded(code: Sequence[Instruction], encoder: Encoder) -> Iterator[bytes]:
    """The bytes of each instruction. Parts that occur often are encoded once.

    Those are whole instructions on registers; and of the others the bytes before the operand, and the operand without
    the three bits of the register.
    """
    known: dict[Instruction, bytes] = {}
    heads: dict[tuple[str, int, int, int, bool], bytes] = {}
    operands: dict[int, tuple[int, int, bytes]] = {}
    for i in code:
        op, to, a, b, _ = i
        if 0 <= b < SLOT:
            made = known.get(i)
            if made is None:
                made = known[i] = encoder.encode(i)
            yield made
            continue
        operand = operands.get(b)
        if operand is None:
            operand = operands[b] = encoder.operand(b)
        base, low, rest = operand
        key = op, to, a, base, b < 0
        head = heads.get(key)
        if head is None:
            head = heads[key] = encoder.encode(i)[: -1 - len(rest)]
        yield head + BYTES[low | (to & 7) << 3] + rest


def shorter(i: Instruction) -> Instruction:
    """The same with its operands swapped, where that makes the VEX prefix shorter."""
    return Instruction(i.op, i.to, i.b, i.a) if i.op in _COMMUTE and i.a < 8 <= i.b < SLOT else i


def _windows(code: Sequence[Instruction], encoder: Encoder) -> tuple[bytes, bytes]:
    """Assigns registers to the arrays and to the windows used most; gives the kernel's prologue and epilogue."""
    uses: Counter[tuple[int, int]] = Counter()
    for b, count in Counter([i.b for i in code if not 0 <= i.b < SLOT]).items():
        kind, number, unit = place(b, encoder)
        uses[kind, encoder.window(number, unit)[1]] += count
    arrays = sorted({kind for kind, _ in uses if 0 <= kind < SLOT})
    wanted = sorted((-count, window) for window, count in uses.items() if window[1] > 0 and count >= FEWEST)
    registers = [register for register in (*FREE, *SAVED) if register != RDX or not arrays]
    head, saved = bytearray(), bytearray()
    for register, (kind, number) in zip(registers, [*((k, 0) for k in arrays), *(w for _, w in wanted)], strict=False):
        if register in SAVED:
            head += push(register)
            saved = bytearray(pop(register)) + saved
        if number == 0:
            head += _fetch(register, kind)
        else:
            unit = encoder.unit(kind)
            head += _lea(register, encoder.bases[kind, 0], encoder.window(0, unit)[0] * number * unit)
        encoder.bases[kind, number] = register
    return bytes(head), bytes(saved) + RETURN


def padded(text: bytes) -> bytes:
    """A kernel padded with int3 to the next aligned address."""
    return text + b"\xcc" * (-len(text) % ALIGN)


def push(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes((0x50 | register & 7,))


def pop(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes((0x58 | register & 7,))


def _fetch(register: int, k: int) -> bytes:
    """mov register, [rdx + 8 k]: the address of the row of array k."""
    head = bytes((0x48 | (register & 8) >> 1, 0x8B))
    low = (register & 7) << 3 | RDX
    return head + (bytes((0x40 | low, 8 * k)) if k else bytes((low,)))


def _lea(register: int, base: int, distance: int) -> bytes:
    """lea register, [base + distance], the distance always in four bytes."""
    prefix = 0x48 | (register & 8) >> 1 | base >> 3
    return bytes((prefix, 0x8D, 0x80 | (register & 7) << 3 | base & 7)) + distance.to_bytes(4, "little", signed=True)


# Assembled code as bytes, which can be kept in the cache: loading takes milliseconds, assembling up to seconds.


FORMAT = "machine code 2"


@dataclass(frozen=True, slots=True)
class Single:
    """The parts of a runtime Single: machine code, constants, and the numbers that tiles/single.h describes."""

    text: bytes
    constants: bytes
    numbers: bytes


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """The parts of a runtime Plan, of its Single and of its form for columns, sizes of arrays, number of operations."""

    isa: str
    bits: int
    in_sizes: tuple[int, ...]
    out_sizes: tuple[int, ...]
    operations: int
    text: bytes
    constants: bytes
    slots: bytes
    values: bytes
    numbers: bytes
    single: Single | None
    columns: Single | None = None


def to_bytes(code: ObjectCode) -> bytes:
    """A line of JSON with sizes, then the parts one after the other."""
    parts = [code.text, code.constants, code.slots, code.values, code.numbers]
    for form in (code.single, code.columns):  # one that is not there has no text
        parts += [b""] * 3 if form is None else [form.text, form.constants, form.numbers]
    facts = [FORMAT, code.isa, code.bits, code.in_sizes, code.out_sizes, code.operations, [len(part) for part in parts]]
    return json.dumps(facts).encode() + b"\n" + b"".join(parts)


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(x) is int and x >= 0 for x in cast("list[object]", values))


def from_bytes(data: bytes) -> ObjectCode:
    """The object code that `to_bytes` wrote. Raises ValueError for anything else."""
    line, _, rest = data.partition(b"\n")
    facts: object = json.loads(line)
    if not isinstance(facts, list) or len(cast("list[object]", facts)) != 7 or facts[0] != FORMAT:
        raise ValueError("not object code")
    _, isa, bits, in_sizes, out_sizes, operations, lengths = cast(
        "tuple[str, str, int, list[int], list[int], int, list[int]]", facts
    )
    if type(isa) is not str or not all(map(_are_sizes, (in_sizes, out_sizes, lengths, [bits, operations]))):
        raise ValueError("not object code")
    if sum(lengths) != len(rest) or len(lengths) != 11:
        raise ValueError("object code that is cut short")
    parts: list[bytes] = []
    for length in lengths:
        parts.append(rest[:length])
        rest = rest[length:]
    text, constants, slots, values, numbers, *more = parts
    single, wide = (Single(*form) if form[0] else None for form in (more[:3], more[3:]))
    sizes = tuple(in_sizes), tuple(out_sizes)
    return ObjectCode(isa, bits, *sizes, operations, text, constants, slots, values, numbers, single, wide)
