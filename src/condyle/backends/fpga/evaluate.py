"""The integer model of the whole accelerator: a function's tasks through the arrays, as the streams take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from condyle.backends.fpga import model, steps
from condyle.backends.fpga.accelerator import LEAVES, Plan
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.edge import outside
from condyle.backends.fpga.formats import Integers
from condyle.backends.fpga.given import FLOATS, GIVEN, kind, takes
from condyle.backends.fpga.operators import Flags, clamped, shifted

Words = Mapping[Word, Integers]


class Answer(NamedTuple):
    """The result's words, and whether a word of the task was outside the box or anything was clamped on the way."""

    words: dict[Word, Integers]
    over: Flags


class _Run:
    def __init__(self, plan: Plan, function: str, given: Words, strict: bool) -> None:
        self.plan, self.given, self.strict = plan, given, strict
        self.n = max(len(value) for value in given.values())
        self.over: Flags = np.zeros(self.n, np.bool_)
        held = {word: steps.constant(0, self.n) for word in plan.takes("tau") if not takes(function, word, plan.base)}
        self.tau = {**given, **held}
        self.floats = steps.constant(function not in GIVEN, self.n)

    def array(self, name: str, group: str, inputs: Words) -> dict[Word, Integers]:
        path = self.plan.datapaths[name]
        outcome = model.run(path, inputs, self.strict)
        self.over = self.over | outcome.over[group]
        return {word: np.broadcast_to(outcome.words[word], self.n) for word, _ in path.group(group)}

    def trig(self, a: Words) -> dict[Word, Integers]:
        rest = {word: np.zeros(self.n, np.int64) for word in self.plan.formats if word.name in ("q", "v", "a", "f_ext")}
        return self.array("trig", "out", {**rest, **self.given, **a, FLOATS: self.floats})

    def net(self, trig: Words) -> dict[Word, Integers]:
        """fd's first steps: c, M^-1, a."""
        c = self.array("dynamics", "tau", trig)
        inverse = self.array("mass", "Minv", trig)
        named = {Word("c", word.index): value for word, value in c.items()}
        return self.array("solve", "out", {**self.tau, **named, **inverse}) | inverse


def _stepped(plan: Plan, run: _Run, function: str) -> dict[Word, Integers]:
    """An integration step: its sub-tasks one after the other."""
    fresh = {word: Word(steps.FRESH.get(word.name, word.name), word.index) for word in plan.course}
    zeros = steps.constant(0, run.n)
    words = {word: run.given.get(was, zeros) for word, was in fresh.items()}
    state = {word: word for word in plan.formats if word.name in ("q", "v")}
    still = dict.fromkeys(plan.takes("a"), zeros)
    stage = steps.FIRST[function]
    while True:
        now = {word: words[was] for word, was in state.items()}
        solved = run.net(run.trig({**still, **now}))
        words |= {Word("k", word.index): value for word, value in solved.items() if word.name == "a"}
        words[Word("stage", 0)] = steps.constant(stage, run.n)
        words |= {Word(name, 0): steps.constant(one.values[stage], run.n) for name, one in plan.weights.items()}
        if stage in steps.LAST:
            return run.array("step", "out", words)
        words |= run.array("step", "again", words)
        words |= {w: words[Word(steps.AGAIN[w.name], w.index)] for w in plan.course if w.name in steps.AGAIN}
        state = {word: Word(f"n{word.name}", word.index) for word in state}
        stage += 1


def evaluate(plan: Plan, function: str, given: Words, strict: bool = False) -> Answer:
    """All tasks (n,) of one function; `given` has its input words in the plan's formats."""
    run = _Run(plan, function, given, strict)
    run.over = outside(plan, function, given)
    if function in steps.STEPS:
        found = _stepped(plan, run, function)
        return Answer({word: found[word] for word, _ in plan.results[function]}, run.over)
    zeros = steps.constant(0, run.n)
    base = plan.base if function in GIVEN else 0
    still = {word: given.get(word, zeros) if word.index < base else zeros for word in plan.takes("a")}
    if kind(function) in ("fd", "dfd"):
        solved = run.net(run.trig(still))
        if kind(function) == "fd":
            return Answer({word: solved[word] for word, _ in plan.results[function]}, run.over)
        inverse = {word: value for word, value in solved.items() if word.name == "Minv"}
        again = {word: value | still[word] for word, value in _fed_back(plan, run, solved).items()}  # one of them is 0
        dtau = run.array("dynamics", "dtau", run.trig(again))
        return Answer(run.array("derivatives", "out", {**dtau, **inverse}), run.over)
    array, group = LEAVES[function]
    words = run.trig({} if function in ("id", "did", "difd") else still)
    if function == "difd":
        words = {**given, **run.array("dynamics", "dtau", words)}
    found = run.array(array, group, words)
    return Answer({word: found[word] for word, _ in plan.results[function]}, run.over)


def _fed_back(plan: Plan, run: _Run, solved: Words) -> dict[Word, Integers]:
    """a in the format in which it enters again."""
    result: dict[Word, Integers] = {}
    formats = {word: plan.datapaths["solve"].ops[k].format for word, k in plan.datapaths["solve"].group("out")}
    for word in plan.takes("a"):
        again = clamped(shifted(solved[word], plan.formats[word].frac - formats[word].frac), plan.formats[word])
        run.over = run.over | again.over
        result[word] = again.value
    return result
