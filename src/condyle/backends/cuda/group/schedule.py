"""Words -> steps of a group of lanes, and a slot of shared memory for every value.

List scheduling: of the words that are ready those with the longest way to the end come first, as many as there are
lanes, all of one kind in a step. What a step writes can be read two steps later, because a lane fetches the
operands of its next word before it computes the present one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

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

    steps: at most `lanes` words each, a multiple of UNROLL of them. slots: of each node and constant, when it is last
    known (see `word_slots`). size: slots of a state. dump: the first of two slots a lane that nobody reads. constants:
    what stands behind the inputs at the start. word_slots: of the operands of each word, and of its answer.
    """

    program: Program
    lanes: int
    steps: tuple[tuple[Word, ...], ...]
    slots: dict[int, int]
    word_slots: dict[Word, tuple[dict[int, int], int]]
    constants: tuple[float, ...]
    size: int
    dump: int


def group(program: Program, lanes: int) -> Grouped:
    """The Program dealt out to `lanes` lanes.

    Slots: inputs as they lie in their rows, constants, two for each lane's useless answers, then values.
    """
    program = dce(program)
    steps = _Scheduler(words(program), lanes).run()
    slots, constants = _given(program)
    dump = sum(array.size for array in program.inputs) + len(constants)
    word_slots, size = _allocated(program, steps, slots, dump, dump + 2 * lanes)
    return Grouped(program, lanes, tuple(steps), slots, word_slots, constants, size, dump)


class _Scheduler:
    """Which words run when. height: words on the longest way from one to the end. left: operands still to be made."""

    def __init__(self, todo: Sequence[Word], lanes: int) -> None:
        self.todo, self.lanes = todo, lanes
        makers = {node: k for k, word in enumerate(todo) for node in word.defines if node >= 0}
        needs = [{makers[value] for value in word.reads() if value in makers} for word in todo]
        self.readers: list[list[int]] = [[] for _ in todo]
        for k, need in enumerate(needs):
            for maker in need:
                self.readers[maker].append(k)
        self.height = [0] * len(todo)
        for k in reversed(range(len(todo))):
            self.height[k] = 1 + max((self.height[reader] for reader in self.readers[k]), default=0)
        self.left = [len(need) for need in needs]
        self.waiting = [(0, k) for k, count in enumerate(self.left) if count == 0]
        self.ready: dict[str, list[tuple[int, int]]] = {}

    def run(self) -> list[tuple[Word, ...]]:
        steps: list[tuple[Word, ...]] = []
        missing = len(self.todo)
        while missing or len(steps) % UNROLL:
            chosen = self._chosen(len(steps))
            self._done(chosen, len(steps) + LATENCY)
            missing -= len(chosen)
            steps.append(tuple(self.todo[k] for k in chosen))
        return steps

    def _chosen(self, time: int) -> list[int]:
        """The words of one step: of one kind, special ones first where they may be."""
        while self.waiting and self.waiting[0][0] <= time:
            k = heapq.heappop(self.waiting)[1]
            heapq.heappush(self.ready.setdefault(self.todo[k].kind, []), (-self.height[k], k))
        special = time % SPECIAL == SPECIAL - 1
        kinds = [kind for kind, heap in self.ready.items() if heap and (kind == SUM or special)]
        if not kinds:
            return []
        heap = self.ready[min(kinds, key=lambda kind: (kind == SUM, self.ready[kind][0]))]
        return [heapq.heappop(heap)[1] for _ in range(min(self.lanes, len(heap)))]

    def _done(self, chosen: Sequence[int], time: int) -> None:
        """What reads these words alone has its operands from this time on."""
        for k in chosen:
            for reader in self.readers[k]:
                self.left[reader] -= 1
                if self.left[reader] == 0:
                    heapq.heappush(self.waiting, (time, reader))


def _given(program: Program) -> tuple[dict[int, int], tuple[float, ...]]:
    """Slots of what is known at the start, and the constants."""
    slots: dict[int, int] = {}
    starts = list(accumulate((array.size for array in program.inputs), initial=0))
    constants = {0.0: starts[-1], 1.0: starts[-1] + 1}
    for index, node in enumerate(program.nodes):
        if node[0] == "input":
            slots[index] = starts[int(node[1])] + int(node[2])
        elif node[0] == "const":
            slots[index] = constants.setdefault(constant_of(node), starts[-1] + len(constants))
    return {ZERO: constants[0.0], ONE: constants[1.0], **slots}, tuple(constants)


def _allocated(
    program: Program, steps: Sequence[tuple[Word, ...]], slots: dict[int, int], dump: int, size: int
) -> tuple[dict[Word, tuple[dict[int, int], int]], int]:
    """Slots of each word, and how many there are; those of new values are put into `slots`.

    A slot is given out again in the step after its last reader fetched from it. Outputs keep theirs to the end.
    """
    last = {value: time for time, step in enumerate(steps) for word in step for value in word.reads()}
    kept = {output.node for output in program.outputs}
    free: list[int] = []
    found: dict[Word, tuple[dict[int, int], int]] = {}
    for time, step in enumerate(steps):
        dying = {v for word in step for v in word.reads() if last[v] == time and v >= 0 and v not in kept}
        for value in sorted(dying):
            if slots[value] >= dump:
                heapq.heappush(free, slots[value])
        for word in step:
            operands = {value: slots[value] for value in word.reads()}
            if word.kind == SINCOS or not free:
                slot, size = size, size + len(word.defines)
            else:
                slot = heapq.heappop(free)
            slots.update({node: slot + k for k, node in enumerate(word.defines) if node >= 0})
            found[word] = operands, slot
    return found, size
