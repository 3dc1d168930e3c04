"""All operations of the IR, in one table. A target implements these and nothing else.

A node of a Program is a tuple: the operation's name, then its operands.

    ("const", value)          a float
    ("input", port, k)        entry k (flat, row major) of input port number `port`
    ("add", a, b)             and so on, as the table says; a, b, c are numbers of earlier nodes

To add an operation, add a row here and its derivatives in `passes/partials.py`; then a row in the table of each target,
or, for all targets at once, its expansion into other operations: a file of `passes/elementary` with its name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Unpack

Numbers: TypeAlias = NDArray[np.floating]
W = TypeVar("W")

Node: TypeAlias = "tuple[str, Unpack[tuple[float, ...]]]"
"""All numbers are integers but a constant's value; `condyle.ir.program` has typed accessors."""

LEAVES = frozenset({"const", "input"})

ODD, EVEN = "odd", "even"
TRACED, DRAWN, FUSING, MACHINE = "traced", "drawn", "fusing", "machine"


@dataclass(frozen=True, slots=True)
class Operation:
    """One row.

    meaning: the NumPy function, on arrays of one dtype. arity: number of operands. mul, add, div: the multiplications,
    additions, and reciprocals or roots that it counts as (sine and cosine: see `ir/count.py`). size: number of
    operations that it is expanded to. depth: its latency, in additions. parity: odd for f(-x) = -f(x), even for f(-x) =
    f(x), x the first operand. commutes: whether operands may be swapped. source: where it is from. "traced": symbols;
    "drawn": symbols too, a random number; "fusing": contraction; "machine": expansion, just before a target. ufunc: the
    universal function that users call, "numpy.tanh" or "scipy.special.erf"; empty where there is none. c: its name in
    C's math.h.
    """

    name: str
    arity: int
    meaning: Callable[..., Numbers]
    mul: int = 0
    add: int = 0
    div: int = 0
    size: int = 1
    depth: int = 1
    parity: str = ""
    commutes: bool = False
    source: str = TRACED
    ufunc: str = ""
    c: str = ""


