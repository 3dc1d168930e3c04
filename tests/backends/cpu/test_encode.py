"""Our bytes are those of the system's assembler."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from condyle.backends.cpu.encode import FREE, RETURN, SAVED, WINDOW, Encoder, encode
from condyle.backends.cpu.operations import NONE, ROWS, SLOT, Instruction, constant, slot
from condyle.backends.cpu.target import ISAS, SINGLE, Isa
from condyle.operations import AMOUNTS
from tests.programs import needs

needs_as = needs("as", "objcopy")

GENERAL = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{k}" for k in range(8, 16)))
NAMES = {"fma": "vfmadd", "fms": "vfmsub", "fnma": "vfnmadd", "fnms": "vfnmsub"}
FUSED = [name + order for name in NAMES for order in ("132", "213", "231")]
SHIFTS = {"bit0": ("ll", (63, 31)), "bit1": ("ll", (62, 30)), "shl": ("ll", (52, 23)), "shr": ("rl", (52, 23))}
ROUNDED = {"floor": 9, "rint": 8}
HALVES = {
    f"{name}{n}": (word, n)
    for name, word in (("rotl", "vprold"), ("up", "vpslld"), ("down", "vpsrld"))
    for n in ({32 - n for n in AMOUNTS} if name == "down" else AMOUNTS)
}
BITS = ("xor", "and", "andn", "or", "iadd")
OPERATIONS = ["load", "store", *(name for row in ROWS.values() for name in row.instructions)]


FORMS = {**ISAS, **{f"{name}-single": isa for name, isa in SINGLE.items()}}


@pytest.fixture(params=[(name, bits) for name in FORMS for bits in (64, 32)], ids=lambda p: f"{p[0]}-{p[1]}")
def machine(request: pytest.FixtureRequest) -> tuple[Isa, int]:
    name, bits = request.param
    return FORMS[name], bits


def windows(encoder: Encoder) -> None:
    """Every register that may be one points to a window of its own."""
    for k, register in enumerate((*FREE, *SAVED)):
        encoder.bases[(SLOT, -1)[k % 2], k // 2 + 1] = register


def on_bits(op: str, encoder: Encoder) -> str:
    """The name of an operation on bits."""
    letter = "q" if encoder.bits == 64 else "d"
    if op == "iadd":
        return f"vpadd{letter}"
    return f"vp{op}{letter}" if encoder.isa.broadcast else f"v{op}p{'d' if encoder.bits == 64 else 's'}"


def shift(op: str, bits: int) -> str:
    """The name of a shift, and by how many bits."""
    if op in HALVES:
        return f"{HALVES[op][0]} ${HALVES[op][1]}"
    return f"vps{SHIFTS[op][0]}{'q' if bits == 64 else 'd'} ${SHIFTS[op][1][bits == 32]}"


def text(i: Instruction, encoder: Encoder) -> str:
    """The instruction in the assembler's language (AT&T order: operands reversed)."""
    isa, bits = encoder.isa, encoder.bits
    if isa.scalar:
        return scalar_text(i, encoder)
    kind = "pd" if bits == 64 else "ps"
    vector = "%zmm" if isa.vector_bytes == 64 else "%ymm"
    to, first = f"{vector}{i.to}", f"{vector}{i.a}"
    last = f"{vector}{i.b}" if 0 <= i.b < SLOT else memory(i.b, encoder)
    if i.b < 0 and isa.broadcast:
        if i.op == "load":
            return f"vbroadcasts{kind[1]} {last}, {to}"
        last += f"{{1to{isa.lanes(bits)}}}"
    if i.op in ("load", "store"):
        return f"vmovap{kind[1]} {last}, {to}" if i.op == "load" else f"vmovap{kind[1]} {to}, {last}"
    alone = {"sqrt": "vsqrt", **dict.fromkeys(ROUNDED, "vrndscale" if isa.broadcast else "vround")}
    if i.op in alone:
        return f"{alone[i.op]}{kind} {f'${ROUNDED[i.op]}, ' if i.op in ROUNDED else ''}{last}, {to}"
    letter = "q" if bits == 64 else "d"
    if i.op in BITS:
        return f"{on_bits(i.op, encoder)} {last}, {first}, {to}"
    if i.op in SHIFTS or i.op in HALVES:
        return f"{shift(i.op, bits)}, {last}, {to}"
    if i.op == "pick":
        signs = f"{vector}{i.c}"
        if isa.broadcast:
            return f"vpmov{letter}2m {signs}, %k1\nvblendm{kind} {last}, {first}, {to}{{%k1}}"
        return f"vblendv{kind} {signs}, {last}, {first}, {to}"
    name = f"{NAMES[i.op[:-3]]}{i.op[-3:]}{kind}" if i.op in FUSED else f"v{i.op}{kind}"
    return f"{name} {last}, {first}, {to}"


