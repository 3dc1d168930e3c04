"""The AXI boundary: packets on a bus, registers, rates. The packers read what `describe` returns.

A packet has a header of 32 bits and the words of a function, from bit 0 of the first beat on. The code in the header
says how many beats it has. tlast ends a transfer, which may hold many packets. Words are two's-complement integers
without gaps, or IEEE single-precision numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import pi, prod
from typing import Any

from condyle.errors import UnsupportedError
from condyle.fpga.rtl import stream
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.header import HEAD, HEADER, VERSION
from condyle.fpga.rtl.stream import Field
from condyle.fpga.rtl.tasks import TRIG

WIDTHS = tuple(1 << k for k in range(5, 11))
"""Bits of an AXI4-Stream."""
SINGLE = 32
LARGEST_LINK, FASTEST = 1e6, 1e4
SINGLES = range(-64, 120)
"""Bits behind the binary point of the words that fit a normal single-precision number."""


@dataclass(frozen=True)
class Boundary:
    """axi: bits of a beat. float32: words are single-precision numbers on the bus, and are converted on the chip.
    async_clock: the accelerator has its own clock. link: GB/s in each direction; None: only the bus limits the rate.
    echo: the result of difd also has the M^-1 of its task. bus_clock: MHz; None: that of the accelerator."""

    axi: int = 512
    float32: bool = False
    async_clock: bool = False
    link: float | None = None
    echo: bool = False
    bus_clock: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.axi, int) or self.axi not in WIDTHS:  # type: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"axi={self.axi!r}: allowed is {', '.join(map(str, WIDTHS))} bits")
        number = isinstance(self.link, (int, float)) and not isinstance(self.link, bool)
        if self.link is not None and not (number and 0.0 < self.link < LARGEST_LINK):
            raise UnsupportedError(
                f"link={self.link!r}: give the speed of the link in each direction, in GB/s, such as 12"
            )
        if self.bus_clock is not None and not (self.async_clock and 0.0 < self.bus_clock < FASTEST):
            raise UnsupportedError(
                f"bus_clock={self.bus_clock!r}: give a frequency in MHz, above 0 and below {FASTEST:g}, and "
                "async_clock: with one clock the bus has that of the accelerator"
            )

    def packet(self, words: list[Field]) -> list[Field]:
        """The bits of the words behind the header."""
        formats = [(field.word, field.format) for field in words]
        if not self.float32:
            return stream.laid(formats, HEAD)
        return [field._replace(low=HEAD + SINGLE * k) for k, field in enumerate(stream.laid(formats))]

    def task(self, plan: Plan, function: str) -> list[Field]:
        return self.packet(stream.taken(plan, function))

    def result(self, plan: Plan, function: str) -> list[Field]:
        """The words of the function's outputs. The accelerator may give more words behind them."""
        words = plan.tasks[function].words.values()
        return self.packet([f for f in stream.result(plan, function) if self.echo or f.word.name in words])

    def beats(self, fields: list[Field]) -> int:
        """Beats of a packet with a header and these words."""
        end = max((field.low + (SINGLE if self.float32 else field.format.width) for field in fields), default=HEAD)
        return -(-end // self.axi)

    def check(self, plan: Plan) -> None:
        """UnsupportedError if a code does not fit the header, or a word does not fit a float32."""
        bits = HEADER["function"].width
        if plan.id.code_bits > bits:
            raise UnsupportedError(
                f"codes have {plan.id.code_bits} bits, a header holds {bits}: export fewer functions"
            )
        formats = [format for words in plan.results.values() for _, format in words] + list(plan.formats.values())
        far = [str(format) for format in formats if format.frac not in SINGLES]
        if self.float32 and far:
            raise UnsupportedError(f"float32: a word of format {far[0]} does not fit a float32: export without float32")


@dataclass(frozen=True)
class Rate:
    """The rates of one function. task, result: beats. bytes: of a beat. chip, bus, link: tasks a second of each alone,
    for tasks of this function; link is None without the option."""

    task: int
    result: int
    bytes: int
    chip: float
    bus: float
    link: float | None

    @property
    def board(self) -> float:
        return min(rate for rate in (self.chip, self.bus, self.link) if rate is not None)


def rate(plan: Plan, boundary: Boundary, function: str, interval: int, clock: float) -> Rate:
    """clock: MHz, of the core, and of the bus if it has none of its own."""
    task = boundary.beats(boundary.task(plan, function))
    result = boundary.beats(boundary.result(plan, function))
    most, each = max(task, result), boundary.axi // 8
    link = None if boundary.link is None else 1e9 * boundary.link / (most * each)
    return Rate(task, result, each, 1e6 * clock / interval, 1e6 * (boundary.bus_clock or clock) / most, link)


def least_interval(plan: Plan, boundary: Boundary, clock: float) -> int:
    """The longest interval in cycles at which every function is as fast as the bus and the link can feed it; 1 without
    a link."""
    if boundary.link is None:
        return 1
    longest: list[float] = []
    for name, task in plan.tasks.items():
        fed = rate(plan, boundary, name, task.turns, clock)
        longest.append(1e6 * clock / (min(fed.bus, fed.link or fed.bus) * task.turns))
    return max(1, int(min(longest) * (1 + 1e-9)))


MAGIC = 0x434E4459
TIMEOUT = 1000
"""Cycles after which fewer results than `results_per_last` are sent, until the host writes another number."""
REGISTERS: Mapping[str, tuple[int, str, str]] = {
    "magic": (0x00, "r", f"0x{MAGIC:08x}: this is an accelerator of Condyle"),
    "version": (0x04, "r", f"{VERSION}: the version of this table and of the header"),
    "fingerprint": (0x08, "r", "a hash of the robot and of all packets. An export with other words has another one"),
    "shape": (0x0C, "r", "nq in bits 15:0, nv in 31:16"),
    "stream": (0x10, "r", "bits of a beat in 15:0, of a word in 23:16; bit 24: float32; bit 25: a clock of its own"),
    "control": (0x14, "rw", "write 1 to bit 0 for a soft reset. It reads 1 until the reset is done"),
    "errors": (0x18, "rw", "set until a 1 is written: bit 0 flag, bit 1 unknown code, bit 2 malformed packet"),
    "tasks": (0x1C, "r", "packets received, wrong ones included"),
    "results": (0x20, "r", "packets sent, including the answers to wrong packets"),
    "flagged": (0x24, "r", "of these, packets with a flag. Errors have a flag too"),
    "unknown": (0x28, "r", "of these, answers to unknown codes"),
    "malformed": (0x2C, "r", "of these, answers to packets with too few beats: `tlast` came before their end"),
    "stalled_in": (0x30, "r", "cycles with `s_axis_tvalid` high and `s_axis_tready` low"),
    "stalled_out": (0x34, "r", "cycles with `m_axis_tvalid` high and `m_axis_tready` low"),
    "results_per_last": (0x38, "rw", "results that share one `m_axis_tlast`; 1 after `aresetn`. 0 is stored as 1"),
    "timeout": (
        0x3C,
        "rw",
        f"`aclk` cycles until a result without a next one leaves with `tlast`; {TIMEOUT} at first",
    ),
}
"""Name: address, access, what it is. 32 bits each; counters wrap. A soft reset clears the counters and `errors`.
`fx_registers` has a signal or a parameter of each name."""


def describe(plan: Plan, boundary: Boundary, name: str, fingerprint: str) -> dict[str, Any]:
    """The whole boundary as data: NAME_stream.json. entries: the entries of a word in the function's arrays, which are
    one after the other, row by row; a word of a symmetric matrix has two. Entries without a word are zero. value: of
    constant registers, by which a host identifies its accelerator. angles: see `angles`. fingerprint: the robot's."""
    functions = {function: _function(plan, boundary, function) for function in plan.functions}
    word = max(format.width for format in plan.formats.values())
    values = {
        "magic": MAGIC,
        "version": VERSION,
        "fingerprint": int(hashlib.sha256(json.dumps([fingerprint, functions]).encode()).hexdigest()[:8], 16),
        "shape": plan.nq | plan.nv << 16,
        "stream": boundary.axi | word << 16 | boundary.float32 << 24 | boundary.async_clock << 25,
    }
    registers: dict[str, dict[str, Any]] = {
        key: dict(zip(("address", "access", "about"), row, strict=True)) for key, row in REGISTERS.items()
    }
    for key, value in values.items():
        registers[key]["value"] = value
    return {
        "version": VERSION,
        "name": name,
        "fingerprint": fingerprint,
        "axi": boundary.axi,
        "float32": boundary.float32,
        "async_clock": boundary.async_clock,
        "header": {name: {"high": bits.high, "low": bits.low} for name, bits in HEADER.items()},
        "registers": registers,
        "functions": functions,
        "angles": {str(word): within for word, within in angles(plan).items()},
    }


def constants(stream: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Address and value of each register that has one value. stream: see `describe`."""
    return {key: (row["address"], row["value"]) for key, row in stream["registers"].items() if "value" in row}


def angles(plan: Plan) -> dict[Word, float]:
    """The words of q that a host may turn by 2 pi, and their bounds in the box, which hold a full turn. The arrays read
    only their sines and cosines, or nothing: the angle of a vertical first joint. A word that only an integration step
    reads is not turned: it may be a length."""
    path, stepping = plan.datapaths[TRIG.array], any(task.stages for task in plan.tasks.values())
    places, leave = dict(path.inputs), {k for _, k in path.outputs}

    def is_angle(word: Word) -> bool:
        if word not in places:
            return not stepping
        k = places[word]
        return k not in leave and {op.kind for op in path.ops if k in op.args} == {"sincos"}

    return {w: plan.limits[w] for w in plan.takes("q") if is_angle(w) and plan.limits.get(w, 0.0) >= pi}


def _function(plan: Plan, boundary: Boundary, function: str) -> dict[str, Any]:
    task, square = plan.tasks[function], plan.nv**2
    sent, answered = boundary.task(plan, function), boundary.result(plan, function)
    sizes = {"q": plan.nq, "Minv": square}
    inputs = {f.word.name: sizes.get(f.word.name, 1 + plan.takes(f.word.name)[-1].index) for f in sent}
    ports = {task.words[port.name]: port for port in task.function.outputs}
    outputs = {port.name: prod(port.shape({"nq": plan.nq, "nv": plan.nv})) for port in ports.values()}
    # what goes out beside the function's outputs: M^-1 of difd
    outputs |= {field.word.name: square for field in answered if field.word.name not in ports}

    def packet(fields: list[Field], sizes: Mapping[str, int]) -> dict[str, Any]:
        starts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
        beats, words = boundary.beats(fields), list[dict[str, Any]]()
        for word, format, low in fields:
            port = ports.get(word.name)
            name = port.name if port else word.name
            places = stream.entries(word, plan.nv, word.name == "Minv" or (port is not None and port.symmetric))
            row = {"word": f"{name}_{word.index}", "low": low, "width": format.width, "frac": format.frac}
            words.append(row | {"entries": [starts[name] + place for place in places]})
        return {"beats": beats, "bytes": beats * boundary.axi // 8, "words": words}

    both = {"task": packet(sent, inputs), "result": packet(answered, outputs)}
    return {"code": task.codes[0], "inputs": inputs, "outputs": outputs, **both}
