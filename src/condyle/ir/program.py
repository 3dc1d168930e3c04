"""A Program: straight-line scalar code in static single assignment form, with the robot's numbers as constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import NamedTuple, cast

from condyle.operations import LEAVES, Node


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


class Note(NamedTuple):
    """Information on a node: the stage that it belongs to, and bounds of its magnitude."""

    stage: str = ""
    upper: float = inf
    lower: float = 0.0


@dataclass(frozen=True)
class Program:
    """nodes[k] uses nodes before k only. Entries of an output array without an Output are zero.

    notes: one for each node, or none at all; passes keep them, see `rewritten`.
    """

    name: str
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    notes: tuple[Note, ...] = ()

    def note(self, k: int) -> Note:
        return self.notes[k] if self.notes else Note()

    def rewritten(
        self, nodes: Sequence[Node], values: Sequence[int] | Mapping[int, int], origins: Sequence[int]
    ) -> Program:
        """The same outputs and notes with other nodes.

        values: {old node: the new node with its value}, of outputs and origins at least. origins: for each new node the
        old one that it was made for. Of a new node that has no old one's value the stage is kept; bounds are not known.
        """
        outputs = tuple(Output(o.array, o.index, values[o.node]) for o in self.outputs)
        notes = (
            self.notes[old] if values[old] == new else Note(self.notes[old].stage) for new, old in enumerate(origins)
        )
        return replace(self, nodes=tuple(nodes), outputs=outputs, notes=tuple(notes) if self.notes else ())

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
