"""What every target hands back: something to call on packed batches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.specification import Port


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


# A function by NumPy as a Kernel: the reference, or scans.


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


# What this installation of Condyle is made of.


PACKAGE = Path(__file__).resolve().parent.parent


@cache
def identity() -> str:
    """sha256 (hex) over Condyle's own Python sources: what they made may be used again only while they are the same.

    Empty where they cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(PACKAGE.rglob("*.py")):
            digest.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    except OSError:
        return ""
    return digest.hexdigest()
