"""One of two kernels, by the size of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.runtime.kernel import Kernel


@dataclass(frozen=True)
class EitherKernel:
    """first: what runs where `takes_first` says so of a number of states; else second does."""

    first: Kernel
    second: Kernel
    takes_first: Callable[[int], bool]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.first.dtype

    @property
    def description(self) -> str:
        return f"{self.second.description}, or {self.first.description}"

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        (self.first if self.takes_first(n) else self.second)(n, inputs, outputs, threads)
