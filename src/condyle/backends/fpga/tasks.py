"""What a task goes through: groups of the arrays, pass by pass (Yang 2023, figures 9 and 10), and its codes.

The arrays, each a Datapath with an interval of its own:
  trig        sines and cosines of q, once for all
  dynamics    Forward-Backward, mass  Backward-Forward: traced from algorithms, see `Unit`
  solve       Schedule: M^-1 (tau - c)
  derivatives Schedule: -M^-1 dtau
  step        Schedule: an integration step's next state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Format
from condyle.specification import Composition, Function, MinusProduct, Port


class Leaf(NamedTuple):
    """A group of an array's words, which leave together."""

    array: str
    group: str


BIAS, COLUMNS, INVERSE = Leaf("dynamics", "tau"), Leaf("dynamics", "dtau"), Leaf("mass", "Minv")
"""What solve and derivatives take: c, dtau and M^-1."""
TRIG, SOLVED, PRODUCTS = Leaf("trig", "out"), Leaf("solve", "out"), Leaf("derivatives", "out")
STEP, STAGE = Leaf("step", "out"), Leaf("step", "again")
"""A step's result; the state of a stage that others follow."""
ORDER = ("trig", "dynamics", "mass", "solve", "derivatives", "step")
FLOATS = Word("floats", 0)
"""1 where the base moves as it must, 0 where its motion is given; an input of `mass`, made from the function."""
FLAG = Format(2, 0)


@dataclass(frozen=True)
class Unit:
    """A group that is traced from a function's route; letter: of its stages."""

    leaf: Leaf
    letter: str
    function: Function
    route: str


@dataclass(frozen=True)
class Task:
    """How an accelerator answers a function.

    composition: the function's, down to units. passes: the groups that its words go through, those of one pass after
    those of another. words: of each output the name that the last group has for it. stages: of an integration step,
    numbers of its weights. base_given: only the joints are moved, the base's motion is an input.
    codes: of the passes; of a step with several stages the second marks what leaves a stage that others follow.
    """

    function: Function
    composition: Composition
    passes: tuple[tuple[Leaf, ...], ...]
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    stages: range = range(0)
    base_given: bool = False
    codes: tuple[int, ...] = ()

    @property
    def leaf(self) -> Leaf:
        """Where the result leaves."""
        return self.passes[-1][-1]

    @property
    def solves(self) -> bool:
        """Whether it needs tau, c and M^-1."""
        return SOLVED in self.passes[0]

    @property
    def is_fed_back(self) -> bool:
        """Whether a goes in again, for its derivatives."""
        return len(self.passes) > 1

    @property
    def has_rounds(self) -> bool:
        """Whether the state of a stage goes in again."""
        return len(self.stages) > 1

    @property
    def inputs(self) -> dict[str, Port]:
        return {port.name: port for port in self.function.ports(self.function.takes_f_ext)}

    @property
    def products(self) -> list[MinusProduct]:
        return [step for step in self.composition if isinstance(step, MinusProduct)]

    def takes(self, word: Word, base: int) -> bool:
        """Whether it uses a word; the first `base` entries of v are the base's."""
        return word.name in self.inputs and self.shares(word, base)

    def shares(self, word: Word, base: int) -> bool:
        """Whether a word is in its part of a and tau, where these share their place: of a given base a, then tau."""
        return not self.base_given or {"a": word.index < base, "tau": word.index >= base}.get(word.name, True)

    def through(self, leaf: Leaf) -> list[int]:
        """The codes under which words leave by a group."""
        if leaf == STAGE:
            return [self.codes[1]] if self.has_rounds else []
        return [code for code, leaves in zip(self.codes, self.passes, strict=False) if leaf == TRIG or leaf in leaves]


def numbered(families: Sequence[Sequence[Task]]) -> dict[str, Task]:
    """The tasks by name, with codes from 0 on: a family in order, then the second codes of those that have two."""
    found: dict[str, Task] = {}
    free = 0
    for family in families:
        first = range(free, free := free + len(family))
        for code, task in zip(first, family, strict=True):
            second = (free,) if task.is_fed_back or task.has_rounds else ()
            free += len(second)
            found[task.function.name] = replace(task, codes=(code, *second))
    return found
