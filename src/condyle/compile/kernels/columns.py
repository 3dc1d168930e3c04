"""Jacobians and Hessians that are too long as straight code: one column after the other, along unit vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.model.tree import Tree
from condyle.runtime.kernel import Kernel
from condyle.specification import Columns, Function
from condyle.trace.structure import sizes

Array = NDArray[np.floating]


def widths(tree: Tree, columns: Columns) -> list[int]:
    """Entries of the tangents that the function of a column takes, which is half of its inputs."""
    ports = columns.function.inputs
    return [math.prod(port.shape(sizes(tree))) for port in ports[len(ports) // 2 :]]


def count(tree: Tree, columns: Columns) -> int:
    """How many columns there are."""
    known = widths(tree, columns)
    return sum(known[k] for k in columns.by)


def multiplied(row: Mapping[str, str | int], function: Function, tree: Tree, columns: Columns) -> dict[str, str | int]:
    """One row of operation counts for all columns, given that of one."""
    n = count(tree, columns)
    words = {"function": function.name, "route": f"{n} x {columns.function}"}
    return {**{name: n * number for name, number in row.items() if isinstance(number, int)}, **words}


def heights(tree: Tree, columns: Columns) -> list[int]:
    """Entries of its answers."""
    return [math.prod(port.shape(sizes(tree))) for port in columns.function.outputs]


def refused(function: Function, columns: Columns) -> UnsupportedError:
    return UnsupportedError(
        f"{function} of this robot is too long for straight code: targets 'cpu', 'c' and 'numpy' answer it column by "
        f"column; elsewhere call {columns.function}"
    )


@dataclass(frozen=True)
class ColumnsKernel:
    """A Kernel of columns. kernel: of one column; its inputs are these, and behind them tangents of these `widths`.

    by: those that are differentiated by. heights: of a column's parts. symmetric: one matrix of all parts, a Hessian;
    else a matrix of each part by each input.
    """

    kernel: Kernel
    widths: Sequence[int]
    by: Sequence[int]
    heights: Sequence[int]
    symmetric: bool

    @classmethod
    def create(cls, tree: Tree, columns: Columns, kernel: Kernel) -> ColumnsKernel:
        return cls(kernel, widths(tree, columns), columns.by, heights(tree, columns), columns.symmetric)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.kernel.dtype

    @property
    def description(self) -> str:
        return f"{self.count} columns, each {self.kernel.description}"

    @property
    def count(self) -> int:
        return sum(self.widths[k] for k in self.by)

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        parts = [np.empty((n, height), self.dtype) for height in self.heights]
        for place, (k, j) in enumerate(self._units()):
            tangents = [np.zeros((1, width), self.dtype) for width in self.widths]
            tangents[self.by[k]][0, j] = 1.0
            self.kernel(n, [*inputs, *tangents], parts, threads)
            if self.symmetric:
                np.reshape(outputs[0], (n, self.count, self.count))[:, :, place] = np.concatenate(parts, axis=1)
                continue
            for part, block in zip(parts, outputs[k :: len(self.by)], strict=True):
                np.reshape(block, (n, part.shape[1], -1))[:, :, j] = part
        if self.symmetric:
            matrix = np.reshape(outputs[0], (n, self.count, self.count))
            matrix[...] = 0.5 * (matrix + np.swapaxes(matrix, 1, 2))

    def _units(self) -> Iterator[tuple[int, int]]:
        for k, width in enumerate(self.by):
            for j in range(self.widths[width]):
                yield k, j
