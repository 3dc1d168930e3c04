"""The number of operations for one state, of code in any form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from condyle.ir.loops import Code, Columns, Loop, Rolled, Step, Sweep, Walk
from condyle.ir.program import Program, operands
from condyle.ir.segments import Iteration, Product, Segment, Segmented
from condyle.operations import OPERATIONS, TRIGONOMETRIC


class Counts(NamedTuple):
    """Multiplications (mul), additions (add; a change of sign counts as one), reciprocals and roots (div), and angles
    whose sine or cosine is computed (sincos).

    A fused multiply-add counts as one multiplication and one addition. The table in `operations.py` has the counts of
    all others.
    """

    mul: int
    add: int
    div: int
    sincos: int

    @property
    def arithmetic(self) -> int:
        """mul + add, by which formulations are compared."""
        return self.mul + self.add


def count(code: Code) -> Counts:
    """The counts of all operations that run."""
    return counted(tally(code))


def counted(ops: Counter[str]) -> Counts:
    """The counts of a tally."""
    rows = [(OPERATIONS[op], n) for op, n in ops.items() if op in OPERATIONS]
    mul, add, div = (sum(n * getattr(row, kind) for row, n in rows) for kind in ("mul", "add", "div"))
    return Counts(mul, add, div, ops["sincos"])


def instructions(code: Code) -> int:
    """Floating-point instructions without those of sine and cosine; of contracted code, what a processor executes."""
    ops = tally(code)
    return sum(n * OPERATIONS[op].size for op, n in ops.items() if op in OPERATIONS and op not in TRIGONOMETRIC)


def work(code: Code) -> int:
    """All operations, sine and cosine of one angle as two."""
    return sum(n * OPERATIONS[op].size for op, n in tally(code).items() if op in OPERATIONS)


def tally(code: Code) -> Counter[str]:
    """How often each operation is executed; "sincos" counts angles."""
    if isinstance(code, Program):
        ops = Counter(node[0] for node in code.nodes)
        ops["sincos"] = len({operands(node) for node in code.nodes if node[0] in TRIGONOMETRIC})
        return ops
    total: Counter[str] = Counter()
    if isinstance(code, Segmented):
        for part in code.segments:
            total += _of_segment(part)
        return total
    for loop in code.loops:
        total += _of_joint_loop(code, loop)
    return total


def _of_segment(segment: Segment) -> Counter[str]:
    """Of an iteration all times that it may run."""
    if isinstance(segment, Iteration):
        return _times(tally(segment.body), segment.most)
    return tally(segment) if isinstance(segment, Program) else _of_product(segment)


def _of_product(product: Product) -> Counter[str]:
    return Counter({"fnma" if product.minus else "fma": product.terms()})


def _of_joint_loop(rolled: Rolled, loop: Loop) -> Counter[str]:
    if isinstance(loop, Sweep):
        return _of_sweep(rolled, loop)
    if isinstance(loop, Columns):
        total: Counter[str] = Counter()
        for part in loop.body:
            if isinstance(part, Walk):
                total += _of_walk(rolled, part)
            else:
                total += _of_sweeps_upto(rolled, part) if part.upto else _times(_of_sweep(rolled, part), rolled.nv)
        return total
    return _of_product(loop) if isinstance(loop, Product) else Counter()


def _of_sweep(rolled: Rolled, sweep: Sweep) -> Counter[str]:
    return _weighted(sweep.steps, Counter(joint.kind for joint in rolled.joints))


def _of_sweeps_upto(rolled: Rolled, sweep: Sweep) -> Counter[str]:
    """Each joint runs once for every column of its own and of the joints with higher numbers."""
    runs: Counter[int] = Counter()
    columns = 0
    for joint in reversed(rolled.joints):
        columns += rolled.kinds[joint.kind].nv
        runs[joint.kind] += columns
    return _weighted(sweep.steps, runs)


def _of_walk(rolled: Rolled, walk: Walk) -> Counter[str]:
    """A start for every dof, and a visit at each of its ancestors."""
    total: Counter[str] = Counter()
    below = [rolled.kinds[joint.kind].nv for joint in rolled.joints]
    visits: Counter[int] = Counter()
    for i, joint in reversed(list(enumerate(rolled.joints))):
        for start in walk.starts[joint.kind]:
            total += tally(start.program)
        visits[joint.kind] += below[i] - rolled.kinds[joint.kind].nv
        if joint.parent >= 0:
            below[joint.parent] += below[i]
    return total + _weighted(walk.visits, visits)


def _weighted(steps: Sequence[Step], runs: Counter[int]) -> Counter[str]:
    """The sum of the steps' counts, each kind's times its number of runs."""
    total: Counter[str] = Counter()
    for kind, times in runs.items():
        total += _times(tally(steps[kind].program), times)
    return total


def _times(ops: Counter[str], n: int) -> Counter[str]:
    return Counter({op: n * number for op, number in ops.items()})
