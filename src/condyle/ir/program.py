"""A Program: straight-line scalar code in single assignment, the robot's numbers inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from condyle.ir.ops import LEAVES, Node


@dataclass(frozen=True)
class Array:
    """An input or output of a Program: its name and shape, entries counted row major."""

    name: str
    shape: tuple[int, ...]

    @cached_property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Output:
    """Entry `index` (flat, row major) of output array number `array` is the value of node `node`."""

    array: int
    index: int
    node: int


@dataclass(frozen=True)
class Program:
    """nodes[k] may use nodes before k only; entries of an output array that no Output names are zero."""

    name: str
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]

    def __len__(self) -> int:
        return len(self.nodes)


def operands(node: Node) -> tuple[int, ...]:
    """The numbers of the nodes that a node uses."""
    return () if node[0] in LEAVES else node[1:]  # pyright: ignore[reportReturnType]


def constant_of(node: Node) -> float:
    """The value of a "const"."""
    return cast(float, node[1])


def input_of(node: Node) -> tuple[int, int]:
    """Port and entry of an "input"."""
    return cast("tuple[int, int]", node[1:])
