"""The section about the AXI boundary in the README of an exported accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from condyle.backends.fpga.boundary import REGISTERS, Boundary
from condyle.backends.fpga.report import Facts

FILES = """\
| `{name}_axi.v`, `fx_axi.v` | the accelerator with AXI4-Streams and AXI4-Lite registers; its modules |
| `{name}_stream.json` | all packets and registers as data: bits, binary point and array entry of each word |
| `{name}_host.h`, `condyle_host.py` | pack tasks and unpack results: C99 (without allocation), Python (NumPy) |
| `{name}_axi_bench.v`, `axi_tasks.hex`, `axi_tasks_from.hex`, `axi_answers.hex`, `axi_answers_from.hex` | the test \
bench of the boundary and its packets |"""


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
    clocks = (
        "`aclk` is the clock of the bus, `core_clk` that of the accelerator. Their ratio can be any"
        if of.async_clock
        else "`aclk` is the only clock"
    )
    words = (
        "IEEE-754 single-precision numbers of 32 bits, which the accelerator converts: to nearest, halves\n"
        "to even. A number that does not fit its word is clamped and flagged, and so is NaN."
        if of.float32
        else "integers as in `in_data`, without gaps."
    )
    return f"""\
## The AXI boundary

The top module for a board is `{name}_axi`, because `{name}` has more ports than a part has pins. Tasks come on
`s_axis_*` and results leave on `m_axis_*`: {of.axi} bits a beat, with `tdata`, `tvalid`, `tready` and `tlast`. There is
no `tkeep`; every byte counts. `s_axil_*` are the registers.
{clocks}. Hold `aresetn` low for at least 4 cycles.

**A packet** is one task or one result. `tlast` is high at its last beat. Its first 32 bits are the header:

| bits | of a task | of a result |
|---|---|---|
| 7:0 | the code of the function | the same |
| 8 | ignored | flag |
| 9 | ignored | error |
| 10 | ignored | malformed |
| 31:16 | the tag | the same |

Other bits are ignored in a task and 0 in a result. Behind the header come the words that the function takes or gives,
and no others. They are
{words}
The unused bits of the last beat are ignored in a task and 0 in a result.

**Order**: a result comes when it is ready.
**Wrong packets**: a packet with too few or too many beats, or with an unknown code, is answered by a header alone, with
flag and error. It does not disturb other packets. Such an answer may come before results of earlier tasks.

| function | bytes of a task | bytes of a result | accelerator alone | bus | link | board |
|---|---:|---:|---:|---:|---:|---:|
{rows}

The last four columns are million tasks a second, for tasks of one function, at an assumed clock of
{facts.clock:g} MHz. The rate of the board is the least of the other three. {_link(of)}

| address | register | access | what it is |
|---|---|---|---|
{registers}

Registers have 32 bits and are written as a whole. Counters wrap around. A soft reset does this in order: the packet
that is leaving ends; everything inside is dropped; the clock of the accelerator sees the reset; the rest of a packet
that was half sent is dropped. A receiver that is never ready delays it; `aresetn` does not wait. `make axi` simulates
this by iverilog in four-state logic, with three settings of stalls and clocks.

```python
from condyle_host import Host            # needs only NumPy
host = Host("{name}_stream.json")
host.check(read)                         # read(address): your way to read a register; ValueError if it is another one
packets = host.pack("FUNCTION", tags, q=q, ...)      # uint8 (n, bytes): what a DMA sends
for head, outputs in host.results(received): ...     # matrices row by row, symmetric ones complete
```
"""


def _link(of: Boundary) -> str:
    if of.link is None:
        return "The export option `--link GB/S` takes\nthe longest interval that the link can feed, which saves DSPs."
    return (
        "`--link`: the interval is the longest\nat which no function is slower than the bus and a link of "
        f"{of.link:g} GB/s in each direction can feed it.\nIt is longer if the part cannot hold that."
    )


def _row(function: str, rates: Mapping[str, Any]) -> str:
    known = [rates[f"{what}_million_per_s"] for what in ("chip", "bus", "link", "board")]
    cells = [function, rates["task_bytes"], rates["result_bytes"], *("-" if x is None else f"{x:.4g}" for x in known)]
    return "| " + " | ".join(map(str, cells)) + " |"
