"""What chunks hand each other: scans along a chain, meetings with named partners between limbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from condyle.algorithms.values import plus
from condyle.ir import chunked as ir
from condyle.trace.chunks.chain import Chain, start
from condyle.trace.stage import Stage, composed

T = TypeVar("T")


def outward(chain: Chain, bank: str, shape: T, combine: Callable[[T, T], T]) -> ir.Op:
    """Products of all elements from the base on."""
    stage = composed(bank, shape, combine)
    return ir.Scan(stage, bank, False) if chain.partners is None else ir.Meet(stage, bank, bank, "ancestors", False)


def of_base(chain: Chain, bank: str, into: str, shape: object) -> ir.Op:
    """`into`, of this structure, gets what the chunk before has from its first entry on, or the identity."""
    if chain.partners is None:
        return ir.Neighbour(bank, into, 0, -1)
    stage = Stage(f"{into}_of_base")
    stage.write(into, stage.value("base", shape))
    return ir.Meet(stage.program(), into, bank, "parents", False)


def inward(bank: str, shape: T, combine: Callable[[T, T], T], into: str, load: object, handed: int) -> list[ir.Op]:
    """Products of all elements of limbs from the tips on, and `into` the sum of what branches hand over: `load`, from
    entry `handed` on."""
    stage = Stage(f"{into}_of_branches")
    stage.write(into, plus(stage.value("base", load), stage.value("tip", load, handed)))
    return [
        ir.Meet(composed(bank, shape, combine), bank, bank, "behind", True, handed),
        start(into, load),
        ir.Meet(stage.program(), into, bank, "children", True),
    ]
