"""The groups of entries that are staged together in shared memory, and the offsets of their tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from condyle.backends.cuda.steps import Group
from condyle.ir.program import Array, Program

Key: TypeAlias = "tuple[str, int, int]"
"""("in" or "out", array, first entry), or ("angles", level, 0)."""


class Staging:
    """The groups of one Program. entries: for each node its output entries, each with its group."""

    def __init__(self, program: Program, bits: int, widths_in: Sequence[int], widths_out: Sequence[int]) -> None:
        self.program, self.bits = program, bits
        self.widths_in, self.widths_out = widths_in, widths_out
        self.groups: dict[Key, Group] = {}
        self.sizes: dict[Key, int] = {}
        for way, arrays, widths in (("in", program.inputs, widths_in), ("out", program.arrays, widths_out)):
            for k, (array, width) in enumerate(zip(arrays, widths, strict=True)):
                self._cut(way, k, array, width)
        self.entries: dict[int, list[tuple[Key, int]]] = {}
        self._written: dict[Key, set[int]] = {}
        for output in program.outputs:
            key = ("out", output.array, output.index - output.index % widths_out[output.array])
            self.entries.setdefault(output.node, []).append((key, output.index))
            self._written.setdefault(key, set()).add(output.index)
        self._count = {key: len(entries) for key, entries in self._written.items()}

    def _cut(self, way: str, number: int, array: Array, width: int) -> None:
        for start in range(0, array.size, width):
            group = Group(number, start, min(width, array.size - start), width, self.bits)
            self.groups[way, number, start] = group
            self.sizes[way, number, start] = group.bytes

    def column(self, key: Key, entry: int) -> int:
        """The byte offset of an entry in its tile."""
        group = self.groups[key]
        return (entry - group.start) * group.pitch * self.bits // 8

    def eager(self, most: int) -> Iterator[Key]:
        """Groups of the inputs that are read as a whole at the start."""
        for key in self.groups:
            if key[0] == "in" and self.program.inputs[key[1]].size <= most:
                yield key

    def source(self, array: int, entry: int) -> tuple[Key, int]:
        """The group of an entry of an input, and its byte offset in the tile."""
        key = ("in", array, entry - entry % self.widths_in[array])
        return key, self.column(key, entry)

    def is_whole(self, key: Key) -> bool:
        """Counts one entry of an output group as stored; gives whether it was the last."""
        self._count[key] -= 1
        return self._count[key] == 0

    def filled(self, key: Key) -> bool:
        """Whether any entry of an output group can differ from zero."""
        return key in self._written

    def zeros(self, key: Key) -> list[int]:
        """The entries of an output group that are zero in every state."""
        group = self.groups[key]
        return [k for k in range(group.start, group.start + group.count) if k not in self._written[key]]

    def empty(self) -> list[Key]:
        """Output groups that are zero as a whole."""
        return [key for key in self.groups if key[0] == "out" and key not in self._written]

    def allocate(self, keys: Sequence[Key | None]) -> tuple[dict[Key, int], int, set[int]]:
        """(offset of each tile in the pool, size of the pool, steps that need a barrier before them).

        keys: the tile that each step uses. A tile is live from its first step to its last. If it overlaps a dead tile
        that other lanes may still be reading, its first step needs a barrier.
        """
        last = {key: time for time, key in enumerate(keys) if key is not None}
        offsets: dict[Key, int] = {}
        alive: dict[Key, tuple[int, int]] = {}
        dead: list[tuple[int, int]] = []
        waits: set[int] = set()
        size = 0
        for time, key in enumerate(keys):
            if key is None or key in offsets or (key[0] == "out" and key not in self._written):
                continue
            dead += [alive.pop(other) for other in list(alive) if last[other] < time]
            start = _gap(list(alive.values()), self.sizes[key])
            end = start + self.sizes[key]
            if any(start < other_end and other_start < end for other_start, other_end in dead):
                waits.add(time)
                dead.clear()
            offsets[key] = start
            alive[key] = start, end
            size = max(size, end)
        return offsets, size, waits


def _gap(spans: Sequence[tuple[int, int]], need: int) -> int:
    """The first offset where `need` bytes are free."""
    offset = 0
    for start, end in sorted(spans):
        if offset + need <= start:
            break
        offset = max(offset, end)
    return offset
