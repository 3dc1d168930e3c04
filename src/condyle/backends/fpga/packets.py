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
    too short, too long, of a code that no function has."""
    made: list[tuple[int, list[int], list[int]]] = []  # head of the answer, beats without headers
    for function, words in given.items():
        made += _of(acc, boundary, function, words)
    codes = [task.codes[0] for task in acc.plan.tasks.values()]
    nothing = next(code for code in range(256) if code not in codes)
    for code, task, _ in list(made[:: max(1, len(made) // 6)]) if wrong else ():
        head = (code & 0xFF) | 1 << FLAG | 1 << ERROR
        made.append((head | 1 << MALFORMED, [*task, 0], [0]))
        made.append((head | 1 << MALFORMED, [*task, *[0] * 40], [0]))
        if len(task) > 1:
            made.append((head | 1 << MALFORMED, task[:-1], [0]))
        made.append((nothing | 1 << FLAG | 1 << ERROR, task, [0]))
    order: list[int] = np.random.default_rng(seed).permutation(len(made)).tolist()
    return [_tagged(tag, *made[k]) for tag, k in enumerate(order)]


def _tagged(tag: int, head: int, task: Sequence[int], answer: Sequence[int]) -> Packet:
    high = tag << TAG
    return Packet((task[0] | high | head & 0xFF, *task[1:]), (answer[0] | high | head, *answer[1:]))


def _of(
    acc: Accelerator, boundary: Boundary, function: str, given: Mapping[Word, Integers]
) -> list[tuple[int, list[int], list[int]]]:
    sent, back = boundary.task(acc.plan, function), boundary.result(acc.plan, function)
    n = max(len(values) for values in given.values())
    if boundary.float32:
        known = acc.plan.formats
        given = {word: known[word].from_real(known[word].to_real(x).astype(np.float32)) for word, x in given.items()}
    answer: Answer = evaluate(acc.plan, function, given)
    code = acc.plan.tasks[function].codes[0]
    heads = [code | int(flag) << FLAG for flag in answer.over.tolist()]
    tasks, answers = _beats(boundary, sent, given, n), _beats(boundary, back, answer.words, n)
    return list(zip(heads, tasks, answers, strict=True))


def _beats(boundary: Boundary, fields: list[Field], words: Mapping[Word, Integers], n: int) -> list[list[int]]:
    """The beats of each packet, with a header of zeros."""
    if boundary.float32:
        singles = {field.word: field.format.to_real(words[field.word]).astype(np.float32) for field in fields}
        words = {word: np.frombuffer(x.tobytes(), np.uint32).astype(np.int64) for word, x in singles.items()}
        fields = [field._replace(format=Format(SINGLE, 0)) for field in fields]
    whole = pack(fields, words, n)
    mask, beats = (1 << boundary.axi) - 1, boundary.beats(fields)
    return [[one >> boundary.axi * k & mask for k in range(beats)] for one in whole]


def beat_lines(boundary: Boundary, many: Sequence[Sequence[int]]) -> list[str]:
    """{last, data} in hexadecimal, a beat a line."""
    return [f"{int(k + 1 == len(beats)) << boundary.axi | beat:x}" for beats in many for k, beat in enumerate(beats)]


def starts(many: Sequence[Sequence[int]]) -> list[str]:
    """The first line of each packet, and the line after the last one."""
    return [f"{end:x}" for end in accumulate(map(len, many), initial=0)]
