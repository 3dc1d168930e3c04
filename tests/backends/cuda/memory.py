"""Memory as the interpreter sees it: allocations with bounds, and shared memory that notices races."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[Any]
GAP = 1 << 20
MANY = 1 << 14


class RaceError(Exception):
    """Two lanes at one place of shared memory, one of them writing, and no barrier between."""


class Memory:
    """Allocations, each at an address of its own, far from all others."""

    def __init__(self) -> None:
        self.blocks: dict[int, NDArray[np.uint8]] = {}
        self._next = GAP

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

    def load(self, address: Lanes, kind: type[np.generic], mask: Lanes) -> Lanes:
        result = np.zeros(len(address), kind)
        if mask.any():
            view, index = self._typed(address[mask], kind)
            result[mask] = view[index]
        return result

    def store(self, address: Lanes, value: Lanes, mask: Lanes) -> None:
        if mask.any():
            view, index = self._typed(address[mask], value.dtype.type)
            view[index] = value[mask]

    def _typed(self, address: Lanes, kind: type[np.generic]) -> tuple[Lanes, Lanes]:
        item = np.dtype(kind).itemsize
        first, last = int(address.min()), int(address.max()) + item
        if (address % item).any():
            raise IndexError(f"address {first:#x} is not aligned to {item} bytes")
        return self.bytes_at(first, last - first).view(kind), (address - first) // item


class Shared:
    """The shared memory of some blocks; who read and who wrote each word since the last barrier."""

    def __init__(self, blocks: int, size: int, block: Lanes, thread: Lanes) -> None:
        self.data = np.full((blocks, -(-size // 8) * 8), 0xFF, np.uint8)
        self.block, self.me = block, thread.astype(np.int16) + 1
        self.size = size
        self.writer = np.zeros((blocks, self.data.shape[1] // 4), np.int16)
        self.reader = np.zeros_like(self.writer)

    def barrier(self) -> None:
        self.writer[:] = 0
        self.reader[:] = 0

    def load(self, address: Lanes, kind: type[np.generic], mask: Lanes) -> Lanes:
        index, me = self._index(address, kind, mask), self.me[mask]
        result = np.zeros(len(address), kind)
        result[mask] = self.data.view(kind)[index]
        at = self._words(index, kind)
        before = self.writer[at]
        self._check((before != 0) & (before != me))
        known = self.reader[at]
        reader = np.where((known == 0) | (known == me), me, MANY)
        self.reader[at] = reader
        others = self.reader[at] != reader  # several lanes at once, of which the last is noted
        self.reader[at[0][others], at[1][others]] = MANY
        return result

    def store(self, address: Lanes, value: Lanes, mask: Lanes) -> None:
        index, me = self._index(address, value.dtype.type, mask), self.me[mask]
        at = self._words(index, value.dtype.type)
        for before in (self.writer[at], self.reader[at]):
            self._check((before != 0) & (before != me))
        self.data.view(value.dtype)[index] = value[mask]
        self.writer[at] = me
        self._check(self.writer[at] != me)

    def _index(self, address: Lanes, kind: type[np.generic], mask: Lanes) -> tuple[Lanes, Lanes]:
        item = np.dtype(kind).itemsize
        place = address[mask]
        if len(place) and (int(place.min()) < 0 or int(place.max()) + item > self.size or (place % item).any()):
            raise IndexError("outside of shared memory")
        return self.block[mask], place // item

    def _words(self, index: tuple[Lanes, Lanes], kind: type[np.generic]) -> tuple[Lanes, Lanes]:
        return index[0], index[1] * (np.dtype(kind).itemsize // 4)

    def _check(self, meet: Lanes) -> None:
        if meet.any():
            raise RaceError("two lanes meet in shared memory without a barrier")
