"""What an export brings for an ECP5: a serial top whose answers are right, multipliers, the bitstream."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.util import module_from_spec, spec_from_file_location

import pytest

import condyle
from condyle.fpga.rtl.readme import VIVADO
from tests.programs import YOSYS, needs, tool

ARM = condyle.chain(2, 0)

BENCH = """
module line_bench;
    localparam D = 4;
    reg clock = 0, host = 1, button = 0;
    wire board;
    reg [7:0] bytes [0:BYTES-1];
    integer k, n, b, heard;
    reg [7:0] byte;
    always #1 clock = ~clock;
    arm_serial #(D) dut (.clk_25mhz(clock), .button(button), .ftdi_txd(host), .ftdi_rxd(board), .led(), .wifi_gpio0());
    task hear; begin
        @(negedge board);
        #(D);
        for (b = 0; b < 8; b = b + 1) begin #(2 * D); byte[b] = board; end
        #(2 * D);
        $display("%02x", byte);
        heard = heard + 1;
    end endtask
    initial forever hear;
    initial begin
        $readmemh("bytes.hex", bytes);
        heard = 0;
        #200;
        for (k = 0; k < BYTES; k = k + 1) begin
            host = 0; #(2 * D);
            for (n = 0; n < 8; n = n + 1) begin host = bytes[k][n]; #(2 * D); end
            host = 1; #(2 * D);
            if (k % IN == IN - 1) wait (heard == (k + 1) / IN * OUT);
        end
        #100 $finish;
    end
endmodule
"""


@pytest.mark.slow
@needs("iverilog")
def test_the_serial_top_of_an_ecp5_answers_to_the_bit(tmp_path, monkeypatch) -> None:
    """What serial.py sends comes back as it expects, byte by byte; a task of an unknown code is among them."""
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm", part="ecp5-25k")
    monkeypatch.chdir(tmp_path)
    spec = spec_from_file_location("serial_host", tmp_path / "serial.py")
    assert spec is not None and spec.loader is not None
    host = module_from_spec(spec)
    spec.loader.exec_module(host)
    tasks, answers = host.rows("tasks.hex"), host.rows("answers.hex")
    sent = [host.task(row, 700 + tag) for tag, row in enumerate(tasks)]
    wanted = b"".join(host.answer(row, 700 + tag) for tag, row in enumerate(answers))
    (tmp_path / "bytes.hex").write_text("\n".join(f"{byte:02x}" for byte in b"".join(sent)))
    sizes = {"BYTES": sum(map(len, sent)), "IN": len(sent[0]), "OUT": host.OUT}
    bench = re.sub(r"\b(BYTES|IN|OUT)\b", lambda found: str(sizes[found[0]]), BENCH)
    (tmp_path / "line.v").write_text("`timescale 1ns/1ns\n" + bench)
    sources = [path.name for path in tmp_path.glob("*.v") if not path.name.endswith(("_bench.v", "_ecp5.v"))]
    subprocess.run(["iverilog", "-g2005", "-s", "line_bench", "-o", "line.vvp", *sources], check=True)
    ran = subprocess.run(["vvp", "-n", "line.vvp"], capture_output=True, text=True, check=True)
    got = bytes(int(line, 16) for line in ran.stdout.split("\n") if re.fullmatch(r"[0-9a-f]{2}", line))
    assert got == wanted and len(tasks) > 10
    rates = json.loads((tmp_path / "report.json").read_text())["functions"]["id"]["boundary"]
    assert rates["board_million_per_s"] == pytest.approx(0.01152 / max(len(sent[0]), host.OUT), abs=1e-6)


def test_the_readme_says_how_external_forces_stand(tmp_path) -> None:
    said = "in the order of `bodies` in `robot.json`: force,\n  then moment, at the origin of the body's frame"
    for f_ext in (None, 20.0):
        condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm", f_ext=f_ext)
        assert (said in (tmp_path / "README.md").read_text()) == (f_ext is not None)


MULT18X18D = """
module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_OUTPUT_CLK = "NONE", GSR = "ENABLED"
) (
    input CLK0, CE0, RST0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, @inputs@, output @outputs@
);
    wire signed [17:0] a = {@A@}, b = {@B@};
    reg signed [17:0] x, y;
    reg signed [35:0] product;
    assign {@P@} = product;
    always @(posedge CLK0) if (CE0 && SIGNEDA && SIGNEDB && !RST0 && !SOURCEA && !SOURCEB) begin
        if (REG_INPUTA_CLK == "CLK0") x <= a;
        if (REG_INPUTB_CLK == "CLK0") y <= b;
        if (REG_OUTPUT_CLK == "CLK0") product <= x * y;
    end
