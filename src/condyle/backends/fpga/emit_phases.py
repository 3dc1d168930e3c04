"""What a stage does in the cycles of an interval, in lanes: each has a copy of the phase, so that none has too many
loads."""

from __future__ import annotations

from collections import defaultdict

from condyle.text import Emitter

LANE = 512
"""Bits that one copy of the phase chooses; more where a single line of registers is longer."""
TABLE = 4
"""Words of which one table chooses a bit."""


def phase_bits(ii: int) -> int:
    return max(1, (ii - 1).bit_length())


class Phases:
    """Assignments to registers by the phase in which they are loaded. What comes later stands in the same lane or in a
    later one, and so is done later; an interval of 1 has no phase and one lane."""

    def __init__(self, e: Emitter, ii: int) -> None:
        self.e, self.ii = e, ii
        self.lanes: list[dict[int, list[str]]] = []
        self.room = 0

    def of(self, bits: int, words: int = 1) -> str:
        """The copy of the phase that chooses so many bits more, each of so many words."""
        needed = bits * -(-words // TABLE)
        if not self.lanes or (self.ii > 1 and self.room < needed):
            self._lane()
        self.room -= needed
        return f"phase{len(self.lanes) - 1}"

    def _lane(self) -> None:
        place, bits = len(self.lanes), phase_bits(self.ii)
        self.lanes.append(defaultdict(list))
        self.room = LANE
        if self.ii > 1:
            self.e(f"wire [{bits - 1}:0] phase{place};")
            self.e(f"fx_copy #({bits}) counter{place} (.clock(clock), .next(next_phase), .now(phase{place}));")

    def load(self, phase: int, *statements: str) -> None:
        """In the lane that was given last."""
        self.lanes[-1][phase] += statements

    def write(self) -> None:
        """All of them, inside a process of the clock."""
        for place, lane in enumerate(self.lanes):
            if self.ii == 1:
                self.e(*lane[0])
            elif lane:
                with self.e.block(f"case (phase{place})", "endcase"):
                    for phase in sorted(lane):
                        with self.e.block(f"{phase}: begin", "end"):
                            self.e(*lane[phase])
