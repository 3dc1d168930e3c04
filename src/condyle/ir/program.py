"""A Program: straight-line scalar code in static single assignment form, with the robot's numbers as constants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import NamedTuple, cast

from condyle.errors import UnsupportedError
from condyle.operations import ARITY, LEAVES, Node
from condyle.text import Emitter


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


# A Program as text that a person can read.


def show(program: Program) -> str:
    """One line for each node, then one for each output entry: `t7 = mul t2 t3`, `tau[0] = t7`."""
    e = Emitter()
    with e.block(f"program {program.name} {{"):
        for k, node in enumerate(program.nodes):
            if node[0] == "const":
                e(f"t{k} = {constant_of(node)!r}")
            elif node[0] == "input":
                array, entry = input_of(node)
                e(f"t{k} = {program.inputs[array].name}[{entry}]")
            else:
                e(f"t{k} = {node[0]} " + " ".join(f"t{a}" for a in operands(node)))
        for output in program.outputs:
            e(f"{program.arrays[output.array].name}[{output.index}] = t{output.node}")
    return e.text()


# The verifier: rules that every Program keeps between any two passes.


def verify(program: Program) -> Program:
    """The Program itself; AssertionError (a bug of ours) with the node or the output that breaks a rule.

    UnsupportedError where a number is not finite: it comes from what a user wrote.
    """
    arity = ARITY.get
    for k, node in enumerate(program.nodes):
        used = node[1:]
        if len(used) == arity(node[0]):
            for a in used:
                assert a.__class__ is int and 0 <= a < k, _complaint(program, k)
        else:
            if node[0] == "const" and not math.isfinite(constant_of(node)):
                raise UnsupportedError(
                    "a number is infinite or NaN in every state, where something is divided by what is zero in every "
                    "state: an entry of a matrix, of at.frame(name).jacobian say; add a small number to it, such as "
                    "1e-9, or leave out what has no influence"
                )
            assert _is_leaf(program, node), _complaint(program, k)
    assert len(program.notes) in (0, len(program)), f"{program.name}: {len(program.notes)} notes"
    seen: set[tuple[int, int]] = set()
    for output in program.outputs:
        where = (output.array, output.index)
        assert where not in seen and _is_there(program, output), f"{program.name}: {output}"
        seen.add(where)
    return program


def _complaint(program: Program, k: int) -> str:
    return f"{program.name}: node {k} {program.nodes[k]}"


def _is_leaf(program: Program, node: Node) -> bool:
    if node[0] == "const":
        return len(node) == 2 and isinstance(node[1], float)  # finite, as `verify` has seen
    return node[0] == "input" and len(node) == 3 and _is_input(program, *input_of(node))


def _is_input(program: Program, array: int, entry: int) -> bool:
    return 0 <= array < len(program.inputs) and 0 <= entry < program.inputs[array].size


def _is_there(program: Program, output: Output) -> bool:
    return (
        0 <= output.node < len(program.nodes)
        and 0 <= output.array < len(program.arrays)
        and 0 <= output.index < program.arrays[output.array].size
    )
