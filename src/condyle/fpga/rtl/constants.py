"""Products with constants as shifts and sums instead of DSPs.

A constant c = sum of d_p 2^p, d_p = +-1, is summed from its lowest digit up: acc <- floor(acc / 2^gap) + d x. No later
digit reaches the dropped bits, so the result is floor(c x / 2^right) to the last bit, as from a product in one DSP.
Each step is one sum with an output register, at most two bits wider than x. Digits are canonical signed ones
(Reitwiesner 1960), but for the lowest, which is made +1: the chain starts with x itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.datapath import Datapath, Op, unit_dsp
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.schedule import Tap
from condyle.fpga.rtl.target import ADDER, XCVU9P, Device, Format

# The sums of an operation, their operands aligned to the unit of the result, and their widths.


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


CONSTANTS = ("dsp", "shift", "auto")
"""dsp: by DSPs. shift: by shifts wherever possible. auto: by shifts if they take a smaller share of the device."""


def digits(value: int) -> list[tuple[int, int]]:
    """(place, +-1) of each digit, ascending, the first of them +1; value is not zero."""
    low = (value & -value).bit_length() - 1
    rest, place = (value >> low) - 1, low
    found = [(low, 1)]
    while rest:
        if rest & 1:
            digit = 2 - (rest & 3)
            found.append((place, digit))
            rest -= digit
        rest >>= 1
        place += 1
    return found


@dataclass(frozen=True)
class Step:
    """acc and x aligned and summed: the binary point of the sum, its width."""

    place: int
    digit: int
    unit: int
    width: int


def steps(value: int, width: int, right: int) -> list[Step] | None:
    """The chain of a constant for words of so many bits; None if a sum would have more than ADDER bits."""
    (at, _), *others = digits(value)
    lowest, highest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    low, high, found = lowest, highest, list[Step]()
    for place, digit in others:
        unit = min(place, right)
        ends = [x << (place - unit) for x in (lowest, highest)]
        low, high = (x << (at - unit) if at > unit else x >> (unit - at) for x in (low, high))
        if right < 0 or max(_bits(low), _bits(high), _bits(ends[0])) > ADDER:
            return None
        low, high = (low + ends[0], high + ends[1]) if digit > 0 else (low - ends[1], high - ends[0])
        at = unit
        found.append(Step(place, digit, unit, max(_bits(low), _bits(high))))
    return found


def _bits(x: int) -> int:
    """Bits of a signed integer."""
    return (x if x >= 0 else ~x).bit_length() + 1


@dataclass
class _Rewriting:
    """Copies a datapath and replaces the chosen products. new_index: of each operation, its copy's."""

    path: Datapath
    ops: list[Op] = field(default_factory=list[Op])
    new_index: list[int] = field(default_factory=list[int])

    def add(self, op: Op) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def copy(self, op: Op) -> int:
        return self.add(replace(op, args=tuple(self.new_index[a] for a in op.args)))

    def chain(self, k: int, chain: list[Step]) -> int:
        op, (x, c) = self.path.ops[k], self.path.ops[k].args
        was, constant = self.path.ops[x].format, self.path.ops[c]
        point = was.frac + constant.format.frac

        def term(place: int) -> int:
            return self.add(Op("wire", Format(was.width, point - place), (self.new_index[x],), op.stage))

        acc = term(digits(constant.value)[0][0])
        for n, step in enumerate(chain, 1):
            kind, args = "add" if step.digit > 0 else "sub", (acc, term(step.place))
            format = Format(step.width, point - step.unit)
            if n == len(chain):
                drop = point - step.unit - op.format.frac
                acc = self.add(replace(op, kind=kind, args=args, value=constant.value, factor=0, drop=drop, shifts=n))
            else:
                acc = self.add(Op(kind, format, args, op.stage))
        return acc


def shifted(path: Datapath, ii: int, mode: str, device: Device = XCVU9P) -> Datapath:
    """The datapath with products of constants replaced by chains as the mode says."""
    new = _Rewriting(path)
    for k, op in enumerate(path.ops):
        chain = _chosen(path, k, ii, mode, device)
        new.new_index.append(new.chain(k, chain) if chain else new.copy(op))
    inputs = tuple((word, new.new_index[k]) for word, k in path.inputs)
    groups = tuple((name, tuple((word, new.new_index[k]) for word, k in pairs)) for name, pairs in path.groups)
    shared = tuple(tuple(new.new_index[k] if k in path.folds else -1 for k in alike) for alike in path.shared)
    return replace(path, ops=tuple(new.ops), inputs=inputs, groups=groups, shared=shared)


def is_constant_product(path: Datapath, k: int) -> bool:
    op = path.ops[k]
    return op.kind == "mul" and path.ops[op.args[1]].kind == "const" and path.ops[op.args[1]].value != 0


def _chosen(path: Datapath, k: int, ii: int, mode: str, device: Device) -> list[Step] | None:
    if k in path.folds or not is_constant_product(path, k):
        return None  # folded branches have different constants, so it stays a factor
    op = path.ops[k]
    chain = steps(path.ops[op.args[1]].value, path.ops[op.args[0]].format.width, product_shift(path, k))
    if not chain or mode == "shift":
        return chain
    cost, saved = sum(step.width for step in chain), unit_dsp(path.unit(k), device) / ii
    return chain if cost / device.lut < saved / device.dsp else None


def with_constants(plan: Plan, mode: str, ii: int, device: Device = XCVU9P) -> Plan:
    """The plan with its constants as the mode says, at this interval; UnsupportedError names the modes."""
    if mode not in CONSTANTS:
        raise UnsupportedError(f"constants={mode!r}: allowed is {', '.join(CONSTANTS)}")
    if mode == "dsp":
        return plan
    return replace(plan, datapaths={name: shifted(path, ii, mode, device) for name, path in plan.datapaths.items()})
