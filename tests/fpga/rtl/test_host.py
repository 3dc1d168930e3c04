"""The packers for hosts: floats through the Verilog and back; singles converted on chip."""

from __future__ import annotations

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.fpga import Accelerator
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.header import HEADER
from condyle.fpga.rtl.vectors import task_of
from tests.processor import slow
from tests.programs import skip_without

from .conftest import accelerator
from .test_boundary import ARM, needs_iverilog, written


def host_program() -> ModuleType:
    """condyle_host.py as it stands in an exported folder."""
    spec = spec_from_file_location("condyle_host", Path(condyle.__file__).parent / "fpga/rtl/support/host.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _states(acc: Accelerator, n: int) -> dict[str, np.ndarray]:
    states = fpga.sampled(ARM, n, 5, acc.plan.box)
    states["v"][-1] *= 1e3
    return fpga.consistent(ARM, states, acc.plan.box)


@needs_iverilog
@pytest.mark.parametrize("boundary", [Boundary(64, echo=True), Boundary(128, float32=True)], ids=str)
def test_floats_packed_answered_and_unpacked_are_those_of_the_model(tmp_path, boundary: Boundary) -> None:
    """Python's packer -> the Verilog -> Python's and C's unpacker; C's packets are those of Python."""
    n, acc = 5, accelerator(ARM, ii=2)
    folder = written(tmp_path, ARM, acc, boundary, 1)
    host, states = host_program().Host(folder / "rig_stream.json"), _states(acc, n)
    sent, tag = [], 0
    for function, row in host.functions.items():
        sent += list(host.pack(function, range(tag, tag + n), **{name: states[name] for name in row["inputs"]}))
        tag += n
    stream = _driven(folder, boundary, sent)
    answers = {head["tag"]: (head, found) for head, found in host.results(stream)}
    _as_c(folder, host, states, sent, stream)
    _at_once(host, stream)
    assert len(answers) == tag
    if boundary.float32:
        states = {name: x.astype(np.float32).astype(np.float64) for name, x in states.items()}
    for k, function in enumerate(acc.plan.functions):
        model = evaluate(acc.plan, function, task_of(acc.plan, function, states))
        for i in range(n):
            head, found = answers[n * k + i]
            assert (head["function"], head["flag"], head["error"]) == (function, model.over[i], 0)
            _same(acc, function, found, {word: values[i] for word, values in model.words.items()}, boundary)


def _at_once(host, stream: bytes) -> None:
    """Many results together, and errors between them, are the same as each alone."""
    code, error, malformed = 255, 1 << HEADER["error"].low, 1 << HEADER["malformed"].low
    wrong = [(code | error, 7), (host.functions["dfd"]["code"] | error | malformed, 8)]
    beats = [(head | tag << HEADER["tag"].low).to_bytes(host.beat, "little") for head, tag in wrong]
    mixed = b"".join([beats[0], stream, beats[1]])
    answers, each = host.answers(mixed), list(host.results(mixed))
    assert set(answers) == {*host.functions, None} and not answers[None].outputs
    assert [answers[None].head[x].tolist() for x in ("tag", "error", "malformed")] == [[7, 8], [1, 1], [0, 1]]
    for function, (heads, outputs) in answers.items():
        alone = [x for x in each if (None if x[0]["error"] else x[0]["function"]) == function]
        assert [head["tag"] for head, _ in alone] == heads["tag"].tolist()
        for k, (head, found) in enumerate(alone):
            assert head["flag"] == heads["flag"][k] and set(found) == set(outputs)
            assert all(np.array_equal(found[name], outputs[name][k]) for name in outputs)
    with pytest.raises(ValueError, match=rf"the last packet has {host.beat - 1} of its {host.beat} bytes: give whole"):
        host.answers(mixed[:-1])


def _same(acc, function: str, found: dict[str, np.ndarray], words, boundary: Boundary) -> None:
    names = {held: name for name, held in acc.plan.tasks[function].words.items()}
    for word, format, _ in boundary.result(acc.plan, function):
        real = format.to_real(words[word])
        got = found[names.get(word.name, word.name)]
        assert got[word.index] == (np.float32(real) if boundary.float32 else real), (function, word)
        if word.name in ("M", "Minv"):
            i, j = divmod(word.index, acc.plan.nv)
            assert got[j * acc.plan.nv + i] == got[word.index]


def test_another_accelerator_is_found_by_its_registers(tmp_path) -> None:
    """The same robot with another box, whose words have other scales, has another fingerprint."""
    hosts = []
    for box in ({}, {"v": 40.0}):
        acc = fpga.accelerator(ARM, fpga.Options(("id",), box=box))
        hosts.append(
            host_program().Host(written(tmp_path / f"{len(hosts)}", ARM, acc, Boundary(64), 1) / "rig_stream.json")
        )
    one, other = ({row["address"]: row.get("value") for row in host.known["registers"].values()} for host in hosts)
    hosts[0].check(one.__getitem__)
    with pytest.raises(
        ValueError, match=r"register fingerprint \(0x08\) reads 0x\w+, but rig has 0x\w+: load the bits"
    ):
        hosts[0].check(other.__getitem__)
    with pytest.raises(ValueError, match="register magic"):
        hosts[0].check(lambda _: 0)


PIPE = """
module pipe;
    parameter N = 1, AXI = 64;
    reg [AXI:0] beats [0:N - 1];
    reg aclk, aresetn, valid;
    wire ready, m_valid, m_last;
    wire [AXI - 1:0] m_data;
    integer at, file, idle;
    rig_axi dut (.aclk(aclk), .aresetn(aresetn), .s_axis_tdata(beats[at][AXI - 1:0]), .s_axis_tlast(beats[at][AXI]),
        .s_axis_tvalid(valid), .s_axis_tready(ready), .m_axis_tdata(m_data), .m_axis_tvalid(m_valid),
        .m_axis_tready(1'b1), .m_axis_tlast(m_last), .s_axil_awvalid(1'b0), .s_axil_wvalid(1'b0), .s_axil_bready(1'b1),
        .s_axil_arvalid(1'b0), .s_axil_rready(1'b1), .s_axil_awaddr(8'b0), .s_axil_wdata(32'b0), .s_axil_wstrb(4'b0),
        .s_axil_araddr(8'b0));
    initial begin
        $readmemh("pipe.hex", beats);
        file = $fopen("pipe.out");
        at = 0; idle = 0; valid = 0; aclk = 0; aresetn = 0;
        #8 aresetn = 1; valid = 1;
    end
    always #1 aclk = ~aclk;
    always @(posedge aclk) if (aresetn) begin
        idle = m_valid ? 0 : idle + 1;
        if (m_valid) $fdisplay(file, "%h", m_data);
        if (valid && ready) at <= at + 1;
        if (valid && ready && at == N - 1) valid <= 0;
        if (idle > 1000) $finish;
    end
endmodule
"""


def _driven(folder: Path, boundary: Boundary, packets) -> bytes:
    """The bytes that answer these packets, all in one transfer, by iverilog."""
    each = boundary.axi // 8
    beats = [packet[k : k + each] for packet in packets for k in range(0, len(packet), each)]
    ends = [False] * (len(beats) - 1) + [True]
    lines = [f"{int(last)}{bytes(beat)[::-1].hex()}" for beat, last in zip(beats, ends, strict=True)]
    (folder / "pipe.hex").write_text("\n".join(lines))
    (folder / "pipe.v").write_text(PIPE)
    sources = sorted(path.name for path in folder.glob("*.v") if "bench" not in path.name)
    command = ["iverilog", "-g2005", "-s", "pipe", f"-Ppipe.N={len(beats)}", f"-Ppipe.AXI={boundary.axi}"]
    command += ["-o", "pipe.vvp", *sources]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["vvp", "-N", "pipe.vvp"], cwd=folder, check=True, capture_output=True)
    return b"".join(bytes.fromhex(line)[::-1] for line in (folder / "pipe.out").read_text().split())


