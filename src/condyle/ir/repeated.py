"""A function repeated over time: its body once, and a loop that hands the answers of a step to the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from condyle.ir.program import Array
from condyle.ir.sweep import Code


class Take(NamedTuple):
    """What an input of the body is at a step.

    every 0: the array has one value. At the first step it is that; later the answer of the step before with the number
    `carried`, or, carried being -1, the same value again. every k: the array has a row for each kept step (see
    `TimeLoop.row`). Carried -1: at these steps the input is the row, at others zero. Else the row is added to the
    answer of the step before, which is zero at the first step; at other steps nothing is added.
    """

    carried: int = -1
    every: int = 0


class Give(NamedTuple):
    """An answer: output number `output` of the body. every k: a row for each kept step; 0: that of the last one alone.

    summed: the sum over all steps instead, in the order in which they run.
    """

    output: int
    every: int = 0
    summed: bool = False


@dataclass(frozen=True)
class TimeLoop:
    """How a body is repeated. takes: one for each of its inputs. backwards: from the last step to the first."""

    steps: int
    takes: tuple[Take, ...]
    gives: tuple[Give, ...]
    backwards: bool = False

    def times(self) -> Iterator[int]:
        """The steps in the order in which they run."""
        return iter(reversed(range(self.steps)) if self.backwards else range(self.steps))

    def row(self, every: int, t: int) -> int:
        """The row of step t, counted from 0, where every so many are kept, and the last one; -1 if it is not kept."""
        return t // every if (t + 1) % every == 0 or t == self.steps - 1 else -1

    def rows(self, every: int) -> int:
        """How many rows there are: one where every is 0."""
        return -(-self.steps // every) if every else 1

    @property
    def last(self) -> int:
        """The step that runs last."""
        return 0 if self.backwards else self.steps - 1


@dataclass(frozen=True)
class Repeated:
    """A function as a loop over time. inputs, arrays: as the body's, with a time axis in front where they have one."""

    name: str
    body: Code
    loop: TimeLoop
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]


def verify_repeated(code: Repeated) -> Repeated:
    """The same; AssertionError (a bug of ours) where it breaks a rule."""
    body, loop = code.body, code.loop
    assert loop.steps >= 1, code.name
    assert len(loop.takes) == len(body.inputs) == len(code.inputs), code.name
    for take, own, array in zip(loop.takes, body.inputs, code.inputs, strict=True):
        assert take.carried < len(body.arrays) and take.every >= 0, take
        assert take.carried < 0 or body.arrays[take.carried].size == own.size, f"{code.name}: {own.name}"
        assert array.size == own.size * (loop.rows(take.every) if take.every else 1), f"{code.name}: {array.name}"
    assert len(loop.gives) == len(code.arrays), code.name
    for give, array in zip(loop.gives, code.arrays, strict=True):
        assert 0 <= give.output < len(body.arrays) and give.every >= 0 and not (give.summed and give.every), give
        rows = loop.rows(give.every) if give.every else 1
        assert array.size == body.arrays[give.output].size * rows, f"{code.name}: {array.name}"
    return code
