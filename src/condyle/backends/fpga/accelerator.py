"""The accelerator of one robot: which arrays there are, what each function takes from them.

Yang 2023 (Dadu-RBD), figures 9 and 10. Arrays, each a Datapath with an interval of its own:
  trig        sines and cosines of q, once for all
  dynamics    Forward-Backward: R (rnea) and D (its derivatives) interleaved, joint by joint
  mass        Backward-Forward: M and, from its factors, M^-1
  solve       Schedule: M^-1 (tau - c)
  derivatives Schedule: -M^-1 dtau
  step        Schedule: an integration step's next state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from condyle.backends.fpga import steps, twins
from condyle.backends.fpga.datapath import Datapath, Word
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.given import GIVEN, both, kind
from condyle.backends.fpga.target import Word as Numbers

CODES = {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6, "rk4": 8, "euler": 9} | {
    "minv_given": 11,
    "fd_given": 12,
    "dfd_given": 13,
}
AGAIN = {"dfd": 7, "dfd_given": 14}
"""The second pass of these through the dynamics array."""
NOT_LAST = 10
"""A stage of rk4 that others follow, in the array `step`."""
TO_SOLVE = both("fd", "dfd", "rk4", "euler")
"""What needs tau, c and M^-1."""
Limbs = tuple[Mapping[int, twins.Place], Mapping[tuple[str, int], twins.Place]]
TAILS = 4.0
"""Products with M^-1 have long tails that sampling does not meet: two bits more for them."""
DERIVATIVES = both("did", "dfd", "difd")


@dataclass(frozen=True)
class Plan:
    """The datapaths of some functions of one robot and the formats at the edge.

    formats: of q, v, a, tau, f_ext and Minv words. results: for each function its output words and their formats.
    box: the bounds of the states that it is made for, by name. limits: the bound of each word that has one.
    course: what goes with an integration step's sub-tasks, and the formats.
    base: its degrees of freedom, where its motion can be given; else 0.
    """

    numbers: Numbers
    functions: tuple[str, ...]
    nq: int
    nv: int
    datapaths: Mapping[str, Datapath]
    formats: Mapping[Word, Format]
    results: Mapping[str, tuple[tuple[Word, Format], ...]] = field(
        default_factory=dict[str, tuple[tuple[Word, Format], ...]]
    )
    box: Mapping[str, float] = field(default_factory=dict[str, float])
    limits: Mapping[Word, float] = field(default_factory=dict[Word, float])
    stepping: steps.Stepping = steps.STANDING
    course: Mapping[Word, Format] = field(default_factory=dict[Word, Format])
    base: int = 0

    def takes(self, name: str) -> list[Word]:
        """The words of an input array, in order."""
        return sorted((word for word in self.formats if word.name == name), key=lambda word: word.index)

    @property
    def weights(self) -> dict[str, steps.Weight]:
        names = self.stepping.coordinates.weights("rk4" in self.functions)
        return steps.weights(names, self.stepping.h, self.functions, self.numbers.constant)


def needs(functions: Sequence[str], *any_of: str) -> bool:
    return any(function in functions for function in any_of)


ORDER = ("trig", "dynamics", "mass", "solve", "derivatives", "step")
_LEAVES: dict[str, tuple[str, str]] = {
    "id": ("dynamics", "tau"),
    "fd": ("solve", "out"),
    "m": ("mass", "M"),
    "minv": ("mass", "Minv"),
    "did": ("dynamics", "dtau"),
    "dfd": ("derivatives", "out"),
    "difd": ("derivatives", "out"),
    "rk4": ("step", "out"),
    "euler": ("step", "out"),
}
LEAVES = {**_LEAVES, **{function: _LEAVES[kind(function)] for function in GIVEN}}
"""The array and group that a function's result leaves from."""
