"""Tiles of whole rows: every entry has a place of its own, and accesses have no bank conflicts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from condyle.backends.cuda.target import WARP
from condyle.backends.cuda.thread_steps import Group, Item, Order
from condyle.ir.program import Array, Output, Program

BANKS = 32


def conflicts(words: list[int]) -> int:
    """The most different words of one bank."""
    return max(Counter(word % BANKS for word in set(words)).values())


def test_whole_rows() -> None:
    """In float64, where half a warp has access at a time, at most two numbers meet in a bank."""
    for bits, most in ((32, 1), (64, 2)):
        for count in range(1, 65):
            group, lanes = Group(0, 0, count, 0, bits), range(WARP if bits == 32 else WARP // 2)
            places = [[row * count + row // group.gap + entry for entry in range(count)] for row in range(WARP)]
            assert len(np.unique(places)) == WARP * count
            assert np.max(places) + 1 == group.bytes(count) * 8 // bits
            number = np.sort(np.ravel(places))
            for k in range(count):  # the warp's accesses: adjacent numbers, between the same gaps
                first = WARP * k
                assert number[first : first + WARP].tolist() == [
                    lane + first + first // (group.gap * count) for lane in range(WARP)
                ]
            for entry in range(count):  # the threads' accesses
                own = [places[lane][entry] for lane in lanes]
                words = [word for x in own for word in range(x * bits // 32, (x + 1) * bits // 32)]
                assert conflicts(words) <= most


@pytest.mark.parametrize(
    ("bits", "width", "pitch"),
    [(32, 1, 64), (32, 4, 40), (32, 8, 36), (32, 32, 33), (64, 1, 48), (64, 4, 36), (64, 8, 34), (64, 32, 33)],
)
def test_columns_have_a_pitch_for_the_lanes_of_a_row(bits: int, width: int, pitch: int) -> None:
    """One number more than a warp, or as many as meet in a bank."""
    group = Group(0, 3, width, width, bits)
    assert (group.pitch, group.rows, group.bytes(3)) == (pitch, 32 // width, 3 * pitch * bits // 8)
    assert Group(0, 3, 5, 0, bits).pitch == 1


def test_whole_rows_have_gaps_where_the_same_entries_would_meet() -> None:
    assert [Group(0, 0, count, 0, 32).gap for count in (1, 3, 4, 32, 48)] == [32, 32, 8, 1, 2]
    assert [Group(0, 0, count, 0, 32).bytes(9) for count in (1, 4, 32)] == [128, 4 * (128 + 3), 4 * (1024 + 31)]


def test_angles_are_guarded_together_once_they_are_computed() -> None:
    """Sines of a sine are of the second level; sine and cosine of one angle are one item; constants are not read."""
    program = Program(
        "f",
        (Array("q", (2,)),),
        (Array("y", (1,)),),
        (
            *(("input", 0, 0), ("input", 0, 1), ("const", 0.5), ("mul", 0, 2), ("sin", 3), ("cos", 0), ("sin", 5)),
            *(("add", 4, 6), ("cos", 3), ("mul", 8, 8), ("sin", 2)),
        ),
        (Output(0, 0, 9),),
    )
    found = Order.from_program(program, "as they come", range(3, 11))
    assert found.name == "as they come" and found.levels == ((0, 2, 3), (5,))
    assert found.items == (
        Item("compute", (0,), (3,)),
        Item("angle", (0,), (), 0),
        Item("angle", (), (), 2),
        Item("angle", (3,), (), 3),
        Item("guard", (), ()),
        Item("sincos", (), (5,), 0),
        Item("angle", (5,), (), 5),
        Item("guard", (), ()),
        Item("sincos", (), (4, 8), 3),
        Item("sincos", (), (6,), 5),
        Item("compute", (4, 6), (7,)),
        Item("compute", (8,), (9,)),
        Item("sincos", (), (10,), 2),
    )
    assert found.uses == {0: (1, 0), 3: (3,), 5: (6,), 4: (10,), 6: (10,), 8: (11,)}
