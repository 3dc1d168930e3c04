"""The scripts and constraints for Vivado, run by a Tcl shell that knows its commands by name (vivado.tcl)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.fpga.rtl.readme import CROSSINGS, PACKAGED, VIVADO
from condyle.fpga.rtl.target import PARTS
from tests.programs import YOSYS, call, needs, tool

ARM = condyle.chain(2, 0)
CLOCKS = "aclk {pl_clk0 10.0} core_clk {clk_out1 3.2}"
"""Ports with the name and the period of their clocks, in a design that has the accelerator inside."""
INSIDE = ("tail_1", "tail_2", "head_1", "head_2", "tail_gray", "head_gray", "leaves/out_data")
REGISTERS = [f"{name}/{register}_reg[0]" for name in ("beats_in", "beats_out") for register in INSIDE]
REGISTERS += [f"{name}_reg[{bit}]" for name in ("core_reset/chain", "done_chain") for bit in range(2)]


def recorded(script: Path, slack: str = "0.25") -> subprocess.CompletedProcess[str]:
    """What a script does, a line a command."""
    shell = ["tclsh", Path(__file__).with_name("vivado.tcl"), script, CLOCKS, " ".join(REGISTERS), slack]
    return subprocess.run(shell, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=[False, True], ids=["one clock", "two clocks"])
def exported(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    options = {"part": "xck26", "clock": 250.0} | ({"async_clock": True, "bus_clock": 160.0} if request.param else {})
    condyle.export(ARM, "verilog", folder, ("id", "fd"), name="arm", **options)
    return folder


@pytest.fixture
def copied(exported, tmp_path) -> Path:
    return shutil.copytree(exported, tmp_path / "copy")


@needs("tclsh")
def test_vivado_scripts_run_to_their_end(exported) -> None:
    for name in VIVADO:
        ran = recorded(exported / name)
        assert ran.returncode == 0, ran.stderr
        assert "xck26-sfvc784-2LV-c" in ran.stdout and "@" not in (exported / name).read_text()
        sources = re.findall(r"^(?:read_verilog|add_files -norecurse) (.*\.v)$", ran.stdout, re.MULTILINE)
        assert {Path(file).name for file in sources} == {
            path.name for path in exported.glob("*.v") if not path.name.endswith("_bench.v")
        }
        constraints = set(re.findall(r"\b(\w+\.xdc)$", ran.stdout, re.MULTILINE))
        assert constraints == {path.name for path in exported.glob("*.xdc")}, "each script has all of them"
    order = [line.split()[0] for line in recorded(exported / "vivado_timing.tcl").stdout.splitlines()]
    steps = ["synth_design", "opt_design", "place_design", "route_design", "report_timing_summary"]
    assert [step for step in order if step in steps] == steps
    assert max(k for k, step in enumerate(order) if step == "read_xdc") < order.index("synth_design")


@needs("tclsh")
def test_a_path_that_is_too_long_or_a_broken_script_fails(exported, tmp_path) -> None:
    assert recorded(exported / "vivado_timing.tcl", slack="-0.1").returncode != 0
    broken = tmp_path / "broken.tcl"
    broken.write_text((exported / "vivado_timing.tcl").read_text().replace("{ error", "error", 1))
    assert recorded(broken).returncode != 0


@needs("tclsh")
@pytest.mark.parametrize("name", VIVADO)
def test_a_file_that_is_missing_fails(copied, name) -> None:
    for path in [*copied.glob("*.xdc"), copied / "fx_axi.v"]:
        text = path.read_text()
        path.unlink()
        assert recorded(copied / name).returncode != 0, path.name
        path.write_text(text)
    assert recorded(copied / name).returncode == 0


@needs("tclsh")
def test_the_axi_boundary_is_packaged_with_its_ports_and_constraints(exported) -> None:
    ran = recorded(exported / "vivado_package.tcl")
    assert ran.stdout.count("ipx::infer_bus_interface ") == 5 and ran.stdout.count("-busif") == 3
    assert ran.stdout.rstrip().splitlines()[-2:] == ["ipx::save_core 1", "close_project"]
    top = (exported / "arm_axi.v").read_text()
    ports = re.search(r"module arm_axi .*?\);\n", top, re.DOTALL)
    assert ports is not None
    assert {port for interface in PACKAGED.values() for port in interface} == {*re.findall(r"\b[sm]_axi\w+", ports[0])}
    lines, both = ran.stdout.splitlines(), (exported / CROSSINGS).exists()
    assert "set_property USED_IN out_of_context synthesis implementation clocks.xdc" in lines
    assert (f"set_property SCOPED_TO_REF arm_axi {CROSSINGS}" in lines) == both == ("input core_clk" in top)
    assert (f"set_property PROCESSING_ORDER LATE {CROSSINGS}" in lines) == both
    packaged = next(k for k, line in enumerate(lines) if line.startswith("ipx::package_project"))
    assert max(k for k, line in enumerate(lines) if ".xdc" in line) < packaged


@needs("tclsh")
@pytest.mark.parametrize(
    ("part", "family", "other"),
    [("xck26", "zynquplus", "zynq"), ("xc7a100t", "artix7", "virtexuplus"), ("xc7z020", "zynq", "zynquplus")],
)
def test_the_ip_is_for_the_family_of_its_part(tmp_path, part, family, other) -> None:
    """Vivado offers an IP only for the families that it names."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id",), name="arm", part=part)
    ran = recorded(tmp_path / "vivado_package.tcl")
    assert ran.returncode == 0, ran.stderr
    (families,) = re.findall(r"^set_property supported_families (.*) 1$", ran.stdout, re.MULTILINE)
    assert f"{family} Production" in families and f" {other} " not in f" {families} "
    assert f"-part {PARTS[part].order} " in ran.stdout


