"""The bits of each word of a task and of a result, for the emitters, the packers and the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from condyle.fpga.rtl.accelerator import BIAS, COLUMNS, INVERSE, SOLVED, STAGE, STEP, TRIG, Id, Leaf, Plan
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.header import RETURNED_BITS, TAG_BITS
from condyle.fpga.rtl.target import Format

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


# The queues between arrays: which words wait in each, for which codes, and its depth.
#
# Before a task enters an array it takes a credit of the queue behind it, so no array ever stalls.


ROOM = 4
"""Entries of a queue beyond those that a full pipeline fills."""
TURN = 2
"""Cycles from a word's arrival in a queue until its credit can be used again."""
ENTRY, MERGED = 2, 4
"""Depths of the queue of tasks and of the queue of merged results."""
NAMES = {BIAS: "c", COLUMNS: "dtau", INVERSE: "inverse", SOLVED: "back", STAGE: "round"}
"""The queue of a group whose words go on to another array."""


@dataclass(frozen=True)
class Queue:
    """The queue for the words of a group with these codes. is_result: they leave the accelerator. counted: the tasks of
    its loop are counted when they enter, at most as many as its entries, so they take no credit of it."""

    name: str
    leaf: Leaf
    codes: tuple[int, ...]
    is_result: bool = False
    counted: bool = False


def queues(plan: Plan) -> dict[str, list[Queue]]:
    """For each array the queues of its results. Those of a second pass or of a next stage are counted."""
    found: dict[str, list[Queue]] = {}
    for array, path in plan.datapaths.items():
        ways: list[Queue] = []
        for leaf in (Leaf(array, group) for group, _ in path.groups):
            here, steps = plan.leaving(leaf), plan.leaving(STEP) if leaf == SOLVED else []
            on = [code for code in plan.through(leaf) if code not in (*here, *steps)]
            if leaf == TRIG:
                to = {name: tuple(sorted(codes_of(plan, name))) for name in fed_by_trig(plan)}
                ways += [Queue(f"{name}_in", leaf, codes) for name, codes in to.items()]
                continue
            if here:
                name = array if len(path.groups) == 1 or leaf == STEP else "_".join(leaf)
                ways.append(Queue(f"out_{name}", leaf, tuple(here), is_result=True))
            if on:
                ways.append(Queue(NAMES[leaf], leaf, tuple(on), counted=leaf in (SOLVED, STAGE)))
            if steps:
                ways.append(Queue("solved", leaf, tuple(steps)))
        found[array] = ways
    return found


def fed_by_trig(plan: Plan) -> list[str]:
    return [name for name in ("dynamics", "mass") if name in plan.datapaths]


def codes_of(plan: Plan, array: str) -> set[int]:
    """The codes of all words that enter an array."""
    groups = plan.datapaths[array].groups
    return {code for group, _ in groups for code in plan.through(Leaf(array, group))}


def depths(plan: Plan, ii: int, tap: Callable[[Leaf], int]) -> Mapping[str, int]:
    """The depth of each queue by name. tap: the cycle in which a group leaves its array."""
    trig, c, inverse, dtau, solve = map(tap, (TRIG, BIAS, INVERSE, COLUMNS, SOLVED))
    net = trig + max(c, inverse)
    waits = {"c": inverse - c, "inverse": c - inverse}

    def depth(cycles: int, interval: int = ii) -> int:
        return cycles // interval + ROOM

    found = {
        way.name: depth(tap(way.leaf) + TURN + max(0, waits.get(way.name, 0)))
        for ways in queues(plan).values()
        for way in ways
    }
    again, course = depth(net + trig + solve + dtau + 8, 2 * ii), depth(net + solve + tap(STAGE) + 6)
    found |= dict.fromkeys(("state", "back", "kept"), again) if plan.fed_back else {}
    found |= {"course": course} if "step" in plan.datapaths else {}
    found |= {"round": course} if plan.has_rounds else {}
    found |= {"tau": depth(net + 4)} if "solve" in plan.datapaths else {}
    return found | ({"given": depth(trig + dtau + 4)} if plan.takes("Minv") else {})
