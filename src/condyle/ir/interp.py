"""The meaning of a Program: its interpreter, node by node, on batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import MEANING

Array = NDArray[np.floating]


def values(program: Program, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The value of each node, for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    flat = [np.reshape(np.asarray(array, dtype=dtype), (len(array), -1)) for array in inputs]
    found: list[Array] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node[0] == "const":
                found.append(np.asarray(constant_of(node), dtype=dtype))
            elif node[0] == "input":
                array, entry = input_of(node)
                found.append(flat[array][:, entry])
            else:
                found.append(MEANING[node[0]](*(found[k] for k in operands(node))))
    return found


def run(program: Program, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for inputs as those of `values`."""
    batch, found = max((len(array) for array in inputs), default=1), values(program, inputs, dtype)
    results: list[Array] = [np.zeros((batch, array.size), dtype=dtype) for array in program.arrays]
    for output in program.outputs:
        results[output.array][:, output.index] = found[output.node]
    return [np.reshape(result, (batch, *array.shape)) for result, array in zip(results, program.arrays, strict=True)]