def test_each_clock_is_created_where_nothing_else_does(exported) -> None:
    """For a run of the module alone; a design outside has clocks of its own. Each has its own period in ns."""
    ports = re.findall(r"^    input (aclk|core_clk),$", (exported / "arm_axi.v").read_text(), re.MULTILINE)
    periods = dict(zip(ports, ("6.250", "4.000") if len(ports) > 1 else ("4.000",), strict=True))
    rows = [f"create_clock -period {ns} -name {port} [get_ports {port}]\n" for port, ns in periods.items()]
    assert (exported / "clocks.xdc").read_text() == "".join(rows)


def test_the_clock_of_the_bus_decides_its_rates(exported, tmp_path) -> None:
    """One beat of 512 bits a packet: a task a cycle of the bus, or of the accelerator's own clock."""
    report = json.loads((exported / "report.json").read_text())
    mhz = 160.0 if report["boundary"]["async_clock"] else 250.0
    assert report["functions"]["id"]["boundary"]["bus_million_per_s"] == report["boundary"]["bus_clock_mhz"] == mhz
    for alone, wrong in ((True, 200.0), (False, 0.0), (False, 1e5), (False, "fast")):
        with pytest.raises(UnsupportedError, match="bus_clock"):
            condyle.export(ARM, "verilog", tmp_path, ("id",), async_clock=not alone, bus_clock=wrong)


@needs("tclsh")
@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("-of_objects [get_ports aclk]", "aclk"),
        ("-of_objects [get_ports core_clk]", "-of_objects [get_ports clock]"),
        ("tail_1_reg", "tail_one_reg"),
        ("done_chain_reg[0]", "done_chain_reg[2]"),
    ],
)
def test_limits_take_their_periods_from_the_design(tmp_path, was, now) -> None:
    """The shorter period of the two clocks that reach the ports, whatever their names. A clock by its name, a port or
    a register that is not there is found."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id",), name="arm", async_clock=True, axi=32)
    ran = recorded(tmp_path / CROSSINGS)
    assert ran.returncode == 0, ran.stderr
    starts = re.findall(r"^set_max_delay -datapath_only -from (\w+) -to .* 3\.2$", ran.stdout, re.MULTILINE)
    assert starts == ["pl_clk0", "clk_out1"]
    text = (tmp_path / CROSSINGS).read_text()
    assert was in text
    (tmp_path / CROSSINGS).write_text(text.replace(was, now, 1))
    assert recorded(tmp_path / CROSSINGS).returncode != 0


def crossing(module: Mapping[str, Any]) -> Iterator[set[tuple[str, str]]]:
    """Of a flat netlist of gates, each register with a path from a register of another clock: its clock, its names."""
    clock_at = {module["ports"][name]["bits"][0]: name for name in ("aclk", "core_clk")}
    names: dict[int, list[str]] = defaultdict(list)
    for name, net in module["netnames"].items():
        for bit in net["bits"]:
            names[bit].append(name)
    wired = [cell["connections"] for cell in module["cells"].values()]
    gates = {(gate.get("Q") or gate["Y"])[0]: gate for gate in wired}
    clocks: dict[int, set[str]] = {}

    def reached(bit: int) -> set[str]:
        """The clocks of the registers that a bit comes from."""
        todo = [bit]
        while todo:
            gate = gates.get(todo[-1], {})
            inputs = [] if "C" in gate else [bits[0] for port, bits in gate.items() if port != "Y"]
            missing = [bit for bit in inputs if bit not in clocks]
            if not missing:
                clock = {clock_at[gate["C"][0]]} if "C" in gate else set[str]()
                clocks[todo.pop()] = clock.union(*(clocks[bit] for bit in inputs))
            todo += missing
        return clocks[bit]

    for bit, gate in gates.items():
        if "C" in gate and reached(gate["D"][0]) - {clock_at[gate["C"][0]]}:
            yield {(clock_at[gate["C"][0]], name) for name in names[bit]}


@pytest.mark.slow
@needs(YOSYS)
def test_every_path_between_the_clocks_has_a_limit(tmp_path) -> None:
    """The registers that the limits name are those at which yosys finds such a path, on either side."""
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("m",), name="arm", async_clock=True, axi=32)
    sources = " ".join(path.name for path in tmp_path.glob("*.v") if not path.name.endswith("_bench.v"))
    steps = "setattr -mod -unset keep_hierarchy *; flatten -noscopeinfo -separator /; memory_map; opt_clean; dffunmap"
    commands = f"read_verilog {sources}; hierarchy -check -top arm_axi; proc; {steps}; techmap; write_json flat.json"
    call([tool(YOSYS), "-q", "-p", commands], tmp_path)
    ends = list(crossing(json.loads((tmp_path / "flat.json").read_text())["modules"]["arm_axi"]))
    rows = re.findall(r"-from \$(\w+) -to \[get_cells \{(.*?)\}\]", (tmp_path / CROSSINGS).read_text(), re.DOTALL)
    limited = {
        ({"bus": "core_clk", "core": "aclk"}[start], re.sub(r"_reg\[[^]]\]", "", cell))
        for start, cells in rows
        for cell in cells.replace("\\", " ").split()
    }
    assert len(rows) == 2 and len(ends) > 40, "two pointers of 5 bits and two words of 33"
    assert all(end & limited for end in ends), "a path without a limit"
    assert limited <= set[tuple[str, str]]().union(*ends), "a limit without a path"
