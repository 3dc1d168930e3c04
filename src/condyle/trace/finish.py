"""Loops under construction: which sweep a step can be added to, and which entries have to be stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeAlias

from condyle.ir import sweep as ir
from condyle.ir.segments import Product
from condyle.trace.steps import Group

Reads: TypeAlias = set[tuple[str, int]]
STORED = ("here", "parent")


@dataclass(eq=False)
class Scope:
    """Loops in order: of the function, or of the body of a loop over columns. unit: the columns are unit vectors."""

    unit: bool = False
    items: list[Group | Scope | ir.Mirror | Product] = field(
        default_factory=list["Group | Scope | ir.Mirror | Product"]
    )

    def add(self, group: Group) -> Group:
        self.items.append(group)
        return group

    def columns(self, unit: bool) -> Scope:
        """The body of a loop over columns: the last one if both are for general columns, else a new one."""
        last = self.items[-1]
        if isinstance(last, Scope) and not unit and not last.unit:
            return last
        self.items.append(inner := Scope(unit))
        return inner

    def latest(self, groups: Collection[Group]) -> Group | None:
        """The last of these groups that is in this scope."""
        mine = [item for item in self.items if isinstance(item, Group) and item in groups]
        return mine[-1] if mine else None

    def sharing(self, backward: bool, needs: Collection[Group]) -> Group | None:
        """The last sweep of this direction that a step with these needs can be added to, if any; it may be moved back.

        A step that needs a sweep of the same direction can be in that sweep: at each joint it runs after the other
        step, and it reads no values of joints that the sweep has not reached.
        """
        first = self.latest(needs)
        waiting: list[Group] = []
        for item in reversed(self.items):
            if not isinstance(item, Group):
                if first is not None and first in waiting:
                    return None
                continue
            fits = not item.walk and not item.sealed and item.backward == backward
            if fits and (first is None or first not in waiting or item is first):
                return item
            if fits and first is not None and not any(item in later.needs for later in waiting):
                self.items.remove(item)
                self.items.insert(self.items.index(first) + 1, item)
                return item
            waiting.append(item)
        return None

    def finished(self) -> tuple[ir.Loop, ...]:
        """The loops, without computations whose results are not read."""
        reads: Reads = set()
        loops: list[ir.Loop] = []
        for item in reversed(self.items):
            if isinstance(item, Scope):
                loops.append(ir.Columns(item.body(reads)))
            elif isinstance(item, Group):
                loop = _finished(item, reads)
                assert isinstance(loop, ir.Sweep)
                loops.append(loop)
            else:
                loops.append(item)
        return tuple(reversed(loops))

    def body(self, reads: Reads) -> tuple[ir.Sweep | ir.Walk, ...]:
        """The sweeps and walks of one column."""
        groups = [item for item in self.items if isinstance(item, Group)]
        return tuple(reversed([_finished(group, reads) for group in reversed(groups)]))


def _finished(group: Group, reads: Reads) -> ir.Sweep | ir.Walk:
    """One loop, given the entries that later ones read; adds those that it reads itself."""

    def wanted(ref: ir.Ref, k: int) -> bool:
        return ref.space not in STORED or (ref.name, k) in reads

    while True:
        known = len(reads)
        loop = group.finished(wanted)
        read = [pair for _, step in ir.steps(loop) for pair in ir.entries_read(step)]
        reads.update((ref.name, k) for ref, k in read if ref.space in STORED)
        if len(reads) == known:
            return loop
