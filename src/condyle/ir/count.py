"""How many operations one state takes, in either form."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from condyle.ir.ops import ARITY, FUSED
from condyle.ir.program import Program, operands
from condyle.ir.sweep import Code, Columns, Loop, Pairs, Product, Rolled, Sweep

TRIGONOMETRIC = ("sin", "cos")


class Counts(NamedTuple):
    """Products, sums (a change of sign counts as one), reciprocals and roots, and angles whose sine or cosine is taken.

    A fused multiply-add counts as a product and a sum.
    """

    mul: int
    add: int
    div: int
    sincos: int

    @property
    def arithmetic(self) -> int:
        """mul + add: what formulations are compared by."""
        return self.mul + self.add


def count(code: Code) -> Counts:
    """What the operations come to."""
    ops = tally(code)
    fused = sum(ops[op] for op in FUSED)
    sums = ops["add"] + ops["sub"] + ops["neg"]
    return Counts(ops["mul"] + fused, sums + fused, ops["rcp"] + ops["sqrt"], ops["sincos"])


def instructions(code: Code) -> int:
    """Floating-point instructions, sine and cosine apart: of contracted code, what a processor executes."""
    ops = tally(code)
    return sum(n for op, n in ops.items() if op in ARITY and op not in TRIGONOMETRIC)


def work(code: Code) -> int:
    """All operations, sine and cosine of one angle as two."""
    return sum(n for op, n in tally(code).items() if op in ARITY)


def tally(code: Code) -> Counter[str]:
    """How often each operation is executed; "sincos" counts angles."""
    if isinstance(code, Program):
        ops = Counter(node[0] for node in code.nodes)
        ops["sincos"] = len({operands(node) for node in code.nodes if node[0] in TRIGONOMETRIC})
        return ops
    total: Counter[str] = Counter()
    for loop in code.loops:
        total += _of_loop(code, loop)
    return total


def _of_loop(rolled: Rolled, loop: Loop) -> Counter[str]:
    if isinstance(loop, Sweep):
        return _of_sweep(rolled, loop)
    if isinstance(loop, Columns):
        body: Counter[str] = Counter()
        for sweep in loop.body:
            body += _of_sweep(rolled, sweep)
        return _times(body, rolled.nv)
    if isinstance(loop, Pairs):
        return _of_pairs(rolled, loop)
    return Counter({"fnma": rolled.nv**3}) if isinstance(loop, Product) else Counter()


def _of_sweep(rolled: Rolled, sweep: Sweep) -> Counter[str]:
    total: Counter[str] = Counter()
    for kind, joints in Counter(joint.kind for joint in rolled.joints).items():
        total += _times(tally(sweep.steps[kind].program), joints)
    return total


def _of_pairs(rolled: Rolled, pairs: Pairs) -> Counter[str]:
    """A meeting at every pair, a rise between two meetings."""
    met: Counter[int] = Counter()
    risen: Counter[int] = Counter()
    total: Counter[str] = Counter()
    for joint in rolled.joints:
        for start in pairs.starts[joint.kind]:
            total += tally(start.program)
            other = joint
            met[other.kind] += 1
            while other.parent >= 0:
                risen[other.kind] += 1
                other = rolled.joints[other.parent]
                met[other.kind] += 1
    for kind, n in met.items():
        total += _times(tally(pairs.meets[kind].program), n)
    for kind, n in risen.items():
        total += _times(tally(pairs.rises[kind].program), n)
    return total


def _times(ops: Counter[str], n: int) -> Counter[str]:
    return Counter({op: n * number for op, number in ops.items()})
