"""The plan of one robot's accelerator: its arrays, the functions that use them, the formats of inputs and results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from condyle.fpga.rtl.datapath import Datapath, Word
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.target import Format, Reals, constant_format
from condyle.fpga.rtl.target import Word as Numbers
from condyle.ir.program import Program
from condyle.specification import Composition, Function, Port
from condyle.specification.integrators import METHODS
from condyle.specification.integrators import Stage as Weights

# Integration steps: sub-tasks of forward dynamics, fed back until the step is done (Yang 2023, figure 13).
#
# Methods and equations are those of `condyle.specification.integrators`. h is a number of the accelerator, as the
# robot's are: its multiples are chosen by stage and cost no words of a task.


STEPPED = {name: method for name, method in METHODS.items() if not method.moves_last}
"""The methods that there are in hardware."""
STAGES = tuple(stage for method in STEPPED.values() for stage in method.stages)
"""The weights of all methods, one after the other."""
ENDS = tuple(accumulate(len(method.stages) for method in STEPPED.values()))
STAGES_OF = {name: range(end - len(STEPPED[name].stages), end) for name, end in zip(STEPPED, ENDS, strict=True)}
"""Which of the stages are a method's."""
WEIGHTS = {name: tuple(getattr(stage, name) for stage in STAGES) for name in Weights._fields}
"""By stage: u = c h vi + d h² [v, vi] + e times the sum of b h vi of the stages before."""
POWERS = {"c": 1, "b": 1, "d": 2, "e": 0}
LAST = tuple(end - 1 for end in ENDS)
"""The stages that end a step."""
STAGE_FORMAT = Format(1 + len(STAGES).bit_length(), 0)
FRESH = {"cv": "v", "sq": "q", "sv": "v", "su": ""}
"""The words that travel with the first sub-task of a step: copies of its state, and zeros."""
AGAIN = {"cv": "nv", "sq": "q_next", "sv": "v_next", "su": "su_next"}
"""The words that travel with a later one: those that the stage before has made."""
LIKE = {**FRESH, "su": "su", "su_next": "su", "nq": "q", "nv": "v", "q_next": "q", "v_next": "v"}
"""Words that have the same format."""


@dataclass(frozen=True)
class Coordinates:
    """Which entries of q are a plain vector, and which entries of v move the others along a curve."""

    nq: int
    nv: int
    flat: tuple[int, ...] = ()
    curved: tuple[int, ...] = ()

    def course(self, tau: Sequence[Word], f_ext: Sequence[Word], again: bool) -> list[Word]:
        """The words that travel with a sub-task: stage, state and torques of the step, velocity of the stage, sums."""
        entries = {name: range(self.nv) for name in ("v", "cv", "sv")}
        kept: dict[str, Collection[int]] = {"q": range(self.nq), **entries, "sq": self.flat}
        kept |= {"su": self.curved} if again else {}
        return [Word("stage", 0), *(Word(name, k) for name, ks in kept.items() for k in ks), *tau, *f_ext]

    def weights(self, again: bool) -> str:
        """The names of the words that stages need."""
        return "cbde" if self.curved and again else "cb"


@dataclass(frozen=True)
class Stage:
    """One stage as a Program: from the course's words, weights and k to the next sub-task or the result.

    alike: nodes that have the range of a word. small: nodes and their bounds. whole: products of uncut factors.
    """

    program: Program
    alike: Mapping[int, Word] = field(default_factory=dict[int, Word])
    small: Mapping[int, float] = field(default_factory=dict[int, float])
    whole: frozenset[int] = frozenset()


Advance = Callable[[Sequence[Word], bool], Stage]
"""Makes a Stage from the words of the course, and from whether a stage is followed by another."""


@dataclass(frozen=True)
class Stepping:
    """How an accelerator integrates. h: the length of a step [s]."""

    h: float
    coordinates: Coordinates
    advance: Advance


STANDING = Stepping(1e-3, Coordinates(0, 0), lambda words, again: Stage(Program("nowhere", (), (), (), ())))
"""For accelerators without steps."""


def like(word: Word) -> Word:
    """The word whose format a word has."""
    return Word(LIKE.get(word.name, word.name), word.index)


