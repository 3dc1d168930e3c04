"""Words -> steps of a group of lanes, and a slot of shared memory for every value.

List scheduling: of the words that are ready, those with the longest path to the end come first, as many as there are
lanes, all of one kind in a step. A result can be read two steps later, because a lane loads the operands of its next
word before it computes the current one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from condyle.ir.program import Program, constant_of, operands
from condyle.operations import FUSED, LEAVES, TRIGONOMETRIC, Node
from condyle.passes.dce import dce

# Program -> words: a word is the work of a lane in one step, up to three chained multiply-adds or one special function.
#
# Sums, differences, products and changes of sign are multiply-adds with one or zero, with the same bits. A sum of
# products whose parts have no other readers becomes one word, so a dot product of three terms takes one step instead of
# three.


ZERO, ONE = -1, -2
"""Operands that are not nodes of the Program."""

CHAIN = 3
"""Multiply-adds of a word: with the addend and the result eight offsets, one load of 128 bits."""

SUM, RCP, SQRT, SINCOS = "sum", "rcp", "sqrt", "sincos"

OPERATIONS = frozenset({"neg", "add", "sub", "mul", "rcp", "sqrt", "sin", "cos", *FUSED})
"""Operations that a lane can compute in a step."""

SIGNS = {"fma": (False, False), "fms": (False, True), "fnma": (True, False), "fnms": (True, True)}


@dataclass(frozen=True, slots=True)
class Term:
    """a b, or -a b."""

    minus: bool
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Word:
    """A sum (-)addend + terms[0] + terms[1] + ..., each multiply-add rounded once; or a function of the addend.

    defines: the nodes that it computes; of "sincos" the sine, then the cosine, -1 for one that is not used.
    """

    kind: str
    minus: bool
    addend: int
    terms: tuple[Term, ...]
    defines: tuple[int, ...]

    def reads(self) -> set[int]:
        """The nodes and constants that it needs."""
        return {self.addend, *(value for term in self.terms for value in (term.a, term.b))}


def words(program: Program) -> list[Word]:
    """The words of a Program, each after those that it reads."""
    nodes = program.nodes
    uses = Counter(value for node in nodes for value in operands(node))
    uses.update(output.node for output in program.outputs)
    found: dict[int, Word] = {}
    depth: dict[int, int] = {}
    partners: dict[int, dict[str, int]] = {}
    for index, node in enumerate(nodes):
        if node[0] in TRIGONOMETRIC:
            partners.setdefault(operands(node)[0], {}).setdefault(node[0], index)
    for index, node in enumerate(nodes):
        if node[0] in LEAVES:
            continue
        if node[0] in TRIGONOMETRIC:
            (angle,) = operands(node)
            pair = partners[angle] if index in partners[angle].values() else {node[0]: index}
            word = Word(SINCOS, False, angle, (), (pair.get("sin", -1), pair.get("cos", -1)))
            found.setdefault(min(pair.values()), word)
        elif node[0] in (RCP, SQRT):
            word = Word(node[0], False, operands(node)[0], (), (index,))
            found[index] = word
        else:
            mergeable = {
                value
                for value in operands(node)
                if uses[value] == 1 and value in found and found[value].kind == SUM and len(found[value].terms) < CHAIN
            }
            word = min(
                (_sum(index, *one, mergeable, found) for one in _readings(node)),
                key=lambda word: (_depth(word, depth), -len(word.terms)),
            )
            for value in mergeable - word.reads():
                del found[value]
            found[index] = word
        depth[index] = 1 + _depth(word, depth)
    return list(found.values())


def _depth(word: Word, depth: dict[int, int]) -> int:
    return max(depth.get(value, 0) for value in word.reads())


def _readings(node: Node) -> list[tuple[bool, int, Term]]:
    """An operation as (sign of the addend, addend, term): one way, or two for a sum."""
    op, used = node[0], operands(node)
    if op in SIGNS:
        product, other = SIGNS[op]
        return [(other, used[2], Term(product, used[0], used[1]))]
    if op == "mul":
        return [(True, ZERO, Term(False, used[0], used[1]))]
    if op == "neg":
        return [(True, ZERO, Term(True, used[0], ONE))]
    first = (False, used[0], Term(op == "sub", used[1], ONE))
    return [first, (op == "sub", used[1], Term(False, used[0], ONE))]


def _sum(index: int, minus: bool, addend: int, term: Term, mergeable: set[int], word_of: dict[int, Word]) -> Word:
    """The word of one operation, appended to its addend's word if that has no other reader."""
    if addend in mergeable and not minus and addend not in (term.a, term.b):
        before = word_of[addend]
        return Word(SUM, before.minus, before.addend, (*before.terms, term), (index,))
    return Word(SUM, minus, addend, (term,), (index,))


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
