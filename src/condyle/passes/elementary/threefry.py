"""random0 .. random3: Threefry's rounds on bits (`operations.threefry`), then the lowest 23 bits as a number in [0, 1).

A word is the lowest 32 bits of a number. A number from 2^52 on (float32: 2^23), up to twice as much, has a whole number
in its lowest bits, so x + 2^52 has the word of x there; and a word behind the exponent of a power of two is a number in
steps of 2^-23. Words that are the same in all states are Python's whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from condyle.ir.program import constant_of
from condyle.operations import WORDS, threefry
from condyle.passes.elementary.values import Code, Rule, Value, fma

Word: TypeAlias = "Value | int"
LOWEST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class _Numbers:
    """whole: its lowest bit has the value 1. step: its lowest bit has the value 2^-23."""

    whole: float
    step: float


NUMBERS = {64: _Numbers(2.0**52, 2.0**29), 32: _Numbers(2.0**23, 1.0)}


class Words:
    """Operations on words."""

    def __init__(self, code: Code) -> None:
        self.code = code

    def value(self, x: Word) -> Value:
        """A word as a number; bits that are infinite or NaN as a sum, since they are no constant."""
        if isinstance(x, Value):
            return x
        exponent = 0x7F800000
        if self.code.bits == 32 and x & exponent == exponent:
            return self.code.op("iadd", self.value(x - (1 << 23)), self.value(1 << 23))
        bits = np.uint32(x).view(np.float32) if self.code.bits == 32 else np.uint64(x).view(np.float64)
        return self.code.node(("const", float(bits)))

    def of_number(self, x: Value) -> Word:
        """The word of the nearest whole number; every step is exact."""
        node = self.code.nodes[x.index]
        if node[0] == "const":
            return round(constant_of(node)) % WORDS
        whole = self.code.op("rint", x)
        turns = self.code.op("floor", whole * (1.0 / WORDS))
        return (self.code.op("fnma", turns, WORDS, whole) + NUMBERS[x.bits].whole) & self.value(WORDS - 1)

    def add(self, x: Word, y: Word) -> Word:
        if isinstance(x, int) and isinstance(y, int):
            return x + y & LOWEST
        return x if y == 0 else y if x == 0 else self.code.op("iadd", self.value(x), self.value(y))

    def xor(self, x: Word, y: Word) -> Word:
        if isinstance(x, int) and isinstance(y, int):
            return x ^ y
        return x if y == 0 else y if x == 0 else self.value(x) ^ self.value(y)

    def rotated(self, x: Word, places: int) -> Word:
        if isinstance(x, int):
            return (x << places | x >> 32 - places) & LOWEST
        return self.code.op(f"rotl{places}", x)


def _random(k: int) -> Rule:
    def rule(*numbers: Value) -> Value:
        code = numbers[0].code
        words, step = Words(code), NUMBERS[code.bits].step
        bits = [words.of_number(x) for x in numbers]
        block = threefry(bits[:4], bits[4:], words.add, words.xor, words.rotated, int)
        checked: Value | float = step  # NaN where a number is not finite
        for x, word in zip(numbers, bits, strict=True):
            checked = fma(x, 0.0, checked) if isinstance(word, Value) else checked
        return (words.value(block[k]) & words.value(WORDS - 1) | step) - checked

    return rule


RANDOM: Mapping[str, Rule] = {f"random{k}": _random(k) for k in range(4)}
