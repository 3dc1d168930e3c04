"""Where a Program is cut, which order its outputs are computed in, and which slots values have: by hand."""

from __future__ import annotations

import pytest

from condyle.backends.common.chunks import (
    CUT,
    KEYS,
    Angle,
    Angles,
    Chunk,
    Cut,
    Room,
    angle_slots,
    by_key,
    depth_first,
    lower,
    orders,
    reached,
    room_of,
)
from condyle.ir.program import Array, Output, Program
from condyle.operations import Node

X = (Array("x", (3,)),)
INPUTS: tuple[Node, ...] = tuple(("input", 0, k) for k in range(3))


def matrices() -> Program:
    """Two matrices of 2 x 13 and a vector, entry by entry a node of its own; all of them roots."""
    arrays = (Array("A", (2, 13)), Array("B", (2, 13)), Array("c", (2,)))
    outputs = [(k, entry) for k, array in enumerate(arrays) for entry in range(array.size)]
    nodes: tuple[Node, ...] = (("input", 0, 0), *(("neg", 0) for _ in outputs))
    return Program("f", (Array("x", (1,)),), arrays, nodes, tuple(Output(*o, k + 1) for k, o in enumerate(outputs)))


def entry(node: int) -> tuple[int, int, int]:
    """Array, row and column of a node of these matrices."""
    array, index = divmod(node - 1, 26)
    return (array, *divmod(index, 13)) if array < 2 else (2, index, 0)


def by(name: str) -> list[tuple[int, int, int]]:
    program = matrices()
    return [entry(node) for node in by_key(program, range(1, len(program.nodes)), name)]


def test_orders_of_outputs() -> None:
    """(array, row, column) of A, B of 2 x 13 and of the vector c, whose entries are rows of one column."""
    every = sorted(map(entry, range(1, 55)))
    assert list(KEYS) == ["rows", "columns", "leaves", "tips", "arrays", "blocks"]
    assert by("rows") == sorted(every, key=lambda e: (e[1], e[2], e[0]))
    assert by("rows")[:4] == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 1)]
    assert by("columns")[:7] == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0), (0, 0, 1)]
    assert by("leaves")[:6] == [(0, 1, 12), (1, 1, 12), (0, 0, 12), (1, 0, 12), (0, 1, 11), (1, 1, 11)]
    assert by("leaves")[-10:] == [
        (0, 1, 1), (1, 1, 1), (0, 1, 0), (1, 1, 0), (2, 1, 0), (0, 0, 1), (1, 0, 1), (0, 0, 0), (1, 0, 0), (2, 0, 0),
    ]  # fmt: skip
    assert by("tips")[:4] == [(0, 1, 12), (1, 1, 12), (0, 0, 12), (1, 0, 12)]
    assert by("tips")[-3:] == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    assert by("arrays")[:3] == [(0, 1, 12), (0, 0, 12), (0, 1, 11)] and by("arrays")[-2:] == [(2, 1, 0), (2, 0, 0)]
    assert by("blocks")[:8] == [
        (0, 1, 12), (1, 1, 12), (0, 0, 12), (1, 0, 12), (0, 1, 11), (1, 1, 11), (0, 1, 10), (1, 1, 10),
    ]  # fmt: skip
    assert by("blocks")[-3:] == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]


def test_a_root_has_the_place_of_its_first_entry_and_others_come_first() -> None:
    nodes: tuple[Node, ...] = (*INPUTS, ("neg", 0), ("neg", 1), ("neg", 2), ("sub", 0, 1), ("sub", 1, 0))
    outputs = (Output(0, 3, 3), Output(0, 2, 4), Output(0, 1, 5), Output(0, 0, 3))
    program = Program("f", X, (Array("y", (4,)),), nodes, outputs)
    assert by_key(program, [3, 4, 5, 6, 7], "rows") == [6, 7, 3, 5, 4]
    assert by_key(program, [7, 6], "rows") == [6, 7]


def test_operands_come_right_before_what_needs_them() -> None:
    needs = {3: [], 4: [3], 5: [4, 3], 6: [], 7: [6, 5], 8: []}
    assert depth_first(needs, [7]) == [3, 4, 5, 6, 7]
    assert depth_first(needs, [6, 7, 8]) == [6, 3, 4, 5, 7, 8]
    assert depth_first({}, []) == []
    assert reached([5], lambda node: needs[node]) == {3, 4, 5}
    assert reached([], lambda node: needs[node]) == set()


def test_no_order_comes_twice() -> None:
    """Of a chain there is one order alone; of two chains the traced one, then output by output."""
    nodes: tuple[Node, ...] = (*INPUTS, ("neg", 0), ("neg", 1), ("neg", 3), ("neg", 4))
    chain = Program("f", X, (Array("y", (1,)),), nodes, (Output(0, 0, 5),))
    assert list(orders(chain, [3, 5], [5])) == [("trace", [3, 5])]
    two = Program("f", X, (Array("y", (2,)),), nodes, (Output(0, 0, 5), Output(0, 1, 6)))
    assert list(orders(two, [3, 4, 5, 6], [5, 6])) == [
        ("trace", [3, 4, 5, 6]), ("rows", [3, 5, 4, 6]), ("leaves", [4, 6, 3, 5]),
    ]  # fmt: skip
    assert [name for name, _ in orders(two, [3, 4, 5, 6], [5, 6], ("tips",))] == ["trace", "tips"]


