"""The edge of the stated box: which words of a task lie outside, said by the flag of its result.

Words of q, v, a and f_ext are held against the box. tau and Minv have no bound of their own: they are outside where
they stand at the end of their format, which is where a host clamps them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Integers
from condyle.backends.fpga.given import takes
from condyle.backends.fpga.operators import Flags
from condyle.backends.fpga.steps import ALL

USES: dict[str, tuple[str, ...]] = {
    name: tuple(f.name for f in ALL.values() if any(port.name == name for port in f.ports(f.takes_f_ext)))
    for name in ("q", "v", "a", "tau", "f_ext", "Minv")
}
"""The functions that take an input."""


def largest(plan: Plan, word: Word) -> int:
    """The largest integer of a word inside the box; its negative is the smallest."""
    format = plan.formats[word]
    bound = plan.limits.get(word)
    inner = format.limit - 1
    return inner if bound is None else min(inner, int(np.ceil(np.ldexp(bound, format.frac))))


def takers(plan: Plan, word: Word) -> tuple[str, ...]:
    """The plan's functions that take a word."""
    return tuple(f for f in USES[word.name] if f in plan.functions and takes(f, word, plan.base))


def outside(plan: Plan, function: str, given: Mapping[Word, Integers]) -> Flags:
    """The tasks of which a word that the function takes is outside."""
    words = [word for word in plan.formats if function in takers(plan, word)]
    return np.any([np.abs(given[word]) > largest(plan, word) for word in words], axis=0)
