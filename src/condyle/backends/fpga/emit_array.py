"""One array as a Verilog module: its stages wired together, the phase counter, the tasks in flight.

Nothing in an array waits: a task enters only when the queue in which its result will wait has a credit for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from condyle.backends.fpga.accelerator import Id
from condyle.backends.fpga.adders import name_of
from condyle.backends.fpga.binding import INPUTS, Binding
from condyle.backends.fpga.datapath import Datapath, Word
from condyle.backends.fpga.emit_operators import word
from condyle.backends.fpga.emit_phases import Count
from condyle.backends.fpga.emit_stage import StageEmitter
from condyle.backends.fpga.expressions import copy, module, packed
from condyle.backends.fpga.schedule import Schedule
from condyle.backends.fpga.stream import head, laid
from condyle.text import Emitter, wrapped


@dataclass(frozen=True)
class Array:
    """A scheduled datapath that answers tasks; `wants`: for each group the codes of the functions that leave there.

    flags: see `Plan`.
    """

    schedule: Schedule
    wants: Mapping[str, tuple[int, ...]]
    id: Id
    flags: bool = True

    @property
    def datapath(self) -> Datapath:
        return self.schedule.datapath

    @property
    def count(self) -> Count:
        return Count(self.schedule.ii, self.datapath.pipeline.one_hot)


def emit_array(array: Array, prefix: str) -> list[tuple[str, str]]:
    """(module name, text) of the stages and of the array itself, last."""
    binding = Binding(array.schedule)
    name = f"{prefix}_{array.datapath.name}"
    emitters = {stage: StageEmitter(binding, f"{name}_{stage}", stage) for stage in binding.stages}
    texts = [(emitter.module, emitter.text()) for emitter in emitters.values()]
    return [*texts, (name, _array(array, binding, name, emitters))]


def bus(e: Emitter, name: str, parts: list[str]) -> None:
    """A combinational `reg` that joins words, the first lowest. Simulators evaluate it once for each change."""
    whole = packed(parts) if parts else "1'b0"
    varies = any(not part.lstrip("-").split("'")[0].isdigit() for part in parts)
    e(f"always @* {name} = {whole};" if varies else f"initial {name} = {whole};")


def bits_of(array: Array, words: Iterable[tuple[Word, int]]) -> int:
    """Bits of joined words, each with its operation; one bit if there are no words."""
    return max(1, sum(array.datapath.ops[k].format.width for _, k in words))


def _array(array: Array, binding: Binding, name: str, emitters: Mapping[str, StageEmitter]) -> str:
    e = Emitter()
    ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
    ports += [f"input [{array.id.width - 1}:0] in_id", f"input [{bits_of(array, array.datapath.inputs) - 1}:0] in_data"]
    for group, words in array.datapath.groups:
        ports += [f"output {group}_valid", f"output [{array.id.width - 1}:0] {group}_id"]
        ports += [f"output reg [{bits_of(array, words) - 1}:0] {group}_data"]
    with module(e, name, ports):
        _control(e, array)
        _stages(e, array, binding, name, emitters)
        for group, _ in array.datapath.groups:
            _group(e, array, binding, group, emitters)
    return e.text()


def _control(e: Emitter, array: Array) -> None:
    """An empty array waits in phase 0. The tags of tasks are in a shift register that moves once an interval."""
    ii, depth = array.schedule.ii, -(-array.schedule.latency // array.schedule.ii)
    older = f"live[{depth - 2}:0], " if depth > 1 else ""
    ids = f"ids[{(depth - 1) * array.id.width - 1}:0], " if depth > 1 else ""
    e(f"reg [{depth - 1}:0] live;", f"reg [{depth * array.id.width - 1}:0] ids;")
    moves = ""
    if ii > 1:
        count = array.count
        e(f"wire [{count.bits - 1}:0] phase, next_phase;", f"assign in_ready = {count.at(0)};")
        e(f"assign next_phase = {count.after(f'{count.at(0)} & ~in_valid & live == 0')};")
        e(copy(count.bits, "counter", "next_phase", "phase"))
        moves = f"if ({count.at(0)}) "
    else:
        e("assign in_ready = 1'b1;")
    with e.block("always @(posedge clock) begin", "end"):
        e("if (reset) live <= 0;", f"else {moves}live <= {{{older}in_valid}};", f"{moves}ids <= {{{ids}in_id}};")


def _stages(e: Emitter, array: Array, binding: Binding, name: str, emitters: Mapping[str, StageEmitter]) -> None:
    ops = array.datapath.ops
    for taps in binding.offered.values():
        e(*(f"wire {word(ops[tap.op].format.width)} {tap};" for tap in taps))
    fields = laid((what, ops[k].format) for what, k in array.datapath.inputs)
    for (_, k), field in zip(array.datapath.inputs, fields, strict=True):
        e(f"wire {word(field.format.width)} d{k} = in_data[{field.high}:{field.low}];")
    for stage, emitter in emitters.items():
        ports = [".clock(clock)", *([".next_phase(next_phase)"] if emitter.has_phases else [])]
        ports += [f".d{k}(d{k})" for k in binding.stages[stage]] if stage == INPUTS else []
        ports += [f".{tap}({tap})" for tap in (*binding.taken[stage], *binding.offered.get(stage, []))]
        for group in emitter.flags:
            e(f"wire over_{group}_{stage};")
            ports.append(f".over_{group}(over_{group}_{stage})")
        e(f"{name}_{stage} {stage} (" + wrapped(", ", ports) + ");")


def _group(e: Emitter, array: Array, binding: Binding, group: str, emitters: Mapping[str, StageEmitter]) -> None:
    schedule = array.schedule
    tap = schedule.taps[group]
    age = -(-tap // schedule.ii) - 1
    tag, code, over = laid(head(array.id), age * array.id.width)
    wants = " | ".join(f"{group}_is == {code}" for code in array.wants[group])
    e(f"wire [{array.id.code_bits - 1}:0] {group}_is = ids[{code.high}:{code.low}];")
    due = f"{array.count.at(tap % schedule.ii)} & " if schedule.ii > 1 else ""
    e(f"assign {group}_valid = {due}live[{age}] & ({wants});")
    flags = [f"over_{group}_{stage}" for stage, emitter in emitters.items() if group in emitter.flags]
    flag = " | ".join(flags if array.flags else ()) or "1'b0"
    e(f"assign {group}_id = ids[{over.high}:{tag.low}] | {{{flag}, {array.id.width - 1}'b0}};")
    leaving = zip(array.datapath.group(group), binding.leaving[group], strict=True)
    bus(e, f"{group}_data", [name_of(where, array.datapath.ops[k].format.width) for (_, k), where in leaving])
