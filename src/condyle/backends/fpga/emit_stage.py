"""One stage as a Verilog module: its ports, its registers by phase, its flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from condyle.backends.fpga.binding import INPUTS, Tap
from condyle.backends.fpga.emit_operators import OperatorEmitter, word
from condyle.backends.fpga.expressions import any_of, module

LONG = 3
"""From so many registers in a row on they are a delay line, whose inner words are not read."""


def slices(name: str, places: list[int]) -> list[str]:
    """The bits at ascending positions; adjacent ones are one range."""
    starts = [place for place in places if place - 1 not in places]
    stops = [place for place in places if place + 1 not in places]
    return [f"{name}[{b}:{a}]" if a < b else f"{name}[{a}]" for a, b in zip(starts, stops, strict=True)]


class StageEmitter(OperatorEmitter):
    """Writes the module of one stage."""

    def text(self) -> str:
        ports = ["input clock", *([f"input [{self.count.bits - 1}:0] next_phase"] if self.has_phases else [])]
        if self.stage == INPUTS:
            ports += [f"input {word(self.format_of(k).width)} d{k}" for k in self.ops]
        ports += [f"input {word(self.format_of(tap.op).width)} {tap}" for tap in self.binding.taken[self.stage]]
        words = [k for k in self.ops if self.datapath.ops[k].kind != "sincos"]  # which has two
        kinds = self._kinds(words)
        offered = self.binding.offered.get(self.stage, [])
        ports += [f"output {kinds[tap]}{word(self.format_of(tap.op).width)} {tap}" for tap in offered]
        ports += [f"output over_{group}" for group in self.flags]
        with module(self.e, self.module, ports):
            for tap in (tap for tap in kinds if tap not in offered):
                self.e(f"{kinds[tap] or 'wire '}{word(self.format_of(tap.op).width)} {tap};")
            self.write_units()
            for k in words:
                self.write_operation(k)
            self._registers(words)
        return self.e.text()

    @property
    def has_phases(self) -> bool:
        """Whether the stage does different things in the cycles of an interval."""
        return self.ii > 1 and bool(self.ops)

    @cached_property
    def flags(self) -> Mapping[str, Mapping[int, set[int]]]:
        """For each group that this stage serves: the bits of clamping operations by the cycle in which they end."""
        found: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for name, _ in self.datapath.groups:
            for k, bit in self.bit.items():
                for member in self.datapath.cones[name].intersection(self.datapath.members[k]):
                    found[name][self.schedule.ready[member] - 1].add(bit)
        return found

    def _kinds(self, words: Sequence[int]) -> dict[Tap, str]:
        """Everything that holds a word, and how it is declared: the end of a line is a wire."""
        kinds: dict[Tap, str] = {}
        for k in words:
            kinds[Tap(k, 0)] = "reg "
            kinds |= {tap: "reg " if gap < LONG else "" for tap, gap in self.links(k)}
        return kinds

    def _registers(self, words: Sequence[int]) -> None:
        for tap, gap in (link for k in words for link in self.links(k)):
            self._link(tap, gap)
        shifted = self._flags()
        if not self.phases.lanes:
            return
        with self.e.block("always @(posedge clock) begin", "end"):
            self.e(*(["over = 0;"] if self.bit else []), *shifted)
            self.phases.write()

    def links(self, k: int) -> list[tuple[Tap, int]]:
        """The word's registers behind its first, each with its place behind the one before: LONG or more are a line."""
        result: list[tuple[Tap, int]] = []
        for before, copy in pairwise([0, *self.binding.used.get(k, [])]):
            gap = copy - before
            result += [(Tap(k, copy), gap)] if gap >= LONG else [(Tap(k, n + 1), 1) for n in range(before, copy)]
        return result

    def _link(self, tap: Tap, gap: int) -> None:
        k, before, width = tap.op, Tap(tap.op, tap.copy - gap), self.format_of(tap.op).width
        if gap < LONG:
            self._load(k, f"{tap} <= {before};")
            return
        line = f"l{k}_{tap.copy}"
        self.e(f"reg [{width * gap - 1}:0] {line};")
        self.e(f"assign {tap} = {line}[{width * gap - 1}:{width * (gap - 1)}];")
        self._load(k, f"{line} <= {{{line}[{width * (gap - 1) - 1}:0], {before}}};")

    def _flags(self) -> list[str]:
        """Of each group a row of flags that its tasks go along; the statements that move them on."""
        if self.bit:
            self.e(f"reg [{len(self.bit) - 1}:0] over;")
        shifts: list[str] = []
        for group, ends in self.flags.items():
            first, n, row = min(ends), self.schedule.taps[group] - min(ends), f"flag_{group}"
            self.e(f"reg [{n - 1}:0] {row};", f"assign over_{group} = {row}[{n - 1}];")
            shifts.append(f"{row} <= {{{row}[{n - 2}:0], 1'b0}};" if n > 1 else f"{row} <= 1'b0;")
            for cycle in sorted(ends):
                asked = any_of(slices("over", sorted(ends[cycle])))
                self.phases.load(-1, cycle % self.ii, f"if ({asked}) {row}[{cycle - first}] <= 1'b1;")
        return shifts
