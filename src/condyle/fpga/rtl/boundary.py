"""The AXI boundary: packets on a bus, registers, rates. The packers read what `describe` returns.

A packet has a header of 32 bits and the words of a function, from bit 0 of the first beat on. The code in the header
says how many beats it has. tlast ends a transfer, which may hold many packets. Words are two's-complement integers
without gaps, or IEEE single-precision numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import pi, prod
from typing import Any

import numpy as np

from condyle.errors import UnsupportedError
from condyle.fpga.rtl import stream
from condyle.fpga.rtl.accelerator import TRIG, Plan
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_verilog import filled
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.header import HEAD, HEADER, RETURNED, VERSION
from condyle.fpga.rtl.stream import Field
from condyle.fpga.rtl.target import Format, Integers
from condyle.fpga.rtl.vectors import pack
from condyle.text import Emitter

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


# Packets: those of the boundary's bench, beat by beat, wrong ones among them; the C99 header that packs and unpacks
# them on a host.


LOW = {name: bits.low for name, bits in HEADER.items()}
CODES = 1 << HEADER["function"].width


@dataclass(frozen=True)
class Packet:
    """Beats of a task and of its result. The answer to a wrong packet is a header alone."""

    task: tuple[int, ...]
    answer: tuple[int, ...]


def packets(
    acc: Accelerator, boundary: Boundary, tasks: Mapping[str, Mapping[Word, Integers]], seed: int, wrong: bool
) -> list[Packet]:
    """Of each function its tasks (n,), in a random order, with tags from 0 on; between them, if asked for, wrong ones:
    too short, of a code that no function has."""
    made: list[tuple[list[int], list[int]]] = []
    for function, words in tasks.items():
        made += _without_tags(acc, boundary, function, words)
    codes = [task.codes[0] for task in acc.plan.tasks.values()]
    nothing, error = next(code for code in range(CODES) if code not in codes), 1 << LOW["flag"] | 1 << LOW["error"]
    for task, _ in made[:: max(1, len(made) // 6)] if wrong else ():
        code = task[0] % CODES
        made += [(task[:-1], [code | error | 1 << LOW["malformed"]])] * (len(task) > 1)
        made += [([task[0] ^ code ^ nothing, *task[1:], *[0] * more], [nothing | error]) for more in (0, 40)]
    order: list[int] = np.random.default_rng(seed).permutation(len(made)).tolist()
    return [Packet(*((beats[0] | _returned(tag), *beats[1:]) for beats in made[k])) for tag, k in enumerate(order)]


def _returned(tag: int) -> int:
    """The bits of a header that are returned: the tag, and in every other field the low bits of its complement."""
    return sum((tag if name == "tag" else ~tag) % (1 << HEADER[name].width) << LOW[name] for name in RETURNED)


def _without_tags(
    acc: Accelerator, boundary: Boundary, function: str, inputs: Mapping[Word, Integers]
) -> list[tuple[list[int], list[int]]]:
    sent, back = boundary.task(acc.plan, function), boundary.result(acc.plan, function)
    if boundary.float32:
        known = acc.plan.formats
        inputs = {word: known[word].from_real(known[word].to_real(x).astype(np.float32)) for word, x in inputs.items()}
    answer = evaluate(acc.plan, function, inputs)
    code = acc.plan.tasks[function].codes[0]
    heads = [code | int(flag) << LOW["flag"] for flag in answer.over.tolist()]
    tasks = _beats(boundary, sent, inputs, [code] * len(heads))
    return list(zip(tasks, _beats(boundary, back, answer.words, heads), strict=True))


def _beats(
    boundary: Boundary, fields: list[Field], words: Mapping[Word, Integers], heads: Sequence[int]
) -> list[list[int]]:
    """The beats of each packet."""
    if boundary.float32:
        singles = {field.word: field.format.to_real(words[field.word]).astype(np.float32) for field in fields}
        words = {word: np.frombuffer(x.tobytes(), np.uint32).astype(np.int64) for word, x in singles.items()}
        fields = [field._replace(format=Format(SINGLE, 0)) for field in fields]
    whole = [head | bits for head, bits in zip(heads, pack(fields, words, len(heads)), strict=True)]
    mask, beats = (1 << boundary.axi) - 1, boundary.beats(fields)
    return [[one >> boundary.axi * k & mask for k in range(beats)] for one in whole]


def beat_lines(boundary: Boundary, many: Sequence[Sequence[int]]) -> list[str]:
    """{last, data} in hexadecimal, a beat a line."""
    return [f"{int(k + 1 == len(beats)) << boundary.axi | beat:x}" for beats in many for k, beat in enumerate(beats)]


def starts(many: Sequence[Sequence[int]]) -> list[str]:
    """The first line of each packet, and the line after the last one."""
    return [f"{end:x}" for end in accumulate(map(len, many), initial=0)]


def emit_host(stream: Mapping[str, Any]) -> str:
    """NAME_host.h, from the same data as NAME_stream.json. stream: see `describe`."""
    name, e = stream["name"], Emitter()
    for function, row in stream["functions"].items():
        for what, sign in (("task", 1), ("result", -1)):
            words: list[str] = []
            for word in row[what]["words"]:
                width, entries = SINGLE if stream["float32"] else word["width"], word["entries"]
                turned = stream["angles"].get(word["word"], 0) if what == "task" else 0
                words.append(f"{{{2.0 ** (sign * word['frac'])!r}, {turned}, {width}, {entries[0]}, {entries[-1]}}}")
            e.table(f"static const {name}_word {name}_{function}_{what}", words or ["{1, 0, 8, 0, 0}"], 3)
    with e.block(f"static const {name}_register {name}_identity[] = {{", "};"):
        e(*(f'{{"{key}", 0x{address:02x}, 0x{value:08x}}},' for key, (address, value) in constants(stream).items()))
    with e.block(f"static const {name}_function {name}_functions[] = {{", "};"):
        for function, row in stream["functions"].items():
            arrays, both = (row["inputs"], row["outputs"]), (row["task"], row["result"])
            names = [", ".join(f"{key}[{n}]" for key, n in array.items()) for array in arrays]
            numbers = [row["code"], *(sum(array.values()) for array in arrays)]
            numbers += [*(packet["bytes"] for packet in both), *(len(packet["words"]) for packet in both)]
            tables = f"{name}_{function}_task, {name}_{function}_result"
            e(f'{{"{function}", "{names[0]}", "{names[1]}", {", ".join(map(str, numbers))}, {tables}}},')
    guard = f"{name}_host_h".upper()
    filling = {"NAME": name, "CODE": CODES - 1, "BEAT": stream["axi"] // 8, "FLOAT32": int(stream["float32"])}
    filling |= {what.upper(): LOW[what] for what in ("flag", "error", "malformed", "tag")} | {"TABLES": e.text()}
    head = f"/* Packets of the accelerator {name}, of model {stream['fingerprint']}: see {name}_stream.json. */\n"
    return f"{head}#ifndef {guard}\n#define {guard}\n{filled('host.h', filling)}#endif\n"
