"""Memory as the interpreter sees it: allocations with bounds, and shared memory that notices races."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[Any]
GAP = 1 << 20
LOWEST = 1 << 44
"""Of all addresses: numbers of 32 bits cannot hold them."""
MANY = 1 << 30


class RaceError(Exception):
    """Two lanes at one place of memory, one of them writing, and no barrier between."""


class Watch:
    """Who read and who wrote each word since the last barrier."""

    def __init__(self, *shape: int) -> None:
        self.writer = np.zeros(shape, np.int32)
        self.reader = np.zeros_like(self.writer)

    def barrier(self) -> None:
        self.writer[:] = 0
        self.reader[:] = 0

    def read(self, at: tuple[Lanes, ...], me: Lanes) -> None:
        before = self.writer[at]
        self._check((before != 0) & (before != me))
        known = self.reader[at]
        reader = np.where((known == 0) | (known == me), me, MANY)
        self.reader[at] = reader
        others = self.reader[at] != reader  # several lanes at once, of which the last is noted
        self.reader[tuple(index[others] for index in at)] = MANY

    def write(self, at: tuple[Lanes, ...], me: Lanes) -> None:
        for before in (self.writer[at], self.reader[at]):
            self._check((before != 0) & (before != me))
        self.writer[at] = me
        self._check(self.writer[at] != me)

    def _check(self, meet: Lanes) -> None:
        if meet.any():
            raise RaceError("two lanes meet in memory without a barrier")


class Memory:
    """Allocations, each at an address of its own, far from all others."""

    def __init__(self) -> None:
        self.blocks: dict[int, NDArray[np.uint8]] = {}
        self._next = LOWEST
        self.watches: dict[int, Watch] | None = None
        """of allocations, while a kernel runs whose threads hand each other numbers there"""

    def allocate(self, size: int) -> int:
        """The address of `size` fresh bytes, all ones (a NaN)."""
        return self.adopt(np.full(size, 0xFF, np.uint8))

    def adopt(self, data: NDArray[np.uint8]) -> int:
        """An address for bytes that lie elsewhere."""
        address = self._next
        self.blocks[address] = data
        self._next += (len(data) // GAP + 2) * GAP
        return address

    def free(self, address: int) -> None:
        del self.blocks[address]

    def bytes_at(self, address: int, size: int) -> NDArray[np.uint8]:
        """A view of some bytes of one allocation; IndexError where there are none."""
        for start, block in self.blocks.items():
            if start <= address and address + size <= start + len(block):
                return block[address - start : address - start + size]
        raise IndexError(f"{size} bytes at {address:#x} are not allocated")

    def load(self, address: Lanes, kind: type[np.generic], mask: Lanes, me: Lanes | None = None) -> Lanes:
        """me: numbers of threads, from 1 on, where a thread may read what others wrote."""
        result = np.zeros(len(address), kind)
        if mask.any():
            for lanes in self._apart(address, mask):
                view, index = self._typed(address[lanes], kind)
                result[lanes] = view[index]
            if me is not None:
                watch, at = self._watched(address[mask])
                watch.read(at, me[mask])
        return result

    def store(self, address: Lanes, value: Lanes, mask: Lanes, me: Lanes) -> None:
        if mask.any():
            for lanes in self._apart(address, mask):
                view, index = self._typed(address[lanes], value.dtype.type)
                view[index] = value[lanes]
            if self.watches is not None:
                watch, at = self._watched(address[mask])
                watch.write(at, me[mask])

    def barrier(self) -> None:
        for watch in (self.watches or {}).values():
            watch.barrier()

    def _watched(self, address: Lanes) -> tuple[Watch, tuple[Lanes]]:
        start = max(start for start in self.blocks if start <= int(address.min()))
        assert self.watches is not None
        if start not in self.watches:
            self.watches[start] = Watch(-(-len(self.blocks[start]) // 4))
        return self.watches[start], ((address - start) // 4,)

    def _apart(self, address: Lanes, mask: Lanes) -> list[Lanes]:
        """The lanes of a mask, apart by the allocation that they meet."""
        if int(address[mask].max()) - int(address[mask].min()) < GAP:
            return [mask]
        block = np.searchsorted(sorted(self.blocks), address.astype(np.int64), "right")
        return [mask & (block == number) for number in np.unique(block[mask])]

    def _typed(self, address: Lanes, kind: type[np.generic]) -> tuple[Lanes, Lanes]:
        item = np.dtype(kind).itemsize
        first, last = int(address.min()), int(address.max()) + item
        if (address % item).any():
            raise IndexError(f"address {first:#x} is not aligned to {item} bytes")
        return self.bytes_at(first, last - first).view(kind), (address - first) // item


class Shared:
    """The shared memory of some blocks."""

    def __init__(self, blocks: int, size: int, block: Lanes, thread: Lanes) -> None:
        self.data = np.full((blocks, -(-size // 8) * 8), 0xFF, np.uint8)
        self.block, self.me = block, thread.astype(np.int32) + 1
        self.size = size
        self.watch = Watch(blocks, self.data.shape[1] // 4)

    def load(self, address: Lanes, kind: type[np.generic], mask: Lanes) -> Lanes:
        index = self._index(address, kind, mask)
        result = np.zeros(len(address), kind)
        result[mask] = self.data.view(kind)[index]
        self.watch.read(self._words(index, kind), self.me[mask])
        return result

    def store(self, address: Lanes, value: Lanes, mask: Lanes) -> None:
        index = self._index(address, value.dtype.type, mask)
        self.watch.write(self._words(index, value.dtype.type), self.me[mask])
        self.data.view(value.dtype)[index] = value[mask]

    def _index(self, address: Lanes, kind: type[np.generic], mask: Lanes) -> tuple[Lanes, Lanes]:
        item = np.dtype(kind).itemsize
        place = address[mask]
        if len(place) and (int(place.min()) < 0 or int(place.max()) + item > self.size or (place % item).any()):
            raise IndexError("outside of shared memory")
        return self.block[mask], place // item

    def _words(self, index: tuple[Lanes, Lanes], kind: type[np.generic]) -> tuple[Lanes, Lanes]:
        return index[0], index[1] * (np.dtype(kind).itemsize // 4)
