"""The AXI boundary in Verilog: NAME_axi, the accelerator with AXI4-Streams and AXI4-Lite registers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from string import Template
from typing import Any

from condyle.backends.fpga import stream
from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.boundary import HEAD, SINGLE, Boundary, identity
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_packet import words
from condyle.backends.fpga.emit_project import support
from condyle.backends.fpga.expressions import cases
from condyle.backends.fpga.packets import Packet
from condyle.backends.fpga.report import Facts
from condyle.text import Emitter, wrapped

FRAME = support("boundary.v.in").splitlines(keepends=True)
"""The template of NAME_axi. A line that begins with a word and `::` is for boundaries of that kind only."""


class AxiEmitter:
    """Writes NAME_axi: what FRAME leaves open. inner: bits of a beat where words are words; beats: of a function's task
    and result."""

    def __init__(self, acc: Accelerator, prefix: str, fingerprint: str, boundary: Boundary) -> None:
        self.plan, self.prefix, self.boundary, self.fingerprint = acc.plan, prefix, boundary, fingerprint
        self.word = max(format.width for format in self.plan.formats.values())
        self.lanes = boundary.axi // SINGLE
        self.inner = self.lanes * self.word if boundary.float32 else boundary.axi
        self.head = self.word if boundary.float32 else HEAD
        self.codes = {name: task.codes[0] for name, task in self.plan.tasks.items()}
        packets = {name: (boundary.task(self.plan, name), boundary.result(self.plan, name)) for name in self.codes}
        self.beats = {name: (boundary.beats(sent), boundary.beats(back)) for name, (sent, back) in packets.items()}

    def text(self) -> str:
        boundary, known = self.boundary, identity(self.plan, self.boundary, self.fingerprint)
        there = ("", "async" if boundary.async_clock else "sync", "float32" if boundary.float32 else "integers")
        frame = "".join(line for where, _, line in (row.rpartition("::") for row in FRAME) if where in there)
        most = [max(both[side] for both in self.beats.values()) for side in (0, 1)]
        code, answer, width = self.plan.id.code_bits, most[1] * self.inner, stream.result_width(self.plan)
        sizes = {"beat": self.inner, "packet": most[0] * self.inner, "answer": answer, "code": code, "tag": TAG_BITS}
        numbers = {"axi": boundary.axi, "lanes": self.lanes, "word": self.word, "inner": self.inner}
        numbers |= {"most_in": most[0], "most_out": most[1]}
        holes = {name: f"[{size - 1}:0]" for name, size in {**sizes, "result": width}.items()} | {
            "prefix": self.prefix,
            "identity": f"32'h{known['fingerprint']:08x}, 32'd{known['shape']}, 32'd{known['stream']}",
            "registers": wrapped(", ", [f".{pin.removeprefix('s_axil_')}({pin})" for pin in ports("s_axil")]),
            "words": "\n    ".join(words(self.plan, self.codes, self.head)),
            "no_code": f"{8 - code}'b0, " * (code < 8),
            "next_data": ", ".join(self._next_data(answer, width)),
            "others": "last_singles[AXI-1:32], " * (self.lanes > 1),
            "task_beats": self._beats("task_beats", "word_head[7:0]", 0, "16'd0"),
            "result_beats": self._beats("result_beats", "out_function", 1, "16'd1"),
        }
        if boundary.float32:
            holes["frac_in"] = self._fractions("frac_in", "beat_head[7:0], beat_place", 0)
            holes["frac_out"] = self._fractions("frac_out", "leaves_head[7:0], leaves_place", 1)
        return Template(frame).substitute(holes, **numbers)

    def _next_data(self, size: int, width: int) -> list[str]:
        """Of an answer as wide as the longest, the highest bits first: no words in an answer to a wrong packet, nor
        behind a function's own words in its last beat."""
        hidden = {(0, min(width, self.inner - self.head)): "wrong_full"}
        for name, (_, beats) in self.beats.items():
            own = stream.width(stream.laid((f.word, f.format) for f in self.boundary.result(self.plan, name)))
            end = min(beats * self.inner - self.head, stream.width(stream.result(self.plan, name)))
            if own < end:
                code = f"out_function == {self.codes[name]}"
                hidden[own, end] = f"{hidden[own, end]} | {code}" if (own, end) in hidden else code
        parts = [f"{self.word}'b0" if self.boundary.float32 else "next_head"]
        for low, stop in pairwise(sorted({0, width, *(edge for run in hidden for edge in run)})):
            by = [when for (first, end), when in hidden.items() if first <= low and stop <= end]
            mask = f" & {{{stop - low}{{~({' | '.join(by)})}}}}" if by else ""
            parts.append(f"out_data[{stop - 1}:{low}]{mask}")
        parts += [f"{size - width - self.head}'b0"] * (size > width + self.head)
        return parts[::-1]

    def _beats(self, name: str, code: str, side: int, none: str) -> str:
        known = [(self.codes[function], f"16'd{both[side]}") for function, both in self.beats.items()]
        return _chosen(name, 16, code, known, none)

    def _fractions(self, name: str, by: str, side: int) -> str:
        """Bits behind the binary point of each word of a beat, by function and beat."""
        rows: dict[tuple[int, int], int] = defaultdict(int)
        for function, number in self.codes.items():
            for field in (self.boundary.task, self.boundary.result)[side](self.plan, function):
                beat, bit = divmod(field.low, self.boundary.axi)
                rows[number, beat] |= (field.format.frac & 0xFF) << 8 * (bit // SINGLE)
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


def emit_axi(acc: Accelerator, prefix: str, facts: Facts) -> str:
    """The text of NAME_axi."""
    facts.boundary.check(acc.plan)
    return AxiEmitter(acc, prefix, facts.fingerprint, facts.boundary).text()


def emit_axi_bench(stream: Mapping[str, Any], boundary: Boundary, packets: Sequence[Packet]) -> str:
    """The bench of NAME_axi; prints `right: ...` or WRONG and what. stream: see `describe`."""
    prefix = stream["name"]
    sent, back = (sum(len(getattr(packet, what)) for packet in packets) for what in ("task", "answer"))
    e = Emitter()
    e(f"module {prefix}_axi_bench;")
    e(f"    localparam AXI = {boundary.axi}, N = {len(packets)}, IN = {sent}, OUT = {back};")
    core = ".core_clk(core_clk)," if boundary.async_clock else ""
    known = [row for row in stream["registers"].values() if "value" in row]
    reads = " ".join(f"read(8'h{row['address']:02x}, 32'h{row['value']:08x});" for row in known)
    text = support("axi_bench.v").replace("TOP", prefix).replace("CORE", core).replace("IDENTITY", reads)
    return e.text() + text + "endmodule\n"
