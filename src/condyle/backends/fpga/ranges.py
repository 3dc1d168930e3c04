"""The range of each node of a Program over sampled states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from condyle.ir.interp import MEANING
from condyle.ir.program import Program, constant_of, input_of, operands

Reals = NDArray[np.float64]


def values(program: Program, inputs: Mapping[str, Reals]) -> list[Reals]:
    """Each node's value in every sample; inputs (n, size) by name."""
    found: list[Reals] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node[0] == "const":
                found.append(np.asarray(constant_of(node), np.float64))
            elif node[0] == "input":
                array, entry = input_of(node)
                found.append(inputs[program.inputs[array].name][:, entry])
            else:
                found.append(np.asarray(MEANING[node[0]](*(found[k] for k in operands(node))), np.float64))
    return found


def largest(found: list[Reals]) -> list[float]:
    """The largest finite absolute value of each node."""
    return [float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value))) for value in found]


def outputs(program: Program, found: list[Reals]) -> dict[str, Reals]:
    """The output arrays (n, size) by name."""
    n = max(len(value) for value in found if value.ndim)
    result = {array.name: np.zeros((n, array.size)) for array in program.arrays}
    for output in program.outputs:
        result[program.arrays[output.array].name][:, output.index] = found[output.node]
    return result
