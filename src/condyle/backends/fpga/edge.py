"""The bounds of the box: which input words of a task are outside, for the flag of its result.

Words are held against the box. Minv, and tau where the box says none, have no bound of their own: they are outside
where they stand at the end of their format, which is where a host clamps them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from condyle.backends.fpga.accelerator import Plan
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Integers
from condyle.backends.fpga.operators import Flags
from condyle.backends.fpga.tasks import Task


def largest(plan: Plan, word: Word) -> int:
    """The largest integer of a word inside the box; its negative is the smallest."""
    format = plan.formats[word]
    bound = plan.limits.get(word)
    inner = format.limit - 1
    return inner if bound is None else min(inner, int(np.ceil(np.ldexp(bound, format.frac))))


def outside(plan: Plan, task: Task, given: Mapping[Word, Integers]) -> Flags:
    """The tasks with an input word outside the box, of those that the function uses."""
    words = [word for word in plan.formats if task.takes(word, plan.base)]
    return np.any([np.abs(given[word]) > largest(plan, word) for word in words], axis=0)
