"""The plan of one robot's accelerator: its arrays, the functions that use them, the formats of inputs and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from condyle.fpga.rtl import steps
from condyle.fpga.rtl.datapath import Datapath, Word
from condyle.fpga.rtl.formats import Format, Reals
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.target import Word as Numbers
from condyle.fpga.rtl.tasks import Leaf, Task

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
    stepping: steps.Stepping
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
    def weights(self) -> dict[str, steps.Weight]:
        stages = [stage for task in self.tasks.values() for stage in task.stages]
        return steps.weights(self.stepping, stages, self.numbers.constant)
