"""An order of the operations -> steps: register allocation, spills (Belady 1966), staging of rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from condyle.backends.cuda.target import WARP, Target
from condyle.backends.cuda.thread_steps import (
    Angle,
    Compute,
    Flush,
    Group,
    Guard,
    Item,
    Load,
    Lowered,
    Order,
    Put,
    Reload,
    SinCos,
    Spill,
    Step,
    Take,
    Wait,
)
from condyle.ir.program import Array, Program, input_of

# The groups of entries that are staged together in shared memory, and the offsets of their tiles.


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
            key = ("out", output.array, _start(output.index, widths_out[output.array]))
            self.entries.setdefault(output.node, []).append((key, output.index))
            self._written.setdefault(key, set()).add(output.index)
        self._count = {key: len(entries) for key, entries in self._written.items()}

    def _cut(self, way: str, number: int, array: Array, width: int) -> None:
        step = width or max(1, array.size)
        for start in range(0, array.size, step):
            group = Group(number, start, min(step, array.size - start), width, self.bits)
            self.groups[way, number, start] = group
            # lanes beyond the last entry of an input store into columns of their own: stores without a predicate
            self.sizes[way, number, start] = group.bytes(group.width if way == "in" else group.count)

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
        key = ("in", array, _start(entry, self.widths_in[array]))
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


def _start(entry: int, width: int) -> int:
    """The first entry of the group of an entry."""
    return entry - entry % width if width else 0


def _gap(spans: Sequence[tuple[int, int]], need: int) -> int:
    """The first offset where `need` bytes are free."""
    offset = 0
    for start, end in sorted(spans):
        if offset + need <= start:
            break
        offset = max(offset, end)
    return offset


NEVER = 1 << 40


@dataclass(frozen=True, slots=True)
class Layout:
    """How a Program's rows are staged: bits of a number, and `Group.width` for each input and output."""

    bits: int
    widths_in: tuple[int, ...]
    widths_out: tuple[int, ...]


def schedule(program: Program, order: Order, layout: Layout, target: Target) -> Lowered:
    """Steps that compute the order and write every output."""
    worker = _Scheduler(program, order, layout, target)
    worker.run()
    steps, pool = worker.with_offsets()
    return Lowered(program, layout.bits, steps, order.name, pool, worker.slots, worker.traffic, worker.peak)