class Weight(NamedTuple):
    """The integers of every stage, and their format."""

    values: tuple[int, ...]
    format: Format


def follow(stages: Collection[int]) -> bool:
    """Whether a stage is followed by another."""
    return not set(stages) <= set(LAST)


def weights(stepping: Stepping, stages: Collection[int], width: int) -> dict[str, Weight]:
    """The weights of these stages, in constants of so many bits; zero at other stages."""
    found: dict[str, Weight] = {}
    for name in stepping.coordinates.weights(follow(stages)):
        scaled = [stepping.h ** POWERS[name] * x if s in stages else 0.0 for s, x in enumerate(WEIGHTS[name])]
        format = constant_format(width, max(scaled)) if POWERS[name] else Format(2, 0)
        found[name] = Weight(tuple(int(format.from_real(np.array(x))) for x in scaled), format)
    return found


# The groups of arrays that a task passes through, pass by pass (Yang 2023, figures 9 and 10), and its codes.
#
# The arrays, each a Datapath with its own schedule:
#   trig        sines and cosines of q, once for all
#   dynamics    Forward-Backward, mass  Backward-Forward: traced from algorithms, see `Unit`
#   solve       Schedule: M^-1 (tau - c)
#   derivatives Schedule: -M^-1 dtau
#   step        Schedule: an integration step's next state


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


LEAST_CODE_BITS = 4


class Id(NamedTuple):
    """What travels with a task: the tag in the lowest bits, the code of its function, the flag."""

    code_bits: int

    @property
    def width(self) -> int:
        return RETURNED_BITS + self.code_bits + 1


def named(words: Iterable[Word], name: str) -> list[Word]:
    """The words of one array, in order."""
    return sorted((word for word in words if word.name == name), key=lambda word: word.index)


@dataclass(frozen=True)
class Plan:
    """The datapaths of some functions of one robot, and the formats of their inputs and results.

    tasks: by name, in the order of their codes. formats: of the words of q, v, a, tau, f_ext and Minv. results: for
    each function its output words and their formats. box: the bounds of the inputs by name, one for all entries or one
    for each. torques: the largest ones of the sampled states, by entry. limits: the bound of each word that has one.
    course: the words that travel with a sub-task of an integration step, and their formats. base: the degrees of
    freedom of the base if its motion can be given, else 0. flags: whether results have a flag.
    """

    numbers: Numbers
    tasks: Mapping[str, Task]
    nq: int
    nv: int
    datapaths: Mapping[str, Datapath]
    formats: Mapping[Word, Format]
    results: Mapping[str, tuple[tuple[Word, Format], ...]]
    box: Mapping[str, float | Reals]
    torques: tuple[float, ...]
    limits: Mapping[Word, float]
    stepping: Stepping
    course: Mapping[Word, Format]
    base: int
    flags: bool = True

    def takes(self, name: str) -> list[Word]:
        """The words of an input array, in order."""
        return named(self.formats, name)

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(self.tasks)

    @property
    def id(self) -> Id:
        codes = [code for task in self.tasks.values() for code in task.codes]
        return Id(max(LEAST_CODE_BITS, max(codes).bit_length()))

    def through(self, leaf: Leaf) -> list[int]:
        """The codes of all tasks whose words pass through a group, ascending."""
        return sorted(code for task in self.tasks.values() for code in task.through(leaf))

    def leaving(self, leaf: Leaf) -> list[int]:
        """The codes of the tasks whose result is a group."""
        return sorted(code for task in self.tasks.values() if task.leaf == leaf for code in task.through(leaf))

    @property
    def fed_back(self) -> list[Task]:
        """The tasks with a second pass."""
        return [task for task in self.tasks.values() if task.is_fed_back]

    @property
    def has_rounds(self) -> bool:
        """Whether there are integration steps with more than one stage."""
        return any(task.has_rounds for task in self.tasks.values())

    @property
    def weights(self) -> dict[str, Weight]:
        stages = [stage for task in self.tasks.values() for stage in task.stages]
        return weights(self.stepping, stages, self.numbers.constant)
