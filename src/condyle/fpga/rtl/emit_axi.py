"""The AXI boundary in Verilog: NAME_axi, the accelerator with AXI4-Streams and AXI4-Lite registers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from string import Template
from typing import Any

from condyle.fpga.rtl import stream
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.boundary import REGISTERS, SINGLE, TIMEOUT, Boundary, Packet, constants
from condyle.fpga.rtl.emit_verilog import bench_text, support
from condyle.fpga.rtl.expressions import LANE, cases, copy, is_one_of, joined, packed, zeros
from condyle.fpga.rtl.header import HEAD, HEADER, RETURNED, RETURNED_BITS, filled_header, returned_of
from condyle.text import Emitter, wrapped

READS = "".join(f"\n            8'h{address:02x}: rdata <= {name};" for name, (address, _, _) in REGISTERS.items())
MACROS: Mapping[str, object] = {
    **{f"`AT_{name.upper()}`": f"8'h{address:02x}" for name, (address, _, _) in REGISTERS.items()},
    **{f"`{name.upper()}`": bits.verilog for name, bits in HEADER.items()},
    "`DEFAULT_TIMEOUT`": TIMEOUT,
    "`READS`": READS,
}
"""What the Verilog of support/ leaves open: addresses of registers, bits of the header."""

FUNCTION = HEADER["function"].verilog
FRAME = support("boundary.v.in").splitlines(keepends=True)
"""The template of NAME_axi. A line that begins with a word and `::` is for boundaries of that kind only."""


class AxiEmitter:
    """Writes NAME_axi: what FRAME leaves open. described: see `describe`. inner: bits of a beat where words are words;
    packets, beats: of a function's task and result."""

    def __init__(self, plan: Plan, boundary: Boundary, described: Mapping[str, Any]) -> None:
        boundary.check(plan)
        self.plan, self.boundary, self.described = plan, boundary, described
        self.word = max(format.width for format in self.plan.formats.values())
        self.lanes = self.boundary.axi // SINGLE
        self.inner = self.lanes * self.word if self.boundary.float32 else self.boundary.axi
        self.head = self.word if self.boundary.float32 else HEAD
        self.codes = {name: task.codes[0] for name, task in self.plan.tasks.items()}
        sides = self.boundary.task, self.boundary.result
        self.packets = {name: [side(self.plan, name) for side in sides] for name in self.codes}
        self.beats = {name: [self.boundary.beats(fields) for fields in both] for name, both in self.packets.items()}

    def text(self) -> str:
        boundary, registers = self.boundary, constants(self.described)
        there = ("", "async" if boundary.async_clock else "sync", "float32" if boundary.float32 else "integers")
        frame = "".join(line for where, _, line in (row.rpartition("::") for row in FRAME) if where in there)
        most_in, most_out = (max(both[side] for both in self.beats.values()) for side in (0, 1))
        code, answer, width = self.plan.id.code_bits, most_out * self.inner, stream.result_width(self.plan)
        sizes = {"beat": self.inner, "packet": most_in * self.inner, "answer": answer, "result": width, "code": code}
        sizes |= {"tag": RETURNED_BITS, "function": HEADER["function"].width}
        beats = [[(self.codes[name], f"16'd{both[side]}") for name, both in self.beats.items()] for side in (0, 1)]
        holes: dict[str, object] = {f"{name}_bits": f"[{size - 1}:0]" for name, size in sizes.items()}
        holes |= {name: bits.verilog for name, bits in HEADER.items()} | {"code": f"[{code - 1}:0]"}
        holes |= {"prefix": self.described["name"], "axi": boundary.axi, "lanes": self.lanes, "word": self.word}
        holes |= {"inner": self.inner, "most_in": most_in, "most_out": most_out}
        holes |= {
            "constants": wrapped(", ", [f".{name}(32'h{value:08x})" for name, (_, value) in registers.items()]),
            "registers": wrapped(", ", [f".{pin.removeprefix('s_axil_')}({pin})" for pin in ports("s_axil")]),
            "words": "\n    ".join(self._words()),
            "wrong": 1 + RETURNED_BITS + sizes["function"],
            "head_tag": joined(*(f"head{HEADER[name].verilog}" for name in reversed(RETURNED))),
            "wrong_head": filled_header(
                function="wrong_code",
                flag="1'b1",
                error="1'b1",
                malformed="wrong_cut",
                **returned_of("wrong_tag"),
            ),
            "out_head": filled_header(
                function=joined(zeros(sizes["function"] - code), "out_function"),
                flag="out_flag",
                error="out_error",
                **returned_of("out_tag"),
            ),
            "next_data": ", ".join(self._next_data(answer, width)),
            "others": "last_singles[AXI-1:32], " * (self.lanes > 1),
            "task_beats": _chosen("task_beats", 16, f"s_axis_tdata{FUNCTION}", beats[0], "16'd0"),
            "result_beats": _chosen("result_beats", 16, "out_function", beats[1], "16'd1"),
            "frac_in": self._fractions("frac_in", f"beat_head{FUNCTION}, beat_place", 0),
            "frac_out": self._fractions("frac_out", f"leaves_head{FUNCTION}, leaves_place", 1),
        }
        return Template(frame).substitute(holes)

    def _words(self) -> list[str]:
        """`words` by `packet`. What is chosen is decided as the packet is taken (`word_head`)."""
        kinds: list[tuple[Sequence[int], int]] = []
        assigned, there = list[str](), set[int]()

        def kind(codes: Sequence[int], bits: int) -> int:
            """A register that says whether a packet has one of these codes, and has room for so many bits, of LANE."""
            k = next((k for k, (known, room) in enumerate(kinds) if known == codes and room >= bits), len(kinds))
            room = kinds[k][1] if k < len(kinds) else LANE
            kinds[k : k + 1] = [(codes, room - bits)]
            return k

        for (low, high), parts in sorted(self._runs().items()):
            there |= set(range(low, high + 1))
            for start in range(low, high + 1, LANE):
                bits = min(LANE, high + 1 - start)
                chosen = [
                    f"({{{bits}{{kind[{kind(of, bits)}]}}}} & packet[{at + start - low + bits - 1}:{at + start - low}])"
                    for at, of in parts
                ]
                assigned.append(f"assign words[{start + bits - 1}:{start}] = " + "\n    | ".join(chosen) + ";")
        bus, n = stream.bus(self.plan), len(kinds)
        assigned += [f"assign words[{field.high}:{field.low}] = 0;" for field in bus if field.low not in there]
        return [
            f"wire [{n - 1}:0] kind, next_kind;",
            "assign next_kind = ~(word_valid & word_ready) ? kind :",
            f"    {packed([is_one_of(f'word_head{FUNCTION}', of) for of, _ in kinds])};",
            copy(n, "kinds", "next_kind", "kind"),
            f"wire [{stream.width(bus) - 1}:0] words;",
            *assigned,
        ]

    def _runs(self) -> dict[tuple[int, int], list[tuple[int, list[int]]]]:
        """Of runs of the accelerator's bits where they stand in packets, and of which codes."""
        found: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        names = {field.low: field.word.name for field in stream.bus(self.plan)}
        for function, code in self.codes.items():
            taken = stream.taken(self.plan, function)
            behind = stream.laid(((field.word, field.format) for field in taken), self.head)
            both = zip(taken, behind, strict=True)
            for (shift, _), run in groupby(both, key=lambda pair: (pair[0].low - pair[1].low, names[pair[0].low])):
                fields = [to for to, _ in run]
                found[fields[0].low, fields[-1].high][fields[0].low - shift].append(code)
        return {run: list(parts.items()) for run, parts in found.items()}

    def _next_data(self, size: int, width: int) -> list[str]:
        """Of an answer as wide as the longest, the highest bits first: no words in an answer to a wrong packet, nor
        behind a function's own words in its last beat."""
        hidden = [(0, min(width, self.inner - self.head), "wrong_full")]
        for name, (_, fields) in self.packets.items():
            own = stream.width(stream.laid((field.word, field.format) for field in fields))
            end = min(self.beats[name][1] * self.inner - self.head, stream.width(stream.result(self.plan, name)))
            hidden += [(own, end, f"out_function == {self.codes[name]}")] * (own < end)
        parts = [f"{self.word}'b0" if self.boundary.float32 else "next_head"]
        for low, stop in pairwise(sorted({0, width, *(edge for first, end, _ in hidden for edge in (first, end))})):
            by = [when for first, end, when in hidden if first <= low and stop <= end]
            mask = f" & {{{stop - low}{{~({' | '.join(by)})}}}}" if by else ""
            parts.append(f"out_data[{stop - 1}:{low}]{mask}")
        parts += [f"{size - width - self.head}'b0"] * (size > width + self.head)
        return parts[::-1]

    def _fractions(self, name: str, by: str, side: int) -> str:
        """Bits behind the binary point of each word of a beat, by function and beat."""
        rows: dict[tuple[int, int], int] = defaultdict(int)
        for function, both in self.packets.items():
            for field in both[side]:
                beat, bit = divmod(field.low, self.boundary.axi)
                rows[self.codes[function], beat] |= (field.format.frac & 0xFF) << 8 * (bit // SINGLE)
        known = [(f"{{8'd{number}, 16'd{k}}}", f"{8 * self.lanes}'h{row:x}") for (number, k), row in rows.items()]
        return _chosen(name, 8 * self.lanes, f"{{{by}}}", known, "0")


def ports(prefix: str) -> tuple[str, ...]:
    """The ports of an interface of NAME_axi."""
    return tuple(re.findall(rf"put .*\b({prefix}_\w+)", "".join(FRAME)))


def _chosen(name: str, bits: int, by: str, values: Iterable[tuple[object, str]], otherwise: str) -> str:
    e = Emitter()
    e(f"reg [{bits - 1}:0] {name};")
    cases(e, name, by, values, otherwise)
    return e.text().strip().replace("\n", "\n    ")


def emit_axi_bench(stream: Mapping[str, Any], boundary: Boundary, packets: Sequence[Packet]) -> str:
    """The bench of NAME_axi; prints `right: ...` or WRONG and what. stream: see `describe`."""
    sent, back = (sum(len(getattr(packet, what)) for packet in packets) for what in ("task", "answer"))
    sizes = f"AXI = {boundary.axi}, N = {len(packets)}, IN = {sent}, OUT = {back}"
    reads = " ".join(f"read(8'h{address:02x}, 32'h{value:08x});" for address, value in constants(stream).values())
    words = {"TOP": stream["name"], "DUMP": "axi.vcd", "IDENTITY": reads, **MACROS}
    words["CORE"] = ".core_clk(core_clk)," * boundary.async_clock
    return bench_text("axi_bench.v", f"{stream['name']}_axi_bench", sizes, words)
