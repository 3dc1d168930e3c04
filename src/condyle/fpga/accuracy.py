"""Errors of the integer model against the reference, and words with smaller errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from condyle.fpga.box import answer_of, consistent, sampled
from condyle.fpga.plans import Options, accelerator, planned
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.report import array_dsp, arrays_of
from condyle.fpga.rtl.target import Reals, word_of
from condyle.fpga.rtl.vectors import PARTS, errors_of, task_errors, task_of, worst
from condyle.model.robot import Robot

GOAL = 0.01
"""An export warns if the largest relative error of a function is above this."""
CLAMPED = 0.01
"""An export warns if a larger part of the states has a clamped signal."""
WORDS = ("12", "16", "18", "20x18", "25x18", "27x18", "27", "32")
"""The words that are compared, the narrowest first. All have a scale for each signal."""
CHUNK = 1000


def errors(robot: Robot, plan: Plan, n: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Errors of each function over n states of the box, of the integer model against the reference: see `errors_of`."""
    found: dict[str, dict[str, list[Reals]]] = {function: {} for function in plan.functions}
    plan = replace(plan, flags=True)  # clamped tasks are counted, with a flag or without
    for chunk in range(-(-n // CHUNK)):
        states = consistent(robot, sampled(robot, min(CHUNK, n - chunk * CHUNK), seed + chunk, plan.box), plan.box)
        for function, task in plan.tasks.items():
            truth = answer_of(robot, task, states, plan.stepping.h)
            answer = evaluate(plan, function, task_of(plan, function, states))
            for name, each in task_errors(plan, function, answer, truth).items():
                found[function].setdefault(name, []).append(each)
    whole = {function: {name: np.concatenate(parts) for name, parts in of.items()} for function, of in found.items()}
    return {function: errors_of(of) for function, of in whole.items()}


def advice(robot: Robot, options: Options, errors: Mapping[str, Mapping[str, float]], states: int) -> list[str]:
    """A sentence for each function whose `errors` over so many states are above the GOAL, with a better word;
    and one for each function that clamps in more than CLAMPED of the states.

    Other words are planned and compared over the same states.
    """
    far = {function: error for function, row in errors.items() if (error := worst(row)) > GOAL}
    cures: dict[str, str] = {}
    for word in _wider(options.word):
        left = tuple(function for function in far if function not in cures)
        if left:
            cures |= _within(robot, replace(options, functions=left), word, states)
    many = {function: row["clamped"] for function, row in errors.items() if row["clamped"] > CLAMPED}
    flagged = [
        f"{function}: a signal is clamped in {share:.0%} of {states} states of the box, because it does not fit word "
        f"{options.word!r}: choose one with more bits before the point, or with a scale for each signal, such as 27x18"
        for function, share in many.items()
    ]
    return flagged + [
        f"{function}: errors reach {error:.2g} of the range over {states} states, more than {GOAL:g}; "
        + cures.get(function, "no other word was better: choose a smaller box, or compute this function on the host")
        for function, error in far.items()
    ]


def _wider(word: str) -> list[str]:
    """The WORDS with more bits than this one; from 27x18 on for a word with a fixed point."""
    sizes = {name: (of.data, of.factor) for name in (*WORDS, word) for of in [word_of(name)]}
    least = sizes[word] if word_of(word).frac is None else sizes["25x18"]
    return [name for name in WORDS if sizes[name] > least]


def compared(robot: Robot, options: Options, word: str, states: int) -> list[dict[str, str | float]]:
    """For each function DSPs, bits of registers, interval and relative errors with a word, over states of the box."""
    acc = accelerator(robot, replace(options, word=word))
    return [
        {
            "word": word,
            "function": function,
            "dsp": sum(array_dsp(acc, name) for name in arrays_of(acc, function)),
            "register_bits": sum(map(acc.register_bits_of, arrays_of(acc, function))),
            "ii": acc.interval(function),
            **{part: worst(row, f"_{part}") for part in PARTS},
            "max": worst(row),
            "flagged": row["clamped"],
        }
        for function, row in errors(robot, acc.plan, states).items()
    ]


def _within(robot: Robot, options: Options, word: str, states: int) -> dict[str, str]:
    """The functions that stay within the GOAL with this word."""
    rows = errors(robot, planned(robot, replace(options, word=word)), states)
    kept = {function: worst(row) for function, row in rows.items() if worst(row) <= GOAL}
    return {function: f"word {word!r} stays within {error:.2g}" for function, error in kept.items()}
