"""Where everything of rolled sweeps is: slots of the workspace, and the constants that tables keep."""

from __future__ import annotations

from dataclasses import dataclass

from condyle.ir.program import input_of
from condyle.ir.sweep import Columns, Pairs, Rolled, Step, Sweep


@dataclass(frozen=True)
class Layout:
    """Slot of everything in the workspace."""

    inputs: tuple[int, ...]
    outputs: dict[str, int]
    matrices: dict[str, int]
    buffers: dict[str, int]
    carry: int
    zero: int
    size: int


def layout(rolled: Rolled) -> Layout:
    """Inputs, then everything else, one after the other."""
    cursor = 0

    def take(size: int) -> int:
        nonlocal cursor
        cursor += size
        return cursor - size

    inputs = tuple(take(array.size) for array in rolled.inputs)
    outputs = {array.name: take(array.size) for array in rolled.arrays if array.name not in rolled.results}
    matrices = {name: take(rolled.nv**2) for name in rolled.matrices}
    buffers = {name: take(width * (len(rolled.joints) + 1)) for name, width in rolled.buffers.items()}
    carry = take(max((loop.carry for loop in rolled.loops if isinstance(loop, Pairs)), default=0))
    return Layout(inputs, outputs, matrices, buffers, carry, take(1), cursor)


def steps_of(rolled: Rolled) -> list[list[Step]]:
    """Every step, by kind."""
    found: list[list[Step]] = [[] for _ in rolled.kinds]
    for loop in rolled.loops:
        sweeps = [loop] if isinstance(loop, Sweep) else loop.body if isinstance(loop, Columns) else []
        for kind in range(len(rolled.kinds)):
            found[kind] += [sweep.steps[kind] for sweep in sweeps]
            if isinstance(loop, Pairs):
                found[kind] += [*loop.starts[kind], loop.meets[kind], loop.rises[kind]]
    return found


def used_constants(rolled: Rolled) -> list[list[int]]:
    """For each kind the columns of its table that some step reads."""
    result: list[list[int]] = []
    for steps in steps_of(rolled):
        used: set[int] = set()
        for step in steps:
            tables = {k for k, ref in enumerate(step.reads) if ref.space == "table"}
            reads = [input_of(node) for node in step.program.nodes if node[0] == "input"]
            used |= {entry for array, entry in reads if array in tables}
        result.append(sorted(used))
    return result