endmodule
module pair #(parameter WA = 18, WB = 18, N = 2) (input clock, output wrong);
    reg signed [WA-1:0] a;
    reg signed [WB-1:0] b;
    reg signed [WA+WB-1:0] line [0:3];
    wire signed [WA+WB-1:0] p;
    integer k, seen = 0;
    fx_product #(WA, WB, N) product (.clock(clock), .a(a), .b(b), .p(p));
    assign wrong = seen > 4 && p !== line[N];
    always @(posedge clock) begin
        seen <= seen + 1;
        a <= $random;
        b <= seen % 7 == 0 ? 1 << WB - 1 : $random;
        line[0] <= a * b;
        for (k = 1; k < 4; k = k + 1) line[k] <= line[k-1];
    end
endmodule
module products_bench;
    reg clock = 0;
    wire [4:0] wrong;
    integer found = 0;
    always #1 clock = ~clock;
    pair #(18, 18, 2) whole (clock, wrong[0]);
    pair #(27, 18, 2) cut (clock, wrong[1]);
    pair #(18, 27, 2) other (clock, wrong[2]);
    pair #(15, 18, 1) short (clock, wrong[3]);
    pair #(27, 18, 1) wide (clock, wrong[4]);
    always @(negedge clock) found = found + (|wrong !== 1'b0);
    initial #2000 begin
        $display("%0d wrong", found);
        $finish;
    end
endmodule
"""
"""The part's multiplier, of which the library of yosys has the ports only; and products of it beside plain ones."""


@needs("iverilog")
@pytest.mark.parametrize(
    "planted",
    [
        ("", ""),
        (".B3(y[3])", ".B3(y[4])"),
        (".SIGNEDB(1'b1)", ".SIGNEDB(1'b0)"),
        ('.REG_INPUTB_CLK("CLK0"), ', ""),
        ("wire [17:0] x = a", "wire [17:0] x = {1'b0, a}"),
    ],
)
def test_products_in_the_multipliers_of_an_ecp5_are_the_same(tmp_path, planted) -> None:
    """To the bit and to the cycle, for products that are cut and those that are not; a wrong wire is found."""
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm", part="ecp5-25k")
    pins = {
        letter: [f"{letter}{k}" for k in range(bits)] for letter, bits in zip("ABCP", (18, 18, 18, 36), strict=True)
    }
    text = MULT18X18D.replace("@inputs@", ", ".join(pins["A"] + pins["B"] + pins["C"]))
    text = text.replace("@outputs@", ", ".join(pins["P"]))
    for letter in "ABP":
        text = text.replace(f"@{letter}@", ", ".join(reversed(pins[letter])))
    (tmp_path / "products.v").write_text(text)
    made = (tmp_path / "fx_ecp5.v").read_text()
    assert planted[0] in made
    (tmp_path / "fx_ecp5.v").write_text(made.replace(*planted) if planted[0] else made)
    files = ["fx_operators.v", "fx_ecp5.v", "products.v"]
    command = ["iverilog", "-g2009", "-DFX_MULTIPLIER", "-s", "products_bench", "-o", "products.vvp", *files]
    subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run(["vvp", "-n", "products.vvp"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (ran.stdout.strip() == "0 wrong") == (not planted[0])


def test_an_ecp5_has_no_files_of_vivado_and_names_its_size(tmp_path) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm", part="ecp5-45k")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"arm_serial.v", "serial.py", "ulx3s.lpf"} <= names and not {"count.py", "clocks.xdc", *VIVADO} & names
    made = subprocess.run(["make", "-n", "ecp5"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "--45k" in made and "-top arm_serial" in made and "ecppack" in made
    pins = re.findall(r'^LOCATE COMP "(\w+)', (tmp_path / "ulx3s.lpf").read_text(), re.MULTILINE)
    top = re.search(r"module arm_serial .*?\);", (tmp_path / "arm_serial.v").read_text(), re.DOTALL)
    assert top is not None and all(re.search(rf"\b{pin}\b", top[0]) for pin in pins)


@pytest.mark.slow
@needs(YOSYS)
@pytest.mark.parametrize("part", ["xcvu9p", "ecp5-85k"])
def test_yosys_elaborates_the_whole_export(tmp_path, part) -> None:
    """No missing module, no driver twice, no loop; a port that is not there is found."""
    condyle.export(ARM, "verilog", tmp_path, name="arm", part=part)
    sources = " ".join(path.name for path in tmp_path.glob("*.v") if not path.name.endswith("_bench.v"))
    top, more = "arm", ""
    if part.startswith("ecp5"):
        top, more = "arm_serial", "read_verilog -lib +/lattice/cells_bb_ecp5.v; read_verilog -DFX_MULTIPLIER"
    commands = f"{more or 'read_verilog'} {sources}; hierarchy -check -top {top}; proc; check -assert"
    whole = [tool(YOSYS), "-q", "-p", commands]
    assert subprocess.run(whole, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    text = (tmp_path / "arm.v").read_text()
    (tmp_path / "arm.v").write_text(text.replace(".in_id(", ".in_idd(", 1))
    assert subprocess.run(whole, cwd=tmp_path, capture_output=True, check=False).returncode != 0
