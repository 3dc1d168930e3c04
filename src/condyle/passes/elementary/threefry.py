"""random0 .. random3: Threefry's rounds on bits (`operations.threefry`), then the lowest 23 bits as a number in [0, 1).

A word is the lowest 32 bits of a number. A number from 2^52 on (float32: 2^23), up to twice as much, has a whole number
in its lowest bits, so x + 2^52 has the word of x there; and a word behind the exponent of a power of two is a number in
steps of 2^-23.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import unpack

from condyle.ir.program import constant_of
from condyle.operations import WORDS, threefry
from condyle.passes.elementary.values import Code, Rule, Value, fma

WHOLE = {64: 2.0**52, 32: 2.0**23}
"""Its lowest bit has the value 1."""
STEP = {64: 2.0**29, 32: 1.0}
"""Its lowest bit has the value 2^-23."""


def word(code: Code, x: int) -> Value:
    """A number whose lowest bits are x."""
    size = code.bits // 8
    (number,) = unpack("<f" if size == 4 else "<d", x.to_bytes(size, "little"))
    return code.node(("const", number))


def _word_of(x: Value) -> Value:
    """The word of the nearest whole number modulo 2^23; every step is exact."""
    if x.is_number:
        return word(x.code, round(constant_of(x.code.nodes[x.index])) % WORDS)
    whole = x.code.op("rint", x)
    turns = x.code.op("floor", whole * (1.0 / WORDS))
    return (x.code.op("fnma", turns, WORDS, whole) + WHOLE[x.bits]) & word(x.code, WORDS - 1)


def _random(k: int) -> Rule:
    def rule(*numbers: Value) -> Value:
        code = numbers[0].code
        words = [_word_of(x) for x in numbers]
        block = threefry(words[:4], words[4:], code.op, lambda x: word(code, x))
        step: Value | float = STEP[code.bits]
        for x in numbers:  # NaN where a number is not finite
            step = step if x.is_number else fma(x, 0.0, step)
        return (block[k] & word(code, WORDS - 1) | STEP[code.bits]) - step

    return rule


RANDOM: Mapping[str, Rule] = {f"random{k}": _random(k) for k in range(4)}
