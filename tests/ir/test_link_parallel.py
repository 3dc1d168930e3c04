"""Sizes of what is parallel in the links, and the runs of joints in lanes."""

from __future__ import annotations

import pytest

from condyle.ir.link_parallel import EXT, NONE, LinkParallel, MatrixPorts

PORTS = (("q", 3), (EXT, NONE))


def lanes(length: int, *spans: tuple[int, int]) -> LinkParallel:
    widths = {EXT: 6, "io": 4}
    joints = sum(count for _, count in spans)
    return LinkParallel("f", joints, len(spans), length, PORTS, (), widths, {}, (), (), base={"q": 7}, spans=spans)


def test_a_port_has_entries_of_the_base_and_of_each_joint() -> None:
    made = lanes(2, (0, 2), (2, 1))
    assert [made.size(*port) for port in PORTS] == [7 + 3, 18]
    assert [made.width(column) for column in (0, 3, NONE)] == [1, 1, 6]


@pytest.mark.parametrize(
    ("spans", "runs"),
    [
        (((0, 3), (3, 3)), [(0, 6, 0)]),
        (((0, 3), (3, 2)), [(0, 5, 1)]),
        (((0, 2), (2, 3)), [(0, 2, 1), (2, 3, 0)]),
        (((0, 3), (5, 3)), [(0, 3, 0), (5, 3, 0)]),
        (((0, 3), (3, 0), (3, 0)), [(0, 3, 6)]),
        (((0, 1), (1, 0), (1, 2)), [(0, 1, 5), (1, 2, 1)]),
        (((0, 0), (0, 3)), [(0, 0, 3), (0, 3, 0)]),
        (((4, 3), (0, 3), (3, 1)), [(4, 3, 0), (0, 4, 2)]),
    ],
)
def test_runs_are_joints_side_by_side_and_the_padding_behind_them(
    spans: tuple[tuple[int, int], ...], runs: list[tuple[int, int, int]]
) -> None:
    assert lanes(3, *spans).runs() == runs


def test_every_column_is_in_one_task() -> None:
    assert [MatrixPorts(4, size, False).tasks for size in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]
