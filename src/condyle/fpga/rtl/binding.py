"""Which pipeline stage has which operations, and which registers carry the words between stages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from condyle.fpga.rtl.datapath import SHARED, Datapath
from condyle.fpga.rtl.schedule import Pool, Schedule, pool_of

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
