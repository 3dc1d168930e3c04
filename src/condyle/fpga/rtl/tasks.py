"""The groups of arrays that a task passes through, pass by pass (Yang 2023, figures 9 and 10), and its codes.

The arrays, each a Datapath with its own schedule:
  trig        sines and cosines of q, once for all
  dynamics    Forward-Backward, mass  Backward-Forward: traced from algorithms, see `Unit`
  solve       Schedule: M^-1 (tau - c)
  derivatives Schedule: -M^-1 dtau
  step        Schedule: an integration step's next state
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.formats import Format
from condyle.specification import Composition, Function, MinusProduct, Port


class Leaf(NamedTuple):
    """A group of an array's words, which leave together."""

    array: str
    group: str


BIAS, COLUMNS, INVERSE = Leaf("dynamics", "tau"), Leaf("dynamics", "dtau"), Leaf("mass", "Minv")
"""The inputs of solve and derivatives: c, dtau and M^-1."""
TRIG, SOLVED, PRODUCTS = Leaf("trig", "out"), Leaf("solve", "out"), Leaf("derivatives", "out")
STEP, STAGE = Leaf("step", "out"), Leaf("step", "again")
"""The result of a step; the state of a stage that is followed by another."""
ORDER = ("trig", "dynamics", "mass", "solve", "derivatives", "step")
FLOATS = Word("floats", 0)
"""1 for a floating base, 0 for a base with a given motion. An input of `mass`; the function decides it."""
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
    """How an accelerator computes a function.

    composition: that of the function, down to units. passes: the groups of each pass, in their order. words: for each
    output its name in the last group. stages: the numbers of an integration step's weights. method: of
    `condyle.specification.integrators`, for such a step. base_given: the motion of the base is an input.
    codes: one for each pass. A step with several stages has a second code for the words between two stages.
    """

    function: Function
    composition: Composition
    passes: tuple[tuple[Leaf, ...], ...]
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    stages: range = range(0)
    base_given: bool = False
    method: str = ""
    codes: tuple[int, ...] = ()

    @property
    def leaf(self) -> Leaf:
        """The group that is the result."""
        return self.passes[-1][-1]

    @property
    def solves(self) -> bool:
        """Whether it needs tau, c and M^-1."""
        return SOLVED in self.passes[0]

    @property
    def is_fed_back(self) -> bool:
        """Whether a is fed back, for its derivatives."""
        return len(self.passes) > 1

    @property
    def turns(self) -> int:
        """How often it goes through the arrays."""
        return len(self.passes) * max(1, len(self.stages))

    @property
    def has_rounds(self) -> bool:
        """Whether the state of a stage is fed back."""
        return len(self.stages) > 1

    @property
    def inputs(self) -> dict[str, Port]:
        return {port.name: port for port in self.function.every_input}

    @property
    def products(self) -> list[MinusProduct]:
        return [step for step in self.composition if isinstance(step, MinusProduct)]

    def takes(self, word: Word, base: int) -> bool:
        """Whether it uses a word; the first `base` entries of v are the base's."""
        return word.name in self.inputs and self.shares(word, base)

    def shares(self, word: Word, base: int) -> bool:
        """Whether it uses a word of a or tau, which have the same bits: for a given base a of the base, then tau."""
        return not self.base_given or {"a": word.index < base, "tau": word.index >= base}.get(word.name, True)

    def through(self, leaf: Leaf) -> list[int]:
        """The codes of this task with which words leave by a group."""
        if leaf == STAGE:
            return [self.codes[1]] if self.has_rounds else []
        return [code for code, leaves in zip(self.codes, self.passes, strict=False) if leaf == TRIG or leaf in leaves]


TASK_KINDS: Mapping[str, Callable[[Task], bool]] = {
    "is_known": lambda task: True,
    "keeps_tau": lambda task: task.solves,
    "keeps_inverse": lambda task: "Minv" in task.inputs,
    "is_dfd": lambda task: task.is_fed_back,
    "is_step": lambda task: bool(task.stages),
}
"""What decides what a task waits for at the entry, and which of its words are kept there; by the name of a wire."""


def numbered(families: Sequence[Sequence[Task]]) -> dict[str, Task]:
    """The tasks by name, with codes from 0 on: those of a family in order, then the second codes of that family."""
    found: dict[str, Task] = {}
    free = 0
    for family in families:
        first = range(free, free := free + len(family))
        for code, task in zip(first, family, strict=True):
            second = (free,) if task.is_fed_back or task.has_rounds else ()
            free += len(second)
            found[task.function.name] = replace(task, codes=(code, *second))
    return found
