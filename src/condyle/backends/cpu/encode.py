"""Instructions to bytes: EVEX for AVX-512, VEX for AVX2 with FMA. Intel's manual, volume 2, chapter 2.

The kernel is `void kernel(void *w, const void *constants)`, System V calling convention: w in rdi, constants in rsi.
A short displacement reaches 128 operands either way, so other registers point to further parts ("windows") of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from condyle.backends.cpu.code import SLOT, Instruction
from condyle.backends.cpu.target import Isa

RDI, RSI = 7, 6
FREE = (0, 1, 2, 8, 9, 10, 11)  # rax rcx rdx r8 r9 r10 r11: whoever calls expects them lost
SAVED = (3, 5, 13, 14, 15)  # rbx rbp r13 r14 r15: given back as they were
WINDOW = 256
FEWEST = 6  # uses that make a window worth its register
RETURN = bytes((0xC5, 0xF8, 0x77, 0xC3))  # vzeroupper, ret

_MAP_0F, _MAP_0F38 = 1, 2
_ARITHMETIC = {"add": 0x58, "mul": 0x59, "sub": 0x5C, "div": 0x5E, "sqrt": 0x51}
_FUSED = {"fma": 0x98, "fms": 0x9A, "fnma": 0x9C, "fnms": 0x9E}
_COMMUTE = frozenset({"add", "mul", "xor"})
_LOAD, _STORE = 0x28, 0x29

Form = tuple[int, int, int, int]  # map, prefix bits, W, opcode


class Encoder:
    """Encodes single instructions for one instruction set and precision (64 or 32 bits)."""

    def __init__(self, isa: Isa, bits: int) -> None:
        self.isa, self.bits = isa, bits
        self.size = bits // 8
        self.constant_bytes = self.size if isa.broadcast else isa.vector_bytes
        self.forms = _forms(isa, bits)
        self.bases = {(SLOT, 0): RDI, (-1, 0): RSI}

    def encode(self, i: Instruction) -> bytes:
        """The bytes of one instruction."""
        op, register, b = i.op, i.to, i.b
        if op == "load" and b < 0 and self.isa.broadcast:
            op = "broadcast"
        form = self.forms[op]
        first = 0 if op in ("load", "store", "sqrt", "broadcast") else i.a
        if self.isa.broadcast:
            return self._evex(form, register, first, b, repeat=b < 0 and op != "broadcast")
        if op == "load" and 8 <= b < SLOT and register < 8:  # the short prefix has no bit for a high last register
            form, register, b = self.forms["store"], b, register
        return self._vex(form, register, first, b)

    def _evex(self, form: Form, register: int, first: int, b: int, repeat: bool) -> bytes:
        table, prefix, wide, opcode = form
        # bits for the upper halves of register numbers are stored inverted
        p0 = table | (~register & 8) << 4 | (~register & 16)
        p1 = wide << 7 | (~first & 15) << 3 | 4 | prefix
        p2 = 0x40 | (~first & 16) >> 1 | (0x10 if repeat else 0)
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
        last = (~first & 15) << 3 | 4 | prefix
        if table == _MAP_0F and not wide and base < 8:
            return bytes((0xC5, (~register & 8) << 4 | last, opcode)) + tail
        return bytes((0xC4, (~register & 8) << 4 | 0x40 | (~base & 8) << 2 | table, wide << 7 | last, opcode)) + tail

    def _memory(self, register: int, b: int) -> tuple[int, bytes]:
        """The base register of a memory operand, and everything behind the opcode."""
        kind, number, unit = place(b, self)
        near = (number + WINDOW // 2) // WINDOW if self.isa.stretch else 0
        base = self.bases.get((kind, near))
        if base is None:
            base, near = self.bases[kind, 0], 0
        low = (register & 7) << 3 | base & 7
        step = number - WINDOW * near
        distance = step * unit
        short = step if self.isa.stretch else distance
        if distance == 0 and base & 7 != 5:
            return base, bytes((low,))
        if -128 <= short < 128:
            return base, bytes((0x40 | low, short & 0xFF))
        return base, bytes((0x80 | low,)) + distance.to_bytes(4, "little", signed=True)


def place(b: int, encoder: Encoder) -> tuple[int, int, int]:
    """Which memory an operand lies in (SLOT or -1), its number there, and the bytes of one operand."""
    return (-1, -1 - b, encoder.constant_bytes) if b < 0 else (SLOT, b - SLOT, encoder.isa.vector_bytes)


def _forms(isa: Isa, bits: int) -> dict[str, Form]:
    double = bits == 64
    wide = int(double and isa.broadcast)  # plain VEX instructions leave W at zero
    forms: dict[str, Form] = {name: (_MAP_0F, int(double), wide, code) for name, code in _ARITHMETIC.items()}
    forms["load"] = (_MAP_0F, int(double), wide, _LOAD)
    forms["store"] = (_MAP_0F, int(double), wide, _STORE)
    forms["broadcast"] = (_MAP_0F38, 1, int(double), 0x19 if double else 0x18)
    forms["xor"] = (_MAP_0F, 1, wide, 0xEF) if isa.broadcast else (_MAP_0F, int(double), 0, 0x57)
    for name, code in _FUSED.items():
        for k, order in enumerate(("132", "213", "231")):
            forms[name + order] = (_MAP_0F38, 1, int(double), code + 16 * k)
    return forms


def encode(code: Sequence[Instruction], isa: Isa, bits: int) -> bytes:
    """The whole kernel: windows, the instructions, return."""
    encoder = Encoder(isa, bits)
    head, tail = _windows(code, encoder)
    one = encoder.encode
    if not isa.broadcast:
        code = [shorter(i) for i in code]
    return b"".join((head, *(one(i) for i in code), tail))


def shorter(i: Instruction) -> Instruction:
    """The same with its factors or summands changed over, where that makes the VEX prefix shorter."""
    return Instruction(i.op, i.to, i.b, i.a) if i.op in _COMMUTE and i.a < 8 <= i.b < SLOT else i


def _windows(code: Sequence[Instruction], encoder: Encoder) -> tuple[bytes, bytes]:
    """Gives registers to the windows used most; the code before and behind."""
    if not encoder.isa.stretch:
        return b"", RETURN
    uses: Counter[tuple[int, int]] = Counter()
    for i in code:
        if not 0 <= i.b < SLOT:
            kind, number, _ = place(i.b, encoder)
            uses[kind, (number + WINDOW // 2) // WINDOW] += 1
    wanted = sorted((-count, window) for window, count in uses.items() if window[1] > 0 and count >= FEWEST)
    head, saved = bytearray(), bytearray()
    for register, (_, (kind, number)) in zip((*FREE, *SAVED), wanted, strict=False):
        if register in SAVED:
            head += _push(register)
            saved = bytearray(_pop(register)) + saved
        base = encoder.bases[kind, 0]
        unit = encoder.isa.vector_bytes if kind == SLOT else encoder.constant_bytes
        head += _lea(register, base, WINDOW * number * unit)
        encoder.bases[kind, number] = register
    return bytes(head), bytes(saved) + RETURN


def _push(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes((0x50 | register & 7,))


def _pop(register: int) -> bytes:
    return (b"\x41" if register > 7 else b"") + bytes((0x58 | register & 7,))


def _lea(register: int, base: int, distance: int) -> bytes:
    """lea register, [base + distance], the distance always in four bytes."""
    prefix = 0x48 | (register & 8) >> 1 | base >> 3
    return bytes((prefix, 0x8D, 0x80 | (register & 7) << 3 | base & 7)) + distance.to_bytes(4, "little", signed=True)
