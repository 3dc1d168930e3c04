"""An order of the operations -> steps: register allocation, spills (Belady 1966), staging of rows."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from condyle.backends.cuda.items import Item, Order
from condyle.backends.cuda.staging import Key, Staging
from condyle.backends.cuda.steps import (
    Angle,
    Compute,
    Flush,
    Guard,
    Load,
    Lowered,
    Put,
    Reload,
    SinCos,
    Spill,
    Step,
    Take,
    Wait,
)
from condyle.backends.cuda.target import WARP, Target
from condyle.ir.program import Program, input_of

NEVER = 1 << 40


@dataclass(frozen=True, slots=True)
class Layout:
    """How a Program's rows are staged: bits of a number, and the entries of a group for each input and output."""

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
