"""The integer model: which inputs are outside the box, an array, the whole accelerator pass by pass. The Verilog must
give the same bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from condyle.backends.fpga import operators, steps
from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Datapath, Op, Word
from condyle.backends.fpga.formats import Format, Integers
from condyle.backends.fpga.operators import Flags, Result, clamped, shifted
from condyle.backends.fpga.tasks import BIAS, FLOATS, SOLVED, STAGE, STEP, TRIG, Leaf, Task
from condyle.errors import CondyleError

Words = Mapping[Word, Integers]
Number = TypeVar("Number")


def largest(plan: Plan, word: Word) -> int:
    """The largest integer of a word inside the box; its negative is the smallest. Minv, and tau where the box says
    none, have no bound: they are outside where they stand at the end of their format, at which a host clamps them."""
    format = plan.formats[word]
    bound = plan.limits.get(word)
    inner = format.limit - 1
    return inner if bound is None else min(inner, int(np.ceil(np.ldexp(bound, format.frac))))


def outside(plan: Plan, task: Task, given: Mapping[Word, Integers]) -> Flags:
    """The tasks with an input word outside the box, of those that the function uses."""
    words = [word for word in plan.formats if task.takes(word, plan.base)]
    return np.any([np.abs(given[word]) > largest(plan, word) for word in words], axis=0)


class OverflowError(CondyleError, ArithmeticError):
    """A signal does not fit its format; the message names the operation and the format."""


class Outcome(NamedTuple):
    """The output words, (n,) each, and for each group and task whether a signal that it depends on was clamped."""

    words: dict[Word, Integers]
    over: dict[str, Flags]


def run(datapath: Datapath, inputs: Mapping[Word, Integers], strict: bool = False) -> Outcome:
    """All tasks at once. strict: OverflowError instead of clamping."""
    named = {k: inputs[word] for word, k in datapath.inputs}
    values: list[Integers] = []
    overs: list[Flags | None] = []
    for k, op in enumerate(datapath.ops):
        value, over = _result(datapath, op, values, named.get(k))
        if strict and over is not None and over.any():
            raise OverflowError(_complaint(datapath, k, values))
        values.append(value)
        overs.append(over if over is not None and over.any() else None)
    words = {word: values[k] for word, k in datapath.outputs}
    return Outcome(words, {name: _flag(datapath, name, overs, values) for name, _ in datapath.groups})


def _flag(datapath: Datapath, group: str, overs: list[Flags | None], values: list[Integers]) -> Flags:
    total = np.zeros(max((len(value) for value in values if value.ndim), default=1), np.bool_)
    for k in datapath.cones[group]:
        over = overs[k]
        total = total if over is None else total | over
    return total


def _result(
    datapath: Datapath, op: Op, values: list[Integers], given: Integers | None
) -> tuple[Integers, Flags | None]:
    formats = tuple(datapath.ops[a].format for a in op.args)
    args = tuple(values[a] for a in op.args)
    if op.kind in ("sin", "cos"):
        (angle,) = datapath.ops[op.args[0]].args
        return operators.sincos(values[angle], datapath.ops[angle].format)[op.kind == "cos"], None
    if given is not None:
        return given, None
    result: Result
    if op.kind in ("add", "sub"):
        sign = 1 if op.kind == "add" else -1
        result = operators.add(args[0], args[1], (formats[0], formats[1]), op.format, sign, op.drop)
    elif op.kind == "mul":
        result = operators.multiply(args[0], args[1], (formats[0], formats[1]), op.factor, op.format)
    elif op.kind == "rcp":
        result = operators.reciprocal(args[0], formats[0], op.format)
    else:
        return (args[0] if op.kind in ("wire", "sincos") else np.asarray(op.value, np.int64)), None
    return result


def _complaint(datapath: Datapath, k: int, values: list[Integers]) -> str:
    op = datapath.ops[k]
    return f"{datapath.name}: operation {k} ({op.kind}, stage {op.stage or '-'}) does not fit {op.format}"


class Answer(NamedTuple):
    """The words of the result, and its flag: a word of the task was outside the box, or a signal was clamped."""

    words: dict[Word, Integers]
    over: Flags


class Arithmetic(Protocol[Number]):
    """The arithmetic of a pass. It remembers whether anything was clamped.

    array: the words of a group of outputs. again: a word in the format in which it is fed back. either: the one of two
    words that is not 0.
    """

    def constant(self, value: int, /) -> Number: ...
    def array(self, path: Datapath, group: str, given: Mapping[Word, Number], /) -> dict[Word, Number]: ...
    def again(self, x: Number, was: Format, format: Format, /) -> Number: ...
    def either(self, x: Number, y: Number, /) -> Number: ...


class Run(Generic[Number]):
    """Tasks of one function. given: their words."""

    def __init__(self, plan: Plan, task: Task, given: Mapping[Word, Number], arithmetic: Arithmetic[Number]) -> None:
        self.plan, self.task, self.given, self.arithmetic = plan, task, given, arithmetic
        self.floats = arithmetic.constant(not task.base_given)

    def answer(self) -> Mapping[Word, Number]:
        return self.step() if self.task.stages else self.passes()

    def zeros(self, *names: str) -> dict[Word, Number]:
        return {word: self.arithmetic.constant(0) for word in self.plan.formats if word.name in names}

    def array(self, leaf: Leaf, inputs: Mapping[Word, Number]) -> dict[Word, Number]:
        return self.arithmetic.array(self.plan.datapaths[leaf.array], leaf.group, inputs)

    def through(
        self, leaves: Iterable[Leaf], state: Mapping[Word, Number], known: Mapping[Word, Number]
    ) -> dict[Word, Number]:
        """One pass: the words of its groups, from the task's state (else from `known`) and from `known`."""
        task = {**self.zeros("q", "v", "a", "f_ext"), **self.given, **state, FLOATS: self.floats}
        found = {**self.zeros("tau"), **self.given, **known, **self.array(TRIG, task)}
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
        plan, constant = self.plan, self.arithmetic.constant
        fresh = {word: Word(steps.FRESH.get(word.name, word.name), word.index) for word in plan.course}
        words = {word: self.given.get(was, constant(0)) for word, was in fresh.items()}
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
        path, arithmetic = self.plan.datapaths["solve"], self.arithmetic
        formats = {word: path.ops[k].format for word, k in path.group(SOLVED.group)}
        result: dict[Word, Number] = {}
        for word in self.plan.takes("a"):
            again = arithmetic.again(solved[word], formats[word], self.plan.formats[word])
            result[word] = arithmetic.either(again, self.given[word]) if word in self.given else again
        return result


