"""Copies of the phase: how much each of them chooses."""

from __future__ import annotations

from condyle.fpga.rtl.expressions import Count, Phases
from condyle.text import Emitter


def test_each_copy_chooses_at_most_512_bits() -> None:
    """A bit of nine words takes three tables; a line longer than a lane has one of its own."""
    e = Emitter()
    phases = Phases(e, Count(9, False))
    assert [phases.lane(200) for _ in range(3)] == [0, 0, 1] and phases.lane(600) == 2
    assert [phases.copy(100, 9) for _ in range(2)] == ["phase3", "phase4"] and phases.lane(212) == 4
    assert [phases.lane(1), e.text().count("fx_copy #(4)")] == [5, 6]


def test_an_interval_of_one_has_no_phase() -> None:
    e = Emitter()
    phases = Phases(e, Count(1, False))
    assert {phases.lane(400) for _ in range(5)} == {0} and e.text() == "\n"


def test_lanes_are_written_one_after_the_other() -> None:
    e = Emitter()
    phases = Phases(e, Count(2, False))
    first, second = phases.lane(512), phases.lane(512)
    phases.load(second, 1, "b <= 0;")
    phases.load(first, 0, "a <= 0;")
    phases.write()
    said = [line.strip() for line in e.text().split("\n") if "case" in line or "<=" in line]
    assert said == ["case (phase0)", "a <= 0;", "endcase", "case (phase1)", "b <= 0;", "endcase"]
