"""Program -> storage: operations are cut into chunks, and a value that is live after its chunk gets a slot.

A chunk is the code of one C function. The workspace is an array of real_v: the packed inputs, a zero, constants that
are outputs, then slots, which are reused after the last chunk that reads them. Sines and cosines are computed in loops
over many angles, as soon as the angles are known.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import TypeAlias, cast

from condyle.ir.program import Array, Output, Program, operands
from condyle.operations import TRIGONOMETRIC, Node
from condyle.passes.dce import needed


@dataclass(frozen=True, slots=True)
class Cut:
    """The number of operations of a chunk: longer chunks cost compile time, shorter ones cost loads and stores."""

    shortest: int = 200
    longest: int = 400


CUT = Cut()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Nodes that one C function computes, in order."""

    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Angle:
    """An angle and the nodes that are its sine and its cosine, None for one that is not used."""

    angle: int
    sine: int | None
    cosine: int | None


@dataclass(frozen=True, slots=True)
class Angles:
    """Angles whose sines and cosines are computed in one loop."""

    angles: tuple[Angle, ...]


Step: TypeAlias = Chunk | Angles


@dataclass(frozen=True, slots=True)
class Lowered:
    """Steps in order, the slot of each value that has one, and the slot of each entry of each output (tables).

    bases: first slot of each input. zero: a slot that is always zero. spare: a slot that is never read. size: the
    number of slots. constants: (slot, value) pairs, set once for each call.
    """

    program: Program
    steps: tuple[Step, ...]
    slots: dict[int, int]
    bases: tuple[int, ...]
    zero: int
    spare: int
    constants: tuple[tuple[int, float], ...]
    tables: tuple[tuple[int, ...], ...]
    size: int


def angle_slots(low: Lowered, angle: Angle) -> tuple[int, int, int]:
    """The slots of an angle, its sine and its cosine."""
    slots = low.slots
    return (
        slots[angle.angle],
        low.spare if angle.sine is None else slots.get(angle.sine, low.spare),
        low.spare if angle.cosine is None else slots.get(angle.cosine, low.spare),
    )


@dataclass(frozen=True, slots=True)
class Room:
    """The occupied part of the workspace: bases, zero and spare as in `Lowered`; a Program's own slots begin at
    `first`.

    fixed: {node: slot} for values whose slot is given.
    """

    bases: tuple[int, ...]
    zero: int
    spare: int
    first: int
    fixed: Mapping[int, int] = field(default_factory=dict[int, int])


def room_of(inputs: Sequence[Array]) -> Room:
    """Inputs one after the other, then the zero and the spare slot."""
    ends = list(accumulate((array.size for array in inputs), initial=0))
    return Room(tuple(ends[:-1]), ends[-1], ends[-1] + 1, ends[-1] + 2)


def lower(program: Program, cut: Cut = CUT, inline: Collection[int] = (), room: Room | None = None) -> Lowered:
    """Storage for a Program; nodes that no output needs are left out.

    inline: angles whose sines and cosines are operations like any other, for a target that computes them in line.
    room: for a Program that shares a workspace; by default it has one of its own.
    """
    live = needed(program)
    steps = _steps(program, live, cut, inline)
    return _place(program, live, steps, room or room_of(program.inputs))


def _steps(program: Program, live: Sequence[int], cut: Cut, inline: Collection[int]) -> tuple[Step, ...]:
    """Before each loop of sines the operations that its angles need; at the end all other operations."""
    nodes = program.nodes
    steps: list[Step] = []
    done = [node[0] in ("const", "input") or not live[index] for index, node in enumerate(nodes)]
    for angles in _levels(nodes, live, inline):
        needed = _cone(nodes, [angle.angle for angle in angles], done)
        steps += _cut(nodes, needed, cut)
        steps.append(Angles(angles))
        for angle in angles:
            for index in (angle.sine, angle.cosine):
                if index is not None:
                    done[index] = True
    return (*steps, *_cut(nodes, [index for index, ready in enumerate(done) if not ready], cut))


