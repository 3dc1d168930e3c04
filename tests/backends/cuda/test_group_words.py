"""Words of a group of lanes: which operations become one, with their signs."""

from __future__ import annotations

from condyle.backends.cuda.group.schedule import ONE, RCP, SINCOS, SUM, ZERO, Term, Word, words
from condyle.ir.program import Array, Output, Program
from condyle.operations import Node

X: tuple[Node, ...] = tuple(("input", 0, k) for k in range(4))


def words_of(nodes: tuple[Node, ...], *outputs: int) -> list[Word]:
    array = Array("y", (len(outputs),))
    return words(
        Program("f", (Array("x", (4,)),), (array,), (*X, *nodes), tuple(Output(0, *o) for o in enumerate(outputs)))
    )


def test_three_products_are_one_word_and_a_fourth_begins_another() -> None:
    nodes = (("mul", 0, 1), ("fma", 1, 2, 4), ("fnma", 2, 3, 5), ("fma", 0, 3, 6))
    terms = (Term(False, 0, 1), Term(False, 1, 2), Term(True, 2, 3))
    assert words_of(nodes, 7) == [Word(SUM, True, ZERO, terms, (6,)), Word(SUM, False, 6, (Term(False, 0, 3),), (7,))]
    read_twice = words_of(nodes, 5, 7)  # an answer is no part of a word
    assert read_twice[0] == Word(SUM, True, ZERO, terms[:2], (5,))


def test_signs_of_sums() -> None:
    assert words_of((("add", 0, 1), ("sub", 0, 1), ("neg", 0)), 4, 5, 6) == [
        Word(SUM, False, 0, (Term(False, 1, ONE),), (4,)),
        Word(SUM, False, 0, (Term(True, 1, ONE),), (5,)),
        Word(SUM, True, ZERO, (Term(True, 0, ONE),), (6,)),
    ]
    assert words_of((("fms", 0, 1, 2), ("fnms", 0, 1, 2)), 4, 5) == [
        Word(SUM, True, 2, (Term(False, 0, 1),), (4,)),
        Word(SUM, True, 2, (Term(True, 0, 1),), (5,)),
    ]


def test_functions_are_words_of_their_own() -> None:
    """Sine and cosine of an angle are one; of one that is used alone the other is none."""
    assert words_of((("sin", 0), ("cos", 0), ("cos", 1), ("rcp", 2)), 4, 5, 6, 7) == [
        Word(SINCOS, False, 0, (), (4, 5)), Word(SINCOS, False, 1, (), (-1, 6)), Word(RCP, False, 2, (), (7,)),
    ]  # fmt: skip
