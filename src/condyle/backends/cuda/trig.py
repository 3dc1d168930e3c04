"""Sine and cosine in PTX, accurate for every finite angle.

|x| <= REACH: x = n pi/2 + r with pi/2 as a sum of three numbers and fused multiply-adds, so that the first step is
exact; minimax polynomials on |r| <= pi/4; polynomial and sign by quadrant. Larger angles are first reduced to [-pi,
pi]: the fraction of x / 2 pi by 128 bits of 1 / 2 pi, at the position given by the exponent (Payne and Hanek 1983).
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache

from condyle.passes.elementary.values import COSINE, ROUND, SINE
from condyle.text import Emitter

# pi to any number of bits, and the constants of the range reduction of sine and cosine.


WORDS = 20
"""Words of 64 bits: one of zeros, then as many bits of 1 / 2 pi as the largest float64 needs."""


@cache
def pi(bits: int) -> Fraction:
    """pi with an error below 2^-bits, by Machin's formula."""
    one = 1 << (bits + 16)
    return Fraction(16 * _arctan(5, one) - 4 * _arctan(239, one), one)


def _arctan(n: int, unit: int) -> int:
    """one * arctan(1 / n)."""
    term = total = unit // n
    k = 1
    while term:
        term //= -n * n
        k += 2
        total += term // k
    return total


def quarter_turn(bits: int) -> tuple[float, float, float]:
    """pi/2 as a sum of three numbers of this format, each nearest to the rest after the ones before it."""
    rest, parts = pi(256) / 2, list[float]()
    for _ in range(3):
        parts.append(nearest(rest, bits))
        rest -= Fraction(parts[-1])
    first, second, third = parts
    return first, second, third


def nearest(x: Fraction, bits: int) -> float:
    """x in float32 or float64."""
    value = float(x)
    return value if bits == 64 else float(struct.unpack("<f", struct.pack("<f", value))[0])


def turns() -> tuple[int, ...]:
    """64 zero bits, then the bits of 1 / 2 pi after the binary point, in words."""
    bits = 64 * (WORDS - 1)
    value = int((1 << bits) / (2 * pi(bits + 64)))
    return (0, *((value >> shift) & 0xFFFF_FFFF_FFFF_FFFF for shift in range(bits - 64, -1, -64)))


REACH = 1e5


def literal(value: float, bits: int) -> str:
    """A number as an exact PTX literal."""
    if bits == 32:
        return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"
    return f"0d{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def write_table(e: Emitter) -> None:
    """Writes the bits of 1 / 2 pi, for large angles."""
    with e.block(f".const .align 8 .b64 turns[{WORDS}] = {{", "};"):
        words = [f"0x{word:016X}" for word in turns()]
        e(*(", ".join(words[k : k + 4]) + ("," if k + 4 < WORDS else "") for k in range(0, WORDS, 4)))


def registers(bits: int) -> tuple[str, ...]:
    """The registers that the code of this file uses."""
    return (
        f".reg .b{bits} %i<6>;",
        f".reg .f{bits} %n, %x, %z, %r, %rz, %p, %s, %c, %big;",
        ".reg .pred %odd, %far;",
        ".reg .f64 %wide, %turned;",
        ".reg .b32 %row, %left_rows, %word, %shift, %back;",
        ".reg .b64 %exact, %mantissa, %high, %low, %next, %part, %address;",
        ".reg .pred %again, %finite;",
    )


def write_sincos(e: Emitter, place: int, sine: str | None, cosine: str | None, bits: int) -> None:
    """Computes sine and cosine (registers) of the checked angle in this lane's row at `place`."""
    f, first = f"f{bits}", quarter_turn(bits)
    e(f"ld.shared.{f} %x, [%mine+{place}];")
    e(f"fma.rn.{f} %n, %x, {literal(nearest(2 / pi(256), bits), bits)}, {literal(ROUND[bits], bits)};")
    e(f"mov.b{bits} %i0, %n;")
    e(f"sub.rn.{f} %n, %n, {literal(ROUND[bits], bits)};")
    for k, part in enumerate(first):
        e(f"fma.rn.{f} %r, %n, {literal(-part, bits)}, {'%x' if k == 0 else '%r'};")
    e(f"mul.rn.{f} %z, %r, %r;", f"mul.rn.{f} %rz, %r, %z;")
    _polynomial(e, "%s", SINE[bits], bits)
    e(f"fma.rn.{f} %s, %s, %rz, %r;")
    _polynomial(e, "%c", (*COSINE[bits], -0.5), bits)
    e(f"fma.rn.{f} %c, %c, %z, {literal(1.0, bits)};")
    e(f"and.b{bits} %i1, %i0, 1;", f"setp.ne.s{bits} %odd, %i1, 0;")
    sign = f"0x{1 << (bits - 1):X}"
    for to, usual, swapped, shifted in ((sine, "%s", "%c", "%i0"), (cosine, "%c", "%s", "%i2")):
        if to is None:
            continue
        if to == cosine:
            e(f"add.s{bits} %i2, %i0, 1;")
        e(f"shl.b{bits} %i3, {shifted}, {bits - 2};", f"and.b{bits} %i3, %i3, {sign};")
        e(f"selp.{f} %p, {swapped}, {usual}, %odd;", f"mov.b{bits} %i4, %p;")
        e(f"xor.b{bits} %i4, %i4, %i3;", f"mov.b{bits} {to}, %i4;")