class _Scheduler:
    """held: values in registers. homes: {spilled value: slot}. uses: times at which a value is read, last first."""

    def __init__(self, program: Program, order: Order, layout: Layout, target: Target) -> None:
        self.program, self.target, self.bits = program, target, layout.bits
        self.values = target.values(layout.bits)
        self.items, self.levels = order.items, order.levels
        self.staging = Staging(program, layout.bits, layout.widths_in, layout.widths_out)
        self.steps: list[tuple[Step, Key | None]] = []
        self.held: dict[int, None] = {}
        self.homes: dict[int, int] = {}
        self.free: list[int] = []
        self.slots = self.traffic = self.peak = 0
        self.loaded: set[Key] = set()
        self.uses = {value: list(times) for value, times in order.uses.items()}
        self.rows: dict[int, tuple[Key, int]] = {}
        self.level = 0

    def run(self) -> None:
        for key in self.staging.eager(self.target.eager):
            self._load(key)
        for node, entries in self.staging.entries.items():
            if self.program.nodes[node][0] == "const":
                self._put(node, entries)
        for time, item in enumerate(self.items):
            self._step(time, item)
        for node, entries in self.staging.entries.items():
            if self.program.nodes[node][0] == "input":
                self._bring(len(self.items), node, frozenset())
                self._put(node, entries)
                self.held.pop(node)
        for key in self.staging.empty():
            self._flush(key)

    def _emit(self, step: Step, key: Key | None = None) -> None:
        self.steps.append((step, key))

    def _step(self, time: int, item: Item) -> None:
        reads = frozenset(item.reads)
        for value in item.reads:
            self.uses[value].pop()
        for value in item.reads:
            self._bring(time, value, reads)
        for value in item.reads:
            self._release(value)
        if item.kind in ("angle", "guard"):
            self._guard(item)
            return
        for value in item.defines:
            self._room(time, frozenset(item.defines))
            self._hold(value)
        if item.kind == "compute":
            self._emit(Compute(item.defines[0]))
        else:
            key, offset = self.rows[item.angle]
            ops = {self.program.nodes[value][0]: value for value in item.defines}
            self._emit(SinCos(ops.get("sin"), ops.get("cos"), offset), key)
        for value in item.defines:
            self._put(value, self.staging.entries.get(value, ()))
            self._release(value)

    def _guard(self, item: Item) -> None:
        """Stores an angle in its row of shared memory, or checks all stored ones."""
        key: Key = ("angles", self.level, 0)
        angles = self.levels[self.level]
        row = WARP * self.bits // 8
        if item.kind == "guard":
            self._emit(Guard(len(angles), 0), key)
            self.level += 1
            return
        k = angles.index(item.angle)
        self.staging.sizes[key] = len(angles) * row
        self.rows[item.angle] = key, k * row
        self._emit(Angle(item.angle, k * row, k == 0), key)

    def _bring(self, time: int, value: int, pinned: frozenset[int]) -> None:
        """Loads a value into a register: from its spill slot, or from its tile."""
        if value in self.held:
            return
        self._room(time, pinned)
        if value in self.homes:
            self._emit(Reload(value, self.homes[value]))
            self.traffic += 1
        else:
            key, offset = self.staging.source(*input_of(self.program.nodes[value]))
            if key not in self.loaded:
                self._load(key)
            self._emit(Take(value, offset), key)
        self._hold(value)

    def _hold(self, value: int) -> None:
        self.held[value] = None
        if len(self.held) > self.peak:
            self.peak = len(self.held)

    def _release(self, value: int) -> None:
        """Frees the register and the slot of a value that is dead."""
        if self.uses.get(value):
            return
        self.held.pop(value, None)
        if value in self.homes:
            heapq.heappush(self.free, self.homes.pop(value))

    def _room(self, time: int, pinned: frozenset[int]) -> None:
        """Frees a register if there is none: of the value with the farthest next use, preferably one that need not be
        stored."""
        while len(self.held) >= self.values:
            clean = dirty = -NEVER, 1
            for value in self.held:
                if value in pinned:
                    continue
                far = self._next(value), -value
                if value in self.homes or self.program.nodes[value][0] == "input":
                    clean = max(clean, far)
                else:
                    dirty = max(dirty, far)
            victim = clean if clean[0] - time >= self.target.dirty * (dirty[0] - time) else dirty
            if victim is dirty:
                self._spill(-victim[1])
            del self.held[-victim[1]]

    def _next(self, value: int) -> int:
        times = self.uses.get(value)
        return times[-1] if times else NEVER

    def _spill(self, value: int) -> None:
        if self.free:
            slot = heapq.heappop(self.free)
        else:
            slot, self.slots = self.slots, self.slots + 1
        self.homes[value] = slot
        self.traffic += 1
        self._emit(Spill(value, slot))

    def _load(self, key: Key) -> None:
        self.loaded.add(key)
        self._emit(Load(self.staging.groups[key], 0), key)

    def _put(self, node: int, entries: Sequence[tuple[Key, int]]) -> None:
        """Stores a value in each of its output entries; stores groups that are complete then."""
        for key, entry in entries:
            self._emit(self._entry(node, key, entry), key)
            if self.staging.is_whole(key):
                for zero in self.staging.zeros(key):
                    self._emit(self._entry(-1, key, zero), key)
                self._flush(key)

    def _entry(self, node: int, key: Key, entry: int) -> Put:
        return Put(node, key[1], entry, self.staging.column(key, entry))

    def _flush(self, key: Key) -> None:
        self._emit(Flush(self.staging.groups[key], 0 if self.staging.filled(key) else -1), key)

    def with_offsets(self) -> tuple[tuple[Step, ...], int]:
        """The steps with the offset of every tile and row in the pool, and the bytes of the pool."""
        offsets, pool, waits = self.staging.allocate([key for _, key in self.steps])
        steps: list[Step] = []
        for time, (step, key) in enumerate(self.steps):
            if time in waits:
                steps.append(Wait())
            if key is None or isinstance(step, (Compute, Spill, Reload, Wait)) or step.offset < 0:
                steps.append(step)
            else:
                steps.append(step._replace(offset=step.offset + offsets[key]))
        return tuple(steps), pool