MAIN = """
#include <stdio.h>
#include "rig_host.h"
int main(void) {
    static unsigned char packet[4096], stream[65536];
    static double values[4096];
    int code, n = 0;
    unsigned tag;
    rig_head head;
    uint32_t registers[16] = {0}, *fingerprint = &registers[2];
    for (size_t k = 0; k < sizeof rig_identity / sizeof *rig_identity; ++k)
        registers[rig_identity[k].address / 4] = rig_identity[k].value;
    if (rig_check(registers)) return 3;
    *fingerprint ^= 1;
    if (strcmp(rig_check(registers), "fingerprint")) return 4;
    FILE *tasks = fopen("tasks.txt", "r"), *packets = fopen("packets.bin", "wb"), *results = fopen("results.bin", "rb");
    while (fscanf(tasks, "%d %u", &code, &tag) == 2) {
        const rig_function *function = rig_find(code);
        for (uint32_t k = 0; k < function->input_size; ++k) if (fscanf(tasks, "%la", &values[k]) != 1) return 1;
        fwrite(packet, 1, rig_pack(function, tag, values, packet), packets);
    }
    for (size_t size = fread(stream, 1, sizeof stream, results), at = 0, used; at < size; at += used, ++n) {
        used = rig_unpack(stream + at, size - at, values, &head);
        if (!used || rig_unpack(stream + at, used - 1, values, &head)) return 2;
        rig_unpack(stream + at, used, values, &head);
        printf("%d %u %d %d", head.function, head.tag, head.flag, head.error);
        for (uint32_t k = 0; k < rig_find(head.function)->output_size; ++k) printf(" %a", values[k]);
        printf("\\n");
    }
    return fclose(packets);
}
"""