def scalar_text(i: Instruction, encoder: Encoder) -> str:
    """The same on single numbers; copies between registers and operations on bits take whole registers."""
    isa, d = encoder.isa, "d" if encoder.bits == 64 else "s"
    evex = "{evex} " if isa.broadcast else ""
    inside = 0 <= i.b < SLOT
    to, first = f"%xmm{i.to}", f"%xmm{i.a}"
    last = f"%xmm{i.b}" if inside else memory(i.b, encoder)
    if i.op in ("load", "store"):
        name = f"{evex}vmovap{d}" if inside else f"{evex}vmovs{d}"
        return f"{name} {last}, {to}" if i.op == "load" else f"{name} {to}, {last}"
    if i.op == "sqrt":
        return f"{evex}vsqrts{d} {last}, {last if inside else to}, {to}"
    letter = "q" if d == "d" else "d"
    if i.op in BITS:
        repeated = "" if inside or not isa.broadcast else f"{{1to{128 // encoder.bits}}}"
        return f"{evex}{on_bits(i.op, encoder)} {last}{repeated}, {first}, {to}"
    if i.op in SHIFTS or i.op in HALVES:
        return f"{evex}{shift(i.op, encoder.bits)}, {last}, {to}"
    if i.op in ROUNDED:
        return f"{'vrndscale' if isa.broadcast else 'vround'}s{d} ${ROUNDED[i.op]}, {last}, {last}, {to}"
    if i.op == "pick":
        if isa.broadcast:
            return f"vpmov{letter}2m %xmm{i.c}, %k1\nvblendmp{d} {last}, {first}, {to}{{%k1}}"
        return f"vblendvp{d} %xmm{i.c}, {last}, {first}, {to}"
    name = f"{NAMES[i.op[:-3]]}{i.op[-3:]}s{d}" if i.op in FUSED else f"v{i.op}s{d}"
    return f"{evex}{name} {last}, {first}, {to}"