class _Integers:
    """int64, all tasks (n,) at once. strict: see `run`."""

    def __init__(self, n: int, strict: bool, over: Flags) -> None:
        self.n, self.strict, self.over = n, strict, over

    def constant(self, value: int) -> Integers:
        return steps.constant(value, self.n)

    def array(self, path: Datapath, group: str, given: Words) -> dict[Word, Integers]:
        outcome = run(path, given, self.strict)
        self.over = self.over | outcome.over[group]
        return {word: np.broadcast_to(outcome.words[word], self.n) for word, _ in path.group(group)}

    def again(self, x: Integers, was: Format, format: Format) -> Integers:
        result = clamped(shifted(x, format.frac - was.frac), format)
        self.over = self.over | result.over
        return result.value

    def either(self, x: Integers, y: Integers) -> Integers:
        return x | y


def evaluate(plan: Plan, function: str, given: Words, strict: bool = False) -> Answer:
    """All tasks (n,) of one function; `given` has its input words in the plan's formats."""
    task = plan.tasks[function]
    arithmetic = _Integers(max(len(value) for value in given.values()), strict, outside(plan, task, given))
    found = Run(plan, task, given, arithmetic).answer()
    over = arithmetic.over & plan.flags
    return Answer({word: found[word] for word, _ in plan.results[function]}, over)
