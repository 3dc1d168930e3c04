"""What a thread does, one step after another, when every value has its register or its offset.

A warp works on 32 states. Rows of inputs and outputs pass through shared memory in tiles, a tile a Group: the warp
reads or writes neighbouring entries of a row together, each thread takes and puts the entries of its own state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.backends.cuda.target import WARP
from condyle.ir.program import Program


@dataclass(frozen=True, slots=True)
class Group:
    """Entries `start` to `start + count` of one input or output, staged together.

    width: a power of two, at least count: so many lanes share a row. bits: of one number.
    """

    array: int
    start: int
    count: int
    width: int
    bits: int

    @property
    def pitch(self) -> int:
        """Numbers from one column of the tile to the next: no two lanes of one access meet in a bank."""
        return WARP + max(1, (WARP if self.bits == 32 else WARP // 2) // self.width)

    @property
    def bytes(self) -> int:
        return self.count * self.pitch * self.bits // 8

    @property
    def rows(self) -> int:
        """States that one access of the whole warp covers."""
        return WARP // self.width


class Load(NamedTuple):
    """The warp copies a group of an input into the tile at `offset` (bytes)."""

    group: Group
    offset: int


class Flush(NamedTuple):
    """The warp copies the tile at `offset` to a group of an output; -1: the group is zero and has no tile."""

    group: Group
    offset: int


class Take(NamedTuple):
    """node: from its state's column of a tile or from a row of angles, `offset` bytes into the pool."""

    node: int
    offset: int


class Put(NamedTuple):
    """A node's value, entry `entry` of output `array`, into a tile; node -1: zero."""

    node: int
    array: int
    entry: int
    offset: int


class Spill(NamedTuple):
    """A node's value into a slot of local memory."""

    node: int
    slot: int


class Reload(NamedTuple):
    """A spilled value back into a register."""

    node: int
    slot: int


class Compute(NamedTuple):
    """One arithmetic node of the Program."""

    node: int


class Angle(NamedTuple):
    """An angle into a row of shared memory of its own; first: of those that are guarded together."""

    node: int
    offset: int
    first: bool


class Guard(NamedTuple):
    """Of so many angles, in rows from `offset` on, those too large are reduced."""

    angles: int
    offset: int


class SinCos(NamedTuple):
    """Sine and cosine, where wanted, of the guarded angle at `offset`."""

    sine: int | None
    cosine: int | None
    offset: int


class Wait(NamedTuple):
    """All lanes of the warp get here before any goes on."""


Step: TypeAlias = Wait | Load | Flush | Take | Put | Spill | Reload | Compute | Angle | Guard | SinCos


@dataclass(frozen=True, slots=True)
class Lowered:
    """A Program on a thread.

    order: the name of the linear order that was taken. pool: shared bytes a warp. slots: spilled numbers a thread.
    traffic: numbers spilled and reloaded. peak: numbers in registers at once.
    """

    program: Program
    bits: int
    steps: tuple[Step, ...]
    order: str
    pool: int
    slots: int
    traffic: int
    peak: int
