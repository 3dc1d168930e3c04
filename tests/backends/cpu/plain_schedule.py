"""Schedules, and the cost's cache, in plain Python: what `_allocate_schedule.h` and `_allocate_traffic.h` do, and why.

Tests hold them together.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from condyle.backends.cpu.allocate import LATENCY
from condyle.backends.cpu.operations import SLOT, Instruction
from condyle.backends.cpu.target import TARGET, Target
from condyle.ir.program import operands
from condyle.operations import Node

LINE = 64
"""Bytes."""


def schedule(nodes: Sequence[Node], order: Sequence[int], window: int, issue: float) -> list[int]:
    """As `condyle.backends.cpu.allocate.schedule`."""
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


def traffic(code: Sequence[Instruction], slot_bytes: int, target: Target = TARGET) -> tuple[int, int]:
    """As `condyle.backends.cpu.allocate.traffic`."""
    near: list[list[int]] = [[] for _ in range(target.sets)]
    misses = 0
    for again in (False, True):
        for i in code:
            if i.b >= SLOT:
                misses += _touch(near, (i.b - SLOT) * slot_bytes // LINE, target) and again
    return sum(1 for i in code if not 0 <= i.b < SLOT), misses


def _touch(near: list[list[int]], line: int, target: Target) -> bool:
    """Puts a line first in its set; whether it was missing."""
    kept = near[line % target.sets]
    missing = line not in kept
    if not missing:
        kept.remove(line)
    kept.insert(0, line)
    del kept[target.ways :]
    return missing
