"""Within a hundred operations, what is ready goes first: the processor's queues do not fill with what waits."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from condyle.backends.cpu.operations import ROWS
from condyle.ir.ops import Node
from condyle.ir.program import operands

try:
    from condyle.backends.cpu import _allocate as native
except ImportError:  # built without a C compiler: slower, the same schedule
    native = None

LATENCY = {op: row.latency for op, row in ROWS.items() if row.latency != 4}
"""Cycles until the result is there; 4 for all others."""


def schedule(nodes: Sequence[Node], order: Sequence[int], window: int, issue: float) -> list[int]:
    """The operations of `order`, each at most `window` places earlier, operands before what uses them.

    _allocate_schedule.h does the same, some twenty times as fast; what is below says how. issue: operations a cycle.
    """
    if native is not None:
        return native.schedule(tuple(nodes), list(order), window, issue, LATENCY)
    queue = _Queue(nodes, order)
    done = bytearray(len(order))
    result: list[int] = []
    time, head, seen = 0.0, 0, 0
    while head < len(order):
        end = min(head + window, len(order))
        queue.admit(range(seen, end))
        seen = max(seen, end)
        time, k = queue.pop(time)
        result.append(order[k])
        done[k] = 1
        queue.finish(k, time + LATENCY.get(nodes[order[k]][0], 4), seen)
        while head < len(order) and done[head]:
            head += 1
        time += 1.0 / issue
    return result


class _Queue:
    """Operations by their place in the order: those that can start now, and those that can at a known time."""

    def __init__(self, nodes: Sequence[Node], order: Sequence[int]) -> None:
        place = {node: k for k, node in enumerate(order)}
        self.users: list[list[int]] = [[] for _ in order]
        self.missing: list[int] = []
        for k, node in enumerate(order):
            used = [place[a] for a in dict.fromkeys(operands(nodes[node])) if a in place]
            self.missing.append(len(used))
            for a in used:
                self.users[a].append(k)
        self.ready = [0.0] * len(order)
        self.now: list[int] = []
        self.later: list[tuple[float, int]] = []

    def admit(self, places: range) -> None:
        """These came into sight."""
        for k in places:
            if self.missing[k] == 0:
                heapq.heappush(self.later, (self.ready[k], k))

    def pop(self, time: float) -> tuple[float, int]:
        """The first in the order of those that can start, and when it does."""
        if not self.now:
            time = max(time, self.later[0][0])
        while self.later and self.later[0][0] <= time:
            heapq.heappush(self.now, heapq.heappop(self.later)[1])
        return time, heapq.heappop(self.now)

    def finish(self, k: int, end: float, seen: int) -> None:
        """The result is there at `end`; places below `seen` are in sight."""
        for user in self.users[k]:
            self.ready[user] = max(self.ready[user], end)
            self.missing[user] -= 1
            if self.missing[user] == 0 and user < seen:
                heapq.heappush(self.later, (self.ready[user], user))
