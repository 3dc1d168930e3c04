"""random0 .. random3: Threefry's rounds on bits (`operations.threefry`), then the lowest 23 bits as a number in [0, 1).

A word is the lowest 32 bits of a number. A number from 2^52 on (float32: 2^23), up to twice as much, has a whole number
in its lowest bits, so x + 2^52 has the word of x there; and a word behind the exponent of a power of two is a number in
steps of 2^-23. Words that are the same in all states are Python's whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from condyle.operations import WORDS, threefry
from condyle.passes.elementary.values import Code, Rule, Value, minimum, select

Word: TypeAlias = "Value | int"
LOWEST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class _Numbers:
    """whole: its lowest bit has the value 1. step: its lowest bit has the value 2^-23."""

    whole: float
    step: float


NUMBERS = {64: _Numbers(2.0**52, 2.0**29), 32: _Numbers(2.0**23, 1.0)}


class _Words:
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
        """The word of a whole number."""
        node = self.code.nodes[x.index]
        if x.is_number and 0.0 <= node[1] < WORDS:
            return round(node[1])
        return (x + NUMBERS[x.bits].whole) & self.value(WORDS - 1)

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
    def rule(*words: Value) -> Value:
        code = words[0].code
        work, step = _Words(code), NUMBERS[code.bits].step
        bits = [work.of_number(x) for x in words]
        block = threefry(bits[:4], bits[4:], work.add, work.xor, work.rotated, int)
        number = work.value(block[k]) & work.value(WORDS - 1) | step
        return number - _checked(code, [x for x, word in zip(words, bits, strict=True) if isinstance(word, Value)])

    return rule


def _checked(code: Code, words: list[Value]) -> Value | float:
    """The power of two before the word; NaN where a word of the key or the counter is not in [0, 2^23)."""
    step = NUMBERS[code.bits].step
    if not words:
        return step
    least = reduce(minimum, [minimum(x, WORDS - 1.0 - x) for x in words])
    nan = code.node(("const", 1.5)) | 2.0  # all bits of the exponent
    return select(least, step, nan)


RANDOM: Mapping[str, Rule] = {f"random{k}": _random(k) for k in range(4)}
