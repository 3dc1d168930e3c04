"""Scans over lanes: along a chain by distance, along a tree by the lane-exchange map."""

from __future__ import annotations

from typing import TypeVar, cast

from condyle.algorithms.values import flat, numbers, plus, refilled
from condyle.ir import link_parallel as ir
from condyle.ir.program import Program
from condyle.links.algorithms.semigroup import Branching, Semigroup
from condyle.links.trace.stage import Entry, Stage, composed
from condyle.scalar import Scalar

T = TypeVar("T")


class LaneOperations:
    """The operations so far, the widths of variables, and the identity elements of those that are scanned."""

    def __init__(self, chain: bool) -> None:
        self.chain = chain
        self.ops: list[ir.Op] = []
        self.widths: dict[str, int] = {}
        self.identities: dict[str, tuple[float, ...]] = {}

    def _step(self, var: str, semigroup: Semigroup[T]) -> Program:
        identity = semigroup.identity()
        self.identities[var] = numbers(identity)
        return composed(var, identity, semigroup.combine)

    def _outward(self, var: str, semigroup: Semigroup[T]) -> None:
        """A scan from the root."""
        stage = self._step(var, semigroup)
        self.ops.append(
            ir.Scan(stage, var, False) if self.chain else ir.TreeScanStep(stage, var, var, "ancestors", False)
        )

    def _inward(self, var: str, semigroup: Branching[T], half: bool = False) -> None:
        """A scan from the tips; half: products of at most half the lanes of a chain."""
        stage = self._step(var, semigroup)
        meet = ir.TreeScanStep(stage, var, var, "behind", True, handed(semigroup))
        self.ops.append(ir.Scan(stage, var, True, half) if self.chain else meet)

    def _of_parent(self, var: str, into: str, value: object, first: int) -> None:
        """`into` = the parent's value in a tree; at a root it keeps its own."""
        stage = Stage(into)
        stage.write(into, stage.value("base", value, first))
        self.ops.append(ir.TreeScanStep(stage.program(), into, var, "parents", False))

    def _of_children(self, var: str, into: str, value: object, first: int) -> None:
        """`into`, zero so far, = the sum of the children's values in a tree."""
        stage = Stage(into)
        stage.write(into, plus(stage.value("base", value), stage.value("tip", value, first)))
        self.ops.append(ir.TreeScanStep(stage.program(), into, var, "children", True))


def handed(semigroup: Branching[T]) -> int:
    """The first entry that branches pass on; in its place entries before are the identity's."""
    identity = semigroup.identity()
    own = [cast(Scalar, Entry("", k)) for k in range(len(flat(identity)))]
    found = flat(semigroup.handed(refilled(identity, own)))
    first = next(k for k, x in enumerate(found) if isinstance(x, Entry))
    assert [*flat(identity)[:first], *own[first:]] == found
    return first
