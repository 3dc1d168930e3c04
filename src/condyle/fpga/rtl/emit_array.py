"""One array as Verilog: a module for each stage, with registers by phase and flags; the array's own module with the
stages wired together, the phase counter, the tasks in flight.

Nothing in an array waits: a task enters only when the queue in which its result will wait has a credit for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.adders import name_of
from condyle.fpga.rtl.binding import INPUTS, Binding, Tap
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_operators import OperatorEmitter, word
from condyle.fpga.rtl.emit_phases import Count
from condyle.fpga.rtl.expressions import any_of, copy, is_one_of, module, packed
from condyle.fpga.rtl.queues import codes_of
from condyle.fpga.rtl.schedule import Schedule
from condyle.fpga.rtl.stream import head, laid
from condyle.fpga.rtl.tasks import Leaf
from condyle.text import Emitter, wrapped

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
        kinds = dict[Tap, str]()  # how each register is declared: the end of a line is a wire
        for k in words:
            kinds[Tap(k, 0)] = "reg "
            kinds |= {tap: "reg " if gap < LONG else "" for tap, gap in self._links(k)}
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

    def _registers(self, words: Sequence[int]) -> None:
        for tap, gap in (link for k in words for link in self._links(k)):
            self._link(tap, gap)
        shifted = self._flags()
        if not self.phases.lanes:
            return
        with self.e.block("always @(posedge clock) begin", "end"):
            self.e(*(["over = 0;"] if self.bit else []), *shifted)
            self.phases.write()

    def _links(self, k: int) -> list[tuple[Tap, int]]:
        """The word's registers behind its first, each with its place behind the one before: LONG or more are a line."""
        result: list[tuple[Tap, int]] = []
        for before, last in pairwise([0, *self.binding.used.get(k, [])]):
            gap = last - before
            result += [(Tap(k, last), gap)] if gap >= LONG else [(Tap(k, n + 1), 1) for n in range(before, last)]
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


class ArrayEmitter:
    """Writes the modules of an array. emitters: of its stages."""

    def __init__(self, plan: Plan, array: Schedule, prefix: str) -> None:
        self.plan, self.array, self.id, self.e = plan, array, plan.id, Emitter()
        self.name, self.binding = f"{prefix}_{array.datapath.name}", Binding(array)
        self.count = Count(array.ii, array.datapath.pipeline.one_hot)
        self.emitters = {name: StageEmitter(self.binding, f"{self.name}_{name}", name) for name in self.binding.stages}

    def text(self) -> str:
        """The stages and the array itself, last."""
        texts = [emitter.text() for emitter in self.emitters.values()]
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports.append(f"input [{self.id.width - 1}:0] in_id")
        ports.append(f"input [{bits_of(self.array, self.array.datapath.inputs) - 1}:0] in_data")
        for group, words in self.array.datapath.groups:
            ports += [f"output {group}_valid", f"output [{self.id.width - 1}:0] {group}_id"]
            ports.append(f"output reg [{bits_of(self.array, words) - 1}:0] {group}_data")
        with module(self.e, self.name, ports):
            self._control()
            self._stages()
            for group, _ in self.array.datapath.groups:
                self._group(group)
        return "\n".join([*texts, self.e.text()])

    def _control(self) -> None:
        """An empty array waits in phase 0; what goes with a task moves on by a place an interval."""
        e, count, ii, id_ = self.e, self.count, self.array.ii, self.id.width
        depth = -(-self.array.latency // ii)
        older = f"live[{depth - 2}:0], " if depth > 1 else ""
        ids = f"ids[{(depth - 1) * id_ - 1}:0], " if depth > 1 else ""
        e(f"reg [{depth - 1}:0] live;", f"reg [{depth * id_ - 1}:0] ids;")
        moves = ""
        if ii > 1:
            e(f"wire [{count.bits - 1}:0] phase, next_phase;", f"assign in_ready = {count.equals(0)};")
            e(f"assign next_phase = {count.after(f'{count.equals(0)} & ~in_valid & live == 0')};")
            e(copy(count.bits, "counter", "next_phase", "phase"))
            moves = f"if ({count.equals(0)}) "
        else:
            e("assign in_ready = 1'b1;")
        with e.block("always @(posedge clock) begin", "end"):
            e("if (reset) live <= 0;", f"else {moves}live <= {{{older}in_valid}};", f"{moves}ids <= {{{ids}in_id}};")

    def _stages(self) -> None:
        e, binding, inputs, ops = self.e, self.binding, self.array.datapath.inputs, self.array.datapath.ops
        for taps in binding.offered.values():
            e(*(f"wire {word(ops[tap.op].format.width)} {tap};" for tap in taps))
        fields = laid((what, ops[k].format) for what, k in inputs)
        for (_, k), field in zip(inputs, fields, strict=True):
            e(f"wire {word(field.format.width)} d{k} = in_data[{field.high}:{field.low}];")
        for stage, emitter in self.emitters.items():
            ports = [".clock(clock)", *([".next_phase(next_phase)"] if emitter.has_phases else [])]
            ports += [f".d{k}(d{k})" for k in binding.stages[stage]] if stage == INPUTS else []
            ports += [f".{tap}({tap})" for tap in (*binding.taken[stage], *binding.offered.get(stage, []))]
            for group in emitter.flags:
                e(f"wire over_{group}_{stage};")
                ports.append(f".over_{group}(over_{group}_{stage})")
            e(f"{emitter.module} {stage} (" + wrapped(", ", ports) + ");")

    def _group(self, group: str) -> None:
        e, path, id_, ii = self.e, self.array.datapath, self.id, self.array.ii
        tap = self.array.taps[group]
        age = -(-tap // ii) - 1
        tag, code, over = laid(head(id_), age * id_.width)
        due = f"{self.count.equals(tap % ii)} & " if ii > 1 else ""
        codes, wants = self.plan.through(Leaf(path.name, group)), ""
        if set(codes) < codes_of(self.plan, path.name):
            e(f"wire [{id_.code_bits - 1}:0] {group}_is = ids[{code.high}:{code.low}];")
            wants = f" & {is_one_of(f'{group}_is', codes)}"
        e(f"assign {group}_valid = {due}live[{age}]{wants};")
        flags = [f"over_{group}_{stage}" for stage, emitter in self.emitters.items() if group in emitter.flags]
        flag = " | ".join(flags if self.plan.flags else ()) or "1'b0"
        e(f"assign {group}_id = ids[{over.high}:{tag.low}] | {{{flag}, {id_.width - 1}'b0}};")
        leaving = zip(path.group(group), self.binding.leaving[group], strict=True)
        bus(e, f"{group}_data", [name_of(where, path.ops[k].format.width) for (_, k), where in leaving])


def bus(e: Emitter, name: str, parts: list[str]) -> None:
    """A combinational `reg` that joins words, the first lowest. Simulators evaluate it once for each change."""
    whole = packed(parts) if parts else "1'b0"
    varies = any(not part.lstrip("-").split("'")[0].isdigit() for part in parts)
    e(f"always @* {name} = {whole};" if varies else f"initial {name} = {whole};")


def bits_of(array: Schedule, words: Iterable[tuple[Word, int]]) -> int:
    """Bits of joined words, each with its operation; one bit if there are no words."""
    return max(1, sum(array.datapath.ops[k].format.width for _, k in words))