def _polynomial(e: Emitter, to: str, coefficients: tuple[float, ...], bits: int) -> None:
    first, second, *others = (literal(c, bits) for c in coefficients)
    e(f"fma.rn.f{bits} {to}, %z, {first}, {second};")
    e(*(f"fma.rn.f{bits} {to}, {to}, %z, {c};" for c in others))


def write_angle(e: Emitter, place: int, angle: str, first: bool, bits: int) -> None:
    """Stores an angle (register or constant) in this lane's row at `place`; %big is the largest |angle| since the
    first."""
    f = f"f{bits}"
    e(f"mov.{f} %x, {angle};", f"st.shared.{f} [%mine+{place}], %x;", f"abs.{f} %x, %x;")
    e(f"mov.{f} %big, %x;" if first else f"max.{f} %big, %big, %x;")


def write_guard(e: Emitter, place: int, count: int, label: str, bits: int) -> None:
    """If an angle of any lane is too large, reduces all rows from `place` on."""
    f, step = f"f{bits}", 4 * bits
    e(f"setp.gt.{f} %far, %big, {literal(REACH, bits)};", "vote.sync.any.pred %far, %far, 0xFFFFFFFF;")
    e(f"@!%far bra {label}_NEAR;", f"add.u32 %row, %mine, {place};")
    e(f"mov.u32 %left_rows, {count};", f"{label}_NEXT:", '.pragma "nounroll";', f"ld.shared.{f} %x, [%row];")
    _reduce(e, bits)
    e(f"st.shared.{f} [%row], %x;", f"add.u32 %row, %row, {step};", "sub.u32 %left_rows, %left_rows, 1;")
    e("setp.ne.u32 %again, %left_rows, 0;", f"@%again bra {label}_NEXT;", f"{label}_NEAR:")


def _reduce(e: Emitter, bits: int) -> None:
    """Reduces %x modulo 2 pi if it is finite and too large."""
    e("mov.f64 %wide, %x;" if bits == 64 else "cvt.f64.f32 %wide, %x;")
    e(
        "mov.b64 %exact, %wide;",
        "shr.u64 %part, %exact, 52;",
        "cvt.u32.u64 %word, %part;",
        "and.b32 %word, %word, 2047;",
    )
    # x is an integer mantissa times 2^(word - 1075); higher bits of 1 / 2 pi only add whole turns
    e(
        "sub.u32 %word, %word, 1011;",
        "min.u32 %word, %word, 1035;",
        "and.b32 %shift, %word, 63;",
        "sub.u32 %back, 64, %shift;",
    )
    e("shr.u32 %word, %word, 6;", "mul.wide.u32 %part, %word, 8;", "mov.u64 %address, turns;")
    e("add.u64 %address, %address, %part;")
    e("ld.const.u64 %high, [%address];", "ld.const.u64 %low, [%address+8];", "ld.const.u64 %next, [%address+16];")
    e("shl.b64 %high, %high, %shift;", "shr.u64 %part, %low, %back;", "or.b64 %high, %high, %part;")
    e("shl.b64 %low, %low, %shift;", "shr.u64 %part, %next, %back;", "or.b64 %low, %low, %part;")
    e("and.b64 %mantissa, %exact, 0xFFFFFFFFFFFFF;", "or.b64 %mantissa, %mantissa, 0x10000000000000;")
    e("mul.lo.u64 %high, %mantissa, %high;", "mul.hi.u64 %low, %mantissa, %low;", "add.u64 %high, %high, %low;")
    e("cvt.rn.f64.s64 %turned, %high;", f"mul.rn.f64 %turned, %turned, {literal(2 * math.pi / 2**64, 64)};")
    e("setp.lt.s64 %finite, %exact, 0;", "neg.f64 %wide, %turned;", "selp.f64 %turned, %wide, %turned, %finite;")
    e("mov.f64 %wide, %turned;" if bits == 64 else "cvt.rn.f32.f64 %p, %turned;")
    f, infinity = f"f{bits}", literal(math.inf, bits)
    e(f"abs.{f} %big, %x;", f"setp.gt.{f} %far, %big, {literal(REACH, bits)};")
    e(f"setp.lt.and.{f} %far, %big, {infinity}, %far;", f"selp.{f} %x, {'%wide' if bits == 64 else '%p'}, %x, %far;")
