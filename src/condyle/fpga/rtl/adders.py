"""The sums of an operation, their operands aligned to the unit of the result, and their widths."""

from __future__ import annotations

from typing import NamedTuple

from condyle.fpga.rtl.binding import Tap
from condyle.fpga.rtl.datapath import Datapath
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.target import ADDER


def literal(value: int, width: int) -> str:
    """An integer as a signed literal."""
    return f"{width}'sd{value}" if value >= 0 else f"-{width}'sd{-value}"


def name_of(where: Tap | int, width: int) -> str:
    """A register, or a constant of so many bits."""
    return str(where) if isinstance(where, Tap) else literal(where, width)


class Operand(NamedTuple):
    """An expression, its bits, and how far it is shifted to the right."""

    text: str
    width: int
    right: int = 0

    def aligned(self, width: int) -> str:
        """Aligned to the unit of the result and extended to so many bits: wires, no logic."""
        if "'" in self.text:
            value = int(self.text.replace(f"{self.width}'sd", ""))
            return literal(value >> self.right if self.right > 0 else value << -self.right, width)
        if self.right == 0 and self.width == width:
            return self.text
        top, low = self.width - 1, min(max(0, self.right), self.width - 1)
        kept = f"{self.text}[{top}:{low}]" if low else self.text
        spare = width - self.bits
        parts = [f"{{{spare}{{{self.text}[{top}]}}}}"] * (spare > 0) + [kept] + [f"{-self.right}'b0"] * (self.right < 0)
        return f"$signed({{{', '.join(parts)}}})"

    @property
    def bits(self) -> int:
        """After the shift."""
        return max(1, self.width - self.right)


class Product(NamedTuple):
    """A product of two signals in pieces: the joined upper and lower products, and the cross products."""

    straight: Operand
    across: tuple[Operand, ...]


def product_shift(datapath: Datapath, k: int) -> int:
    """How far the exact product is shifted to the right."""
    op, ops = datapath.ops[k], datapath.ops
    first, second = (ops[a].format for a in op.args)
    return first.frac + second.narrowed(op.factor).frac - op.format.frac


def product(datapath: Datapath, k: int, unit: str = "u") -> Product:
    """The pieces of a product in the words of its unit: p11 of the upper pieces, p00 of the lower ones."""
    _, a, b = datapath.unit(k)
    right = product_shift(datapath, k)
    first, second = splits(a, b)
    straight = Operand(f"{unit}_p11", a + b - first - second, right - first - second)
    if first and second:  # the lower product is unsigned and has exactly the bits below the upper one
        straight = Operand(f"{{{unit}_p11, {unit}_p00[{first + second - 1}:0]}}", a + b, right)
    pieces = (("p01", first, first + b - second, second), ("p10", second, a - first + second, first))
    across = tuple(
        Operand(f"$signed({unit}_{name}[{width - 1}:0])", width, right - place)
        for name, there, width, place in pieces
        if there
    )
    return Product(straight, across)


def adder_bits(a: Operand, b: Operand) -> int:
    """Bits of the operands of a sum, which has one more."""
    return max(a.bits, b.bits, 2)


def widest(datapath: Datapath) -> int:
    """Bits of the operands of the widest sum between two registers."""
    return max((bits for k in range(len(datapath.ops)) for bits in _adders(datapath, k)), default=0)


def _adders(datapath: Datapath, k: int) -> list[int]:
    op = datapath.ops[k]
    if op.kind in ("add", "sub"):
        a, b = summands(datapath, k)
        return [adder_bits(a, b)]
    if op.kind != "mul":
        return []
    result, across = Operand("", op.format.width), product(datapath, k).across
    if len(across) == 2:
        return [adder_bits(*across), adder_bits(result, Operand("", ADDER))]
    return [adder_bits(result, piece) for piece in across]


def summands(datapath: Datapath, k: int, texts: tuple[str, str] = ("", "")) -> tuple[Operand, Operand]:
    """The operands of a sum."""
    op = datapath.ops[k]
    a, b = (
        Operand(text, datapath.ops[x].format.width, datapath.ops[x].format.frac - op.format.frac - op.drop)
        for text, x in zip(texts, op.args, strict=True)
    )
    return a, b
