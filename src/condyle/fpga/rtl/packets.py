"""Packets: those of the boundary's bench, beat by beat, wrong ones among them; the C99 header that packs and unpacks
them on a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from condyle.fpga.rtl.boundary import SINGLE, Boundary, constants
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_project import filled
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.formats import Format, Integers
from condyle.fpga.rtl.header import HEADER, RETURNED
from condyle.fpga.rtl.stream import Field
from condyle.fpga.rtl.vectors import pack
from condyle.text import Emitter

LOW = {name: bits.low for name, bits in HEADER.items()}
CODES = 1 << HEADER["function"].width


@dataclass(frozen=True)
class Packet:
    """Beats of a task and of its result. The answer to a wrong packet is a header alone."""

    task: tuple[int, ...]
    answer: tuple[int, ...]


def packets(
    acc: Accelerator, boundary: Boundary, tasks: Mapping[str, Mapping[Word, Integers]], seed: int, wrong: bool = True
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
