"""Scans over lanes: along a chain by distance, along a tree by the lane-exchange map."""

from __future__ import annotations

from typing import TypeVar, cast

from condyle.algorithms.parallel.semigroup import Branching, Semigroup
from condyle.algorithms.values import flat, numbers, plus, refilled
from condyle.ir import link_parallel as ir
from condyle.ir.program import Program
from condyle.scalar import Scalar
from condyle.trace.parallel.stage import Entry, Stage, composed

T = TypeVar("T")


class LaneOperations:
    """Operations so far, widths of variables, and what composes to nothing in those that are scanned."""

    def __init__(self, chain: bool) -> None:
        self.chain = chain
        self.ops: list[ir.Op] = []
        self.widths: dict[str, int] = {}
        self.identities: dict[str, tuple[float, ...]] = {}

    def _step(self, bank: str, semigroup: Semigroup[T]) -> Program:
        identity = semigroup.identity()
        self.identities[bank] = numbers(identity)
        return composed(bank, identity, semigroup.combine)

    def _outward(self, bank: str, semigroup: Semigroup[T]) -> None:
        """Products from the root on."""
        stage = self._step(bank, semigroup)
        self.ops.append(ir.Scan(stage, bank, False) if self.chain else ir.Meet(stage, bank, bank, "ancestors", False))

    def _inward(self, bank: str, semigroup: Branching[T], half: bool = False) -> None:
        """Products from the tips on; half: of no more than half the lanes of a chain."""
        stage = self._step(bank, semigroup)
        meet = ir.Meet(stage, bank, bank, "behind", True, handed(semigroup))
        self.ops.append(ir.Scan(stage, bank, True, half) if self.chain else meet)

    def _of_parent(self, bank: str, into: str, value: object, first: int) -> None:
        """`into` gets what the parent in a tree has, or keeps what it has at a root."""
        stage = Stage(into)
        stage.write(into, stage.value("base", value, first))
        self.ops.append(ir.Meet(stage.program(), into, bank, "parents", False))

    def _of_children(self, bank: str, into: str, value: object, first: int) -> None:
        """`into`, zero so far, gets the sum of what the children in a tree have."""
        stage = Stage(into)
        stage.write(into, plus(stage.value("base", value), stage.value("tip", value, first)))
        self.ops.append(ir.Meet(stage.program(), into, bank, "children", True))


def handed(semigroup: Branching[T]) -> int:
    """From which entry on branches hand over what they have; entries before are the identity's."""
    identity = semigroup.identity()
    own = [cast(Scalar, Entry("", k)) for k in range(len(flat(identity)))]
    found = flat(semigroup.handed(refilled(identity, own)))
    first = next(k for k, x in enumerate(found) if isinstance(x, Entry))
    assert [*flat(identity)[:first], *own[first:]] == found
    return first
