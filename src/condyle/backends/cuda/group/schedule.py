"""Words -> steps of a group of lanes, and a slot of shared memory for every value.

List scheduling: of the words that are ready, those with the longest path to the end come first, as many as there are
lanes, all of one kind in a step. A result can be read two steps later, because a lane loads the operands of its next
word before it computes the current one.
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
"""Steps in the body of the loop, which is the number of table rows that are prefetched."""

SPECIAL = 4
"""Every SPECIAL-th step may be of special functions: only there the body has their code."""

LATENCY = 2


@dataclass(frozen=True, slots=True)
class Grouped:
    """A Program on the lanes of a group.

    steps: at most `lanes` words each; their number is a multiple of UNROLL. slots: the slot of each node and constant.
    word_slots: {word: (slots of its operands, slot of its result)}. size: slots of a state. dump: the first of two
    slots for each lane that are never read. constants: the numbers in the slots after the inputs.
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
    """The Program assigned to `lanes` lanes.

    Slots: entries of inputs in order, constants, two for results of idle lanes, then values.
    """
    program = dce(program)
    steps = _Scheduler(words(program), lanes).run()
    slots, constants = _leaf_slots(program)
    dump = sum(array.size for array in program.inputs) + len(constants)
    word_slots, size = _allocated(program, steps, slots, dump, dump + 2 * lanes)
    return Grouped(program, lanes, tuple(steps), slots, word_slots, constants, size, dump)


class _Scheduler:
    """Assigns words to steps. height: words on the longest path from a word to the end. left: operands not computed
    yet."""

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
        """The words of one step: of one kind, special ones first where they are allowed."""
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
        """Marks these words as done: their results can be read from this time on."""
        for k in chosen:
            for reader in self.readers[k]:
                self.left[reader] -= 1
                if self.left[reader] == 0:
                    heapq.heappush(self.waiting, (time, reader))


def _leaf_slots(program: Program) -> tuple[dict[int, int], tuple[float, ...]]:
    """The slots of inputs and constants, and the constants."""
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
    """The slots of each word, and their number; slots of new values are added to `slots`.

    A slot is reused from the step of its last read on. Outputs keep theirs to the end.
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
