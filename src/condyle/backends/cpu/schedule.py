"""Within a hundred operations, what is ready goes first: the processor's queues do not fill with what waits."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.cpu import _allocate
from condyle.backends.cpu.operations import ROWS
from condyle.ir.ops import Node

LATENCY = {op: row.latency for op, row in ROWS.items() if row.latency != 4}
"""Cycles until the result is there; 4 for all others."""


def schedule(nodes: Sequence[Node], order: Sequence[int], window: int, issue: float) -> list[int]:
    """The operations of `order`, each at most `window` places earlier, operands before what uses them.

    issue: operations a cycle. _allocate_schedule.h does it, tests/backends/cpu/plain_schedule.py says it in Python.
    """
    return _allocate.schedule(tuple(nodes), list(order), window, issue, LATENCY)
