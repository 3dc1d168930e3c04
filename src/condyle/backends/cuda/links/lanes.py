"""How the lanes of states lie in warps and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.backends.cuda.target import WARP

MOST = 1024
"""Threads of one block."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """count: lanes of a state: a power of two up to a warp, of which several states share one; or whole warps, a block.

    bits: of one number.
    """

    count: int
    bits: int

    def __post_init__(self) -> None:
        assert self.count & (self.count - 1) == 0 if self.in_warp else self.count % WARP == 0 and self.count <= MOST

    @property
    def in_warp(self) -> bool:
        """Whether lanes of a state can shuffle with each other."""
        return self.count <= WARP

    @property
    def slots(self) -> int:
        """Threads that share one pool of shared memory: a warp, or the block."""
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
    """Lanes for so many links, one each."""
    return 1 << (links - 1).bit_length() if links <= WARP else -(-links // WARP) * WARP
