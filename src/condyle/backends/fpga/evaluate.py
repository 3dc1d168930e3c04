"""The integer model of the whole accelerator: a function's tasks through the arrays, as the streams take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from condyle.backends.fpga import model, steps
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.edge import outside
from condyle.backends.fpga.formats import Integers
from condyle.backends.fpga.operators import Flags, clamped, shifted
from condyle.backends.fpga.tasks import BIAS, FLOATS, SOLVED, STAGE, STEP, TRIG, Leaf, Task

Words = Mapping[Word, Integers]


class Answer(NamedTuple):
    """The result's words, and whether a word of the task was outside the box or anything was clamped on the way."""

    words: dict[Word, Integers]
    over: Flags


class _Run:
    def __init__(self, plan: Plan, task: Task, given: Words, strict: bool) -> None:
        self.plan, self.task, self.given, self.strict = plan, task, given, strict
        self.n = max(len(value) for value in given.values())
        self.over: Flags = outside(plan, task, given)
        self.floats = steps.constant(not task.base_given, self.n)

    def zeros(self, *names: str) -> dict[Word, Integers]:
        return {word: steps.constant(0, self.n) for word in self.plan.formats if word.name in names}

    def array(self, leaf: Leaf, inputs: Words) -> dict[Word, Integers]:
        path = self.plan.datapaths[leaf.array]
        outcome = model.run(path, inputs, self.strict)
        self.over = self.over | outcome.over[leaf.group]
        return {word: np.broadcast_to(outcome.words[word], self.n) for word, _ in path.group(leaf.group)}

    def through(self, leaves: Iterable[Leaf], state: Words, known: Words) -> dict[Word, Integers]:
        """One pass: what the groups leave, of the task's state (`known` where it is not given here) and `known`."""
        task = {**self.zeros("q", "v", "a", "f_ext"), **self.given, **state, FLOATS: self.floats}
        found = {**self.zeros("tau"), **self.given, **known, **self.array(TRIG, task)}
        for leaf in leaves:
            made = self.array(leaf, found)
            if leaf == BIAS and self.task.solves:
                made = {Word("c", word.index): value for word, value in made.items()}
            found |= made
        return found

    def passes(self) -> Words:
        first, *others = self.task.passes
        found = self.through(first, {}, {})
        for leaves in others:
            found = self.through(leaves, self._fed_back(found), found)
        return found

    def step(self) -> Words:
        """An integration step: its sub-tasks one after the other."""
        plan, zeros = self.plan, steps.constant(0, self.n)
        fresh = {word: Word(steps.FRESH.get(word.name, word.name), word.index) for word in plan.course}
        words = {word: self.given.get(was, zeros) for word, was in fresh.items()}
        state = {word: word for word in plan.formats if word.name in ("q", "v")}
        for stage in self.task.stages:
            solved = self.through(self.task.passes[0][:-1], {word: words[was] for word, was in state.items()}, {})
            words |= {Word("k", word.index): solved[word] for word, _ in plan.datapaths["solve"].group(SOLVED.group)}
            words[Word("stage", 0)] = steps.constant(stage, self.n)
            words |= {Word(name, 0): steps.constant(one.values[stage], self.n) for name, one in plan.weights.items()}
            if stage == self.task.stages[-1]:
                break
            words |= self.array(STAGE, words)
            words |= {w: words[Word(steps.AGAIN[w.name], w.index)] for w in plan.course if w.name in steps.AGAIN}
            state = {word: Word(f"n{word.name}", word.index) for word in state}
        return self.array(STEP, words)

    def _fed_back(self, solved: Words) -> dict[Word, Integers]:
        """a in the format in which it enters again; of a given base's a and the joints' one is 0."""
        path = self.plan.datapaths["solve"]
        formats = {word: path.ops[k].format for word, k in path.group(SOLVED.group)}
        result: dict[Word, Integers] = {}
        for word in self.plan.takes("a"):
            format = self.plan.formats[word]
            again = clamped(shifted(solved[word], format.frac - formats[word].frac), format)
            self.over = self.over | again.over
            result[word] = again.value | self.given.get(word, steps.constant(0, self.n))
        return result


def evaluate(plan: Plan, function: str, given: Words, strict: bool = False) -> Answer:
    """All tasks (n,) of one function; `given` has its input words in the plan's formats."""
    task = plan.tasks[function]
    run = _Run(plan, task, given, strict)
    found = run.step() if task.stages else run.passes()
    return Answer({word: found[word] for word, _ in plan.results[function]}, run.over)
