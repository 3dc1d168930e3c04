"""A function of a long robot as calls of others: their kernels one after the other, and NumPy between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.model.tree import Tree
from condyle.runtime.kernel import Kernel
from condyle.specification import Function
from condyle.trace.straight import arrays

Array = NDArray[np.floating]
Columns = Sequence[Any]
"""Entries of an array: numbers, or an array of the states each."""


@dataclass(frozen=True)
class ComposedKernel:
    """record: the function in terms of calls (`Route.parts`). names: of its inputs. kernel: of another function."""

    tree: Tree
    record: Callable[[Calls, Mapping[str, Columns]], Sequence[Columns]]
    names: Sequence[str]
    kernel: Callable[[Function], Kernel]
    dtype: np.dtype[np.floating]
    description: str

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        at = Calls(self.tree, self.kernel, n, threads, self.dtype)
        given = {name: _columns(array) for name, array in zip(self.names, inputs, strict=True)}
        with np.errstate(all="ignore"):
            answers = self.record(at, given)
        for output, answer in zip(outputs, answers, strict=True):
            for k, entry in enumerate(answer):
                output[:, k] = entry


@dataclass(frozen=True)
class Calls:
    """What `record` calls."""

    tree: Tree
    kernel: Callable[[Function], Kernel]
    n: int
    threads: int
    dtype: np.dtype[np.floating]

    def call(self, function: Function, *arguments: Columns) -> list[Columns]:
        """The answers of a function, an array of the states for each entry."""
        inputs = [np.empty((self.n, len(part)), self.dtype) for part in arguments]
        for array, part in zip(inputs, arguments, strict=True):
            for k, entry in enumerate(part):
                array[:, k] = entry
        outputs = arrays(self.tree, function.outputs)
        answers = [np.empty((self.n, array.size), self.dtype) for array in outputs]
        self.kernel(function)(self.n, inputs, answers, self.threads)
        return [_columns(answer) for answer in answers]


def _columns(array: Array) -> list[Any]:
    return list(np.transpose(array))
