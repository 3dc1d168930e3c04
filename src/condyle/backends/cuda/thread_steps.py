"""The steps of a thread, after register allocation.

A warp computes 32 states. Rows of inputs and outputs are staged in shared memory, one tile for each Group: the warp
reads or writes adjacent entries of a row together, and each thread reads or writes the entries of its own state in the
tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.backends.common.chunks import reached
from condyle.backends.cuda.target import WARP
from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, TRIGONOMETRIC, Node


@dataclass(frozen=True, slots=True)
class Group:
    """Entries `start` to `start + count` of one input or output, staged together.

    width: number of lanes for a row, a power of two, at least count. 0: the tile has whole rows one after the other, as
    they are in device memory, so that each access of the warp copies adjacent numbers. bits: of the number type.
    """

    array: int
    start: int
    count: int
    width: int
    bits: int

    @property
    def pitch(self) -> int:
        """Numbers from one entry of a state to the next, chosen so that accesses have no bank conflicts."""
        if not self.width:
            return 1
        return WARP + max(1, (WARP if self.bits == 32 else WARP // 2) // self.width)

    @property
    def gap(self) -> int:
        """Whole rows from one gap of one number to the next. Without gaps, the same entry of two rows would be in the
        same bank."""
        return WARP // math.gcd(self.count, WARP)

    def bytes(self, columns: int) -> int:
        """Bytes of so many columns of the tile, or of whole rows."""
        numbers = columns * self.pitch if self.width else WARP * self.count + (WARP - 1) // self.gap
        return numbers * self.bits // 8

    @property
    def rows(self) -> int:
        """States that one access of the whole warp covers."""
        return WARP // self.width


class Load(NamedTuple):
    """The warp copies a group of an input into the tile at `offset` (bytes)."""

    group: Group
    offset: int


class Flush(NamedTuple):
    """The warp copies the tile at `offset` to a group of an output; -1: the group is zero and has no tile."""

    group: Group
    offset: int


class Take(NamedTuple):
    """A node's value from a tile or from a row of angles, `offset` bytes into the pool."""

    node: int
    offset: int


class Put(NamedTuple):
    """A node's value, entry `entry` of output `array`, into a tile; node -1: zero."""

    node: int
    array: int
    entry: int
    offset: int


class Spill(NamedTuple):
    """A node's value into a slot of local memory."""

    node: int
    slot: int


class Reload(NamedTuple):
    """A spilled value back into a register."""

    node: int
    slot: int


class Compute(NamedTuple):
    """One arithmetic node of the Program."""

    node: int


class Angle(NamedTuple):
    """An angle into its row of shared memory. first: whether it is the first of those of one Guard."""

    node: int
    offset: int
    first: bool


class Guard(NamedTuple):
    """Reduces the large ones of `angles` angles, in rows from `offset` on."""

    angles: int
    offset: int


class SinCos(NamedTuple):
    """Sine and cosine of the angle at `offset`, None for one that is not used."""

    sine: int | None
    cosine: int | None
    offset: int


class Wait(NamedTuple):
    """A barrier for the lanes of the warp."""


Step: TypeAlias = Wait | Load | Flush | Take | Put | Spill | Reload | Compute | Angle | Guard | SinCos


@dataclass(frozen=True, slots=True)
class Lowered:
    """A Program as steps of a thread.

    order: name of the linear order. pool: bytes of shared memory for each warp. slots: spill slots of a thread.
    traffic: numbers spilled and reloaded. peak: largest number of values in registers.
    """

    program: Program
    bits: int
    steps: tuple[Step, ...]
    order: str
    pool: int
    slots: int
    traffic: int
    peak: int


# A linear order with sines inserted: angles are checked together as soon as they are known, level by level.


@dataclass(frozen=True, slots=True)
class Item:
    """One item: "compute" a node, store an "angle", "guard" the stored ones (reduce large angles), or "sincos" of one.

    reads: nodes that must be in registers, without constants. defines: nodes known afterwards. angle: its node.
    """

    kind: str
    reads: tuple[int, ...]
    defines: tuple[int, ...]
    angle: int = -1


@dataclass(frozen=True, slots=True)
class Order:
    """A linear order of the operations, input of `schedule`.

    levels: the angles of each guard, with constants. uses: the items that read a value, last first.
    """

    name: str
    items: tuple[Item, ...]
    levels: tuple[tuple[int, ...], ...]
    uses: dict[int, tuple[int, ...]]

    @staticmethod
    def from_program(program: Program, name: str, order: Sequence[int]) -> Order:
        """order: every inner node once, after its operands."""
        levels = _levels(program.nodes, order)
        items = _items(program, order, levels)
        uses: dict[int, list[int]] = {}
        for time, item in enumerate(items):
            for value in item.reads:
                uses.setdefault(value, []).append(time)
        return Order(name, tuple(items), tuple(levels), {value: tuple(times[::-1]) for value, times in uses.items()})


def _items(program: Program, order: Sequence[int], levels: Sequence[tuple[int, ...]]) -> list[Item]:
    nodes = program.nodes
    found: list[Item] = []
    done: set[int] = set()
    sines = _sines_of(nodes, order)
    for angles in levels:
        found += _compute(nodes, _cone(nodes, order, angles), done, sines)
        found += [Item("angle", _read(nodes, (angle,)), (), angle) for angle in angles]
        found.append(Item("guard", (), ()))
    return found + _compute(nodes, order, done, sines)


def _read(nodes: Sequence[Node], values: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(value for value in values if nodes[value][0] != "const"))


def _sines_of(nodes: Sequence[Node], order: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """{angle: its sine and cosine nodes}."""
    found: dict[int, tuple[int, ...]] = {}
    for index in order:
        if nodes[index][0] in TRIGONOMETRIC:
            (angle,) = operands(nodes[index])
            found[angle] = (*found.get(angle, ()), index)
    return found


def _levels(nodes: Sequence[Node], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Angles by the nesting depth of the sines and cosines that they depend on."""
    depth: dict[int, int] = {}
    found: dict[int, dict[int, None]] = {}
    for index in order:
        level = max((depth.get(used, 0) for used in operands(nodes[index])), default=0)
        trigonometric = nodes[index][0] in TRIGONOMETRIC
        depth[index] = level + trigonometric
        if trigonometric:
            found.setdefault(level, {})[operands(nodes[index])[0]] = None
    return [tuple(sorted(found[level])) for level in sorted(found)]


def _cone(nodes: Sequence[Node], order: Sequence[int], roots: Sequence[int]) -> list[int]:
    """The nodes of `order` that the roots need, in order."""
    needed = reached(roots, lambda index: operands(nodes[index]))
    return [index for index in order if index in needed]


def _compute(
    nodes: Sequence[Node], order: Sequence[int], done: set[int], sines: dict[int, tuple[int, ...]]
) -> list[Item]:
    found: list[Item] = []
    for index in order:
        if index in done or nodes[index][0] in LEAVES:
            continue
        if nodes[index][0] in TRIGONOMETRIC:
            (angle,) = operands(nodes[index])
            found.append(Item("sincos", (), sines[angle], angle))
            done.update(sines[angle])
        else:
            found.append(Item("compute", _read(nodes, operands(nodes[index])), (index,)))
            done.add(index)
    return found
