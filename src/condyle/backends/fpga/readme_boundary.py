"""What the README of an exported accelerator says of its boundary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from condyle.backends.fpga.boundary import REGISTERS, Boundary
from condyle.backends.fpga.report import Facts

FILES = """\
| `{name}_axi.v`, `fx_axi.v` | the accelerator between two AXI4-Streams, with registers by AXI4-Lite; its parts |
| `{name}_stream.json` | all packets and registers as data: bits of each word, its point, its place in an array |
| `{name}_host.h`, `condyle_host.py` | packers of tasks and results, in C99 (nothing is allocated) and in NumPy |
| `{name}_axi_bench.v`, `axi_tasks.hex`, `axi_tasks_from.hex`, `axi_answers.hex`, `axi_answers_from.hex` | the bench \
of the boundary, its packets |"""


def boundary_files(name: str) -> str:
    """Rows of the table of files."""
    return FILES.format(name=name)


def boundary_readme(facts: Facts, report: Mapping[str, Any]) -> str:
    """The section on `NAME_axi`."""
    name, of = facts.name, facts.boundary
    rows = "\n".join(_row(function, row["boundary"]) for function, row in report["functions"].items())
    registers = "\n".join(
        f"| 0x{at:02x} | {key} | {access} | {about} |" for key, (at, access, about) in REGISTERS.items()
    )
    clocks = "`core_clk` is the accelerator's, of any ratio to `aclk`" if of.async_clock else "`aclk` is the only clock"
    words = (
        "IEEE-754 singles, 32 bits each, converted on chip: nearest, halves to even; what a word cannot hold is\n"
        "clamped and flagged, NaN is flagged"
        if of.float32
        else "integers one after the other, as in `in_data`, without gaps"
    )
    return f"""\
## The boundary

The top of a board is `{name}_axi`: the ports of `{name}` are too many for any part. `s_axis_*` takes tasks,
`m_axis_*` gives results, each {of.axi} bits a beat (`tdata`, `tvalid`, `tready`, `tlast`; no `tkeep`: every byte
counts); `s_axil_*` are the registers.
{clocks}; `aresetn` is low for 4 cycles or more.

A packet is a task or a result; `tlast` is high at its last beat. Its first 32 bits are the header: bits 7 to 0 the
function's code, 8 flag, 9 error, 10 malformed (the three of results only), 31 to 16 the tag; the others are 0. Behind
it stand the words that the function takes, or gives, no others: {words}.
The last beat is filled up with bits that mean nothing in a task and are 0 in a result. Results come when they are
ready. A packet with too few or too many beats, or of a code that names no function, is answered by a header alone,
with flag and error, and disturbs no other; such answers may overtake results.

| function | bytes of a task | of a result | M/s: chip | bus | link | board |
|---|---:|---:|---:|---:|---:|---:|
{rows}

Million tasks a second at an assumed {facts.clock:g} MHz, task after task of one function: the board is as fast as the
slowest of the others. {_link(of)}

| address | register | access | what it is |
|---|---|---|---|
{registers}

32 bits each, written whole; counters wrap. A soft reset lets the packet that is leaving end, drops what is inside,
waits for the core's clock, and drops the rest of a packet that was half sent. A receiver that stays not ready delays
it; `aresetn` does not wait. `make axi` simulates all this by iverilog, in four states.

```python
from condyle_host import Host            # NumPy only
host = Host("{name}_stream.json")
host.check(read)                         # read(address) is your way to read a register: is it this accelerator?
packets = host.pack("FUNCTION", tags, q=q, ...)      # uint8 (n, bytes): what a DMA sends
for head, outputs in host.results(received): ...     # matrices row by row, symmetric ones whole
```
"""


def _link(of: Boundary) -> str:
    if of.link is None:
        return "`--link GB/S` at the export chooses an interval that a link can feed, which saves DSPs."
    return (
        f"The interval is the longest at which no function is slower than the bus and a link of {of.link:g} GB/s in\n"
        "each direction can feed it, or longer where the part holds no more."
    )


def _row(function: str, rates: Mapping[str, Any]) -> str:
    known = [rates[f"{what}_million_per_s"] for what in ("chip", "bus", "link", "board")]
    cells = [function, rates["task_bytes"], rates["result_bytes"], *("-" if x is None else f"{x:.4g}" for x in known)]
    return "| " + " | ".join(map(str, cells)) + " |"
