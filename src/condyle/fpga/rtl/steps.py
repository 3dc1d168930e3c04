"""Integration steps: sub-tasks of forward dynamics, fed back until the step is done (Yang 2023, figure 13).

Methods and equations are those of `condyle.specification.integrators`. h is a number of the accelerator, as the robot's
are: its multiples are chosen by stage and cost no words of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.formats import Format, constant_format
from condyle.ir.program import Program
from condyle.specification.integrators import METHODS
from condyle.specification.integrators import Stage as Weights

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