def _as_c(folder: Path, host, states, sent, stream: bytes) -> None:
    skip_without("cc")
    rows, n = [], len(states["q"])
    for k, row in enumerate(host.functions.values()):
        for i in range(n):
            values = np.concatenate([states[name][i] for name in row["inputs"]])
            rows.append(" ".join([str(row["code"]), str(n * k + i), *(float(x).hex() for x in values)]))
    (folder / "tasks.txt").write_text("\n".join(rows))
    (folder / "results.bin").write_bytes(stream)
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wpedantic"]
    subprocess.run(["cc", *flags, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    said = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    assert (folder / "packets.bin").read_bytes() == b"".join(packet.tobytes() for packet in sent)
    for line, (head, found) in zip(said, host.results(stream), strict=True):
        code, tag, flag, error, *values = line.split()
        assert [int(code), int(tag), int(flag), int(error)] == [head[x] for x in ("code", "tag", "flag", "error")]
        assert [float.fromhex(x) for x in values] == np.concatenate(list(found.values())).tolist()


SINGLES = """
module singles;
    parameter W = 27, N = 2000;
    reg clock;
    reg [31:0] x [0:N - 1];
    reg [31:0] frac [0:N - 1];
    wire [W - 1:0] word;
    wire [31:0] single;
    integer at;
    fx_from_single #(W) from (.clock(clock), .moves(1'b1), .frac(frac[at][7:0]), .x(x[at]), .y(word));
    fx_to_single #(W) to (.clock(clock), .moves(1'b1), .frac(frac[at][7:0]), .x(x[at][W - 1:0]), .y(single));
    initial begin
        $readmemh("x.hex", x);
        $readmemh("frac.hex", frac);
        for (at = 0; at < N; at = at + 1) begin
            repeat (3) begin clock = 0; #1 clock = 1; #1; end
            $display("%h %h", word, single);
        end
    end
endmodule
"""


@needs_iverilog
@pytest.mark.parametrize("width", [27, slow(32), slow(18)])
def test_singles_are_rounded_to_nearest_even_and_clamped(tmp_path, width: int) -> None:
    """Random bits (NaN, infinities, subnormal numbers among them), numbers near words, halves."""
    rng, n = np.random.default_rng(1), 2000
    frac = rng.integers(-20, 46, n)
    bits = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    near = np.ldexp(rng.integers(-(1 << width), 1 << width, n) / 4.0, -frac).astype(np.float32)
    bits[1000:] = np.frombuffer(near.tobytes(), np.uint32)[1000:]
    bits[:6] = (0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 1, 0x80000001)
    for name, values in (("x", bits), ("frac", frac & 0xFF)):
        (tmp_path / f"{name}.hex").write_text("\n".join(f"{int(value):x}" for value in values))
    folder = written(tmp_path / "rig", ARM, accelerator(ARM, "id"), Boundary(64, float32=True), 1)
    (tmp_path / "axi.v").write_text((folder / "fx_axi.v").read_text() + SINGLES)
    subprocess.run(
        ["iverilog", "-g2005", "-s", "singles", f"-Psingles.W={width}", "-o", "s.vvp", "axi.v"],
        cwd=tmp_path,
        check=True,
    )
    said = subprocess.run(["vvp", "-N", "s.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    words, singles = np.array([[int(x, 16) for x in line.split()] for line in said.splitlines()]).T
    with np.errstate(all="ignore"):
        reals = np.frombuffer(bits.tobytes(), np.float32).astype(np.float64)
    host = host_program()
    expected = np.array([host.integers(x[None], width, f)[0] for x, f in zip(reals, frac, strict=True)])
    assert np.array_equal(words, expected & ((1 << width) - 1))
    integers = (bits.astype(np.int64) & ((1 << width) - 1)) - ((bits.astype(np.int64) >> (width - 1) & 1) << width)
    back = np.ldexp(integers.astype(np.float64), -frac).astype(np.float32)
    assert np.array_equal(singles.astype(np.uint32), np.frombuffer(back.tobytes(), np.uint32))
