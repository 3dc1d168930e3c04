"""Settled orders: every operation once, after its operands, with fewer values alive than before."""

from __future__ import annotations

import pytest

from condyle.backends.common.chunks import orders
from condyle.backends.cuda.lower import Uses, early, late, low_pressure_orders, lower, most_first, peak, relieved
from condyle.ir.program import Program, operands
from condyle.operations import LEAVES
from tests.backends.c.small import tangle, toy
from tests.backends.cuda.simulate import code, robot


def parts_of(program: Program) -> tuple[list[int], list[int]]:
    nodes = [index for index, node in enumerate(program.nodes) if node[0] not in LEAVES]
    return nodes, sorted({output.node for output in program.outputs} & set(nodes))


def alive(program: Program, order: list[int]) -> int:
    """Values alive at once, by the definition."""
    inside = set(order)
    last = {used: time for time, x in enumerate(order) for used in operands(program.nodes[x]) if used in inside}
    spans = [(time, last[x]) for time, x in enumerate(order) if x in last]
    return max((sum(start <= t < end for start, end in spans) for t in range(len(order))), default=0)


@pytest.mark.parametrize("program", [tangle(3), tangle(5, 600), toy(width=9, side=6)])
def test_orders_are_orders(program: Program) -> None:
    nodes, _ = parts_of(program)
    uses = Uses.from_program(program, nodes)
    for order in (late(uses, nodes), early(uses, nodes), relieved(uses, nodes)):
        assert sorted(order) == nodes
        place = {x: time for time, x in enumerate(order)}
        assert all(place[used] < place[x] for x in nodes for used in uses.reads[x])
        assert peak(uses, order) == alive(program, order)
    assert peak(uses, relieved(uses, nodes)) <= peak(uses, nodes)


def test_operands_that_need_most_come_first() -> None:
    """A sum of a deep tree and a single value: the tree first."""
    nodes = (("input", 0, 0), ("neg", 0), ("neg", 1), ("mul", 1, 2), ("neg", 2), ("add", 4, 3))
    program = Program("toy", toy().inputs, toy().arrays, nodes, ())
    inner = [1, 2, 3, 4, 5]
    assert most_first(Uses.from_program(program, inner), inner)[5] == [4, 3]


@pytest.mark.slow
def test_a_humanoid_fits() -> None:
    """Atlas's fd: no depth-first order comes below 245 values, one of these does by a third."""
    program = code(robot("atlas"), "fd", False)
    nodes, roots = parts_of(program)
    uses = Uses.from_program(program, nodes)
    plain = min(peak(uses, order) for _, order in orders(program, nodes, roots, ("rows", "leaves")))
    found = min(peak(uses, order) for _, order in low_pressure_orders(program, nodes, roots, ("rows",)))
    assert found < 200 < 245 < plain
    (low,) = lower(program, 32)
    assert low.slots == low.traffic == 0 and low.order.endswith("low pressure")
