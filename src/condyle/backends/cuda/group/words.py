"""Program -> words: a word is the work of a lane in one step, up to three chained multiply-adds or one special
function.

Sums, differences, products and changes of sign are multiply-adds with one or zero, with the same bits. A sum of
products whose parts have no other readers becomes one word, so a dot product of three terms takes one step instead of
three.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from condyle.ir.program import Program, operands
from condyle.operations import FUSED, LEAVES, TRIGONOMETRIC, Node

ZERO, ONE = -1, -2
"""Operands that are not nodes of the Program."""

CHAIN = 3
"""Multiply-adds of a word: with the addend and the result eight offsets, one load of 128 bits."""

SUM, RCP, SQRT, SINCOS = "sum", "rcp", "sqrt", "sincos"

OPERATIONS = frozenset({"neg", "add", "sub", "mul", "rcp", "sqrt", "sin", "cos", *FUSED})
"""Operations that a lane can compute in a step."""

SIGNS = {"fma": (False, False), "fms": (False, True), "fnma": (True, False), "fnms": (True, True)}


@dataclass(frozen=True, slots=True)
class Term:
    """a b, or -a b."""

    minus: bool
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Word:
    """A sum (-)addend + terms[0] + terms[1] + ..., each multiply-add rounded once; or a function of the addend.

    defines: the nodes that it computes; of "sincos" the sine, then the cosine, -1 for one that is not used.
    """

    kind: str
    minus: bool
    addend: int
    terms: tuple[Term, ...]
    defines: tuple[int, ...]

    def reads(self) -> set[int]:
        """The nodes and constants that it needs."""
        return {self.addend, *(value for term in self.terms for value in (term.a, term.b))}


def words(program: Program) -> list[Word]:
    """The words of a Program, each after those that it reads."""
    nodes = program.nodes
    uses = Counter(value for node in nodes for value in operands(node))
    uses.update(output.node for output in program.outputs)
    found: dict[int, Word] = {}
    depth: dict[int, int] = {}
    partners: dict[int, dict[str, int]] = {}
    for index, node in enumerate(nodes):
        if node[0] in TRIGONOMETRIC:
            partners.setdefault(operands(node)[0], {}).setdefault(node[0], index)
    for index, node in enumerate(nodes):
        if node[0] in LEAVES:
            continue
        if node[0] in TRIGONOMETRIC:
            (angle,) = operands(node)
            pair = partners[angle] if index in partners[angle].values() else {node[0]: index}
            word = Word(SINCOS, False, angle, (), (pair.get("sin", -1), pair.get("cos", -1)))
            found.setdefault(min(pair.values()), word)
        elif node[0] in (RCP, SQRT):
            word = Word(node[0], False, operands(node)[0], (), (index,))
            found[index] = word
        else:
            mergeable = {
                value
                for value in operands(node)
                if uses[value] == 1 and value in found and found[value].kind == SUM and len(found[value].terms) < CHAIN
            }
            word = min(
                (_sum(index, *one, mergeable, found) for one in _readings(node)),
                key=lambda word: (_depth(word, depth), -len(word.terms)),
            )
            for value in mergeable - word.reads():
                del found[value]
            found[index] = word
        depth[index] = 1 + _depth(word, depth)
    return list(found.values())


def _depth(word: Word, depth: dict[int, int]) -> int:
    return max(depth.get(value, 0) for value in word.reads())


def _readings(node: Node) -> list[tuple[bool, int, Term]]:
    """An operation as (sign of the addend, addend, term): one way, or two for a sum."""
    op, used = node[0], operands(node)
    if op in SIGNS:
        product, other = SIGNS[op]
        return [(other, used[2], Term(product, used[0], used[1]))]
    if op == "mul":
        return [(True, ZERO, Term(False, used[0], used[1]))]
    if op == "neg":
        return [(True, ZERO, Term(True, used[0], ONE))]
    first = (False, used[0], Term(op == "sub", used[1], ONE))
    return [first, (op == "sub", used[1], Term(False, used[0], ONE))]


def _sum(index: int, minus: bool, addend: int, term: Term, mergeable: set[int], word_of: dict[int, Word]) -> Word:
    """The word of one operation, appended to its addend's word if that has no other reader."""
    if addend in mergeable and not minus and addend not in (term.a, term.b):
        before = word_of[addend]
        return Word(SUM, before.minus, before.addend, (*before.terms, term), (index,))
    return Word(SUM, minus, addend, (term,), (index,))
