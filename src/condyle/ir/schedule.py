"""Schedules: kernels called in order on arrays of one problem, in sweeps over its knots and in loops that end.

The form of a whole job, such as a step of optimal control. A kernel computes n states at once: here the knots of a
problem, or the columns of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = "NDArray[np.floating[Any]]"


class Slab(NamedTuple):
    """An array of one problem: `rows` rows of `size` numbers.

    A row may be a panel, the columns of a matrix in groups of `lanes`: [group][entry of a column][column of the group].
    over: another slab, before it and no input, with whose numbers it is the same memory; rows x size is the same.
    is_zero: whether it begins at 0; else nothing is read of it that was not written.
    """

    name: str
    rows: int
    size: int
    over: str = ""
    is_zero: bool = False

    @property
    def length(self) -> int:
        """Numbers in it."""
        return self.rows * self.size


class Operand(NamedTuple):
    """The rows of a slab that a call reads or writes: state k of turn t of the sweep around it has row
    row + k step + t turn. step = 0: all states have the same row."""

    slab: str
    row: int = 0
    step: int = 1
    turn: int = 0


@dataclass(frozen=True)
class Call:
    """A kernel computes `count` states. columns: states are columns of panels, `count` a multiple of the lanes.

    With columns, step = 1 is a panel that has a column for each state, step = 0 a row that all states have.
    """

    kernel: str
    count: int
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    columns: bool = False


@dataclass(frozen=True)
class Move:
    """`count` rows are copied; source and target may overlap where the source stands behind."""

    source: Operand
    target: Operand
    count: int


@dataclass(frozen=True)
class Sweep:
    """The body `count` times, turn 0, 1, ... or backwards from the last turn to 0. No sweep is in another one."""

    count: int
    body: tuple[Statement, ...]
    backwards: bool = False


class Until(NamedTuple):
    """The body until the first number of slab `flag` is above 0 behind it, `most` times at most. It may hold others."""

    flag: str
    most: int
    body: tuple[Statement, ...]


Statement: TypeAlias = "Call | Move | Sweep | Until"
Run: TypeAlias = "Callable[[int, Sequence[Reals], Sequence[Reals]], None]"
"""A kernel on n rows: inputs (n or 1, size), outputs (n, size)."""


@dataclass(frozen=True)
class Schedule:
    """inputs, outputs: names of slabs that come from outside and go there. lanes: of panels."""

    name: str
    slabs: tuple[Slab, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[Statement, ...]
    lanes: int = 1

    def slab(self, name: str) -> Slab:
        return next(slab for slab in self.slabs if slab.name == name)

    def calls(self) -> Iterator[Call]:
        """All calls, in the order of the text."""
        waiting = list(self.body)
        while waiting:
            statement = waiting.pop(0)
            if isinstance(statement, Call):
                yield statement
            elif not isinstance(statement, Move):
                waiting[:0] = statement.body


def verify_schedule(schedule: Schedule) -> Schedule:
    """The schedule itself; AssertionError (a bug of ours) where a statement leaves its slabs."""
    slabs = _verified_slabs(schedule)

    def within(operand: Operand, states: int, turns: int) -> None:
        slab, last = slabs[operand.slab], operand.row + operand.turn * max(turns - 1, 0)
        ends = [row + operand.step * k for row in (operand.row, last) for k in (0, states - 1)]
        assert min(ends) >= 0 and max(ends) < slab.rows, f"{schedule.name}: {operand}"

    def check_call(call: Call, turns: int) -> None:
        assert call.count >= 1 and (not call.columns or call.count % schedule.lanes == 0), call.kernel
        for operand in (*call.inputs, *call.outputs):
            within(operand, 1 if call.columns else call.count, turns)
        for operand in call.outputs:
            assert operand.slab not in schedule.inputs and (operand.step or call.count == 1), (
                f"{call.kernel}: {operand}"
            )

    def check(body: Sequence[Statement], turns: int) -> None:
        for statement in body:
            if isinstance(statement, Call):
                check_call(statement, turns)
            elif isinstance(statement, Move):
                within(statement.source, statement.count, turns)
                within(statement.target, statement.count, turns)
                assert slabs[statement.source.slab].size == slabs[statement.target.slab].size, statement
                assert statement.target.slab not in schedule.inputs, f"{schedule.name}: {statement}"
            elif isinstance(statement, Sweep):
                assert turns == 0 and statement.count >= 1, f"{schedule.name}: a sweep in a sweep"
                check(statement.body, statement.count)
            else:
                assert statement.most >= 1 and statement.flag in slabs, statement.flag
                check(statement.body, turns)

    check(schedule.body, 0)  # turns: 0 outside sweeps
    return schedule


def _verified_slabs(schedule: Schedule) -> Mapping[str, Slab]:
    slabs = {slab.name: slab for slab in schedule.slabs}
    assert len(slabs) == len(schedule.slabs), f"{schedule.name}: a slab is there twice"
    assert {*schedule.inputs, *schedule.outputs} <= slabs.keys() and not {*schedule.inputs} & {*schedule.outputs}
    for slab in filter(lambda slab: slab.over, schedule.slabs):
        assert slab.length == slabs[slab.over].length, slab
        assert slab.over not in schedule.inputs and slab.name not in (*schedule.inputs, *schedule.outputs), slab
    return slabs


def interpret(
    schedule: Schedule, kernels: Mapping[str, Run], inputs: Mapping[str, Reals], dtype: Any = np.float64
) -> dict[str, Reals]:
    """The outputs of one problem, each (rows, size), by NumPy: what every target must agree with."""
    slabs = dict[str, Reals]()
    for slab in schedule.slabs:
        start = 0.0 if slab.is_zero else np.nan
        numbers: Reals = slabs[slab.over] if slab.over else np.full(slab.length, start, dtype)
        slabs[slab.name] = np.reshape(numbers, (slab.rows, slab.size))
    for name in schedule.inputs:
        slabs[name][...] = np.reshape(inputs[name], slabs[name].shape)
    _Interpreter(schedule.lanes, kernels, slabs).run(schedule.body, 0)
    return {name: slabs[name] for name in schedule.outputs}


@dataclass(frozen=True)
class _Interpreter:
    lanes: int
    kernels: Mapping[str, Run]
    slabs: Mapping[str, Reals]

    def run(self, body: Sequence[Statement], turn: int) -> None:
        for statement in body:
            if isinstance(statement, Call):
                self._call(statement, turn)
            elif isinstance(statement, Move):
                rows: Reals = np.array(self._rows(statement.source, statement.count, turn))
                self._rows(statement.target, statement.count, turn)[...] = rows
            elif isinstance(statement, Sweep):
                order = range(statement.count)
                for k in reversed(order) if statement.backwards else order:
                    self.run(statement.body, k)
            else:
                for _ in range(statement.most):
                    self.run(statement.body, turn)
                    if self.slabs[statement.flag][0, 0] > 0.0:
                        break

    def _rows(self, operand: Operand, count: int, turn: int) -> Reals:
        """The rows of these states, one where all have the same."""
        first, step = operand.row + turn * operand.turn, operand.step
        slab = self.slabs[operand.slab]
        return slab[first::step][:count] if step else slab[first : first + 1]

    def _call(self, call: Call, turn: int) -> None:
        count = 1 if call.columns else call.count
        inputs = [self._rows(operand, count, turn) for operand in call.inputs]
        outputs = [self._rows(operand, count, turn) for operand in call.outputs]
        if not call.columns:
            answers: list[Reals] = [np.zeros_like(rows) for rows in outputs]
            self.kernels[call.kernel](count, inputs, answers)
            for rows, answer in zip(outputs, answers, strict=True):
                rows[...] = answer
            return
        grouped = call.count // self.lanes, -1, self.lanes
        for k, operand in enumerate(call.inputs):
            if operand.step:
                columns = np.swapaxes(np.reshape(inputs[k], grouped), 1, 2)
                inputs[k] = np.ascontiguousarray(np.reshape(columns, (call.count, -1)))
        panels = [np.reshape(panel, grouped) for panel in outputs]  # views
        answers = [np.zeros((call.count, panel.shape[1]), panel.dtype) for panel in panels]
        self.kernels[call.kernel](call.count, inputs, answers)
        for panel, answer in zip(panels, answers, strict=True):
            panel[...] = np.swapaxes(np.reshape(answer, (call.count // self.lanes, self.lanes, -1)), 1, 2)
