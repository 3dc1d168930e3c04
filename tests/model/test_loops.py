"""Gaps of contacts, and contacts held from their other side."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.array import transpose
from condyle.model.contact import CONTACT_KINDS, Contact, gap_of, turned
from condyle.model.placement import IDENTITY, Placement

HERE, THERE = (
    Placement.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
    Placement.from_rpy((1.0, 2.0, 3.0), (-1.0, 0.3, 2.0)),
)
ANGLES = (0.0, 1e-7, 0.3, 1.5, 3.1)
ROUNDING = 1e-14  # of three products of rotations and an arctangent


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("kind", CONTACT_KINDS)
def test_a_gap_is_the_turn_that_the_kind_holds(kind: str, axis: int) -> None:
    """About every axis alone; a line leaves that about x free, a point all."""
    contact = Contact("a", kind, "b", HERE, anchor=THERE)
    for angle in ANGLES:
        turn = Placement.from_rpy((0.0, 0.3, 0.4), tuple(angle * np.eye(3)[axis]))
        gap = gap_of(contact, turn.compose(HERE.inverse()), THERE.inverse())
        assert gap.distance == pytest.approx(0.5, abs=ROUNDING)
        assert gap.angle == pytest.approx(angle if 3 + axis in CONTACT_KINDS[kind] else 0.0, abs=ROUNDING)


@pytest.mark.parametrize("rows", [(3, 4, 5), (0, 1), (2, 5), (1, 3, 5)])
def test_a_kind_that_is_added_has_the_gap_of_its_rows(rows: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Directions that it leaves free are no gap, however far the frame is moved and turned in them."""
    monkeypatch.setitem(CONTACT_KINDS, "added", rows)  # pyright: ignore[reportArgumentType]
    contact, moved = Contact("a", "added", "b"), np.array((0.3, 0.4, 1.2))
    held = np.array([row in rows for row in range(6)])
    for axis in range(3):
        for angle in ANGLES:
            turn = Placement.from_rpy(moved, tuple(angle * np.eye(3)[axis]))
            gap = gap_of(contact, turn, IDENTITY)
            apart = transpose(turn.rotation) @ moved
            assert gap.distance == pytest.approx(np.linalg.norm(apart[held[:3]]), abs=ROUNDING)
            assert gap.angle == pytest.approx(angle if held[3 + axis] else 0.0, abs=ROUNDING)


@pytest.mark.parametrize("kind", CONTACT_KINDS)
def test_a_contact_from_its_other_side_is_the_same_contact(kind: str) -> None:
    """`other` moves by a body, `frame` is fixed to the world at `at`."""
    contact, at, body = Contact("a", kind, "b", HERE, (30.0, 4.0), THERE), THERE, HERE
    back = turned(contact, at)
    assert (back.frame, back.other, back.kind, back.gains) == ("b", None, kind, (30.0, 4.0))
    gap, wanted = gap_of(back, body, IDENTITY), gap_of(contact, at, body)
    assert gap.distance == pytest.approx(wanted.distance, abs=ROUNDING)
    if kind != "line":  # the axes of a line are those of its first side
        assert gap.angle == pytest.approx(wanted.angle, abs=ROUNDING)
