"""What a target of `compile` is, and from a function of a robot to what runs: a route and a form are chosen."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from condyle.runtime.native import Kernel
from condyle.specification import Function

LINE = 64
"""Bytes of a column's numbers in one tile where no instruction set says otherwise."""


class Scans(Enum):
    """Which functions a target computes with all links side by side."""

    NONE = "none"
    ALL = "all of them"
    SEGMENTS = "those that have segments of a chain, one in each lane"
    LANES = "those whose links are lanes, or segments in lanes"


class Target:
    """Builds the kernels of a robot's functions. compiler: the `condyle.compile.compiler.Compiler` of the robot.

    name: the word that people type. scans: see `Scans`. is_reference: answers by NumPy, in one thread, with no native
    callable in front. on_device: arrays may lie on a GPU, and options of GPUs are taken.
    """

    name: str
    scans = Scans.NONE
    is_reference = False
    on_device = False

    @property
    def computes(self) -> Target:
        """What computes when this one is asked for: another one where the machine has not what this one needs."""
        return self

    @property
    def instead(self) -> Target | None:
        """What answers where no compiler is there; None: that is an error."""
        return None

    @property
    def instruction_set(self) -> str:
        """Of its own machine code; nothing where others make it."""
        return ""

    def lanes(self, dtype: str) -> int:
        """States that lie side by side in packed arrays."""
        return LINE // np.dtype(dtype).itemsize

    def kept(self, compiler: Any, function: Function, dtype: str) -> Kernel | None:
        """The kernel that `build` made in an earlier run, if it is kept."""
        return None

    def build(self, compiler: Any, function: Function, dtype: str) -> Kernel:
        """The kernel of a function that is repeated by no loop over time."""
        raise NotImplementedError
