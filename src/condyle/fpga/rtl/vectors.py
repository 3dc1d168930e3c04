"""Tasks and their answers for the test bench, packed as the hardware's words are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import Answer
from condyle.fpga.rtl.stream import Field, bus, entries, result, result_width, shared, width
from condyle.fpga.rtl.target import Integers, Reals

QUANTILES = (0.5, 0.9, 0.99)
"""Quantiles of the errors of tasks. The maximum of samples is not a bound, and grows with their number."""
PARTS = tuple(f"p{100 * part:.0f}" for part in QUANTILES)
ZERO = 1e-9
"""A column whose exact entries are below this is zero except for rounding. It has absolute errors only."""


def task_of(plan: Plan, function: str, states: Mapping[str, Reals]) -> dict[Word, Integers]:
    """The integers of a function's inputs; states: q, v, a, tau, Minv and, where there are any, f_ext, (n, size)."""
    task = plan.tasks[function]
    wanted = {"q", "v", "f_ext", "tau" if task.solves else "a", *task.inputs}
    chosen = [word for word in plan.formats if word.name in wanted and task.shares(word, plan.base)]
    return {word: plan.formats[word].from_real(states[word.name][:, word.index]) for word in chosen}


def pack(fields: Iterable[Field], inputs: Mapping[Word, Integers], n: int) -> list[int]:
    """For each of n tasks one integer with all words at their bits; words without an input are zero."""
    total = [0] * n
    for field in fields:
        for word in shared(field.word):
            mask, values = (1 << field.format.width) - 1, np.broadcast_to(inputs.get(word, np.int64(0)), n)
            total = [t | ((x & mask) << field.low) for t, x in zip(total, values.tolist(), strict=True)]
    return total


def unpack(fields: Iterable[Field], rows: Sequence[int]) -> dict[Word, Integers]:
    """The words of packed integers: the inverse of `pack`."""
    found: dict[Word, Integers] = {}
    for field in fields:
        size = 1 << field.format.width
        values = [(row >> field.low) % size for row in rows]
        found[field.word] = np.array([x - size if 2 * x >= size else x for x in values], np.int64)
    return found


def task_lines(acc: Accelerator, function: str, inputs: Mapping[Word, Integers], n: int) -> list[str]:
    """Function and data in hexadecimal, a task a line."""
    fields = bus(acc.plan)
    code = acc.plan.tasks[function].codes[0] << width(fields)
    return [f"{code | data:x}" for data in pack(fields, inputs, n)]


def refused_lines(acc: Accelerator, each: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """`each` tasks of every unknown code, and their results: the error, the flag, the code, zeros."""
    code_bits, task, answer = acc.plan.id.code_bits, width(bus(acc.plan)), result_width(acc.plan)
    known = {of.codes[0] for of in acc.plan.tasks.values()}
    refused = [code for code in range(1 << code_bits) if code not in known]
    data = (int.from_bytes(rng.bytes(task // 8 + 1), "little") % (1 << task) for _ in range(each * len(refused)))
    return [
        (f"{code << task | bits:x}", f"{(0b11 << code_bits | code) << answer:x}")
        for code, bits in zip(refused * each, data, strict=True)
    ]


def answer_lines(acc: Accelerator, function: str, answer: Answer, n: int) -> list[str]:
    """Error (none), flag, function and data in hexadecimal."""
    head = [(int(flag) << acc.plan.id.code_bits) + acc.plan.tasks[function].codes[0] for flag in answer.over.tolist()]
    low, data = result_width(acc.plan), pack(result(acc.plan, function), answer.words, n)
    return [f"{one << low | bits:x}" for one, bits in zip(head, data, strict=True)]


def answer_of(acc: Accelerator, function: str, rows: Sequence[str]) -> Answer:
    """The result that such lines have."""
    low, numbers = result_width(acc.plan), [int(row, 16) for row in rows]
    over = np.array([number >> (low + acc.plan.id.code_bits) & 1 for number in numbers], np.bool_)
    return Answer(unpack(result(acc.plan, function), numbers), over)


def task_errors(plan: Plan, function: str, answer: Answer, truth: Sequence[Reals]) -> dict[str, Reals]:
    """The largest error (n,) of each output of each task: absolute, and relative to the largest entry of its column (of
    the entry itself, for vectors) over these tasks. NaN for a task with a flag."""
    found: dict[str, Reals] = {}
    for port, exact in zip(plan.tasks[function].function.outputs, truth, strict=True):
        got = dense(plan, function, port.name, answer, exact)
        error, size = np.abs(got - exact), np.abs(exact)
        size = size.max(axis=0)
        if len(port.dims) == 2:
            error = np.reshape(error, (-1, plan.nv, plan.nv)).max(axis=1)
            size = np.reshape(size, (plan.nv, plan.nv)).max(axis=0)
        there = size > ZERO
        relative = (error[:, there] / size[there]).max(axis=1, initial=0.0)
        for name, value in (("absolute", error.max(axis=1)), ("relative", relative)):
            found[f"{port.name}_{name}"] = np.where(answer.over, np.nan, value)
    return found


def errors_of(errors_by_port: Mapping[str, Reals]) -> dict[str, float]:
    """The maximum and the QUANTILES of the errors of tasks, and the part of the tasks with a flag."""
    flagged = np.isnan(next(iter(errors_by_port.values())))
    result = {"clamped": float(flagged.mean())}
    for name, errors in errors_by_port.items():
        kept = errors[~flagged]
        result[name] = float(kept.max(initial=0.0))
        at: list[float] = np.quantile(kept, QUANTILES).tolist() if kept.size else [0.0] * len(QUANTILES)
        result |= {f"{name}_{part}": x for part, x in zip(PARTS, at, strict=True)}
    return result


def worst(row: Mapping[str, float], which: str = "") -> float:
    """The largest of the outputs' relative errors, maxima of samples or a quantile such as "_p99"."""
    return max((value for name, value in row.items() if name.endswith(f"relative{which}")), default=0.0)


def dense(plan: Plan, function: str, name: str, answer: Answer, exact: Reals) -> Reals:
    """An output in the shape of the reference: with both triangles and all zeros."""
    result = np.zeros_like(exact)
    task = plan.tasks[function]
    held, symmetric = task.words[name], any(port.symmetric for port in task.function.outputs if port.name == name)
    for word, format in plan.results[function]:
        if word.name == held:
            value = format.to_real(np.broadcast_to(answer.words[word], len(exact)))
            result[:, entries(word, plan.nv, symmetric)] = value[:, None]
    return result
