"""A function repeated over time: its body, and a loop that passes outputs of a step to the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from condyle.ir.program import Array
from condyle.ir.sweep import Code


class Take(NamedTuple):
    """The value of an input of the body at a step.

    every = 0: the given array is one value. It is the input at the first step; at later steps the input is output
    number `carried` of the step before, or again the array if carried is -1. every = k: the given array has a row for
    each kept step (see `TimeLoop.row`). With carried = -1 the input is the row at kept steps and zero at others. Else
    it is output number `carried` of the step before (zero at the first step), plus the row at kept steps.
    """

    carried: int = -1
    every: int = 0


EARLY, SHARE = 8, 16
"""Steps that are expected of a loop that ends by itself, or if that is more a part of the most that it may take."""
COUNT = -1
"""In place of the number of an output: how many steps were taken."""


class Give(NamedTuple):
    """One output of the loop, from output number `output` of the body. every = k: a row for each kept step; 0: the
    value of the last step. output = COUNT: the number of steps that were taken, as one number.

    summed: the sum over all steps instead, added in the order in which they run.
    """

    output: int
    every: int = 0
    summed: bool = False


@dataclass(frozen=True)
class TimeLoop:
    """How a body is repeated. takes: one for each input of the body. backwards: from the last step to the first.

    until: number of an output of one entry; -1 where all steps are taken. The first step at which it is above 0 is the
    last one of that state: its answers are those of this step. steps: the most that are taken. together: such a step of
    any state is the last one of all states of a call.
    """

    steps: int
    takes: tuple[Take, ...]
    gives: tuple[Give, ...]
    backwards: bool = False
    until: int = -1
    together: bool = False

    def times(self) -> Iterator[int]:
        """The steps in the order in which they run."""
        return iter(reversed(range(self.steps)) if self.backwards else range(self.steps))

    def row(self, every: int, t: int) -> int:
        """The row of step t if it is kept, else -1. Steps and rows count from 0; each `every`-th step and the last one
        are kept."""
        return t // every if (t + 1) % every == 0 or t == self.steps - 1 else -1

    def rows(self, every: int) -> int:
        """The number of rows; 1 where every is 0."""
        return -(-self.steps // every) if every else 1

    @property
    def expected(self) -> int:
        """A guess at how many steps a state takes; it only decides what a thread takes at once."""
        return max(min(self.steps, EARLY), self.steps // SHARE) if self.until >= 0 else self.steps

    @property
    def last(self) -> int:
        """The step that runs last."""
        return 0 if self.backwards else self.steps - 1


@dataclass(frozen=True)
class Repeated:
    """A function as a loop over time. inputs, arrays: the body's, with a leading time axis where `every` is not 0."""

    name: str
    body: Code
    loop: TimeLoop
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]


def verify_repeated(code: Repeated) -> Repeated:
    """The code itself; AssertionError (a bug of ours) where it breaks a rule."""
    body, loop = code.body, code.loop
    assert loop.steps >= 1, code.name
    assert len(loop.takes) == len(body.inputs) == len(code.inputs), code.name
    for take, own, array in zip(loop.takes, body.inputs, code.inputs, strict=True):
        assert take.carried < len(body.arrays) and take.every >= 0, take
        assert take.carried < 0 or body.arrays[take.carried].size == own.size, f"{code.name}: {own.name}"
        assert array.size == own.size * (loop.rows(take.every) if take.every else 1), f"{code.name}: {array.name}"
    assert len(loop.gives) == len(code.arrays), code.name
    assert loop.until < 0 or body.arrays[loop.until].size == 1, f"{code.name}: until"
    for give, array in zip(loop.gives, code.arrays, strict=True):
        if give.output == COUNT:
            assert array.size == 1 and not give.every, f"{code.name}: {array.name}"
            continue
        assert loop.until < 0 or not give.every, f"{code.name}: {array.name} has a row for each step"
        assert 0 <= give.output < len(body.arrays) and give.every >= 0 and not (give.summed and give.every), give
        rows = loop.rows(give.every) if give.every else 1
        assert array.size == body.arrays[give.output].size * rows, f"{code.name}: {array.name}"
    return code
