"""Programs by their interpreter: slow, and easy to step through in a debugger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.facts import Facts
from condyle.errors import UnsupportedError
from condyle.ir.interp import run
from condyle.ir.loops import Code
from condyle.ir.program import Program
from condyle.runtime.native import Kernel

Rows = Sequence[NDArray[np.floating]]


class Interpreted:
    """A Kernel."""

    def __init__(self, program: Program, dtype: str) -> None:
        self._program, self.dtype = program, np.dtype(dtype)
        self.description = "interpreted"

    def __call__(self, n: int, inputs: Rows, outputs: Rows, threads: int) -> None:
        for output, answer in zip(outputs, run(self._program, inputs, self.dtype.type), strict=True):
            output[...] = np.reshape(answer, output.shape)


def build(code: Code, facts: Facts, dtype: str) -> Kernel:
    if not isinstance(code, Program):
        raise UnsupportedError("target 'interpreted' takes straight-line code only; 'cpu' and 'c' take loops too")
    return Interpreted(code, dtype)
