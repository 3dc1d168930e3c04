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
@pytest.mark.parametrize("rows", [*CONTACT_KINDS.values(), (3, 4, 5), (0, 1), (2, 5), (1, 3, 5)])
def test_a_gap_is_that_of_the_rows_of_its_kind(
    rows: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turned about every axis alone. What a kind leaves free is no gap: a line the turn about x, a point all turns."""
    monkeypatch.setattr("condyle.model.contact.CONTACT_KINDS", {"kind": rows})
    contact, moved = Contact("a", "kind", "b", HERE, anchor=THERE), np.array((0.3, 0.4, 1.2))
    held = np.isin(range(6), rows)
    for angle in ANGLES:
        turn = Placement.from_rpy(moved, tuple(angle * np.eye(3)[axis]))
        gap = gap_of(contact, turn.compose(HERE.inverse()), THERE.inverse())
        apart = transpose(turn.rotation) @ moved  # in the contact's axes
        assert gap.distance == pytest.approx(np.linalg.norm(apart[held[:3]]), abs=ROUNDING)
        # near half a turn little is left to say how much of it is about another axis
        allowed = ROUNDING / (1.0 + np.cos(angle)) if held[3:].sum() == 1 else ROUNDING
        assert gap.angle == pytest.approx(angle if held[3 + axis] else 0.0, abs=allowed)


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