def _wide(of_numbers: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """The same in float64 at least, then rounded: NumPy's own of float32 is up to 3.5 units in the last place away."""

    def meaning(*operands: Numbers) -> Numbers:
        kind = np.result_type(*operands)
        wide = np.promote_types(kind, np.float64)
        return of_numbers(*(np.asarray(x, wide) for x in operands)).astype(kind)

    return meaning


def _select(x: Numbers, a: Numbers, b: Numbers) -> Numbers:
    return np.where(np.greater_equal(x, 0), a, b).astype(np.result_type(x, a, b), copy=False)[()]


def _of_bits(ufunc: Callable[..., Any], *, shift: bool = False) -> Callable[..., Numbers]:
    """The meaning of an operation on the bits of numbers, as unsigned integers."""

    def meaning(*numbers: Numbers) -> Numbers:
        arrays: list[Any] = [np.asarray(x) for x in numbers]
        kind = arrays[0].dtype
        words = [x.view(f"u{kind.itemsize}") for x in arrays]
        by = [words[0].dtype.type(np.finfo(kind).nmant)] if shift else []
        return ufunc(*words, *by).view(kind)

    return meaning


# Threefry4x32-20 of Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.


_PAIRS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
AMOUNTS = tuple(sorted({amount for pair in _PAIRS for amount in pair}))
"""The rotations that it has."""
WORDS = 1 << 23
"""Words of keys and counters are whole numbers below: float32 has all of them, and they stand in its lowest bits."""


def threefry(key: Sequence[W], counter: Sequence[W], apply: Callable[..., W], word: Callable[[int], W]) -> list[W]:
    """The four words of a block. apply: an operation by its name, on words. word: a number as a word."""
    keys = [*key, reduce(lambda x, y: apply("xor", x, y), key, word(0x1BD11BDA))]
    x = [apply("iadd", c, k) for c, k in zip(counter, key, strict=True)]
    for r in range(20):
        for to, by, amount in zip((0, 2), (3, 1) if r % 2 else (1, 3), _PAIRS[r % 8], strict=True):
            x[to] = apply("iadd", x[to], x[by])
            x[by] = apply("xor", apply(f"rotl{amount}", x[by]), x[to])
        if r % 4 == 3:
            n = r // 4 + 1
            a, b, c, d = (keys[(n + i) % 5] for i in range(4))
            x = [apply("iadd", *pair) for pair in zip(x, (a, b, c, apply("iadd", d, word(n))), strict=True)]
    return x


def uniforms(key: Sequence[Numbers], counter: Sequence[Numbers]) -> list[Numbers]:
    """The lowest 23 bits of each word of a block, times 2**-23; NaN where the key or the counter is not finite.

    Of any other number the nearest whole number (of halves the even one) is taken modulo 2**23.
    """
    numbers: list[Any] = [np.rint(x) for x in (*key, *counter)]
    finite = reduce(np.logical_and, map(np.isfinite, numbers))
    whole = [np.where(finite, x, 0) for x in numbers]
    words: list[Any] = [np.asarray(x - np.floor(x / WORDS) * WORDS).astype(np.uint32) for x in whole]
    block = threefry(words[:4], words[4:], _on_words, np.uint32)
    kind = np.result_type(*numbers)
    return [np.where(finite, (x & np.uint32(WORDS - 1)) / WORDS, np.nan).astype(kind) for x in block]


def _rotated(amount: int) -> Callable[..., Any]:
    def rotated(word: Any) -> Any:
        of_type = word.dtype.type
        return word << of_type(amount) | (word & of_type(0xFFFFFFFF)) >> of_type(32 - amount)

    return rotated


_ROTATIONS = {f"rotl{amount}": _rotated(amount) for amount in AMOUNTS}
_OF_WORDS: Mapping[str, Callable[..., Any]] = {"iadd": np.add, "xor": np.bitwise_xor, **_ROTATIONS}


def _on_words(op: str, *words: Any) -> Any:
    return _OF_WORDS[op](*words)


def _random(k: int) -> Callable[..., Numbers]:
    return lambda *words: uniforms(words[:4], words[4:])[k][()]


def _rcp(a: Numbers) -> Numbers:
    return 1.0 / a


def _fma(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    return a * b + c


def _fms(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    return a * b - c


def _fnma(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    return c - a * b


def _fnms(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    return -(a * b) - c


_ROWS = (
    Operation("neg", 1, np.negative, add=1),
    Operation("add", 2, operator.add, add=1, commutes=True),
    Operation("sub", 2, operator.sub, add=1),
    Operation("mul", 2, operator.mul, mul=1, commutes=True),
    # x / y is mul x (rcp y)
    Operation("rcp", 1, _rcp, div=1, depth=4, parity=ODD),
    Operation("sqrt", 1, np.sqrt, div=1, depth=5, ufunc="numpy.sqrt", c="sqrt"),
    Operation("sin", 1, np.sin, depth=11, parity=ODD, ufunc="numpy.sin", c="sin"),
    Operation("cos", 1, np.cos, depth=11, parity=EVEN, ufunc="numpy.cos", c="cos"),
    Operation("abs", 1, np.abs, add=1, parity=EVEN, ufunc="numpy.absolute", c="fabs"),
    Operation("min", 2, np.minimum, add=1, commutes=True, ufunc="numpy.minimum"),
    Operation("max", 2, np.maximum, add=1, commutes=True, ufunc="numpy.maximum"),
    Operation("floor", 1, np.floor, add=1, depth=2, ufunc="numpy.floor", c="floor"),
    # to the nearest integer, halves to the even one
    Operation("rint", 1, np.rint, add=1, depth=2, parity=ODD, ufunc="numpy.rint", c="rint"),
    # select x a b: a where x >= 0 (-0.0 too), else b (of NaN too)
    Operation("select", 3, _select, add=1),
    Operation("exp", 1, _wide(np.exp), mul=17, add=23, size=27, depth=25, ufunc="numpy.exp", c="exp"),
    Operation("log", 1, _wide(np.log), mul=17, add=31, div=1, size=40, depth=30, ufunc="numpy.log", c="log"),
    Operation(
        "tanh", 1, _wide(np.tanh), mul=28, add=37, div=1, size=42, depth=35, parity=ODD, ufunc="numpy.tanh", c="tanh"
    ),
    # atan2 y x
    Operation(
        "atan2",
        2,
        _wide(np.arctan2),
        mul=20,
        add=54,
        div=1,
        size=62,
        depth=35,
        parity=ODD,
        ufunc="numpy.arctan2",
        c="atan2",
    ),
    Operation("fma", 3, _fma, mul=1, add=1, source=FUSING),
    Operation("fms", 3, _fms, mul=1, add=1, source=FUSING),
    Operation("fnma", 3, _fnma, mul=1, add=1, source=FUSING),
    Operation("fnms", 3, _fnms, mul=1, add=1, source=FUSING),
    Operation("div", 2, np.divide, div=1, depth=4, source=MACHINE),
    # on bits; shr moves the exponent to the lowest bits, shl back: by 52 bits in float64, 23 in float32
    Operation("and", 2, _of_bits(np.bitwise_and), add=1, commutes=True, source=MACHINE),
    Operation("or", 2, _of_bits(np.bitwise_or), add=1, commutes=True, source=MACHINE),
    Operation("xor", 2, _of_bits(np.bitwise_xor), add=1, commutes=True, source=MACHINE),
    Operation("shl", 1, _of_bits(np.left_shift, shift=True), add=1, source=MACHINE),
    Operation("shr", 1, _of_bits(np.right_shift, shift=True), add=1, source=MACHINE),
    # on the lowest 32 bits as a whole number: addition modulo 2**32, rotation to higher bits; bits above mean nothing
    Operation("iadd", 2, _of_bits(np.add), add=1, commutes=True, source=MACHINE),
    *(Operation(op, 1, _of_bits(rotated), add=1, source=MACHINE) for op, rotated in _ROTATIONS.items()),
    # random0 k0 k1 k2 k3 c0 c1 c2 c3: the first word of the block of a key and a counter, as a number in [0, 1)
    *(
        Operation(f"random{k}", 8, _random(k), mul=24, add=add, size=8 + add, depth=80, source=DRAWN)
        for k, add in enumerate((193, 195, 193, 196))
    ),
)

OPERATIONS = {row.name: row for row in _ROWS}
ARITY = {row.name: row.arity for row in _ROWS}
MEANING = {row.name: row.meaning for row in _ROWS}
DEPTH = {**dict.fromkeys(LEAVES, 0), **{row.name: row.depth for row in _ROWS}}
FUSED = frozenset(row.name for row in _ROWS if row.source == FUSING)
TRIGONOMETRIC = frozenset({"sin", "cos"})
"""Operations that targets compute in pairs, for one angle."""
