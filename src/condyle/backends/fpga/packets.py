"""Packets for the bench of the boundary: tasks and their results beat by beat, and wrong packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from condyle.backends.fpga.boundary import HEADER, SINGLE, Boundary
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.evaluate import Answer, evaluate
from condyle.backends.fpga.formats import Format, Integers
from condyle.backends.fpga.stream import Field
from condyle.backends.fpga.vectors import pack

FLAG, ERROR, MALFORMED, TAG = (HEADER[what][1] for what in ("flag", "error", "malformed", "tag"))


@dataclass(frozen=True)
class Packet:
    """Beats of a task and of its result. The answer to a wrong packet is a header alone."""

    task: tuple[int, ...]
    answer: tuple[int, ...]


def packets(
    acc: Accelerator, boundary: Boundary, given: Mapping[str, Mapping[Word, Integers]], seed: int, wrong: bool = True
) -> list[Packet]:
    """Of each function its tasks (n,), in a random order, with tags from 0 on; between them, if asked for, wrong ones:
    too short, of a code that no function has."""
    made: list[tuple[list[int], list[int]]] = []  # without tags
    for function, words in given.items():
        made += _of(acc, boundary, function, words)
    codes = [task.codes[0] for task in acc.plan.tasks.values()]
    nothing, error = next(code for code in range(256) if code not in codes), 1 << FLAG | 1 << ERROR
    for task, _ in made[:: max(1, len(made) // 6)] if wrong else ():
        code = task[0] & 0xFF
        made += [(task[:-1], [code | error | 1 << MALFORMED])] * (len(task) > 1)
        made += [([task[0] ^ code ^ nothing, *task[1:], *[0] * more], [nothing | error]) for more in (0, 40)]
    order: list[int] = np.random.default_rng(seed).permutation(len(made)).tolist()
    return [Packet(*((beats[0] | tag << TAG, *beats[1:]) for beats in made[k])) for tag, k in enumerate(order)]


def _of(
    acc: Accelerator, boundary: Boundary, function: str, given: Mapping[Word, Integers]
) -> list[tuple[list[int], list[int]]]:
    sent, back = boundary.task(acc.plan, function), boundary.result(acc.plan, function)
    if boundary.float32:
        known = acc.plan.formats
        given = {word: known[word].from_real(known[word].to_real(x).astype(np.float32)) for word, x in given.items()}
    answer: Answer = evaluate(acc.plan, function, given)
    code = acc.plan.tasks[function].codes[0]
    heads = [code | int(flag) << FLAG for flag in answer.over.tolist()]
    tasks = _beats(boundary, sent, given, [code] * len(heads))
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
