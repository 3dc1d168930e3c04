"""Expansion, the last pass before a target: operations that the target does not have become others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from struct import unpack

from condyle.ir.program import Program, constant_of, operands
from condyle.operations import LEAVES, OPERATIONS, WORDS, threefry
from condyle.passes.dce import dce
from condyle.passes.elementary.values import Code, Rule, Value, fma

# random0 .. random3: Threefry's rounds on bits (`operations.threefry`), then the lowest 23 bits as a number in [0, 1).
#
# A word is the lowest 32 bits of a number. A number from 2^52 on (float32: 2^23), up to twice as much, has a whole
# number in its lowest bits, so x + 2^52 has the word of x there; and a word behind the exponent of a power of two is a
# number in steps of 2^-23.


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


_FILES = {file.name for file in iter_modules([str(Path(__file__).parent)])}
ELEMENTARY: Mapping[str, Rule] = {
    **{op: getattr(import_module(f"condyle.passes.elementary.{op}"), op) for op in OPERATIONS if op in _FILES},
    **RANDOM,
}
"""Functions that no target has as an operation: the files of this folder with the name of one, and random numbers."""


def expand(program: Program, bits: int, rules: Mapping[str, Rule] = ELEMENTARY) -> Program:
    """Before: t1 = tanh t0.  After: t1 = abs t0; t2 = add t1 t1; ...

    bits: of the number type, 64 or 32, because polynomials depend on it. rules: of the operations that are expanded.
    """
    if all(node[0] not in rules for node in program.nodes):
        return program
    code = Code(bits, rules)
    at: list[Value] = []
    origins: list[int] = []
    for k, node in enumerate(program.nodes):
        leaf = node[0] in LEAVES
        at.append(code.node(node) if leaf else code.op(node[0], *[at[a] for a in operands(node)]))
        origins += [k] * (len(code.nodes) - len(origins))
    return dce(program.rewritten(code.nodes, [value.index for value in at], origins))
