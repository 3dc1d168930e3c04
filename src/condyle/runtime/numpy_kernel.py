"""A function by NumPy as a Kernel: the reference, or scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.specification import Port

Array = NDArray[np.floating]


class NumpyKernel:
    """run(inputs by name, each flat (n or 1, size)) -> the outputs, each flat (n, size)."""

    def __init__(
        self,
        run: Callable[[Mapping[str, Array]], Sequence[Array]],
        ports: Sequence[Port],
        dtype: np.dtype[np.floating],
        description: str,
    ) -> None:
        self._run, self._names = run, [port.name for port in ports]
        self.dtype, self.description = dtype, description

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        for output, result in zip(outputs, self._run(dict(zip(self._names, inputs, strict=True))), strict=True):
            output[...] = result
