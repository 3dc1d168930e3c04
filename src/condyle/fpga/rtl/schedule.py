"""When each operation starts, and on which unit: a modulo schedule at a chosen initiation interval.

A task enters every `ii` cycles. Sums have adders of their own; products, angles and reciprocals share the units of
their stage, `ii` to a unit. There are no recurrences, so every interval can be met.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from condyle.fpga.rtl.datapath import LEAVES, SHARED, Datapath

Pool = tuple[str, tuple[str, int, int], int]
"""Stage (or stages that share units), kind of unit, folded operations of one operator in an interval."""
SWEEPS = 3
NONE = -1
"""No unit, no operation, no cycle."""
REACH = 48
"""The most cycles by which an operation is moved to save registers."""


@dataclass(frozen=True)
class Schedule:
    """start[k]: the cycle in which operation k reads its operands, the task's first being 0.

    ready[k]: the first cycle in which its register holds the result, for `ii` cycles; copies carry it further.
    unit[k]: the number of its unit in its pool. taps: when a group leaves.
    """

    datapath: Datapath
    ii: int
    start: tuple[int, ...]
    ready: tuple[int, ...]
    unit: tuple[int, ...]
    taps: dict[str, int]
    units: dict[Pool, int]

    def copy_at(self, k: int, cycle: int) -> int:
        """The copy of the word that has the task's value in this cycle."""
        return (cycle - self.ready[k]) // self.datapath.rate(k, self.ii)

    def phases(self, k: int, cycle: int) -> list[int]:
        """The phases in which an operator repeats what its first operation does in this cycle."""
        rate = self.datapath.rate(k, self.ii)
        return sorted((cycle + turn * rate) % self.ii for turn in range(self.ii // rate))

    @property
    def latency(self) -> int:
        return max(self.taps.values())


def pool_of(datapath: Datapath, k: int) -> Pool:
    first = datapath.first(k)
    turns = datapath.folds[k].turns if k in datapath.folds else 1
    return datapath.ops[first].stage.partition(".")[0], datapath.unit(first), turns


def units_at(datapath: Datapath, ii: int) -> dict[Pool, int]:
    """How many units each pool has."""
    wanted = Counter(pool_of(datapath, k) for k in datapath.members if datapath.ops[k].kind in SHARED)
    return {pool: -(-n // (ii // pool[2])) for pool, n in wanted.items()}


class _Scheduler:
    def __init__(self, datapath: Datapath, ii: int) -> None:
        self.datapath, self.ii, self.source = datapath, ii, datapath.source
        n = len(datapath.ops)
        self.latency = [datapath.cycles(k) for k in range(n)]
        self.operands = [tuple(dict.fromkeys(self.source(a) for a in op.args)) for op in datapath.ops]
        self.is_free = [op.kind in LEAVES or op.kind == "wire" for op in datapath.ops]  # these happen at no time
        self.readers: list[list[int]] = [[] for _ in range(n)]
        for k in range(n):
            for a in () if self.is_free[k] else self.operands[k]:
                self.readers[a].append(k)
        self.start = [0] * n
        self.last = [NONE] * n  # when a word leaves with a group
        self.units = units_at(datapath, ii)
        self.taken = {pool: [[NONE] * m for _ in range(ii // pool[2])] for pool, m in self.units.items()}
        self.rate = [datapath.rate(k, ii) for k in range(n)]
        self.lag = [datapath.lag(k, ii) for k in range(n)]
        self.unit = [NONE] * n
        self.pool = [pool_of(datapath, k) if op.kind in SHARED else None for k, op in enumerate(datapath.ops)]

    def done(self, k: int) -> int:
        """When the word can first be read; inputs stand in registers from cycle 1 on, constants always."""
        kind = self.datapath.ops[k].kind
        return 1 if kind == "input" else -(10**9) if kind == "const" else self.start[k] + self.latency[k]

    def earliest(self, first: int) -> int:
        members = self.datapath.members[first]
        return max([1, *(self.done(a) - self.lag[k] for k in members for a in self.operands[k])])

    def run(self) -> Schedule:
        for k in self._order():
            self._put(k, next(cycle for cycle in count(self.earliest(k)) if NONE in self._slots(k, cycle)))
        leaving = {name: [self.source(k) for _, k in pairs] for name, pairs in self.datapath.groups}
        taps = {name: max([1, *map(self.done, words)]) for name, words in leaving.items()}
        for name, words in leaving.items():
            for k in words:
                self.last[k] = max(self.last[k], taps[name])
        for sweep in range(SWEEPS):
            self._relax(sweep % 2 == 0)
        ready = tuple(map(self.done, range(len(self.start))))
        return Schedule(self.datapath, self.ii, tuple(self.start), ready, tuple(self.unit), taps, self.units)

    def _order(self) -> list[int]:
        """The most urgent operator first: by the latest start that delays nothing."""
        members, first = self.datapath.members, self.datapath.first
        height: dict[int, int] = {}
        for k in reversed(self.datapath.ordered(members)):
            after = (height[first(r)] for member in members[k] for r in self.readers[member])
            height[k] = max(after, default=0) + self.latency[k]
        return sorted((k for k in members if not self.is_free[k]), key=lambda k: (-height[k], k))

    def _slots(self, k: int, cycle: int) -> list[int]:
        """What the units of its pool do then; an operator that shares none is always free."""
        pool = self.pool[k]
        return [NONE] if pool is None else self.taken[pool][cycle % self.rate[k]]

    def _put(self, k: int, cycle: int) -> None:
        slots = self._slots(k, cycle)
        unit = slots.index(NONE)
        slots[unit] = k
        for member in self.datapath.members[k]:
            self.start[member], self.unit[member] = cycle + self.lag[member], unit

    def _relax(self, backwards: bool) -> None:
        """Moves operations within their slack to save registers."""
        order = [k for k in sorted(self.datapath.members, key=self.start.__getitem__) if not self.is_free[k]]
        for k in reversed(order) if backwards else order:
            ends = [end - self.lag[member] for member in self.datapath.members[k] for end in self._reads(member)]
            low, high = self.earliest(k), min(ends, default=self.start[k] + self.latency[k]) - self.latency[k]
            if low < high:
                self._move(k, low, high, max(ends))

    def _reads(self, k: int, but: int = NONE) -> list[int]:
        """When a word is read, or leaves; but: by all others."""
        return [self.start[r] for r in self.readers[k] if r != but] + [self.last[k]] * (self.last[k] != NONE)

    def _move(self, k: int, low: int, high: int, end: int) -> None:
        until = [
            (a, max(self._reads(a, member), default=0) - self.lag[member], self.done(a) - self.lag[member])
            for member in self.datapath.members[k]
            for a in self.operands[member]
            if self.datapath.ops[a].kind != "const"
        ]
        self._slots(k, self.start[k])[self.unit[k]] = NONE

        def cost(cycle: int) -> tuple[int, int]:
            copies = sum(max(0, max(last, cycle) - done) // self.rate[a] for a, last, done in until)
            return copies + (end - cycle - self.latency[k]) // self.rate[k], cycle

        span = range(max(low, high - REACH), high + 1)
        free = [cycle for cycle in (*span, self.start[k]) if NONE in self._slots(k, cycle)]
        self._put(k, min(free, key=cost))


def schedule(datapath: Datapath, ii: int) -> Schedule:
    """The shortest schedule that list scheduling finds, registers reduced within its slack."""
    return _Scheduler(datapath, ii).run()


# Which pipeline stage has which operations, and which registers carry the words between stages.


INPUTS = "in"
"""The stage at the input: it has the registers of the task's words."""


@dataclass(frozen=True, order=True)
class Tap:
    """Copy number `copy` of the word of operation `op`; its name in Verilog is `str`."""

    op: int
    copy: int

    def __str__(self) -> str:
        return f"w{self.op}" + (f"_{self.copy}" if self.copy else "")


@dataclass(frozen=True)
class Binding:
    """A scheduled datapath, read stage by stage."""

    schedule: Schedule

    @property
    def datapath(self) -> Datapath:
        return self.schedule.datapath

    def stage(self, k: int) -> str:
        """The stage of an operation; input words and their delays belong to INPUTS."""
        k, ops = self.datapath.first(k), self.datapath.ops
        if ops[k].kind == "input":
            return INPUTS
        return ops[self.homes.get(self._unit(k), k)].stage.rpartition(".")[2] or "x"

    def _unit(self, k: int) -> tuple[Pool, int] | None:
        shared = self.datapath.ops[k].kind in SHARED
        return (pool_of(self.datapath, k), self.schedule.unit[k]) if shared else None

    @cached_property
    def homes(self) -> dict[tuple[Pool, int] | None, int]:
        """The first operation of each unit. The unit belongs to the stage of that operation."""
        every = reversed(list(self.datapath.members))
        return {self._unit(k): k for k in every if self.datapath.ops[k].kind in SHARED}

    @cached_property
    def stages(self) -> dict[str, list[int]]:
        """The operators of each stage that have a register, in the order in which stages start."""
        result: dict[str, list[int]] = {INPUTS: []}
        timed = [k for k in self.datapath.members if self.datapath.ops[k].kind not in ("const", "wire")]
        for k in sorted(timed, key=lambda k: (self.schedule.start[k], k)):
            result.setdefault(self.stage(k), []).append(k)
        return result

    def read(self, a: int, cycle: int) -> Tap | int:
        """The source of an operand in this cycle: a register, or the integer of a constant."""
        a = self.datapath.source(a)
        if self.datapath.ops[a].kind == "const":
            return self.datapath.ops[a].value
        return Tap(self.datapath.first(a), self.schedule.copy_at(a, cycle))

    def reads(self, first: int) -> list[Tap | int]:
        """All operands that an operator reads, over all operations that share it."""
        ops, start = self.datapath.ops, self.schedule.start
        members = [] if ops[first].kind in ("sin", "cos") else self.datapath.members[first]
        return [self.read(a, start[k]) for k in members for a in ops[k].args]

    @cached_property
    def leaving(self) -> dict[str, list[Tap | int]]:
        """For each group the registers of its words in the cycle in which they leave the array."""
        return {
            name: [self.read(k, self.schedule.taps[name]) for _, k in pairs] for name, pairs in self.datapath.groups
        }

    @cached_property
    def taken(self) -> dict[str, list[Tap]]:
        """For each stage the registers of other stages that it reads."""
        result: dict[str, list[Tap]] = {}
        for stage, ops in self.stages.items():
            taps = {tap for k in ops for tap in self.reads(k) if isinstance(tap, Tap) and self.stage(tap.op) != stage}
            result[stage] = sorted(taps)
        return result

    @cached_property
    def offered(self) -> dict[str, list[Tap]]:
        """For each stage the registers that other stages, or the outputs, read."""
        wanted = {tap for taps in self.taken.values() for tap in taps}
        wanted |= {tap for taps in self.leaving.values() for tap in taps if isinstance(tap, Tap)}
        result: dict[str, list[Tap]] = defaultdict(list)
        for tap in sorted(wanted):
            result[self.stage(tap.op)].append(tap)
        return result

    @cached_property
    def used(self) -> dict[int, list[int]]:
        """For each operation the copies of its word that are read, ascending."""
        copies: dict[int, set[int]] = defaultdict(set)
        everything = [tap for ops in self.stages.values() for k in ops for tap in self.reads(k)]
        everything += [tap for taps in self.leaving.values() for tap in taps]
        for tap in everything:
            if isinstance(tap, Tap):
                copies[tap.op].add(tap.copy)
        return {k: sorted(found) for k, found in copies.items()}
