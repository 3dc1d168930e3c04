"""The boundary in Verilog: NAME_axi, the accelerator between two AXI4-Streams, with registers by AXI4-Lite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from condyle.backends.fpga import stream
from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.boundary import HEAD, SINGLE, Boundary, identity
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_packet import words
from condyle.backends.fpga.emit_project import support
from condyle.backends.fpga.expressions import cases, module
from condyle.backends.fpga.packets import Packet
from condyle.backends.fpga.report import Facts
from condyle.text import Emitter, wrapped

STREAMS = """\
input aclk
input aresetn
input [AXI-1:0] s_axis_tdata
input s_axis_tvalid
output s_axis_tready
input s_axis_tlast
output [AXI-1:0] m_axis_tdata
output m_axis_tvalid
input m_axis_tready
output m_axis_tlast"""
LITE = """\
input [7:0] s_axil_awaddr
input s_axil_awvalid
output s_axil_awready
input [31:0] s_axil_wdata
input [3:0] s_axil_wstrb
input s_axil_wvalid
output s_axil_wready
output [1:0] s_axil_bresp
output s_axil_bvalid
input s_axil_bready
input [7:0] s_axil_araddr
input s_axil_arvalid
output s_axil_arready
output [31:0] s_axil_rdata
output [1:0] s_axil_rresp
output s_axil_rvalid
input s_axil_rready"""


class AxiEmitter:
    """Writes NAME_axi. inner: bits of a beat where words are words; where: of each function its words there."""

    def __init__(self, acc: Accelerator, prefix: str, fingerprint: str, boundary: Boundary) -> None:
        self.acc, self.plan, self.prefix, self.boundary = acc, acc.plan, prefix, boundary
        self.fingerprint, self.e = fingerprint, Emitter()
        self.word = max(format.width for format in self.plan.formats.values())
        self.lanes = boundary.axi // SINGLE
        self.inner = self.lanes * self.word if boundary.float32 else boundary.axi
        self.head = self.word if boundary.float32 else HEAD
        self.codes = {name: task.codes[0] for name, task in self.plan.tasks.items()}
        packets = {name: (boundary.task(self.plan, name), boundary.result(self.plan, name)) for name in self.codes}
        self.beats = {name: (boundary.beats(sent), boundary.beats(back)) for name, (sent, back) in packets.items()}
        self.most = [max(both[k] for both in self.beats.values()) for k in (0, 1)]

    def text(self) -> str:
        e = self.e
        ports = [*STREAMS.split("\n"), *LITE.split("\n")]
        if self.boundary.async_clock:
            ports.insert(2, "input core_clk")
        with module(e, f"{self.prefix}_axi #(parameter AXI = {self.boundary.axi})", ports):
            self._registers()
            self._in()
            self._core()
            self._out()
        return e.text()

    def _registers(self) -> None:
        e, boundary, known = self.e, self.boundary, identity(self.plan, self.boundary, self.fingerprint)
        e("", "// registers and resets")
        e("wire asked, resetting, done, leaving, task_in, result_out;", "reg midway, skip, more, closed;")
        if boundary.async_clock:
            e("wire clock = core_clk;", "wire reset, core_done;", '(* ASYNC_REG = "TRUE" *) reg [1:0] done_chain;')
            e("fx_reset core_reset (.clock(core_clk), .wanted(resetting), .reset(reset), .done(core_done));")
            e("always @(posedge aclk) done_chain <= {done_chain[0], core_done};", "assign done = done_chain[1];")
        else:
            e("wire clock = aclk, reset = resetting;", "assign done = 1'b1;")
        named = [port.split()[-1].removeprefix("s_axil_") for port in LITE.split("\n")]
        own = f"32'h{known['fingerprint']:08x}, 32'd{known['shape']}, 32'd{known['stream']}"
        e(f"fx_registers #({own}) registers (")
        e("    .clock(aclk), .resetn(aresetn), " + wrapped(", ", [f".{name}(s_axil_{name})" for name in named]) + ",")
        e("    .asked(asked), .resetting(resetting), .closed(closed), .done(done),")
        e("    .stalled_in(s_axis_tvalid & ~s_axis_tready & ~resetting),")
        e("    .stalled_out(m_axis_tvalid & ~m_axis_tready), .task_in(task_in), .result_out(result_out),")
        e("    .flag(m_axis_tdata[8]), .error(m_axis_tdata[9]), .malformed(m_axis_tdata[10]));")
        e("wire beat_in = s_axis_tvalid & s_axis_tready, beat_out = m_axis_tvalid & m_axis_tready;")
        e("assign task_in = beat_in & s_axis_tlast & ~skip, result_out = beat_out & ~more;")
        with e.block("always @(posedge aclk) begin", "end"):
            e("midway <= aresetn & (beat_in ? ~s_axis_tlast : midway);")
            e("skip <= aresetn & (resetting ? midway : skip & ~(beat_in & s_axis_tlast));")
            e("more <= ~resetting & (beat_out ? ~m_axis_tlast : more);")
            e("closed <= (asked | resetting) & (closed | (beat_out ? m_axis_tlast : ~leaving & ~more));")
        e("assign m_axis_tvalid = leaving & ~closed;")

    def _queue(self, name: str, into: Mapping[str, str], out: Mapping[str, str], bus_first: bool) -> None:
        """A queue at the edge, {tlast, tdata} its word; a crossing where the core has a clock of its own."""
        pins = {f"in_{what}": wire for what, wire in into.items()} | {f"out_{what}": wire for what, wire in out.items()}
        said = ", ".join(f".{pin}({wire})" for pin, wire in pins.items())
        if self.boundary.async_clock:
            ends = ("aclk", "resetting"), ("clock", "reset")
            (c1, r1), (c2, r2) = ends if bus_first else ends[::-1]
            self.e(f"fx_crossing #(AXI + 1, 4) {name} (.in_clock({c1}), .in_reset({r1}), .out_clock({c2}),")
            self.e(f"    .out_reset({r2}), {said});")
        else:
            self.e(
                f"wire {name}_next;",
                f"fx_fifo #(AXI + 1, 4, 2) {name} (.clock(aclk), .reset(resetting), .next({name}_next),",
                f"    {said});",
            )

    def _in(self) -> None:
        e = self.e
        e("", "// task: beats, gathered")
        e("wire room, beat_valid, beat_ready, beat_last;", "wire [AXI-1:0] beat;")
        e("assign s_axis_tready = ~resetting & (skip | room);")
        into = {
            "valid": "s_axis_tvalid & s_axis_tready & ~skip",
            "ready": "room",
            "data": "{s_axis_tlast, s_axis_tdata}",
        }
        out = {"valid": "beat_valid", "ready": "beat_ready", "data": "{beat_last, beat}"}
        self._queue("beats_in", into, out, True)
        e("wire [31:0] beat_head, head;", "wire [15:0] beat_place;")
        e("fx_marks marks (.clock(clock), .reset(reset), .moves(beat_valid & beat_ready), .last(beat_last),")
        e("    .word(beat[31:0]), .head(beat_head), .place(beat_place));")
        side = "{beat_last, beat_head, beat_place}"
        e("wire word_valid, word_ready, word_last;", "wire [31:0] word_head;", "wire [15:0] word_place;")
        e(f"wire [{self.inner - 1}:0] word_beat;")
        beyond = "{word_last, word_head, word_place}"
        if self.boundary.float32:
            self._fractions("frac_in", "beat_head[7:0]", "beat_place", 0)
            e(f"fx_convert #({self.lanes}, 32, {self.word}, 0) singles_in (.clock(clock), .reset(reset),")
            e(f"    .in_valid(beat_valid), .in_ready(beat_ready), .in_side({side}), .frac(frac_in), .in_data(beat),")
            e(f"    .out_valid(word_valid), .out_ready(word_ready), .out_side({beyond}), .out_data(word_beat));")
        else:
            e(f"assign {beyond} = {side}, word_beat = beat, word_valid = beat_valid, beat_ready = word_ready;")
        self._beats("task_beats", "word_head[7:0]", 0, "16'd0")
        e(f"wire [{self.most[0] * self.inner - 1}:0] packet;", "wire full, taken, unknown, malformed;")
        e(f"fx_gather #({self.inner}, {self.most[0]}) gather (.clock(clock), .reset(reset),")
        e("    .in_valid(word_valid), .in_ready(word_ready), .in_last(word_last), .in_head(word_head),")
        e("    .in_place(word_place), .beats(task_beats), .in_data(word_beat), .full(full), .taken(taken),")
        e("    .head(head), .data(packet), .unknown(unknown), .malformed(malformed));")

    def _core(self) -> None:
        e, code, width = self.e, self.plan.id.code_bits, stream.result_width(self.plan)
        e("", "// the accelerator; a packet that is wrong goes around it")
        e("wire wrong = unknown | malformed;", "wire in_ready, wrong_room, out_valid, out_ready, out_flag, out_error;")
        e("assign taken = wrong ? wrong_room : in_ready;")
        e(*words(self.plan, self.codes, self.head))
        e(f"wire [{code - 1}:0] out_function;", f"wire [{TAG_BITS - 1}:0] out_tag;", f"wire [{width - 1}:0] out_data;")
        e(f"{self.prefix} core (.clock(clock), .reset(reset), .in_valid(full & ~wrong), .in_ready(in_ready),")
        e(f"    .in_function(head[{code - 1}:0]), .in_tag(head[31:16]), .in_data(words),")
        e("    .out_valid(out_valid), .out_ready(out_ready), .out_function(out_function), .out_tag(out_tag),")
        e("    .out_flag(out_flag), .out_error(out_error), .out_data(out_data));")

    def _out(self) -> None:
        e = self.e
        e("", "// result: an answer to a wrong packet, or of the accelerator, beat by beat")
        e("wire wrong_full, wrong_pop, wrong_next, next_ready, first;", "wire [24:0] wrong_q;", "wire [7:0] out_code;")
        zeros = 8 - self.plan.id.code_bits
        e("assign out_code = {" + f"{zeros}'b0, " * (zeros > 0) + "out_function};")
        e("fx_fifo #(25, 4, 2) wrongs (.clock(clock), .reset(reset), .next(wrong_next), .in_valid(full & wrong),")
        e("    .in_ready(wrong_room), .in_data({malformed, head[31:16], head[7:0]}), .out_valid(wrong_full),")
        e("    .out_ready(wrong_pop), .out_data(wrong_q));")
        e("wire wrong_now = wrong_full & first;")
        e("assign wrong_pop = next_ready & wrong_now, out_ready = next_ready & ~wrong_now;")
        e("wire [31:0] next_head = wrong_now ? {wrong_q[23:8], 5'b0, wrong_q[24], 2'b11, wrong_q[7:0]} :")
        e("    {out_tag, 6'b0, out_error, out_flag, out_code};")
        self._beats("result_beats", "out_function", 1, "16'd1")
        size, width = self.most[1] * self.inner, stream.result_width(self.plan)
        first = "next_head" if not self.boundary.float32 else f"{self.word}'b0"
        parts = [f"{size - width - self.head}'b0"] * (size > width + self.head)
        parts += self._result_bits(width)[::-1]
        e(f"wire [{size - 1}:0] next_data = {{{', '.join([*parts, first])}}};")
        e("wire beat_leaves, beat_room, leaves_last;", "wire [31:0] leaves_head;", "wire [15:0] leaves_place;")
        e(f"wire [{self.inner - 1}:0] leaves;")
        e(f"fx_spread #({self.inner}, {self.most[1]}) spread (.clock(clock), .reset(reset),")
        e("    .in_valid(out_valid | wrong_now), .in_ready(next_ready), .in_head(next_head), .in_data(next_data),")
        e("    .in_beats(wrong_now ? 16'd1 : result_beats), .first(first), .out_valid(beat_leaves),")
        e("    .out_ready(beat_room), .out_last(leaves_last), .head(leaves_head), .place(leaves_place),")
        e("    .out_data(leaves));")
        e("wire last_valid, last_ready, last_last;", "wire [AXI-1:0] last_beat;")
        if self.boundary.float32:
            self._fractions("frac_out", "leaves_head[7:0]", "leaves_place", 1)
            e("wire [31:0] last_head;", "wire [15:0] last_place;", "wire [AXI-1:0] last_singles;")
            e(f"fx_convert #({self.lanes}, {self.word}, 32, 1) singles_out (.clock(clock), .reset(reset),")
            e("    .in_valid(beat_leaves), .in_ready(beat_room), .in_side({leaves_last, leaves_head, leaves_place}),")
            e("    .frac(frac_out), .in_data(leaves), .out_valid(last_valid), .out_ready(last_ready),")
            e("    .out_side({last_last, last_head, last_place}), .out_data(last_singles));")
            rest = "last_singles[AXI-1:32], " if self.lanes > 1 else ""
            e(f"assign last_beat = {{{rest}last_place == 0 ? last_head : last_singles[31:0]}};")
        else:
            e("assign last_valid = beat_leaves, beat_room = last_ready, last_last = leaves_last, last_beat = leaves;")
        into = {"valid": "last_valid", "ready": "last_ready", "data": "{last_last, last_beat}"}
        out = {"valid": "leaving", "ready": "m_axis_tready & ~closed", "data": "{m_axis_tlast, m_axis_tdata}"}
        self._queue("beats_out", into, out, False)

    def _result_bits(self, width: int) -> list[str]:
        """Of out_data what packets hold, the lowest bits first: no words in an answer to a wrong packet, nor behind a
        function's own words in its last beat."""
        hidden = {(0, min(width, self.inner - self.head)): "wrong_full"}
        for name, (_, beats) in self.beats.items():
            own = stream.width(stream.laid((f.word, f.format) for f in self.boundary.result(self.plan, name)))
            end = min(beats * self.inner - self.head, stream.width(stream.result(self.plan, name)))
            if own < end:
                code = f"out_function == {self.codes[name]}"
                hidden[own, end] = f"{hidden[own, end]} | {code}" if (own, end) in hidden else code
        edges = sorted({0, width, *(edge for run in hidden for edge in run)})
        parts: list[str] = []
        for low, stop in pairwise(edges):
            by = [when for (first, end), when in hidden.items() if first <= low and stop <= end]
            mask = f" & {{{stop - low}{{~({' | '.join(by)})}}}}" if by else ""
            parts.append(f"out_data[{stop - 1}:{low}]{mask}")
        return parts

    def _beats(self, name: str, code: str, side: int, none: str) -> None:
        self.e(f"reg [15:0] {name};")
        known = [(self.codes[function], f"16'd{both[side]}") for function, both in self.beats.items()]
        cases(self.e, name, code, known, none)

    def _fractions(self, name: str, code: str, place: str, side: int) -> None:
        """Bits behind the point of each word of a beat, by function and beat."""
        self.e(f"reg [{8 * self.lanes - 1}:0] {name};")
        rows: dict[tuple[int, int], int] = defaultdict(int)
        for function, number in self.codes.items():
            for field in (self.boundary.task, self.boundary.result)[side](self.plan, function):
                beat, bit = divmod(field.low, self.boundary.axi)
                rows[number, beat] |= (field.format.frac & 0xFF) << 8 * (bit // SINGLE)
        known = [(f"{{8'd{number}, 16'd{k}}}", f"{8 * self.lanes}'h{row:x}") for (number, k), row in rows.items()]
        cases(self.e, name, f"{{{code}, {place}}}", known, "0")


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
