"""What every target hands back: something to call on packed batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Kernel(Protocol):
    """One compiled function.

    Called with n states, inputs each (n or 1, size) and outputs each (n, size): the dtype of the kernel, last axis
    contiguous, any batch stride. A row count of 1 serves every state. Outputs must not overlap inputs or each other.
    Results are the same to the bit for any number of threads and any place in the batch.
    """

    @property
    def dtype(self) -> np.dtype[np.floating]: ...

    @property
    def description(self) -> str: ...

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None: ...


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
