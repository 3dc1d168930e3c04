"""Words -> steps of a group of lanes, and a slot of shared memory for every value.

List scheduling: of the words that are ready those with the longest way to the end come first, as many as there are
lanes, all of one kind in a step. What a step writes can be read two steps later, because a lane fetches the
operands of its next word before it computes the present one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from condyle.backends.cuda.group.words import ONE, SINCOS, SUM, ZERO, Word, words
from condyle.ir.program import Program, constant_of
from condyle.passes.dce import dce

UNROLL = 8
"""Steps in the body of the loop: so many rows of the table are on their way at once."""

SPECIAL = 4
"""Every so many steps one may hold special functions: their code stands in the body only there."""

LATENCY = 2


@dataclass(frozen=True, slots=True)
class Grouped:
    """A Program on the lanes of a group.

    steps: at most `lanes` words each, a multiple of UNROLL of them. slots: the place of each node and constant when it
    is last known (see `places`). size: slots of a state. dump: the first of two slots a lane that nobody reads.
    constants: what stands behind the inputs at the start. places: for each word where its operands lie and where its
    answer goes.
    """

    program: Program
    lanes: int
    steps: tuple[tuple[Word, ...], ...]
    slots: dict[int, int]
    places: dict[Word, tuple[dict[int, int], int]]
    constants: tuple[float, ...]
    size: int
    dump: int


def group(program: Program, lanes: int) -> Grouped:
    """The Program dealt out to `lanes` lanes."""
    program = dce(program)
    steps = _steps(words(program), lanes)
    return _placed(program, lanes, steps)


def _steps(todo: Sequence[Word], lanes: int) -> list[tuple[Word, ...]]:
    """Which words run when."""
    makers = {node: k for k, word in enumerate(todo) for node in word.defines if node >= 0}
    needs = [{makers[value] for value in word.reads() if value in makers} for word in todo]
    readers: list[list[int]] = [[] for _ in todo]
    for k, need in enumerate(needs):
        for maker in need:
            readers[maker].append(k)
    height = [0] * len(todo)
    for k in reversed(range(len(todo))):
        height[k] = 1 + max((height[reader] for reader in readers[k]), default=0)
    left = [len(need) for need in needs]
    ready: dict[str, list[tuple[int, int]]] = {}
    waiting: list[tuple[int, int]] = [(0, k) for k, count in enumerate(left) if count == 0]
    steps: list[tuple[Word, ...]] = []
    missing = len(todo)
    while missing or len(steps) % UNROLL:
        time = len(steps)
        while waiting and waiting[0][0] <= time:
            k = heapq.heappop(waiting)[1]
            heapq.heappush(ready.setdefault(todo[k].kind, []), (-height[k], k))
        kinds = [kind for kind, heap in ready.items() if heap and (kind == SUM or time % SPECIAL == SPECIAL - 1)]
        chosen: list[int] = []
        if kinds:
            heap = ready[min(kinds, key=lambda kind: (kind == SUM, ready[kind][0]))]
            chosen = [heapq.heappop(heap)[1] for _ in range(min(lanes, len(heap)))]
        for k in chosen:
            for reader in readers[k]:
                left[reader] -= 1
                if left[reader] == 0:
                    heapq.heappush(waiting, (time + LATENCY, reader))
        missing -= len(chosen)
        steps.append(tuple(todo[k] for k in chosen))
    return steps


def _placed(program: Program, lanes: int, steps: Sequence[tuple[Word, ...]]) -> Grouped:
    """Slots: inputs as they lie in their rows, constants, two for each lane's useless answers, then values.

    A slot is given out again in the step after its last reader fetched from it. Outputs keep theirs to the end.
    """
    slots: dict[int, int] = {ZERO: 0, ONE: 0}
    starts = [0]
    for array in program.inputs:
        starts.append(starts[-1] + array.size)
    values = {0.0: starts[-1], 1.0: starts[-1] + 1}
    for index, node in enumerate(program.nodes):
        if node[0] == "input":
            slots[index] = starts[int(node[1])] + int(node[2])
        elif node[0] == "const":
            slots[index] = values.setdefault(constant_of(node), starts[-1] + len(values))
    slots[ZERO], slots[ONE] = values[0.0], values[1.0]
    dump = starts[-1] + len(values)
    size = dump + 2 * lanes
    last = {value: time for time, step in enumerate(steps) for word in step for value in word.reads()}
    kept = {output.node for output in program.outputs}
    free: list[int] = []
    places: dict[Word, tuple[dict[int, int], int]] = {}
    for time, step in enumerate(steps):
        dying = sorted({v for word in step for v in word.reads() if last[v] == time and v >= 0 and v not in kept})
        for value in dying:
            if slots[value] >= dump:
                heapq.heappush(free, slots[value])
        for word in step:
            operands = {value: slots[value] for value in word.reads()}
            if word.kind == SINCOS or not free:
                place, size = size, size + len(word.defines)
            else:
                place = heapq.heappop(free)
            slots.update({node: place + k for k, node in enumerate(word.defines) if node >= 0})
            places[word] = operands, place
    return Grouped(program, lanes, tuple(steps), slots, places, tuple(values), size, dump)