def memory(b: int, encoder: Encoder) -> str:
    """Where an operand lies, found without the encoder's arithmetic."""
    kind, number = (-1, -1 - b) if b < 0 else (SLOT, b - SLOT)
    single = encoder.bits // 8 if encoder.isa.scalar else encoder.isa.vector_bytes
    unit = encoder.constant_bytes if b < 0 else single
    window = WINDOW if encoder.isa.stretch else WINDOW // unit
    near = (number + window // 2) // window
    if (kind, near) not in encoder.bases:
        near = 0
    return f"{(number - near * window) * unit}(%{GENERAL[encoder.bases[kind, near]]})"


def assembled(lines: list[str], folder: Path) -> bytes:
    source, made, flat = folder / "a.s", folder / "a.o", folder / "a.bin"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["as", "--64", str(source), "-o", str(made)], check=True, capture_output=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", str(made), str(flat)], check=True, capture_output=True)
    return flat.read_bytes()


def arbitrary(rng: random.Random, isa: Isa) -> Instruction:
    def register() -> int:
        return rng.randrange(isa.registers)

    place = rng.choice((slot, constant))(rng.choice((rng.randrange(8), rng.randrange(300), rng.randrange(5000))))
    op = rng.choice([op for op in OPERATIONS if isa.broadcast or not op.startswith("rotl")])
    if op == "store":
        return Instruction(op, register(), NONE, slot(rng.randrange(5000)))
    if op == "pick":
        return Instruction(op, register(), register(), register(), register())
    if op in SHIFTS or op in ROUNDED or op in HALVES:
        return Instruction(op, register(), NONE, register())
    first = NONE if op in ("load", "sqrt") else register()
    return Instruction(op, register(), first, rng.choice((register(), place)))


@needs_as
@pytest.mark.parametrize("pointers", [False, True])
def test_bytes_are_the_assemblers(machine: tuple[Isa, int], pointers: bool, tmp_path: Path) -> None:
    """Thousands of random instructions of every form: the same bytes as from `as`."""
    isa, bits = machine
    rng = random.Random(7)
    encoder = Encoder(isa, bits)
    if pointers:
        windows(encoder)
    code = [arbitrary(rng, isa) for _ in range(6000)]
    assert {i.op for i in code} == {op for op in OPERATIONS if isa.broadcast or not op.startswith("rotl")}
    ours = [encoder.encode(i) for i in code]
    lines = [text(i, encoder) for i in code]
    theirs = assembled(lines, tmp_path)
    at = 0
    for line, mine in zip(lines, ours, strict=True):
        assert theirs[at : at + len(mine)] == mine, (line, mine.hex(), theirs[at : at + 12].hex())
        at += len(mine)
    assert at <= len(theirs) < at + 16  # padding of the section


@needs_as
@pytest.mark.parametrize(("name", "operands", "unit"), [("avx512", 256, 64), ("avx2", 8, 32)])
def test_windows_are_the_assemblers(name: str, operands: int, unit: int, tmp_path: Path) -> None:
    """Pointers to windows: pushed if they must be, set, and given back."""
    isa, vector = ISAS[name], "zmm0" if name == "avx512" else "ymm0"
    many = [Instruction("load", 0, NONE, slot(operands * k)) for k in range(1, 14) for _ in range(20 - k)]
    lines = [f"push %{register}" for register in ("rbx", "rbp", "r13", "r14", "r15", "r12")]
    registers = [GENERAL[r] for r in (*FREE, *SAVED)]
    head: list[str] = []
    for k, register in enumerate(registers, 1):
        if f"push %{register}" in lines:
            head.append(f"push %{register}")
        head.append(f"lea.d32 {operands * unit * k}(%rdi), %{register}")
    for k, register in enumerate(registers, 1):
        head += [f"vmovapd (%{register}), %{vector}"] * (20 - k)
    head += [line.replace("push", "pop") for line in reversed(lines)] + ["vzeroupper", "ret"]
    ours = encode(many, isa, 64)
    theirs = assembled(head, tmp_path)
    assert theirs[: len(ours)] == ours
    assert ours.endswith(RETURN)


@needs_as
@pytest.mark.parametrize("name", SINGLE)
def test_arrays_are_the_assemblers(name: str, tmp_path: Path) -> None:
    """Slots that are entries of the caller's rows: a register for each array, fetched through rdx."""
    isa = SINGLE[name]
    places = {k: (k % 9, 3 * k) for k in range(9)} | {9: (-1, 4), 10: (SLOT, 90)}
    code = [Instruction("load", k, NONE, slot(k)) for k in range(11)]
    registers = ["rax", "rcx", "r8", "r9", "r10", "r11", "rbx", "rbp", "r13"]
    lines: list[str] = []
    for k, register in enumerate(registers):
        lines += [f"push %{register}"] if register in ("rbx", "rbp", "r13") else []
        lines += [f"mov {8 * k}(%rdx), %{register}"]
    evex = "{evex} " if isa.broadcast else ""
    lines += [f"{evex}vmovsd {24 * k}(%{register}), %xmm{k}" for k, register in enumerate(registers)]
    lines += [f"{evex}vmovsd 32(%rsi), %xmm9", f"{evex}vmovsd 720(%rdi), %xmm10"]
    lines += ["pop %r13", "pop %rbp", "pop %rbx", "vzeroupper", "ret"]
    ours = encode(code, isa, 64, places)
    assert assembled(lines, tmp_path)[: len(ours)] == ours


def test_short_prefixes() -> None:
    """With AVX2 a sum changes over its operands where that saves a byte, a difference does not."""
    isa = ISAS["avx2"]
    assert len(encode([Instruction("add", 1, 2, 9)], isa, 64)) == 4 + len(RETURN)
    assert encode([Instruction("add", 1, 2, 9)], isa, 64) == encode([Instruction("add", 1, 9, 2)], isa, 64)
    assert len(encode([Instruction("sub", 1, 2, 9)], isa, 64)) == 5 + len(RETURN)


def test_rare_windows_get_no_register() -> None:
    """Far slots that are used a few times are reached with long displacements."""
    isa = ISAS["avx512"]
    few = [Instruction("load", 0, NONE, slot(1000))] * 3
    assert len(encode(few, isa, 64)) == 3 * 10 + len(RETURN)
