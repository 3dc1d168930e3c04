"""The bits of each word of a task and of a result, for the emitters, the packers and the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from condyle.fpga.rtl.accelerator import Id, Plan
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.formats import Format
from condyle.fpga.rtl.header import RETURNED_BITS, TAG_BITS

Words = Sequence[tuple[Word, Format]]
DATA, TAG, CODE, OVER, ERROR = (Word(f"stream.{name}", 0) for name in ("data", "tag", "code", "over", "error"))
"""The words of a function as one, and what goes with them; names of a function's own words have no dot."""

BAUD = 115_200
"""Bits a second of the UART in `serial.v`; a byte takes ten."""


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
    """Bits of all fields: up to the end of the last one."""
    return max((field.high + 1 for field in fields), default=0)


def head(id: Id) -> Words:
    """The words that travel with a task: see `Id`."""
    return [(TAG, Format(RETURNED_BITS, 0)), (CODE, Format(id.code_bits, 0)), (OVER, Format(1, 0))]


class Bus(dict[Word, str]):
    """A wire of the Verilog: of each word that it carries, the first lowest, the text of its bits."""

    def __init__(self, name: str, words: Words) -> None:
        self.name, fields = name, laid(words)
        self.width = width(fields)
        self.field_of = {word: field for field in fields for word in shared(field.word)}
        self.data = [word for word, _ in words if word not in (TAG, CODE, OVER, ERROR)]
        super().__init__({word: self.span([word]) for word in self.field_of})

    def span(self, words: Iterable[Word]) -> str:
        """The bits of adjacent words; an empty text if there are none."""
        fields = [self.field_of[word] for word in words]
        low, high = min((field.low for field in fields), default=0), max((field.high for field in fields), default=-1)
        return f"{self.name}[{high}:{low}]" if high > low else f"{self.name}[{low}]" * (high == low)

    def part(self, *names: str) -> str:
        """The bits of adjacent arrays."""
        return self.span(word for word in self if word.name in names)

    @property
    def id(self) -> str:
        """The bits that travel with a task: see `head`."""
        return self.span([TAG, CODE, OVER])

    def renamed(self, name: str) -> dict[Word, str]:
        """Its data under another name."""
        return {Word(name, word.index): self[word] for word in self.data}


def shared(word: Word) -> tuple[Word, ...]:
    """The words with the same bits: a and tau of a joint, because a function takes one of them."""
    return (Word("tau", word.index), Word("a", word.index)) if word.name in ("a", "tau") else (word,)


def entries(word: Word, nv: int, symmetric: bool) -> list[int]:
    """The entries of a word in its flat array; two for a word of a symmetric matrix."""
    row, column = divmod(word.index, nv)
    return sorted({word.index, column * nv + row}) if symmetric else [word.index]


def bus(plan: Plan) -> list[Field]:
    """A task of any function: `in_data`; q, v, u (a or tau), f_ext, the upper triangle of Minv."""
    names = ("q", "v", "a" if plan.takes("a") else "tau", "f_ext", "Minv")
    return laid((word, plan.formats[word]) for name in names for word in plan.takes(name))


def taken(plan: Plan, function: str) -> list[Field]:
    """The words of the bus that a function takes, by their own names."""
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
    """Bits of `out_data`; one where all results are empty."""
    return max(1, *(width(result(plan, function)) for function in plan.functions))


def serial_bytes(plan: Plan) -> tuple[int, int]:
    """Bytes of a task and of a result of any function on the UART: code, tag, words; of a result also its flags."""
    head, data = 1 + TAG_BITS // 8, (width(bus(plan)), result_width(plan))
    return head + -(-data[0] // 8), head + 1 + -(-data[1] // 8)
