"""A schedule is an order: nothing is lost, operands come first, nothing moves far."""

from __future__ import annotations

from typing import Any

import pytest

from condyle.backends.common.chunks import Chunk, lower
from condyle.backends.cpu import _allocate
from condyle.backends.cpu.allocate import LATENCY, schedule
from condyle.backends.cpu.assemble import WHOLE
from condyle.ir.expr import Graph
from condyle.ir.program import Array, operands
from tests.backends.c.small import tangle
from tests.backends.cpu import plain_schedule

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("window", [1, 2, 16, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_a_schedule_is_an_order(seed: int, window: int) -> None:
    program = tangle(seed)
    chunk = lower(program, WHOLE).steps[-1]
    assert isinstance(chunk, Chunk)
    order = list(chunk.nodes)
    found = schedule(program.nodes, order, window, 3.0)
    assert sorted(found) == sorted(order)
    place = {node: k for k, node in enumerate(found)}
    assert all(place[a] < place[node] for node in order for a in operands(program.nodes[node]) if a in place)
    assert all(k - place[node] <= window for k, node in enumerate(order))
    assert found == plain_schedule.schedule(program.nodes, order, window, 3.0)
    assert (found == order) == (window == 1)


def test_what_waits_goes_last() -> None:
    """A quotient takes long; sums that do not need it pass by the one that does."""
    graph = Graph()
    x = [graph.input(0, k) for k in range(6)]
    quotient = 1.0 / x[0]
    needs = quotient + x[1]
    others = [x[k] + x[k + 1] for k in range(1, 5)]
    outputs = [(0, k, value) for k, value in enumerate((needs, *others))]
    program = graph.program("p", (Array("x", (6,)),), (Array("y", (5,)),), outputs)
    order = [k for k, node in enumerate(program.nodes) if node[0] != "input"]
    assert program.nodes[order[1]][0] == "add"
    assert LATENCY["rcp"] > len(order)
    assert schedule(program.nodes, order, 32, 1.0) == [order[0], *order[2:], order[1]]


@pytest.mark.parametrize(
    ("nodes", "order", "window", "issue"),
    [
        ((("neg", 5),), [0], 4, 1.0),
        ((("neg", 1), ("neg", 0)), [0, 1], 4, 1.0),
        ((("neg", 0),), [1], 4, 1.0),
        ((("neg", 0),), [-1], 4, 1.0),
        (((),), [0], 4, 1.0),
        (((), ("neg", 0)), [1, "x"], 4, 1.0),
        ((("const", 1.0), ("neg", 0)), [1], 0, 1.0),
        ((("const", 1.0), ("neg", 0)), [1], 4, 0.0),
    ],
)
def test_what_the_extension_refuses(nodes: Any, order: Any, window: int, issue: float) -> None:
    with pytest.raises((ValueError, TypeError)):
        _allocate.schedule(nodes, order, window, issue, LATENCY)
