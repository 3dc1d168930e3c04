"""A linear order with sines inserted: angles are checked together as soon as they are known, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from condyle.backends.common.order import reached
from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, TRIGONOMETRIC, Node


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