def test_a_cut_is_where_the_fewest_values_are_alive() -> None:
    """Between the shortest and the longest chunk; of several places the last one."""
    assert Cut(200, 400) == CUT
    nodes: list[Node] = [("input", 0, 0), *(("neg", k) for k in range(12))]
    straight = Program("f", (Array("x", (1,)),), (Array("y", (1,)),), tuple(nodes), (Output(0, 0, 12),))
    assert lengths(straight, Cut(2, 4)) == [4, 4, 4]
    assert lengths(straight, Cut(2, 12)) == [12] and lengths(straight, Cut(2, 11)) == [11, 1]
    # five values, then two sums of them at once: the fewest are alive behind node 9
    nodes = [
        ("input", 0, 0),
        *(("neg", 0) for _ in range(4)),
        ("add", 1, 2),
        ("add", 5, 3),
        ("add", 6, 4),
        *(("neg", 0) for _ in range(3)),
    ]
    nodes += [("add", 7, 8), ("add", 11, 9), ("add", 12, 10)]
    humps = Program("f", (Array("x", (1,)),), (Array("y", (1,)),), tuple(nodes), (Output(0, 0, 13),))
    assert lengths(humps, Cut(2, 10)) == [7, 6]
    assert lengths(humps, Cut(7, 10)) == [8, 5]  # the seventh place is not among those of 7 to 9


def lengths(program: Program, cut: Cut) -> list[int]:
    return [len(step.nodes) for step in lower(program, cut).steps if isinstance(step, Chunk)]


def test_inputs_come_first_then_a_zero_and_a_spare_slot() -> None:
    room = room_of((Array("q", (3,)), Array("none", (0,)), Array("v", (2,))))
    assert (room.bases, room.zero, room.spare, room.first, room.fixed) == ((0, 3, 3), 5, 6, 7, {})


def test_sines_are_computed_level_by_level_in_pairs() -> None:
    """Three sines and a cosine of x0, a sine of a sine; a cosine that nobody needs is left out."""
    nodes: tuple[Node, ...] = (
        *INPUTS, ("sin", 0), ("cos", 0), ("sin", 0), ("neg", 1), ("cos", 6), ("sin", 3), ("cos", 2), ("add", 8, 5),
    )  # fmt: skip
    outputs = (Output(0, 0, 10), Output(0, 1, 4), Output(0, 3, 7))
    low = lower(Program("f", X, (Array("y", (4,)),), nodes, outputs))
    first = Angles((Angle(0, 3, 4), Angle(0, 5, None), Angle(6, None, 7)))
    assert low.steps == (Chunk((6,)), first, Angles((Angle(3, 8, None),)), Chunk((10,)))
    assert low.slots == {0: 0, 1: 1, 6: 5, 3: 6, 4: 7, 5: 8, 7: 9, 8: 5, 10: 6}
    assert (low.zero, low.spare) == (3, 4)
    assert low.tables == ((low.slots[10], low.slots[4], 3, low.slots[7]),)
    assert angle_slots(low, first.angles[0]) == (0, low.slots[3], low.slots[4])
    assert angle_slots(low, first.angles[1]) == (0, low.slots[5], 4)
    assert angle_slots(low, first.angles[2]) == (low.slots[6], 4, low.slots[7])
    inline = lower(low.program, inline={0, 3, 6})
    assert inline.steps == (Chunk((3, 4, 5, 6, 7, 8, 10)),)
    some = lower(low.program, inline={0, 6})
    assert some.steps == (Chunk((3,)), Angles((Angle(3, 8, None),)), Chunk((4, 5, 6, 7, 10)))


def test_constants_that_are_answers_or_angles_have_slots() -> None:
    nodes: tuple[Node, ...] = (*INPUTS, ("const", 0.5), ("const", 1.5), ("const", 2.5), ("sin", 4), ("add", 6, 5))
    low = lower(Program("f", X, (Array("y", (2,)),), nodes, (Output(0, 0, 3), Output(0, 1, 7))))
    assert low.constants == ((5, 0.5), (6, 1.5)) and low.tables == ((5, low.slots[7]),)
    assert low.size == max(low.slots.values()) + 1


@pytest.mark.parametrize(
    ("longest", "slots"),
    [
        (1, {0: 0, 1: 3, 2: 4, 3: 3, 4: 4, 5: 3, 6: 4}),
        (2, {0: 0, 2: 3, 4: 4, 6: 3}),
        (3, {0: 0, 3: 3, 6: 4}),
    ],
)
def test_a_slot_is_free_behind_its_last_reader(longest: int, slots: dict[int, int]) -> None:
    """Of a chain of six two slots take turns, since a chunk needs one while it fills the other; values that only their
    own chunk reads have none."""
    nodes: tuple[Node, ...] = (("input", 0, 0), *(("neg", k) for k in range(6)))
    program = Program("f", (Array("x", (1,)),), (Array("y", (1,)),), nodes, (Output(0, 0, 6),))
    low = lower(program, Cut(longest - 1, longest))
    assert low.slots == slots and low.size == 5


def test_where_a_program_shares_a_workspace() -> None:
    """Its own slots begin where it is told; a node may have a slot of another's."""
    nodes: tuple[Node, ...] = (("input", 0, 1), ("neg", 0), ("neg", 1))
    program = Program("f", (Array("x", (2,)),), (Array("y", (2,)),), nodes, (Output(0, 0, 2), Output(0, 1, 1)))
    low = lower(program, room=Room((20,), 3, 4, 30, {2: 9}))
    assert low.slots == {0: 21, 2: 9, 1: 30} and (low.zero, low.spare, low.size) == (3, 4, 31)
    assert low.tables == ((9, 30),) and low.bases == (20,)