def _levels(nodes: Sequence[Node], live: Sequence[int], inline: Collection[int]) -> list[tuple[Angle, ...]]:
    """Angles grouped by the nesting depth of the sines and cosines that they depend on."""
    if all(node[0] not in TRIGONOMETRIC or operands(node)[0] in inline for node in nodes):
        return []
    depth: list[int] = []
    found: dict[int, dict[int, dict[str, list[int]]]] = {}
    for index, node in enumerate(nodes):
        level = max((depth[used] for used in operands(node)), default=0)
        trigonometric = node[0] in TRIGONOMETRIC and operands(node)[0] not in inline
        depth.append(level + trigonometric)
        if trigonometric and live[index]:
            pair = found.setdefault(level, {}).setdefault(operands(node)[0], {"sin": [], "cos": []})
            pair[node[0]].append(index)
    return [
        tuple(
            Angle(angle, sine, cosine)
            for angle, pair in found[level].items()
            for sine, cosine in zip_longest(pair["sin"], pair["cos"])
        )
        for level in sorted(found)
    ]


def _cone(nodes: Sequence[Node], roots: Sequence[int], done: list[bool]) -> list[int]:
    """The nodes that must be computed for the roots, in order; marks them as done."""
    cone: list[int] = []
    stack = list(roots)
    while stack:
        index = stack.pop()
        if not done[index]:
            done[index] = True
            cone.append(index)
            stack.extend(operands(nodes[index]))
    return sorted(cone)


def _cut(nodes: Sequence[Node], order: Sequence[int], cut: Cut) -> list[Step]:
    """Chunks of `order`, cut where the fewest values are live."""
    if len(order) <= cut.longest:
        return [Chunk(tuple(order))] if order else []
    last: dict[int, int] = {}
    for place, index in enumerate(order):
        for used in operands(nodes[index]):
            last[used] = place
    alive: list[int] = []
    ends = [0] * (len(order) + 1)
    count = 0
    for place, index in enumerate(order):
        final = last.get(index, place)
        count += final > place
        ends[final] += final > place
        count -= ends[place]
        alive.append(count)
    chunks: list[Step] = []
    start = 0
    while len(order) - start > cut.longest:
        window = range(start + cut.shortest, start + cut.longest)
        end = 1 + min(window, key=lambda place: (alive[place], -place))
        chunks.append(Chunk(tuple(order[start:end])))
        start = end
    if start < len(order):
        chunks.append(Chunk(tuple(order[start:])))
    return chunks


def _defines(step: Step) -> list[int]:
    if isinstance(step, Chunk):
        return list(step.nodes)
    return [index for angle in step.angles for index in (angle.sine, angle.cosine) if index is not None]


def _uses(nodes: Sequence[Node], step: Step) -> set[int]:
    if isinstance(step, Chunk):
        return {used for index in step.nodes for used in operands(nodes[index])}
    return {angle.angle for angle in step.angles}


def _place(program: Program, live: Sequence[int], steps: tuple[Step, ...], room: Room) -> Lowered:
    nodes, size = program.nodes, room.first
    slots: dict[int, int] = {}
    for index, node in enumerate(nodes):
        if node[0] == "input" and live[index]:
            _, array, entry = cast("tuple[str, int, int]", node)
            slots[index] = room.bases[array] + entry
    slots |= room.fixed
    constants: list[tuple[int, float]] = []
    kept = {output.node for output in program.outputs} | _angles(steps)
    for index in sorted(kept):
        if nodes[index][0] == "const":
            slots[index] = size
            constants.append((size, cast("tuple[str, float]", nodes[index])[1]))
            size += 1
    size = _scan(nodes, steps, {output.node for output in program.outputs}, slots, size)
    tables: list[list[int]] = [[room.zero] * array.size for array in program.arrays]
    for output in program.outputs:
        tables[output.array][output.index] = slots[output.node]
    fixed = room.bases, room.zero, room.spare, tuple(constants)
    return Lowered(program, steps, slots, *fixed, tuple(map(tuple, tables)), size)


def _angles(steps: Sequence[Step]) -> set[int]:
    return {angle.angle for step in steps if isinstance(step, Angles) for angle in step.angles}


