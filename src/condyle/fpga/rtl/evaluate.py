"""The integer model: which inputs are outside the box, an array, the whole accelerator pass by pass. The Verilog must
give the same bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple

import numpy as np

from condyle.fpga.rtl import operators, steps
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.datapath import Datapath, Word
from condyle.fpga.rtl.formats import Integers
from condyle.fpga.rtl.operators import Arithmetic, Arrays, Flags, Number
from condyle.fpga.rtl.tasks import BIAS, FLOATS, SOLVED, STAGE, STEP, TRIG, Leaf, Task


def largest(plan: Plan, word: Word) -> int:
    """The largest integer of a word inside the box; its negative is the smallest. Minv, and tau where the box says
    none, have no bound: they are outside where they stand at the end of their format, at which a host clamps them."""
    format = plan.formats[word]
    bound = plan.limits.get(word)
    inner = format.limit - 1
    return inner if bound is None else min(inner, int(np.ceil(np.ldexp(bound, format.frac))))


def outside(plan: Plan, task: Task, inputs: Mapping[Word, Integers]) -> Flags:
    """The tasks with an input word outside the box, of those that the function uses."""
    words = [word for word in plan.formats if task.takes(word, plan.base)]
    return np.any([np.abs(inputs[word]) > largest(plan, word) for word in words], axis=0)


def run(ints: Arithmetic[Number], path: Datapath, group: str, inputs: Mapping[Word, Number]) -> dict[Word, Number]:
    """The words of a group of outputs; only what they depend on is computed, and clamped."""
    values: dict[int, Number] = {}
    angles: dict[int, tuple[Number, Number]] = {}
    for k in sorted(path.cones[group]):
        op = path.ops[k]
        args, formats = [values[a] for a in op.args if a in values], [path.ops[a].format for a in op.args]
        if op.kind == "input":
            values[k] = inputs[path.words[k]]
        elif op.kind == "const":
            values[k] = ints.constant(op.value)
        elif op.kind == "wire":
            values[k] = args[0]
        elif op.kind == "sincos":
            angles[k] = operators.sincos(ints, args[0], formats[0])
        elif op.kind in ("sin", "cos"):
            values[k] = angles[op.args[0]][op.kind == "cos"]
        elif op.kind == "rcp":
            values[k] = ints.reciprocal(args[0], formats[0], op.format)
        elif op.kind == "mul":
            values[k] = operators.multiply(ints, args, formats, op.factor, op.format)
        else:
            values[k] = operators.add(ints, args, formats, 1 if op.kind == "add" else -1, op.format, op.drop)
    return {word: values[k] for word, k in path.group(group)}


class Answer(NamedTuple):
    """The words of the result, and its flag: a word of the task was outside the box, or a signal was clamped."""

    words: dict[Word, Integers]
    over: Flags


class Run(Generic[Number]):
    """Tasks of one function. inputs: their words."""

    def __init__(self, plan: Plan, task: Task, inputs: Mapping[Word, Number], ints: Arithmetic[Number]) -> None:
        self.plan, self.task, self.inputs, self.ints = plan, task, inputs, ints
        self.floats = ints.constant(not task.base_given)

    def answer(self) -> Mapping[Word, Number]:
        return self.step() if self.task.stages else self.passes()

    def zeros(self, *names: str) -> dict[Word, Number]:
        return {word: self.ints.constant(0) for word in self.plan.formats if word.name in names}

    def array(self, leaf: Leaf, inputs: Mapping[Word, Number]) -> dict[Word, Number]:
        return run(self.ints, self.plan.datapaths[leaf.array], leaf.group, inputs)

    def through(
        self, leaves: Iterable[Leaf], state: Mapping[Word, Number], computed: Mapping[Word, Number]
    ) -> dict[Word, Number]:
        """One pass: the words of its groups, from the task's state and from `computed`, or else from its inputs."""
        task = {**self.zeros("q", "v", "a", "f_ext"), **self.inputs, **state, FLOATS: self.floats}
        found = {**self.zeros("tau"), **self.inputs, **computed, **self.array(TRIG, task)}
        for leaf in leaves:
            made = self.array(leaf, found)
            if leaf == BIAS and self.task.solves:
                made = {Word("c", word.index): value for word, value in made.items()}
            found |= made
        return found

    def passes(self) -> Mapping[Word, Number]:
        first, *others = self.task.passes
        found = self.through(first, {}, {})
        for leaves in others:
            found = self.through(leaves, self._fed_back(found), found)
        return found

    def step(self) -> Mapping[Word, Number]:
        """An integration step: its sub-tasks one after the other."""
        plan, constant = self.plan, self.ints.constant
        fresh = {word: Word(steps.FRESH.get(word.name, word.name), word.index) for word in plan.course}
        words = {word: self.inputs.get(was, constant(0)) for word, was in fresh.items()}
        state = {word: word for word in plan.formats if word.name in ("q", "v")}
        for stage in self.task.stages:
            solved = self.through(self.task.passes[0][:-1], {word: words[was] for word, was in state.items()}, {})
            words |= {Word("k", word.index): solved[word] for word, _ in plan.datapaths["solve"].group(SOLVED.group)}
            words[Word("stage", 0)] = constant(stage)
            words |= {Word(name, 0): constant(one.values[stage]) for name, one in plan.weights.items()}
            if stage == self.task.stages[-1]:
                break
            words |= self.array(STAGE, words)
            words |= {w: words[Word(steps.AGAIN[w.name], w.index)] for w in plan.course if w.name in steps.AGAIN}
            state = {word: Word(f"n{word.name}", word.index) for word in state}
        return self.array(STEP, words)

    def _fed_back(self, solved: Mapping[Word, Number]) -> dict[Word, Number]:
        """a in the format in which it is fed back. For a given base, either its a or that of the joint is 0."""
        formats, ints = self.plan.datapaths["solve"].formats(SOLVED.group), self.ints
        result: dict[Word, Number] = {}
        for word in self.plan.takes("a"):
            format = self.plan.formats[word]
            again = ints.clamped(ints.shifted(solved[word], format.frac - formats[word].frac), format)
            result[word] = ints.sum(again, self.inputs[word]) if word in self.inputs else again
        return result


def evaluate(plan: Plan, function: str, inputs: Mapping[Word, Integers]) -> Answer:
    """All tasks (n,) of one function; `inputs` has its words in the plan's formats."""
    task, n = plan.tasks[function], max(len(value) for value in inputs.values())
    ints = Arrays(outside(plan, task, inputs))
    found = Run(plan, task, inputs, ints).answer()
    words = {word: np.broadcast_to(found[word], n) for word, _ in plan.results[function]}
    return Answer(words, np.broadcast_to(ints.over & plan.flags, n))
