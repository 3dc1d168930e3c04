"""What a Program means: run it, node by node, on floats or batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir.program import Program

Array = NDArray[np.floating]

MEANING: dict[str, Callable[..., Array]] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "fnms": lambda a, b, c: -(a * b) - c,
}


def run(program: Program, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    batch = max((len(array) for array in inputs), default=1)
    flat = [np.asarray(array, dtype=dtype).reshape(len(array), -1) for array in inputs]
    values: list[Array] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node[0] == "const":
                values.append(np.asarray(node[1], dtype=dtype))
            elif node[0] == "input":
                values.append(flat[node[1]][:, node[2]])  # pyright: ignore
            else:
                values.append(MEANING[node[0]](*(values[k] for k in node[1:])))  # pyright: ignore
    results = [np.zeros((batch, array.size), dtype=dtype) for array in program.arrays]
    for output in program.outputs:
        results[output.array][:, output.index] = values[output.node]
    return [result.reshape(batch, *array.shape) for result, array in zip(results, program.arrays, strict=True)]
