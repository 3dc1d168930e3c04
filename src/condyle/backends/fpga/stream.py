"""The words of a task and of a result: where each stands. The emitter, the packers and the documents read it here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Format


class Field(NamedTuple):
    """A word, its format, and its lowest bit."""

    word: Word
    format: Format
    low: int

    @property
    def high(self) -> int:
        return self.low + self.format.width - 1


def laid(words: Iterable[tuple[Word, Format]], low: int = 0) -> list[Field]:
    """Words one after the other, the first lowest."""
    found: list[Field] = []
    for word, format in words:
        found.append(Field(word, format, low))
        low += format.width
    return found


def width(fields: Iterable[Field]) -> int:
    """Bits up to the end of the last."""
    return max((field.high + 1 for field in fields), default=0)


def task_words(plan: Plan) -> list[Word]:
    """The words of a task's bus, from bit 0 on: q, v, u (a or tau), f_ext, the upper triangle of Minv."""
    u = plan.takes("a") or plan.takes("tau")
    return [*plan.takes("q"), *plan.takes("v"), *u, *plan.takes("f_ext"), *plan.takes("Minv")]


def shared(word: Word) -> tuple[Word, ...]:
    """The words that have one place: a and tau of a joint, of which a function takes one."""
    return (Word("tau", word.index), Word("a", word.index)) if word.name in ("a", "tau") else (word,)


def entries(word: Word, nv: int, symmetric: bool) -> list[int]:
    """Where a word stands in its array, flat: of a symmetric matrix in both triangles."""
    row, column = divmod(word.index, nv)
    return sorted({word.index, column * nv + row}) if symmetric else [word.index]


def bus(plan: Plan) -> list[Field]:
    """A task of any function: `in_data`."""
    return laid((word, plan.formats[word]) for word in task_words(plan))


def taken(plan: Plan, function: str) -> list[Field]:
    """Of the bus the words that a function takes, by their own names."""
    task = plan.tasks[function]
    return [
        Field(word, plan.formats[word], field.low)
        for field in bus(plan)
        for word in shared(field.word)
        if word in plan.formats and task.takes(word, plan.base)
    ]


def result(plan: Plan, function: str) -> list[Field]:
    """A result of a function: the low bits of `out_data`."""
    return laid(plan.results[function])


def result_width(plan: Plan) -> int:
    """Bits of `out_data`."""
    return max(width(result(plan, function)) for function in plan.functions)
