"""The steps of a thread, after register allocation.

A warp computes 32 states. Rows of inputs and outputs are staged in shared memory, one tile for each Group: the warp
reads or writes adjacent entries of a row together, and each thread reads or writes the entries of its own state in the
tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.backends.cuda.target import WARP
from condyle.ir.program import Program


@dataclass(frozen=True, slots=True)
class Group:
    """Entries `start` to `start + count` of one input or output, staged together.

    width: number of lanes for a row, a power of two, at least count. bits: of the number type.
    """

    array: int
    start: int
    count: int
    width: int
    bits: int

    @property
    def pitch(self) -> int:
        """Numbers from one column of the tile to the next, chosen so that accesses have no bank conflicts."""
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
    """A node's value from a tile or from a row of angles, `offset` bytes into the pool."""

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
    """An angle into its row of shared memory. first: whether it is the first of those of one Guard."""

    node: int
    offset: int
    first: bool


class Guard(NamedTuple):
    """Reduces the large ones of `angles` angles, in rows from `offset` on."""

    angles: int
    offset: int


class SinCos(NamedTuple):
    """Sine and cosine of the angle at `offset`, None for one that is not used."""

    sine: int | None
    cosine: int | None
    offset: int


class Wait(NamedTuple):
    """A barrier for the lanes of the warp."""


Step: TypeAlias = Wait | Load | Flush | Take | Put | Spill | Reload | Compute | Angle | Guard | SinCos


@dataclass(frozen=True, slots=True)
class Lowered:
    """A Program as steps of a thread.

    order: name of the linear order. pool: bytes of shared memory for each warp. slots: spill slots of a thread.
    traffic: numbers spilled and reloaded. peak: largest number of values in registers.
    """

    program: Program
    bits: int
    steps: tuple[Step, ...]
    order: str
    pool: int
    slots: int
    traffic: int
    peak: int