def _scan(nodes: Sequence[Node], steps: Sequence[Step], kept: set[int], slots: dict[int, int], size: int) -> int:
    """Linear-scan allocation: a value has a slot from the step that computes it to the last one that reads it."""
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for used in _uses(nodes, step):
            last[used] = number
    freed: list[list[int]] = [[] for _ in steps]
    free: list[int] = []
    for number, step in enumerate(steps):
        for index in _defines(step):
            final = len(steps) if index in kept else last.get(index, number)
            if final == number or index in slots:
                continue
            if free:
                slot = heapq.heappop(free)
            else:
                slot, size = size, size + 1
            slots[index] = slot
            if final < len(steps):
                freed[final].append(slot)
        for slot in freed[number]:
            heapq.heappush(free, slot)
    return size


# Linear orders of the operations of a Program. Several are tried, because the best one depends on the robot.
#
# trace: the order in which the algorithm ran, body by body. The others are depth first: the operations that an output
# needs come right before it, so live ranges are short. They differ in the order of the outputs. With the leaves first,
# values that only a branch needs are dead before the trunk is computed.


Key = Callable[[int, int, int], tuple[int, ...]]

KEYS: dict[str, Key] = {
    # (row, column, array): several matrices of one function are computed together
    "rows": lambda row, column, array: (row, column, array),
    "columns": lambda row, column, array: (column, row, array),
    "leaves": lambda row, column, array: (-max(row, column), -row, -column, array),
    "tips": lambda row, column, array: (-column, -row, array),
    "arrays": lambda row, column, array: (array, -column, -row),
    # values shared by the columns of a block, and by the columns of a factor, stay live for a short time
    "blocks": lambda row, column, array: (-(column // BLOCK), -row, -column, array),
}
TRACE = "trace"
BLOCK = 12


def orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str] = tuple(KEYS)
) -> Iterator[tuple[str, list[int]]]:
    """The trace, then these orders of `nodes`, each with its name and none twice.

    roots: the nodes that are used outside of `nodes`. nodes: in trace order.
    """
    yield TRACE, list(nodes)
    needs = _needs(program, nodes)
    seen: set[tuple[int, ...]] = {tuple(nodes)}
    for name in names:
        order = depth_first(needs, by_key(program, roots, name))
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield name, order


def by_key(program: Program, roots: Sequence[int], name: str) -> list[int]:
    """Roots in the order of the first output entry that each is; those that are no output come first."""
    key = KEYS[name]
    ranks: dict[int, tuple[int, ...]] = {}
    for output in program.outputs:
        rank = key(*_position(program, output))
        if output.node not in ranks or rank < ranks[output.node]:
            ranks[output.node] = rank
    return sorted(roots, key=lambda node: (node in ranks, ranks.get(node, ()), node))


def _position(program: Program, output: Output) -> tuple[int, int, int]:
    shape = program.arrays[output.array].shape
    columns = shape[-1] if len(shape) > 1 else 1
    return output.index // columns, output.index % columns, output.array


def _needs(program: Program, nodes: Sequence[int]) -> dict[int, list[int]]:
    """For each node its operands among the nodes, in reverse trace order."""
    inside = bytearray(len(program.nodes))
    for node in nodes:
        inside[node] = True
    return {
        node: sorted([used for used in operands(program.nodes[node]) if inside[used]], reverse=True) for node in nodes
    }


def reached(roots: Iterable[int], needs: Callable[[int], Iterable[int]]) -> set[int]:
    """The roots and all nodes that they need, directly or not."""
    found, waiting = set[int](), list(roots)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += needs(node)
    return found


def depth_first(needs: Mapping[int, Sequence[int]], roots: Sequence[int]) -> list[int]:
    """Every node that the roots need, each right after its operands, the last operand in `needs` first."""
    order: list[int] = []
    done = bytearray(max(needs, default=0) + 1)
    for root in roots:
        stack = [root]
        while stack:
            node = stack.pop()
            if node < 0:  # all operands of ~node are in the order already
                order.append(~node)
            elif not done[node]:
                done[node] = True
                stack.append(~node)
                stack.extend([used for used in needs[node] if not done[used]])
    return order
