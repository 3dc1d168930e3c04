"""Which passes run, and in what order; the verifier checks the Program after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from condyle.ir.program import Program, verify
from condyle.passes.contract import contract
from condyle.passes.dce import absorb_signs, dce

Pass = Callable[[Program], Program]

CLEAN: Sequence[Pass] = (dce, absorb_signs)
"""After a trace; operations are counted after these."""

CODE: Sequence[Pass] = (contract,)
"""Before a target with fused multiply-add instructions."""

ALL: Sequence[Pass] = (*CLEAN, *CODE)


def apply(program: Program, passes: Sequence[Pass]) -> Program:
    """The Program, which must keep the verifier's rules, after these passes."""
    for one in passes:
        program = verify(one(program))
    return program
