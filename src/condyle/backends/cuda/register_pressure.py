"""Orders of the operations with low register pressure.

Depth first, with the operand that needs more registers first (Sethi and Ullman 1970, for trees). Then two greedy
passes: backward, an operation that adds at most one live value comes as late as possible; forward, one that ends a live
range comes as early as possible. Inputs and constants are not counted: they are in shared memory and in the code.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from condyle.backends.common.order import TRACE, by_key, depth_first
from condyle.ir.program import Program, operands
from condyle.operations import LEAVES

ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Uses:
    """For each inner node the inner nodes that it reads, and those that read it."""

    reads: Mapping[int, tuple[int, ...]]
    readers: Mapping[int, Sequence[int]]

    @staticmethod
    def from_program(program: Program, nodes: Sequence[int]) -> Uses:
        kinds = program.nodes
        reads = {x: tuple(dict.fromkeys(u for u in operands(kinds[x]) if kinds[u][0] not in LEAVES)) for x in nodes}
        readers: dict[int, list[int]] = {x: [] for x in nodes}
        for x, used in reads.items():
            for u in used:
                readers[u].append(x)
        return Uses(reads, readers)


def low_pressure_orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str]
) -> Iterator[tuple[str, list[int]]]:
    """The orders of `condyle.backends.common.order.orders` after the passes; their names say so."""
    uses = Uses.from_program(program, nodes)
    needs = most_first(uses, nodes)
    yield f"{TRACE}, low pressure", relieved(uses, nodes)
    for name in names:
        yield f"{name}, low pressure", relieved(uses, depth_first(needs, by_key(program, roots, name)))


def most_first(uses: Uses, nodes: Sequence[int]) -> dict[int, list[int]]:
    """For each node its operands, the one that needs the most registers last, as `depth_first` takes them.

    nodes: in an order in which operands come first.
    """
    need: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for x in nodes:
        found[x] = sorted(uses.reads[x], key=lambda u: (need[u], -u))
        need[x] = max((need[u] + k for k, u in enumerate(reversed(found[x]))), default=1)
    return found


def peak(uses: Uses, order: Sequence[int]) -> int:
    """The largest number of values live at once."""
    left = {x: len(uses.readers[x]) for x in order}
    alive = most = 0
    for x in order:
        for u in uses.reads[x]:
            left[u] -= 1
            alive -= left[u] == 0
        alive += left[x] > 0
        most = max(most, alive)
    return most


def relieved(uses: Uses, order: Sequence[int]) -> list[int]:
    """The best of the order and of the results of the two passes, applied in turn."""
    best = order = list(order)
    fewest = peak(uses, order)
    for step in (late, early) * ROUNDS:
        order = step(uses, order)
        found = peak(uses, order)
        if found < fewest:
            best, fewest = order, found
    return best


def late(uses: Uses, order: Sequence[int]) -> list[int]:
    """From the end: an operation that adds at most one live value if there is one, else the last of the order."""
    left = {x: len(uses.readers[x]) for x in order}
    missing = {x: len(uses.reads[x]) for x in order}

    def note(x: int) -> Iterator[int]:
        for u in uses.reads[x]:
            left[u] -= 1
            if left[u] == len(uses.readers[u]) - 1:  # live from here on
                for reader in uses.readers[u]:
                    missing[reader] -= 1
                    if left[reader] == 0:
                        yield reader
            if left[u] == 0:
                yield u

    free = [x for x in order if not left[x]]
    return _listed(order[::-1], free, lambda x: missing[x] <= 1, note)[::-1]


def early(uses: Uses, order: Sequence[int]) -> list[int]:
    """From the start: an operation that ends a live range, or has no reader, if there is one, else the first of the
    order."""
    left = {x: len(uses.readers[x]) for x in order}
    missing = {x: len(uses.reads[x]) for x in order}

    def ends_a_life(x: int) -> bool:
        return not uses.readers[x] or any(left[u] == 1 for u in uses.reads[x])

    def note(x: int) -> Iterator[int]:
        for reader in uses.readers[x]:
            missing[reader] -= 1
            if missing[reader] == 0:
                yield reader
        for u in uses.reads[x]:
            left[u] -= 1
            if left[u] == 1:
                yield from (reader for reader in uses.readers[u] if missing[reader] == 0)

    return _listed(order, [x for x in order if not missing[x]], ends_a_life, note)


def _listed(
    order: Sequence[int], free: Iterable[int], is_cheap: Callable[[int], bool], note: Callable[[int], Iterable[int]]
) -> list[int]:
    """List scheduling: a cheap free node if there is one, else any free one; of several the first in `order`.

    note: updates counts for a node; gives the nodes that are free and may have become cheap.
    """
    rank = {x: k for k, x in enumerate(order)}
    waiting: list[int] = []
    cheap: list[int] = []
    done: set[int] = set()

    def offer(nodes: Iterable[int]) -> None:
        for x in nodes:
            if x not in done:
                heapq.heappush(cheap if is_cheap(x) else waiting, rank[x])

    offer(free)
    found: list[int] = []
    while cheap or waiting:
        x = order[heapq.heappop(cheap or waiting)]
        if x not in done:
            done.add(x)
            found.append(x)
            offer(note(x))
    return found
