"""How the lanes of states are assigned to warps and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.backends.cuda.target import WARP

MOST = 1024
"""Threads of one block."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """count: lanes of a state. Up to 32 it is a power of two, and states share a warp; above, a state has a block of
    whole warps. bits: of the number type, 64 or 32.
    """

    count: int
    bits: int

    def __post_init__(self) -> None:
        assert self.count & (self.count - 1) == 0 if self.in_warp else self.count % WARP == 0 and self.count <= MOST

    @property
    def in_warp(self) -> bool:
        """Whether all lanes of a state are in one warp, where they can use shuffles."""
        return self.count <= WARP

    @property
    def slots(self) -> int:
        """Threads that share one part of shared memory: those of a warp, or of the block."""
        return max(self.count, WARP)

    @property
    def warps(self) -> int:
        return self.slots // WARP

    @property
    def width(self) -> int:
        """Lanes of a state within one warp."""
        return min(self.count, WARP)

    @property
    def item(self) -> int:
        return self.bits // 8


def lanes_for(links: int) -> int:
    """The number of lanes for this number of links, one link a lane."""
    return 1 << (links - 1).bit_length() if links <= WARP else -(-links // WARP) * WARP
